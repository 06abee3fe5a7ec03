"""Whether scores of two environments compare, and why; and whether budgets are near.

What is known is about Gymnasium's MuJoCo tasks, of which papers ran versions 1 to 3: rows of same_task.csv.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import pandas as pd

# Relations. SAME: dynamics and reward are the same, as far as is known, so that runs are tested against each other;
# SIMILAR, UNKNOWN: scores share a figure, and nothing is tested; INCOMPARABLE: they share none.
SAME, SIMILAR, UNKNOWN, INCOMPARABLE = "SAME", "SIMILAR", "UNKNOWN", "INCOMPARABLE"
COPIES = {"AntPyBulletEnv": "AntBulletEnv"}  # pybullet-gym's copy of PyBullet's task: the same robot, reward and ends
OLD = (None, 1, 2, 3)  # versions of papers; None is one that is not named


class Comparability(NamedTuple):
    """What one environment has to do with another, and why, in a sentence."""

    relation: str
    note: str


class Environment(NamedTuple):
    """The parts of a label such as `module:Ant-v5@paper (frame_skip=2)`."""

    name: str  # `Ant`
    version: int | None  # 5; None where the label names none
    preset: str  # `paper`; empty also for `v5`, the environment as it is registered
    settings: str  # `frame_skip=2`

    @property
    def task(self) -> str:
        """The name as papers write it: `WalkerWalk` for `dm_control/walker-walk`."""
        space, _, name = self.name.rpartition("/")
        if space == "dm_control":
            return name.title().replace("-", "")
        return name if space == "erlbench" else COPIES.get(self.name, self.name)

    @property
    def form(self) -> str:
        """Its name in same_task.csv: a version or a preset of version 5; empty where that has none."""
        if self.preset:
            return self.preset if self.version == 5 else ""
        return "old" if self.version in OLD else f"v{self.version}"


def split_label(label: str) -> Environment:
    """The parts of an environment's label."""
    env, _, settings = label.partition(" (")
    env, _, preset = env.partition("@")
    env = env.rpartition(":")[2]
    name, _, version = env.rpartition("-v")
    numbered = version.isdecimal()
    return Environment(
        name if numbered else env,
        int(version) if numbered else None,
        "" if preset == "v5" else preset,
        settings.removesuffix(")"),
    )


@cache
def _read_facts() -> list[Any]:
    """How each of some forms of a task relates to each of other forms, in both directions: rows of same_task.csv.

    The first that fits counts; forms of a task that stand there without one that fits are the same.
    """
    with (files("erlbench.reporting") / "same_task.csv").open(encoding="utf-8") as file:
        return list(pd.read_csv(file, keep_default_na=False).itertuples())


def compare_environments(ours: str, theirs: str) -> Comparability:
    """What two environments, as their labels name them, have to do with each other; the same in both directions."""
    relation, note = _relate(ours, theirs)
    return Comparability(relation, note + (": the scores are not comparable." if relation == INCOMPARABLE else "."))


def _relate(ours: str, theirs: str) -> tuple[str, str]:
    one, other = split_label(ours), split_label(theirs)
    beside, kept = f"{ours} is compared with", f"{ours} has the model and the reward of {theirs}"
    if one == other:
        return SAME, f"{ours} is {theirs}"
    if one.task != other.task:
        return INCOMPARABLE, f"{beside} numbers for {theirs}, another environment"
    if settings := one.settings or other.settings:
        name = ours.partition(" (")[0]
        return INCOMPARABLE, f"{name} is compared with {theirs}, and one of them has settings of its own ({settings})"
    if one.name == other.name and one.name.startswith("dm_control/"):  # its tasks have one version
        return SAME, kept
    version = f"{beside} numbers for {theirs}, another version of the environment"
    unnamed = f"{beside} {theirs} of a version that is not named" if None in (one.version, other.version) else ""
    facts = [fact for fact in _read_facts() if one.task in fact.tasks.split()]
    forms = {form for fact in facts for form in f"{fact.forms} {fact.others}".split()}
    if not {one.form, other.form} <= forms:
        return UNKNOWN, unnamed or version
    fact = next((fact for fact in facts if _fits(fact, one.form, other.form)), None)
    relation, difference = (fact.relation, fact.difference) if fact else (SAME, "")
    if unnamed and relation != INCOMPARABLE:
        if all(fact.relation == SAME for fact in facts):
            return SAME, f"{unnamed}; 2 and 3 have its dynamics and reward"
        return UNKNOWN, unnamed + (f"; {difference}" if difference else "")
    if difference:
        return relation, f"{ours} is not {theirs}: {difference}"
    return relation, version if relation == UNKNOWN else kept


def _fits(fact: Any, form: str, other: str) -> bool:
    forms, others = fact.forms.split(), fact.others.split()
    return (form in forms and other in others) or (other in forms and form in others)


def comparable(ours: str, theirs: str) -> bool:
    """Whether a published score may stand in a figure of ours."""
    return compare_environments(ours, theirs).relation != INCOMPARABLE


def base_name(env: str) -> str:
    """An environment without module, version, preset and settings: Ant of `Ant-v5@paper (frame_skip=2)`."""
    return split_label(env).name


def similar_budget(ours: int, published: int | None) -> bool:
    """Whether a published final value belongs into a figure of ours: our budget reaches 90 % of it, at most 110 %."""
    return published is not None and 0.9 * published <= ours <= 1.1 * published
