"""From an environment's name and settings to the environment, and the check that the suite can run it."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.envs import catalogue
from erlbench.errors import UsageError, describe_error, nearest
from erlbench.machine import process

if TYPE_CHECKING:
    from erlbench.envs.options import Chosen
    from erlbench.envs.wrappers import Env

# What makes environments is imported by the functions that need it: the main process of a run makes none.


@dataclass(frozen=True)
class EnvSpec:
    """An environment as plain values: what a worker needs to make it."""

    id: str
    max_episode_steps: int
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    terminal_reward: float = 0.0  # added on the step that terminates an episode
    action_repeat: int = 1  # where the environment has no frame_skip
    reward_before: bool = False  # whether a step pays for the state that it starts from
    zeros: Mapping[int, int] = field(default_factory=dict)  # index in the observation -> zeros inserted before it
    fresh: str = ""  # before each episode: a reset more ("reset"), or another object ("object")
    info: tuple[str, ...] = ()  # keys of the infos whose numbers are recorded


@dataclass(frozen=True)
class Problem:
    """A control task as the algorithms see it."""

    env: EnvSpec
    observation_size: int
    action_size: int  # dimensions; the number of actions where they are discrete
    action_low: tuple[float, ...]  # () where they are discrete
    action_high: tuple[float, ...]
    discrete: bool = False
    image: tuple[int, ...] = ()  # channels, height, width, where the observation is an image's bytes


@dataclass(frozen=True)
class Described:
    """A problem, and what its user should know of it."""

    problem: Problem
    layout: tuple[str, ...] = ()  # of a flattened observation: "name (numbers)" of each part, in order
    remarks: tuple[str, ...] = ()


def make(env_id: str, limit: int | None = None, repeat: int = 1, /, **kwargs: Any) -> tuple[Env, int | None]:
    """What `gymnasium.make` gives without its outer bookkeeping wrappers, and its longest episode in actions, if known.

    `limit` replaces the registered one, in actions of `repeat` steps. The time limit and the order of calls
    are the rollout loop's business; every other wrapper stays.
    """
    import gymnasium
    from gymnasium.spaces import Box

    from erlbench.envs.chain import without_bookkeeping
    from erlbench.envs.flattening import FlatObservation, is_flat
    from erlbench.envs.mujoco_fast import hasten
    from erlbench.envs.mujoco_warnings import log_warnings
    from erlbench.envs.wrappers import TypedAction

    log_warnings()
    import_environment(env_id)
    limit = registered_limit(env_id) if limit is None else limit
    steps = None if limit is None else limit * repeat
    try:
        env: Env = gymnasium.make(
            catalogue.registered(env_id), disable_env_checker=True, max_episode_steps=steps, **kwargs
        )
    except (gymnasium.error.Error, ImportError, TypeError, UsageError) as error:
        raise UsageError(f"environment '{env_id}' cannot be made: {_reason(error, env_id)}") from error
    except (Exception, SystemExit) as error:  # of the environment's module
        raise UsageError(
            f"environment '{env_id}' cannot be made: {describe_error(error)} (-v shows the traceback)"
        ) from error
    env, limit = without_bookkeeping(env, limit, repeat)
    hasten(env)
    if limit is None and env_id.startswith(catalogue.DM_CONTROL) and env_id in catalogue.LISTED:
        limit = catalogue.DM_CONTROL_LIMIT
    if not is_flat(env.observation_space):
        env = FlatObservation(env, env_id)
    action = env.action_space
    if isinstance(action, Box) and action.dtype.kind == "f" and action.dtype != np.float32:
        env = TypedAction(env)
    _check_version(env, env_id)
    return env, limit


def registered_limit(env_id: str) -> int | None:
    """The time limit that an id is registered with; its module is imported."""
    import gymnasium

    spec = gymnasium.registry.get(catalogue.registered(env_id).removeprefix(f"{catalogue.find_module(env_id)}:"))
    return None if spec is None else spec.max_episode_steps


def _reason(error: Exception, env_id: str) -> str:
    """Why Gymnasium cannot make an environment, and what to do where that is known."""
    module, missing = catalogue.find_module(env_id), error.__cause__
    if isinstance(missing, ModuleNotFoundError) and missing.name and f"{module}.".startswith(f"{missing.name}."):
        if missing.name.endswith(".py"):
            return f"{missing.msg.split(';')[0]}; a module is typed without .py"
        return f"{missing}; start from its folder, or set PYTHONPATH"
    hint = ""
    if not (env_id in catalogue.LISTED or module):
        hint = nearest(env_id, catalogue.LISTED) or "; an environment of a package or of your own is typed MODULE:ID"
    text = str(error).replace(catalogue.FORM, "")
    return text.split(" Did you mean")[0].rstrip(".") + hint  # Gymnasium's guess has no version


def build(spec: EnvSpec) -> Env:
    """The environment of `spec`, wrapped only where something must be changed."""
    from erlbench.envs.wrappers import (
        FreshObject,
        InsertZeros,
        RepeatAction,
        ResetTwice,
        RewardBeforeStep,
        TerminalReward,
    )

    if spec.fresh == "object":
        return FreshObject(partial(build, replace(spec, fresh="")))
    env, _ = make(spec.id, spec.max_episode_steps, spec.action_repeat, **spec.kwargs)
    if spec.info:
        vars(env).pop("step", None)  # the fast one, which leaves them out
    if spec.reward_before:
        env = RewardBeforeStep(env)
    if spec.zeros:
        env = InsertZeros(env, spec.zeros)
    if spec.terminal_reward:
        env = TerminalReward(env, spec.terminal_reward)
    if spec.action_repeat > 1:
        env = RepeatAction(env, spec.action_repeat)
    return ResetTwice(env) if spec.fresh == "reset" else env


def import_environment(env_id: str) -> None:
    """Import what registers the environment, where that is not Gymnasium; a missing extra is a `UsageError`."""
    catalogue.require(env_id)
    process.allow_module(catalogue.find_module(env_id))
    # Gymnasium shows its users what Python hides: v4 is old, Box2D's bindings are older.
    warnings.filterwarnings("ignore", r".*(is out of date|builtin type [Ss]wig)", DeprecationWarning)
    warnings.filterwarnings("ignore", r".*Using the latest versioned environment", UserWarning)  # `problem` refuses it
    if namespace := catalogue.find_namespace(env_id):
        _import_namespace(namespace)
    elif module := catalogue.find_module(env_id):
        from erlbench.envs.made import import_module, register_made

        with suppress(Exception):  # making it raises a better error
            import_module(module, env_id.rpartition(":")[2])
        register_made(env_id)


def _import_namespace(namespace: str) -> None:
    _, module = catalogue.NAMESPACES[namespace]
    if module in sys.modules:
        return
    if namespace == catalogue.DM_CONTROL:
        os.environ.setdefault("MUJOCO_GL", "disabled")  # else dm_control looks for a display, though nothing is drawn
    importlib.import_module(module)
    if namespace == catalogue.DM_CONTROL:
        from erlbench.envs.mujoco_warnings import log_warnings

        log_warnings(anew=True)  # dm_control's import sets another one


def problem(name: str, settings: Mapping[str, Any] | None = None) -> Problem:
    """The problem of `describe_problem`, alone."""
    return describe_problem(name, settings).problem


def remember_problems(find_problem: Callable[[str, Mapping[str, Any]], Problem]) -> Callable[..., Problem]:
    """`find_problem`, which is asked once for each environment with its settings."""
    problems: dict[tuple[str, str], Problem] = {}

    def remembered(name: str, settings: Mapping[str, Any]) -> Problem:
        key = name, repr(sorted(settings.items()))
        if key not in problems:
            problems[key] = find_problem(name, settings)
        return problems[key]

    return remembered


def describe_problem(
    name: str, settings: Mapping[str, Any] | None = None, say: Callable[[str], object] = lambda phase: None
) -> Described:
    """Make the environment `ID` or `ID@PRESET` once, check that it fits, and describe it.

    `settings` are `max_episode_steps`, `frame_skip`, `fresh` and keyword arguments of the environment, which win over
    the preset's. `say` gets what comes next: its import, its constructor, close().
    """
    from erlbench.envs import options
    from erlbench.envs.chain import check_chain, check_repeats, own_limit
    from erlbench.envs.wrappers import InsertZeros

    env_id, _ = catalogue.split_preset(name)
    preset = catalogue.find_preset(name)
    import_environment(env_id)
    chosen = options.checked_settings(env_id, {**preset.kwargs, **(settings or {})})
    say("its import or its constructor" if catalogue.find_module(env_id) else "its constructor")
    env, limit = make(env_id, chosen.max_episode_steps, chosen.action_repeat, **chosen.kwargs)
    try:
        check_chain(env, env_id)
        remarks = [*chosen.remarks, *_shortened(env, env_id, limit, chosen)]
        if limit is None and (bound := own_limit(env)):
            limit = bound[1]
            remarks.append(f"environment '{env_id}' has no registered time limit; its {bound[0]}, {limit}, is taken")
        if limit is None:
            raise UsageError(
                f"environment '{env_id}' has no time limit; register it with max_episode_steps or give "
                "--env-set max_episode_steps=N"
            )
        if catalogue.find_extra(env_id) == "dm-control" and env_id in catalogue.LISTED:
            limit = _within_dm_control(env_id, limit, chosen)
        bonus = preset.terminal_reward and float(chosen.kwargs.get("healthy_reward", preset.terminal_reward))
        repeat, zeros = chosen.action_repeat, dict(preset.zeros)
        spec = EnvSpec(env_id, limit, chosen.kwargs, bonus, repeat, preset.reward_before, zeros, chosen.fresh)
        if repeat > 1:
            check_repeats(env_id, options.keyword_arguments(env_id))
        if zeros:
            _check_zeros(env, name, preset)
            env = InsertZeros(env, zeros)
        problem = _problem(env, spec)
        layout: list[str] = env.get_wrapper_attr("flat_parts") if env.has_wrapper_attr("flat_parts") else []
        if layout and (absent := env.get_wrapper_attr("parts_left_out")):
            remarks.append(f"environment '{env_id}': the observation's {', '.join(absent)} has no numbers; left out")
        return Described(problem, tuple(layout), tuple(remarks))
    finally:
        say("close()")
        env.close()


def _shortened(env: Env, env_id: str, limit: int | None, chosen: Chosen) -> Iterator[str]:
    """A remark where a limit within the environment ends its episodes before the one that was given or registered."""
    from erlbench.envs.chain import inner_limit

    wanted = chosen.max_episode_steps or registered_limit(env_id)
    within = inner_limit(env)
    if wanted and limit is not None and limit < wanted:
        yield f"environment '{env_id}' ends its episodes after {limit} steps by a limit within it, not after {wanted}"
    elif within is not None and limit is not None and within < limit * chosen.action_repeat:
        yield f"environment '{env_id}' ends its episodes by a limit of {within} steps within it"


def _check_version(env: Env, env_id: str) -> None:
    """Refuse an id without a version for which Gymnasium took its latest: a later Gymnasium may take another."""
    registered, name = env.spec.id.removeprefix(catalogue.FORM) if env.spec else "", env_id.rpartition(":")[2]
    if registered.startswith(f"{name}-v"):
        module = env_id.removesuffix(name)
        raise UsageError(f"environment '{env_id}' has no version; did you mean '{module}{registered}'?")


def _check_zeros(env: Env, name: str, preset: catalogue.Preset) -> None:
    """Refuse settings with which the observation is no longer the one that the preset puts zeros into."""
    env_id, _ = catalogue.split_preset(name)
    plain, _ = make(env_id, **preset.kwargs)
    plain.close()
    if env.observation_space.shape != plain.observation_space.shape:
        raise UsageError(
            f"environment '{name}' has the observation of the papers; settings that change the observation need "
            f"'{env_id}' without a preset"
        )


def _within_dm_control(env_id: str, limit: int, chosen: Chosen) -> int:
    """The limit of a task that ends by itself, so that memory for an episode is not more than it can need."""
    frames = catalogue.DM_CONTROL_LIMIT
    if chosen.max_episode_steps is None:
        return -(-frames // chosen.action_repeat)
    if limit * chosen.action_repeat > frames:
        raise UsageError(
            f"environment '{env_id}' ends by itself after {frames} frames; max_episode_steps cannot be {limit}"
        )
    return limit


def _problem(env: Env, spec: EnvSpec) -> Problem:
    """The problem that an environment poses; a `UsageError` for spaces that no policy here reads or gives."""
    from gymnasium.spaces import Box, Discrete

    observation, action = env.observation_space, env.action_space
    assert isinstance(observation, Box)
    size = observation.shape[0]
    if isinstance(action, Discrete):
        if action.start != 0:
            raise UsageError(f"environment '{spec.id}' has actions {action}; they must be numbered from 0")
        image = env.get_wrapper_attr("image") if env.has_wrapper_attr("image") else ()
        return Problem(spec, size, int(action.n), (), (), discrete=True, image=image)
    if not isinstance(action, Box) or len(action.shape) != 1 or not action.shape[0]:
        raise UsageError(f"environment '{spec.id}' has actions {action}; a flat Box or a Discrete is needed")
    if action.dtype.kind != "f":
        raise UsageError(
            f"environment '{spec.id}' has actions {action}, which are whole numbers, and policies act by real ones; "
            "wrap it with a Discrete, or with a Box of floats that it rounds"
        )
    if not (np.abs([action.low, action.high]) <= np.finfo(np.float32).max / 2).all():  # half their sum is computed
        raise UsageError(f"environment '{spec.id}' has unbounded actions {action}; wrap it with finite bounds")
    return Problem(spec, size, action.shape[0], tuple(map(float, action.low)), tuple(map(float, action.high)))
