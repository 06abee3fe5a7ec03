"""Whether scores of two environments compare, and why: facts, of which tables make notes; and whether budgets are near.

The facts are about Gymnasium's MuJoCo tasks, of which papers ran versions 1 to 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd


class Relation(Enum):
    """How far scores of two environments compare."""

    SAME = auto()  # dynamics and reward are the same, as far as is known: runs are tested against each other
    SIMILAR = auto()  # a difference that is small: scores share a figure, and nothing is tested
    UNKNOWN = auto()  # likewise
    INCOMPARABLE = auto()  # scores share no figure


class Reason(Enum):
    """Why two environments have their relation."""

    IDENTICAL = auto()  # one version, with the same preset and settings
    KEPT = auto()  # no version between them changed the model or the reward, or a preset undoes the change
    DIFFERENCE = auto()  # one that is known: `Comparability.difference`
    NAME = auto()  # they are two tasks
    SETTINGS = auto()  # one of them was run with settings of its own
    UNNAMED = auto()  # one of them names no version
    VERSION = auto()  # nothing is known about these versions


@dataclass(frozen=True)
class Comparability:
    """What one environment has to do with another."""

    relation: Relation
    reason: Reason
    difference: str = ""  # what is known to differ, in words without a full stop


@dataclass(frozen=True)
class Environment:
    """The parts of a label such as `module:Ant-v5@paper (frame_skip=2)`."""

    name: str  # `Ant`
    version: int | None  # 5; None where the label names none
    preset: str  # `paper`; empty also for `v5`, the environment as it is registered
    settings: str  # `frame_skip=2`

    @classmethod
    def of(cls, label: str) -> Environment:
        """The parts of `label`."""
        env, _, settings = label.partition(" (")
        env, _, preset = env.partition("@")
        env = env.rpartition(":")[2]
        name, _, version = env.rpartition("-v")
        named = version.isdecimal()
        return cls(
            name=name if named else env,
            version=int(version) if named else None,
            preset="" if preset == "v5" else preset,
            settings=settings.removesuffix(")"),
        )

    @property
    def task(self) -> str:
        """The name as papers write it: `WalkerWalk` for `dm_control/walker-walk`."""
        space, _, name = self.name.rpartition("/")
        if space == "dm_control":
            return name.title().replace("-", "")
        return name if space == "erlbench" else _COPIES.get(self.name, self.name)

    @property
    def form(self) -> str:
        """Its column in the table of facts: a version or a preset of version 5; an unnamed version is a paper's."""
        if self.preset:
            return self.preset if self.version == 5 else ""
        return {None: "old", 1: "old", 2: "old", 3: "old", 4: "v4", 5: "v5"}.get(self.version, "")


_COPIES = {"AntPyBulletEnv": "AntBulletEnv"}  # pybullet-gym's copy of PyBullet's task: the same robot, reward and ends


@cache
def _read_facts() -> list[Any]:
    """How each of some forms of a task relates to each of other forms, in both directions: rows of same_task.csv.

    The first that fits counts; forms of a task that stand there without one that fits are the same.
    """
    with (files("erlbench.reporting") / "same_task.csv").open(encoding="utf-8") as file:
        return list(pd.read_csv(file, keep_default_na=False).itertuples())


def compare_environments(ours: str, theirs: str) -> Comparability:
    """What two environments, as their labels name them, have to do with each other; the same in both directions."""
    one, other = Environment.of(ours), Environment.of(theirs)
    if one == other:
        return Comparability(Relation.SAME, Reason.IDENTICAL)
    if one.task != other.task:
        return Comparability(Relation.INCOMPARABLE, Reason.NAME)
    if one.settings or other.settings:
        return Comparability(Relation.INCOMPARABLE, Reason.SETTINGS)
    if one.name == other.name and one.name.startswith("dm_control/"):
        return Comparability(Relation.SAME, Reason.KEPT)  # its tasks have one version
    unnamed = None in (one.version, other.version)
    known = [fact for fact in _read_facts() if one.task in fact.tasks.split()]
    forms = {form for fact in known for form in f"{fact.forms} {fact.others}".split()}
    if not {one.form, other.form} <= forms:
        return Comparability(Relation.UNKNOWN, Reason.UNNAMED if unnamed else Reason.VERSION)
    fact = next((fact for fact in known if _fits(fact, one.form, other.form)), None)
    relation, difference = (Relation[fact.relation], fact.difference) if fact else (Relation.SAME, "")
    if unnamed and relation is not Relation.INCOMPARABLE:
        every_version = all(fact.relation == Relation.SAME.name for fact in known)
        return Comparability(Relation.SAME if every_version else Relation.UNKNOWN, Reason.UNNAMED, difference)
    reason = Reason.DIFFERENCE if difference else Reason.VERSION if relation is Relation.UNKNOWN else Reason.KEPT
    return Comparability(relation, reason, difference)


def _fits(fact: Any, form: str, other: str) -> bool:
    forms, others = fact.forms.split(), fact.others.split()
    return (form in forms and other in others) or (other in forms and form in others)


def comparable(ours: str, theirs: str) -> bool:
    """Whether a published score may stand in a figure of ours."""
    return compare_environments(ours, theirs).relation is not Relation.INCOMPARABLE


def same_task(ours: str, theirs: str) -> bool:
    """Whether dynamics and reward are the same, as far as is known, so that runs may be tested against each other."""
    return compare_environments(ours, theirs).relation is Relation.SAME


def base_name(env: str) -> str:
    """An environment without module, version, preset and settings: Ant of `Ant-v5@paper (frame_skip=2)`."""
    return Environment.of(env).name


def similar_budget(ours: int, published: int | None) -> bool:
    """Whether a published final value belongs into a figure of ours: our budget reaches 90 % of it, at most 110 %."""
    return published is not None and 0.9 * published <= ours <= 1.1 * published
