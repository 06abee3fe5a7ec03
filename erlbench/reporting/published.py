"""References for our scores: numbers of papers and suites (published.csv), other people's runs, random policies.

Whether two environments compare is known of Gymnasium's MuJoCo tasks, of which papers ran versions 1 to 3: rows of
same_task.csv. `python -m benchmarks.random_scores ENV...` measures a random policy: uniform actions, 100 episodes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from erlbench.reporting.cells import list_rows, values_by_seed
from erlbench.reporting.score import FINAL, NEAR, SUCCESS, SUCCESS_EVER, nearest_index
from erlbench.reporting.statistics import Array, ends, group_items

# Relations. SAME: dynamics and reward are the same by our knowledge, so that runs are tested against each other;
# SIMILAR, UNKNOWN: scores share a figure, and nothing is tested; INCOMPARABLE: they share none.
SAME, SIMILAR, UNKNOWN, INCOMPARABLE = "SAME", "SIMILAR", "UNKNOWN", "INCOMPARABLE"
COPIES = {"AntPyBulletEnv": "AntBulletEnv"}  # pybullet-gym's copy of PyBullet's task: the same robot, reward and ends
OLD = (None, 1, 2, 3)  # versions of papers; None is one that is not named


class Comparability(NamedTuple):
    """How one environment relates to another, and why, in a sentence."""

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


def _read_packaged(name: str, **options: Any) -> pd.DataFrame:
    with (files("erlbench.reporting") / name).open("rb") as file:
        return pd.read_csv(file, **options)


@cache
def _read_facts() -> list[Any]:
    """How each of some forms of a task relates to each of other forms, in both directions: rows of same_task.csv.

    The first that fits counts; listed forms of a task without one that fits are the same.
    """
    return list_rows(_read_packaged("same_task.csv", keep_default_na=False))


def compare_environments(ours: str, theirs: str) -> Comparability:
    """How two environments, named by their labels, relate; the same in both directions."""
    relation, note = _relate(ours, theirs)
    return Comparability(relation, note + (": the scores are not comparable." if relation == INCOMPARABLE else "."))


def _relate(ours: str, theirs: str) -> tuple[str, str]:
    env, other = split_label(ours), split_label(theirs)
    compared, equal = f"{ours} is compared with", f"{ours} has the model and the reward of {theirs}"
    if env == other:
        return SAME, f"{ours} is {theirs}"
    if env.task != other.task:
        return INCOMPARABLE, f"{compared} numbers for {theirs}, another environment"
    if settings := env.settings or other.settings:
        name = ours.partition(" (")[0]
        return INCOMPARABLE, f"{name} is compared with {theirs}, and one of them has other settings ({settings})"
    if env.name == other.name and env.name.startswith("dm_control/"):  # its tasks have one version
        return SAME, equal
    version = f"{compared} numbers for {theirs}, another version of the environment"
    unnamed = f"{compared} {theirs} of a version that is not named" if None in (env.version, other.version) else ""
    facts = [fact for fact in _read_facts() if env.task in fact.tasks.split()]
    forms = {form for fact in facts for form in f"{fact.forms} {fact.others}".split()}
    if not {env.form, other.form} <= forms:
        return UNKNOWN, unnamed or version
    fact = next((fact for fact in facts if _fits(fact, env.form, other.form)), None)
    relation, difference = (fact.relation, fact.difference) if fact else (SAME, "")
    if unnamed and relation != INCOMPARABLE:
        if all(fact.relation == SAME for fact in facts):
            return SAME, f"{unnamed}; 2 and 3 have its dynamics and reward"
        return UNKNOWN, unnamed + (f"; {difference}" if difference else "")
    if difference:
        return relation, f"{ours} is not {theirs}: {difference}"
    return relation, version if relation == UNKNOWN else equal


def _fits(fact: Any, form: str, other: str) -> bool:
    forms, others = fact.forms.split(), fact.others.split()
    return (form in forms and other in others) or (other in forms and form in others)


def environment_notes(groups: Iterable[Any]) -> Iterator[str]:
    """A sentence for each environment whose published numbers are for another version."""
    for group in groups:
        if group.env_published and group.env_published != group.env:
            yield compare_environments(group.env, group.env_published).note


def comparable(ours: str, theirs: str) -> bool:
    """Whether a published score may be in a figure of ours."""
    return compare_environments(ours, theirs).relation != INCOMPARABLE


def base_name(env: str) -> str:
    """An environment without module, version, preset and settings: Ant of `Ant-v5@paper (frame_skip=2)`."""
    return split_label(env).name


def find_origin(env: str, cells: Iterable[Any], metric: str = FINAL) -> float:
    """The score of a random policy, else the mean return of the cells' finished runs before training, else 0.

    0 for shares of successes.
    """
    if metric in (SUCCESS, SUCCESS_EVER):
        return 0.0
    if (score := random_score(env)) is not None:
        return score
    first = [run.evaluations[0] for cell in cells for run in cell.done]
    returns = [float(row.return_mean) for row in first if row.timesteps == 0]
    return float(np.mean(returns)) if returns else 0.0


def random_score(env: str) -> float | None:
    """The mean return of a random policy, whatever the preset; None where not in the file, or with settings."""
    return None if "(" in env else random_scores().get(env.partition("@")[0])


@cache
def random_scores() -> dict[str, float]:
    """The mean returns of random policies by environment."""
    return dict(_read_packaged("random_scores.csv", index_col="env").random)


# ours, and their name in the sources
ALGORITHMS = {"td3": "TD3", "sac": "SAC", "ppo": "PPO", "ddpg": "DDPG", "trpo": "TRPO"}


@cache
def read_references() -> list[Any]:
    """The runs of one source with one algorithm in one environment, a row each, ordered as reference_sources.csv.

    `env` and `algorithm` as the source names them; `runs`: of each seed, steps and returns, both (points,); `returns`:
    what a value is the return of, with the source's caveat; then the columns of reference_sources.csv.
    """
    sources = _read_packaged("reference_sources.csv", dtype=str, keep_default_na=False)
    runs = _read_packaged("reference_runs.csv.gz", compression="gzip", dtype=str, keep_default_na=False)
    points = [runs[name].map(lambda text: np.fromstring(text, sep=" ")) for name in ("steps", "returns")]
    runs["runs"] = [*zip(*points)]
    sets = runs.groupby(["source", "env", "algorithm"], sort=False).runs.agg(tuple).reset_index()
    rows = sources.merge(sets, on="source")
    kinds = [
        "training returns" if row.algorithm in row.training_returns.split() else "evaluation returns"
        for row in list_rows(rows)
    ]
    rows["returns"] = [", ".join(filter(None, both)) for both in zip(kinds, rows.caveat)]
    return list_rows(rows)


def find_references(cell: Any) -> list[Any]:
    """The runs of the cell's algorithm in environments with the dynamics and the reward of the cell's.

    One row for each source, the most informative one first; none for a cell that is not judged.
    """
    if not cell.judged:
        return []
    names = {cell.published, *(ALGORITHMS.get(run.algo) for run in cell.runs)}
    return [
        reference
        for reference in read_references()
        if reference.algorithm in names and compare_environments(cell.env, reference.env).relation == SAME
    ]


def match_runs(done: Sequence[Any], reference: Any) -> tuple[float, list[Array], Array] | None:
    """A common step, our scores there by seed, (runs of the seed,) each, and the reference's (runs,); None without one.

    The step is the reference's point nearest to the end of the shortest run near which all our runs have an evaluation.
    """
    last_step = float(min(ends(done, "timesteps"), default=0.0))
    points = reference.runs[0][0]
    points = points[(points > 0) & (points * (1 - NEAR) <= last_step)]
    for steps in points[
        np.abs(points - min(last_step, min(steps[-1] for steps, _ in reference.runs))).argsort(kind="stable")
    ]:
        values = values_by_seed(done, partial(_return_near, steps=steps))
        other = returns_at(reference, steps)
        if not np.isnan(np.concatenate(values)).any() and len(other):
            return float(steps), values, other
    return None


def returns_at(reference: Any, steps: float) -> Array:
    """The return of each of the runs (runs,) at its point nearest to `steps`; without those that have none near."""
    returns = np.array([return_near(x, y, steps) for x, y in reference.runs])
    return returns[~np.isnan(returns)]


def _return_near(run: Any, steps: float) -> float:
    return return_near(run.evaluations.timesteps, run.evaluations.return_mean, steps)


def return_near(steps: Array, returns: Array, wanted: float) -> float:
    """The return at the point nearest to `wanted`; NaN where there is none near."""
    index = nearest_index(steps, wanted)
    return math.nan if index is None else float(returns[index])


KEY = ["source", "table", "env", "algorithm", "statistic"]
_GENERATION = re.compile(r"mean_fitness_at_gen(\d+)")
_THRESHOLD = re.compile(r"score_at_(\d+)pct")


class Threshold(NamedTuple):
    """A score that a source gives the training steps to."""

    score: Any  # a published number
    percent: str  # of the progress of `score.algorithm`
    steps: tuple[Any, ...]  # to the score, a published number for each algorithm


@cache
def read_published() -> dict[tuple[str, ...], Any]:
    """All published numbers, rows of published.csv by `KEY`; of several with the same key the first.

    `env` has the version it was measured in, `algorithm` is the label in the source; `steps` (of training) and `seeds`
    are None where not published; `remark` is the note as a table prints it.
    """
    counts = ("steps", "seeds")
    numbers = _read_packaged(
        "published.csv",
        keep_default_na=False,
        na_values=dict.fromkeys(counts, ""),
        dtype=dict.fromkeys(counts, "Int64"),
    )
    numbers = numbers.drop_duplicates(KEY).astype(dict.fromkeys(counts, object))
    numbers = numbers.where(numbers.notna(), None)
    numbers["remark"] = numbers.note + numbers.comparable.map({"no": "; do not compare"}).fillna("")
    return {tuple(getattr(row, name) for name in KEY): row for row in list_rows(numbers)}


def seeds_words(numbers: Iterable[Any]) -> str:
    """The runs that published numbers are over: ` over 6 or 10 runs`; empty where not published."""
    seeds = sorted({number.seeds for number in numbers if number.seeds})
    return f" over {' or '.join(map(str, seeds))} runs" if seeds else ""


def number_notes(numbers: Iterable[Any]) -> Iterator[str]:
    """A sentence for each remark of published numbers, with the algorithms and environments that it is on."""
    noted = group_items((number.remark, number) for number in numbers if number.note)
    for remark, of_remark in sorted(noted.items()):
        labels, envs = (dict.fromkeys(getattr(number, name) for number in of_remark) for name in ("algorithm", "env"))
        yield f"Published {', '.join(labels)} on {', '.join(envs)}: {remark}."


def find_thresholds(env: str) -> list[Threshold]:
    """The scores to which the steps are known in an environment, as the sources name it; lowest first."""
    rows = [row for row in read_published().values() if row.env == env]
    scores = [(match[1], row) for row in rows if (match := _THRESHOLD.fullmatch(row.statistic))]
    steps = group_items(((row.source, row.table, row.statistic), row) for row in rows)
    thresholds = [
        Threshold(score, percent, tuple(steps.get((score.source, score.table, f"timesteps_to_{percent}pct"), ())))
        for percent, score in scores
    ]
    return sorted(thresholds, key=lambda threshold: float(threshold.score.value))


def points_over_generations(*where: str) -> list[list[float]]:
    """The points (generation, score) of a curve in their order; `where` are the first four of `KEY`."""
    rows = [(_GENERATION.fullmatch(key[4]), row) for key, row in read_published().items() if key[:4] == where]
    return sorted([int(match[1]), row.value] for match, row in rows if match)
