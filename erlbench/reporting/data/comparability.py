"""What separates today's environments and budgets from those of the published numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from erlbench.reporting.data.comparison import Group

# Facts about Gymnasium's MuJoCo environments: versions 2 and 3 (of the papers) against version 5.
_IDENTICAL = ("HalfCheetah", "Swimmer")
_DIFFERENCES = (
    ("Hopper", "v5 no longer pays the healthy reward on the step that ends an episode (at most 1 per episode)"),
    (
        "Walker2d",
        "v5 gives the right foot the friction of the left one (1.9 instead of 0.9) and no longer pays the healthy "
        "reward on the step that ends an episode",
    ),
    (
        "Ant",
        "v5 has contact forces and their cost, as with MuJoCo 1.50, but no healthy reward on the "
        "step that ends an episode; with MuJoCo 2.0 these forces were all zero: there the scores are not comparable",
    ),
    (
        "Humanoid",
        "v5 has another observation (348 numbers instead of 376) and a contact cost, and MuJoCo 2.0 had zero contact "
        "forces: the scores are not comparable",
    ),
    ("InvertedPendulum", "v5 gives no reward on the step that ends an episode"),
    ("InvertedDoublePendulum", "v5 has 9 instead of 11 observations and no bonus on the step that ends an episode"),
    ("Reacher", "v5 computes the reward after the step instead of before it and observes 10 instead of 11 numbers"),
    ("Pusher", "v5 has a heavier object and computes the reward after the step: the scores are not comparable"),
)
# The presets: version 5 with what undoes its changes. Papers with MuJoCo 2.0 had contact forces of zero.
_AS_OLD = ("Hopper", "Walker2d", "InvertedPendulum", "InvertedDoublePendulum", "Reacher")
_HUMANOID = "Gym before 0.21 had another humanoid: the scores are not comparable"
_PAPER_DIFFERENCES = (
    ("Ant", "it has contact forces of zero, as with MuJoCo 2.0; papers on MuJoCo 1.50 had contact forces"),
    ("Humanoid", _HUMANOID),
    ("HumanoidStandup", _HUMANOID),
    ("Pusher", "its object is heavier: the scores are not comparable"),
)
_MUJOCO_150_DIFFERENCES = (
    ("Ant", "it has contact forces, as with MuJoCo 1.50, by a newer MuJoCo"),
    ("Humanoid", _HUMANOID),
    ("HumanoidStandup", _HUMANOID),
)
_BY_PRESET = {"": _DIFFERENCES, "paper": _PAPER_DIFFERENCES, "paper-mujoco-1.50": _MUJOCO_150_DIFFERENCES}


def environment_note(ours: str, theirs: str) -> str:
    """How our environment differs from the published one; empty when it is the same version."""
    if not theirs or ours == theirs:
        return ""
    env, _, settings = ours.partition(" (")
    env, _, preset = env.partition("@")
    if settings:
        return f"{env} was run with settings of its own ({settings} and is compared with {theirs}: not comparable"
    base, version, old = base_name(env), _version(env), _version(theirs)
    if env.startswith("dm_control/") and old < 0:
        return f"{ours} is compared with {theirs} of a version that is not named"
    if base == base_name(theirs) and version == 5 and old < 0:
        return _unnamed_version_note(ours, theirs, preset)
    if base != base_name(theirs) or version != 5 or old not in (1, 2, 3):
        return f"{ours} is compared with numbers for {theirs}, another version of the environment"
    if base in _IDENTICAL:
        return f"{ours} has the dynamics and the reward of {theirs}"
    if preset == "paper" and base in _AS_OLD:
        return f"{ours} has the model and the reward of {theirs}"
    difference = next((text for name, text in _BY_PRESET.get(preset, ()) if name == base), "")
    return f"{ours} is not {theirs}: {difference}" if difference else f"{ours} may differ from {theirs}"


def _unnamed_version_note(ours: str, theirs: str, preset: str) -> str:
    if theirs in _IDENTICAL:
        return f"{ours} is compared with {theirs} of a version that is not named; 2 and 3 have its dynamics and reward"
    difference = "" if preset == "paper" else next((f"; {text}" for name, text in _DIFFERENCES if name == theirs), "")
    return f"{ours} is compared with {theirs} of a version that is not named{difference}"


def environment_notes(groups: Iterable[Group]) -> Iterator[str]:
    """A sentence for each environment whose published numbers are for another version."""
    for group in groups:
        note = environment_note(group.env, group.env_published)
        if note:
            yield note + "."


def comparable(ours: str, theirs: str) -> bool:
    """Whether a published score may stand in a figure of ours: no for Ant-v5 and its like."""
    return "not comparable" not in environment_note(ours, theirs)


def same_task(ours: str, theirs: str) -> bool:
    """Whether dynamics and reward are the same, as far as is known, so that runs may be tested against each other.

    Ant and Humanoid are not, but in the same version: contact forces, their cost and the model changed with MuJoCo.
    """
    if ours == theirs:
        return True
    base = base_name(ours)
    if "(" in ours + theirs or base != base_name(theirs):
        return False
    if base in _IDENTICAL or base.startswith("dm_control/"):
        return True
    return base in _AS_OLD and _as_old(ours) and _as_old(theirs)


def _as_old(env: str) -> bool:
    """Whether an environment of `_AS_OLD` has the model and the reward that versions 1 to 4 share."""
    name, _, preset = env.partition("@")
    return _version(name) in (1, 2, 3, 4) or preset == "paper"


def budget_note(ours: int, published: Iterable[tuple[str, int]]) -> str:
    """The warning that budgets differ, or an empty text; `published` holds algorithms and their steps."""
    published = list(published)
    others = sorted({value for _, value in published} - {ours})
    if not others:
        return ""
    differing = list(dict.fromkeys(name for name, value in published if value != ours))
    some = len(differing) < len({name for name, _ in published})
    of = f" ({', '.join(differing)})" if some else ""
    listed = " or ".join(f"{value:,}" for value in others)
    return f"Different budgets: published after {listed} training steps{of}, ours after {ours:,}. Do not compare them."


def similar_budget(ours: int, published: int | None) -> bool:
    """Whether a published final value belongs into a figure of ours: our budget reaches 90 % of it, at most 110 %."""
    return published is not None and 0.9 * published <= ours <= 1.1 * published


def base_name(env: str) -> str:
    """An environment without module, version, preset and settings: Ant of `Ant-v5@paper (frame_skip=2)`."""
    env = env.partition(" (")[0].partition("@")[0]
    return re.sub(r"-v\d+$", "", env.rpartition(":")[2])


def _version(env: str) -> int:
    found = re.search(r"-v(\d+)$", env)
    return int(found[1]) if found else -1
