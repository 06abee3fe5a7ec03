"""Whether scores of two environments compare, and why: facts, of which tables make notes; and whether budgets are near.

The facts are about Gymnasium's MuJoCo tasks, of which papers ran versions 1 to 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


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


@dataclass(frozen=True)
class _Fact:
    """How each of some forms of a task relates to each of other forms, in both directions."""

    tasks: str
    forms: str
    others: str
    relation: Relation
    difference: str = ""


_COPIES = {"AntPyBulletEnv": "AntBulletEnv"}  # pybullet-gym's copy of PyBullet's task: the same robot, reward and ends
_SAME, _SIMILAR, _UNKNOWN, _INCOMPARABLE = Relation
_HUMANOIDS, _FORCES = "Humanoid HumanoidStandup", "one of them has contact forces and their cost"
_FACTS = (  # the first that fits counts; forms of a task that stand here without one that fits are the same
    _Fact("HalfCheetah Swimmer", "old v4 v5 paper", "old v4 v5 paper", _SAME),
    _Fact("Hopper", "v5", "old v4 paper", _SIMILAR,
          "v5 no longer pays the healthy reward on the step that ends an episode (at most 1 per episode)"),
    _Fact("Walker2d", "v5", "old v4 paper", _SIMILAR,
          "v5 gives the right foot the friction of the left one (1.9 instead of 0.9) and no longer pays the healthy "
          "reward on the step that ends an episode"),
    _Fact("InvertedPendulum", "v5", "old v4 paper", _SIMILAR, "v5 gives no reward on the step that ends an episode"),
    _Fact("InvertedDoublePendulum", "v5", "old v4 paper", _SIMILAR,
          "v5 has 9 instead of 11 observations and no bonus on the step that ends an episode"),
    _Fact("Reacher", "v5", "old v4 paper", _SIMILAR,
          "v5 computes the reward after the step instead of before it and observes 10 instead of 11 numbers"),
    _Fact("Ant", "v5", "old", _INCOMPARABLE,
          "v5 has contact forces and their cost, as with MuJoCo 1.50, but no healthy reward on the step that ends an "
          "episode; with MuJoCo 2.0 these forces were all zero"),
    _Fact("Ant", "v4 paper", "old", _SIMILAR,
          "v4 and @paper have contact forces of zero, as with MuJoCo 2.0; papers on MuJoCo 1.50 had contact forces"),
    _Fact("Ant", "paper-mujoco-1.50", "old", _SIMILAR,
          "@paper-mujoco-1.50 has contact forces, as with MuJoCo 1.50, by a newer MuJoCo"),
    _Fact("Ant", "v5 paper-mujoco-1.50", "v4 paper", _INCOMPARABLE, _FORCES),
    _Fact("Ant", "v4", "paper", _SIMILAR, "@paper has 84 more observations, which are always zero"),
    _Fact("Ant", "v5", "paper-mujoco-1.50", _SIMILAR, "v5 pays no healthy reward on the step that ends an episode"),
    _Fact("Humanoid", "v5", "old", _INCOMPARABLE,
          "v5 has another observation (348 numbers instead of 376) and a contact cost, and MuJoCo 2.0 had zero contact "
          "forces"),
    _Fact(_HUMANOIDS, "v4 v5 paper paper-mujoco-1.50", "old", _INCOMPARABLE, "Gym before 0.21 had another humanoid"),
    _Fact("Humanoid", "v5 paper-mujoco-1.50", "v4 paper", _INCOMPARABLE, "one of them has a contact cost"),
    _Fact("Humanoid", "v4", "paper", _SIMILAR, "v4 observes contact forces, where @paper has zeros"),
    _Fact("HumanoidStandup", "v4 v5 paper-mujoco-1.50", "paper", _INCOMPARABLE, "@paper has no impact cost"),
    _Fact(_HUMANOIDS, "v5", "v4 paper-mujoco-1.50", _SIMILAR, "v5 has 348 instead of 376 observations"),
    _Fact("Pusher", "v5 paper", "old v4", _INCOMPARABLE, "v5 has a heavier object, also with the preset"),
    _Fact("Pusher", "v5", "paper", _SIMILAR, "v5 computes the reward after the step instead of before it"),
    _Fact("Pusher", "v4", "old", _UNKNOWN),
)  # fmt: skip


def compare_environments(ours: str, theirs: str) -> Comparability:
    """What two environments, as their labels name them, have to do with each other; the same in both directions."""
    one, other = Environment.of(ours), Environment.of(theirs)
    if one == other:
        return Comparability(_SAME, Reason.IDENTICAL)
    if one.task != other.task:
        return Comparability(_INCOMPARABLE, Reason.NAME)
    if one.settings or other.settings:
        return Comparability(_INCOMPARABLE, Reason.SETTINGS)
    if one.name == other.name and one.name.startswith("dm_control/"):
        return Comparability(_SAME, Reason.KEPT)  # its tasks have one version
    unnamed = None in (one.version, other.version)
    known = [fact for fact in _FACTS if one.task in fact.tasks.split()]
    forms = {form for fact in known for form in f"{fact.forms} {fact.others}".split()}
    if not {one.form, other.form} <= forms:
        return Comparability(_UNKNOWN, Reason.UNNAMED if unnamed else Reason.VERSION)
    fact = next((fact for fact in known if _fits(fact, one.form, other.form)), None)
    relation, difference = (fact.relation, fact.difference) if fact else (_SAME, "")
    if unnamed and relation is not _INCOMPARABLE:
        every_version = all(fact.relation is _SAME for fact in known)
        return Comparability(_SAME if every_version else _UNKNOWN, Reason.UNNAMED, difference)
    reason = Reason.DIFFERENCE if difference else Reason.VERSION if relation is _UNKNOWN else Reason.KEPT
    return Comparability(relation, reason, difference)


def _fits(fact: _Fact, form: str, other: str) -> bool:
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
