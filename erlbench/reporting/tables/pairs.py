"""The table of differences and their tests: an environment's run sets against the baseline, or each against each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.documents.formats import interval, number, p_value, with_interval
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.baseline import FEWEST_RUNS, adjusted
from erlbench.reporting.statistics.power import POWER
from erlbench.reporting.statistics.significance import LEVEL, Difference, compare

MOST_RUN_SETS = 6  # of an environment that are compared each with each


@dataclass(frozen=True)
class RunSetPair:
    """One row: a run set against another one of its environment."""

    group: Group
    run_set: RunSet
    other: RunSet
    difference: Difference
    p: float  # after Holm's correction; NaN where there are too few runs for a test

    @property
    def tested(self) -> bool:
        """Whether the pair has a test."""
        return not math.isnan(self.difference.p) and min(self.difference.runs) >= FEWEST_RUNS


def pairs_table(comparison: Comparison) -> Table[RunSetPair] | None:
    """None where no two run sets of an environment have a score, and for studies without a baseline."""
    pairs = [
        RunSetPair(group, one, two, compare(one.scores, two.scores), math.nan)
        for group in comparison.groups for one, two in _pairs(comparison, group)
    ]  # fmt: skip
    if not pairs:
        return None
    rows = _tested(comparison, pairs)
    names = {group.budget: comparison.group_name(group) for group in comparison.groups}
    columns: list[Column[RunSetPair]] = [
        Column("Environment", lambda row: row.group.budget, lambda *budget: names[budget],
               name=("env", "total_timesteps", "total_generations", "total_minutes"), words=True),
        Column("Algorithm", lambda row: row.run_set.label),
        Column("Against", lambda row: row.other.label),
        Column("Runs", lambda row: row.difference.runs, lambda n, m: f"{n}, {m}", name=("n", "n_against")),
        Column("Difference", lambda row: (row.difference.difference, *row.difference.interval), with_interval,
               name=("difference", "difference_low", "difference_high"),
               note="of the means, with its 95 % interval (Welch)."),
        Column("IQMs", lambda row: (estimates.iqm(row.run_set.scores), estimates.iqm(row.other.scores)),
               lambda a, b: f"{number(a)}, {number(b)}", name=("iqm", "iqm_against"),
               note="interquartile means."),
        Column("P(better)", lambda row: (row.difference.probability, *row.difference.probability_interval), interval,
               name=("probability_better", "probability_low", "probability_high"),
               note="the probability that a run of the first scores above one of the second, with its 95 % interval "
                    "(Newcombe)."),
        Column("p", lambda row: row.p, p_value, name="p_holm"),
        Column("p not corrected", lambda row: row.difference.p if row.tested else math.nan, name="p_welch",
               shown=False),
        Column("Detectable", lambda row: row.difference.detectable, number, name="detectable_difference",
               note=f"the smallest true difference that such samples show with {100 * POWER:.0f} % power, if "
                    "spreads are at their upper 80 % limits."),
    ]  # fmt: skip
    return Table(
        "tests", comparison.heading("differences and their tests"), columns, rows, list(_remarks(comparison, rows))
    )


def _pairs(comparison: Comparison, group: Group) -> Iterator[tuple[RunSet, RunSet]]:
    run_sets = [run_set for run_set in group.run_sets if run_set.exists and len(run_set.scores)]
    base = group.run_set(comparison.baseline)
    if base is not None:
        yield from ((run_set, base) for run_set in run_sets if run_set.name != base.name and len(base.scores))
    elif not comparison.study and len(run_sets) <= MOST_RUN_SETS:
        yield from itertools.combinations(run_sets, 2)


def _tested(comparison: Comparison, pairs: Sequence[RunSetPair]) -> list[RunSetPair]:
    """The pairs with adjusted p, and what they could have found at the level of Holm's first step."""
    families = [pair.group.env if comparison.family == "environment" else "" for pair in pairs]
    p_values = adjusted([pair.difference.p if pair.tested else math.nan for pair in pairs], families)
    tests = [sum(other.tested for other, its in zip(pairs, families) if its == family) for family in families]
    return [
        replace(pair, p=p, difference=pair.difference.at_level(LEVEL / max(1, n)))
        for pair, p, n in zip(pairs, p_values, tests, strict=True)
    ]


def _remarks(comparison: Comparison, rows: Sequence[RunSetPair]) -> Iterator[str]:
    tests = sum(row.tested for row in rows)
    of = "each environment of this table" if comparison.family == "environment" else "this table"
    yield (
        f"p: Welch's t-test, two-sided, after Holm's correction for the tests of {of} ({tests} in all), each of at "
        f"least {FEWEST_RUNS} runs a side; –: not tested."
    )
    yield (
        "A difference that is not significant, and a dash, are no sign that two are equal: smaller differences than "
        "Detectable are often missed. It is reckoned at the level of Holm's first step."
    )
