"""MinAtar's games (Young and Tian 2019): five games of Atari on 10 x 10 pixels, thousands of steps a second."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
from minatar.gym import BaseEnv, register_envs

from erlbench.envs.catalogue import MINATAR, registered
from erlbench.envs.wrappers import Env, ImageVector
from erlbench.errors import UsageError, nearest

LIMIT = 5000  # steps of an episode; MinAtar has none
register_envs()


class FreshGame(BaseEnv):  # type: ignore[misc]
    """A game whose episodes begin without the action that the last one may repeat."""

    def reset(self, **arguments: Any) -> Any:
        self.game.last_action = 0
        return super().reset(**arguments)


def make_game(
    game: str, sticky_action_prob: float = 0.1, difficulty_ramping: bool = True, render_mode: str | None = None
) -> Env:
    """A game by its name in MinAtar, with the actions that do something in it."""
    return ImageVector(
        FreshGame(
            game,
            render_mode,
            use_minimal_action_set=True,
            sticky_action_prob=sticky_action_prob,
            difficulty_ramping=difficulty_ramping,
        )
    )


def register(env_id: str) -> None:
    """Register the suite's form of a game. Raises `UsageError` for an id that MinAtar has not."""
    games = {name: spec for name, spec in gymnasium.registry.items() if name.startswith(MINATAR) and "-v1" in name}
    if env_id not in games:
        raise UsageError(f"MinAtar has no '{env_id}'{nearest(env_id, games)}")
    if registered(env_id) not in gymnasium.registry:
        game = games[env_id].kwargs["game"]
        gymnasium.register(registered(env_id), partial(make_game, game=game), max_episode_steps=LIMIT)
