"""What the suite knows of its environments: sizes, limits, presets, where they come from, and what must be installed.

Plain data, so that listing needs no simulator; a test makes every environment and compares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from erlbench.errors import UsageError, nearest
from erlbench.settings import FUNCTION

FRESH = ("reset", "object")  # values of the setting `fresh`: before each episode a reset more, or another object

OWN = "erlbench/"
PYBULLET = "pybullet_envs_gymnasium:"
DM_CONTROL = "dm_control/"
ALE, MINATAR = "ALE/", "MinAtar/"
FORM = "erlbench-"  # before the id of a game in Gymnasium: the suite's form of it
ALE_FRAME_SKIP = 4
NAMESPACES = {  # what ids begin with: the extra that they need, and the module that registers them
    OWN: ("", "erlbench.envs.own"),
    FUNCTION: ("", "erlbench.envs.own"),
    DM_CONTROL: ("dm-control", "shimmy"),
    ALE: ("atari", "erlbench.envs.atari"),
    MINATAR: ("minatar", "erlbench.envs.minatar"),
}
DM_CONTROL_LIMIT = 1000  # steps after which every task listed here ends by itself; Gymnasium's spec lacks them


@dataclass(frozen=True)
class Preset:
    """How an environment differs from the registered one."""

    kwargs: Mapping[str, Any] = field(default_factory=dict)
    terminal_reward: float = 0.0  # paid once more on the step that terminates an episode
    reward_before: bool = False  # whether a step pays for the state that it starts from
    zeros: Mapping[int, int] = field(default_factory=dict)  # index in the observation -> zeros inserted before it


@dataclass(frozen=True)
class Listed:
    """One environment of the list."""

    id: str
    observation: int  # numbers
    action: int  # dimensions, or the number of actions where they are discrete
    limit: int  # steps of an episode
    source: str
    extra: str = ""  # of erlbench, without which it cannot be made
    discrete: bool = False
    presets: Mapping[str, Preset] = field(default_factory=dict)  # the first is the default


EXTRAS: Mapping[str, tuple[str, ...]] = {  # extra -> modules that it installs
    "box2d": ("Box2D",),
    "dm-control": ("dm_control", "shimmy"),
    "pybullet": ("pybullet", "pybullet_envs_gymnasium"),
    "atari": ("ale_py", "cv2"),
    "minatar": ("minatar",),
}

# Version 4 also paid the healthy reward on the terminating step (Gymnasium issue 500), as did versions 1 to 3. What
# version 5 observes no longer was always zero (body 0 is the world) and is there again. docs/environments.md has all.
_NO_FORCES = {"include_cfrc_ext_in_observation": False}
_HUMANOID_ZEROS = {45: 10, 175: 6, 253: 6}  # the world's inertia and velocity, the free joint's forces
_PAPER = {
    "HalfCheetah": Preset(),
    "Swimmer": Preset(),
    "Hopper": Preset(terminal_reward=1.0),
    "Walker2d": Preset({"xml_file": "walker2d.xml"}, terminal_reward=1.0),
    "Ant": Preset({**_NO_FORCES, "contact_cost_weight": 0.0}, terminal_reward=1.0, zeros={27: 84}),
    "Humanoid": Preset(
        {**_NO_FORCES, "contact_cost_weight": 0.0}, terminal_reward=5.0, zeros={**_HUMANOID_ZEROS, 270: 84}
    ),
    "HumanoidStandup": Preset({**_NO_FORCES, "impact_cost_weight": 0.0}, zeros={**_HUMANOID_ZEROS, 270: 84}),
    "InvertedPendulum": Preset(terminal_reward=1.0),
    "InvertedDoublePendulum": Preset(terminal_reward=10.0, zeros={9: 2}),
    "Reacher": Preset(reward_before=True, zeros={10: 1}),
    "Pusher": Preset(reward_before=True),
}
# With MuJoCo 1.50 contact forces were observed and cost something; with MuJoCo 2.0 they were all zero (Gym issue 1541).
_MUJOCO_150 = {
    "Ant": Preset(terminal_reward=1.0, zeros={27: 6}),
    "Humanoid": Preset(terminal_reward=5.0, zeros={**_HUMANOID_ZEROS, 270: 6}),
    "HumanoidStandup": Preset(zeros={**_HUMANOID_ZEROS, 270: 6}),
}
PAPERS: Mapping[str, Mapping[str, Preset]] = {"paper": _PAPER, "paper-mujoco-1.50": _MUJOCO_150}
# Name: observation of v5 and of v4, action, limit
_MUJOCO = {
    "Ant": (105, 27, 8, 1000),
    "HalfCheetah": (17, 17, 6, 1000),
    "Hopper": (11, 11, 3, 1000),
    "Humanoid": (348, 376, 17, 1000),
    "HumanoidStandup": (348, 376, 17, 1000),
    "InvertedDoublePendulum": (9, 11, 1, 1000),
    "InvertedPendulum": (4, 4, 1, 1000),
    "Pusher": (23, 23, 7, 100),
    "Reacher": (10, 11, 2, 50),
    "Swimmer": (8, 8, 2, 1000),
    "Walker2d": (17, 17, 6, 1000),
}
# Functions to be minimised (envs/functions.py): dimensions
_FUNCTIONS = {
    "ackley": 10,
    "cigar": 10,
    "ellipsoid": 10,
    "griewank": 10,
    "quadratic": 3,
    "rastrigin": 10,
    "rosenbrock": 10,
    "sphere": 10,
}
# Domain-task: observation, action
_DM_CONTROL = {
    "acrobot-swingup": (6, 1),
    "cartpole-swingup": (5, 1),
    "cheetah-run": (17, 6),
    "fish-swim": (24, 5),
    "fish-upright": (21, 5),
    "humanoid-run": (67, 21),
    "humanoid-stand": (67, 21),
    "humanoid-walk": (67, 21),
    "quadruped-run": (78, 12),
    "quadruped-walk": (78, 12),
    "walker-run": (24, 6),
    "walker-walk": (24, 6),
}
# Games of ale-py: actions
_ATARI = {"BeamRider": 9, "Breakout": 4, "Freeway": 3, "MontezumaRevenge": 18, "Pong": 6, "Seaquest": 18}
# Games of MinAtar: planes of 10 x 10, actions
_MINATAR = {"Asterix": (4, 5), "Breakout": (4, 3), "Freeway": (7, 3), "Seaquest": (10, 6), "SpaceInvaders": (6, 4)}
# Robot of PyBullet: observation, action
_PYBULLET = {"Ant": (28, 8), "HalfCheetah": (26, 6), "Hopper": (15, 3), "Humanoid": (44, 17), "Walker2D": (22, 6)}


def _listed() -> list[Listed]:
    rows = []
    for name, (observation, old_observation, action, limit) in _MUJOCO.items():
        presets = {"v5": Preset()} | {preset: envs[name] for preset, envs in PAPERS.items() if name in envs}
        rows.append(Listed(f"{name}-v5", observation, action, limit, "Gymnasium, MuJoCo", presets=presets))
        if name != "Pusher":  # Pusher-v4 needs MuJoCo 2
            rows.append(Listed(f"{name}-v4", old_observation, action, limit, "Gymnasium, MuJoCo"))
    rows += [
        Listed("Pendulum-v1", 3, 1, 200, "Gymnasium, classic control"),
        Listed("LunarLanderContinuous-v3", 8, 2, 1000, "Gymnasium, Box2D", "box2d"),
        Listed(f"{OWN}CyclicMDP-v0", 3, 3, 2000, "ESAC paper", discrete=True),
        Listed(f"{OWN}PartiallyObservablePendulum-v0", 3, 1, 200, "Pendulum-v1, velocity hidden"),
    ]
    rows += [
        Listed(f"{FUNCTION}{name}", 0, dimension, 1, "function to be minimised")
        for name, dimension in _FUNCTIONS.items()
    ]
    for name, (observation, action) in _DM_CONTROL.items():
        env_id = f"{DM_CONTROL}{name}-v0"
        rows.append(Listed(env_id, observation, action, DM_CONTROL_LIMIT, "dm_control through Shimmy", "dm-control"))
    for name, action in _ATARI.items():
        games = {"v5": Preset(), "paper": Preset({"repeat_action_probability": 0.0})}
        rows.append(Listed(f"{ALE}{name}-v5", 28_224, action, 27_000, "ale-py", "atari", discrete=True, presets=games))
    for name, (planes, action) in _MINATAR.items():
        rows.append(Listed(f"{MINATAR}{name}-v1", 100 * planes, action, 5000, "MinAtar", "minatar", discrete=True))
    for name, (observation, action) in _PYBULLET.items():
        rows.append(Listed(f"{PYBULLET}{name}BulletEnv-v0", observation, action, 1000, "PyBullet", "pybullet"))
    return sorted(rows, key=lambda row: (row.id.partition("/")[0].partition(":")[0].islower(), row.id.lower()))


LISTED: Mapping[str, Listed] = {row.id: row for row in _listed()}


def split_preset(name: str) -> tuple[str, str]:
    """Id and preset of `ID` or `ID@PRESET`; the preset is empty where none or the default one is named.

    A preset that the environment does not have is a `UsageError`.
    """
    env_id, at, preset = name.partition("@")
    presets = LISTED[env_id].presets if env_id in LISTED else {}
    if at and preset not in presets:
        hint = nearest(preset, presets) or (f"; it has {', '.join(presets)}" if presets else "; it has none")
        raise UsageError(f"environment '{env_id}' has no preset '{preset}'{hint}")
    return env_id, "" if preset == next(iter(presets), "") else preset


def canonical(name: str) -> str:
    """The one name of an environment with its preset: "Hopper-v5" for "Hopper-v5@v5"."""
    env_id, preset = split_preset(name)
    return f"{env_id}@{preset}" if preset else env_id


def find_preset(name: str) -> Preset:
    """The preset that `ID` or `ID@PRESET` names."""
    env_id, preset = split_preset(name)
    return LISTED[env_id].presets[preset] if preset else Preset()


def find_module(env_id: str) -> str:
    """The module that Gymnasium imports for an environment `MODULE:ID`; an empty text for all other ids."""
    return "" if env_id.startswith(FUNCTION) else env_id.rpartition(":")[0]


def find_extra(env_id: str) -> str:
    """The extra that an environment needs, or an empty text."""
    return LISTED[env_id].extra if env_id in LISTED else NAMESPACES.get(find_namespace(env_id), ("", ""))[0]


def find_namespace(env_id: str) -> str:
    """The key of `NAMESPACES` that an id begins with; empty for all other ids."""
    return next(filter(env_id.startswith, NAMESPACES), "")


def frames_of_step(env: str, settings: Mapping[str, Any]) -> float:
    """The frames of a step of an Atari game, `ID` or `ID@PRESET`; NaN for environments that count steps."""
    skip = settings.get("frame_skip", ALE_FRAME_SKIP)
    return float(skip) if env.startswith(ALE) and isinstance(skip, int | float) else math.nan


def registered(env_id: str) -> str:
    """Gymnasium's id of an environment, of `function:NAME`, or of the suite's form of a game."""
    if env_id.startswith(FUNCTION):
        return f"function/{env_id.removeprefix(FUNCTION)}-v0"
    return f"{FORM}{env_id}" if env_id.startswith((ALE, MINATAR)) else env_id


def installed(extra: str) -> bool:
    """Whether all modules of an extra are there."""
    return all(find_spec(module) is not None for module in EXTRAS[extra])


def require(env_id: str) -> None:
    """Raise a `UsageError` with the command to type when the environment needs an extra that is not installed."""
    extra = find_extra(env_id)
    if extra and not installed(extra):
        raise UsageError(f"environment '{env_id}' needs an extra; install it by: pip install 'erlbench[{extra}]'")
