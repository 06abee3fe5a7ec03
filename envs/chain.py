"""What an environment and its wrappers do that nothing here may miss: time limits, statistics, repeated actions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import gymnasium
from gymnasium.wrappers import NormalizeObservation, NormalizeReward, OrderEnforcing, PassiveEnvChecker, TimeLimit

from erlbench.envs.wrappers import Env
from erlbench.errors import UsageError

# With statistics of all that this object has seen: in which process an episode is played would change what it gives.
STATISTICS = {
    NormalizeObservation: "algorithms that need it normalise observations by a setting",
    NormalizeReward: "a return in units of changing statistics is no score",
}
_REPEAT = re.compile(r"_*(n_?)?(frame_?skips?|frames?_skip|skip|action_?repeats?|sub_?steps|sim_steps_per_step)_*")

_LIMIT = re.compile(r"_*max_(episode_)?(steps|length)")
MOST_STEPS = 100_000  # memory for so many steps is reserved


def chain(env: Env) -> Iterator[Env]:
    """The wrappers from the outermost on, and the environment itself."""
    while isinstance(env, gymnasium.Wrapper):
        yield env
        env = env.env
    yield env


def without_bookkeeping(env: Env, limit: int | None, repeat: int) -> tuple[Env, int | None]:
    """The environment without the outer wrappers whose work the rollout loop does, and its longest episode in actions.

    `limit` is the registered limit or the user's, in actions of `repeat` steps each. The limits of outer wrappers
    shorten it, and those wrappers go. A limit within another wrapper stays where it is. None: there is no limit.
    """
    ends, layer = [], env
    while type(layer) in (TimeLimit, OrderEnforcing, PassiveEnvChecker):
        ends += [layer._max_episode_steps] if isinstance(layer, TimeLimit) else []
        layer = layer.env  # type: ignore[attr-defined]
    limits = [*([] if limit is None else [limit]), *(-(-end // repeat) for end in ends)]
    longest = min(limits, default=env.spec.max_episode_steps if env.spec else None)
    while type(env) in (OrderEnforcing, PassiveEnvChecker) or _ends_after(env, longest, repeat):
        env = env.env  # type: ignore[attr-defined]
    return env, longest


def _ends_after(env: Env, longest: int | None, repeat: int) -> bool:
    """Whether this is a time limit that the loop's limit, `longest` actions, never exceeds."""
    return type(env) is TimeLimit and longest is not None and env._max_episode_steps >= longest * repeat


def inner_limit(env: Env) -> int | None:
    """The smallest time limit that wrappers within the environment have, in steps of theirs."""
    return min((layer._max_episode_steps for layer in chain(env) if isinstance(layer, TimeLimit)), default=None)


def check_chain(env: Env, env_id: str) -> None:
    """Refuse wrappers whose statistics stay from episode to episode."""
    for layer in chain(env):
        for wrapper, reason in STATISTICS.items():
            if isinstance(layer, wrapper) or type(layer).__name__ == wrapper.__name__:
                raise UsageError(
                    f"environment '{env_id}' is wrapped in {wrapper.__name__}, whose statistics differ between "
                    f"processes, so that no run could be repeated; register it without: {reason}"
                )


def check_repeats(env_id: str, settings: Iterable[str]) -> None:
    """Refuse to repeat actions of an environment that has a setting for that, by the names of its settings."""
    for name in filter(lambda name: _REPEAT.fullmatch(name.lower()), settings):
        raise UsageError(
            f"environment '{env_id}' repeats actions by its setting '{name}'; give --env-set {name}=N, not frame_skip"
        )


def own_limit(env: Env) -> tuple[str, int] | None:
    """Name and value of the attribute by which an environment without a registered time limit ends its episodes."""
    for layer in chain(env):
        for name, value in vars(layer).items():
            if _LIMIT.fullmatch(name.lower()) and type(value) is int and 0 < value <= MOST_STEPS:
                return name, value
    return None
