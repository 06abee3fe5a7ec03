"""MinAtar's games (Young and Tian 2019): five games of Atari on 10 x 10 pixels, thousands of steps a second."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
from minatar.gym import BaseEnv, register_envs

from erlbench.envs.catalogue import MINATAR, registered
from erlbench.envs.wrappers import Env, ImageVector

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


for _id, _spec in [*gymnasium.registry.items()]:
    if _id.startswith(MINATAR) and _id.endswith("-v1"):
        gymnasium.register(registered(_id), partial(make_game, game=_spec.kwargs["game"]), max_episode_steps=LIMIT)
