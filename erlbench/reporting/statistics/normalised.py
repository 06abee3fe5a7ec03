"""Scores that can be pooled over environments: 0 is a random policy, 1 the best mean of those compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from erlbench.reporting.data.comparison import Comparison
from erlbench.reporting.data.origin import origin_of
from erlbench.reporting.data.runs import Array
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.baseline import groups_with_baseline, run_set_scores
from erlbench.reporting.statistics.intervals import FEWEST_RUNS, NONE, bootstrap_interval

Interval = tuple[float, float, float]  # value, low, high
AXIS = "Normalised return (0: random policy, 1: best mean)"
WORDS = "each scaled so that 0 is a random policy (random_scores.csv, else runs before training) and 1 the best mean"


@dataclass(frozen=True)
class Normalised:
    """The scores of a page's entries in all environments of the baseline."""

    raw: Mapping[str, list[Array]]  # by name, an array (seeds,) per environment; entries that lack none
    origins: tuple[float, ...]  # of the environments

    @property
    def scores(self) -> dict[str, list[Array]]:
        """The scores on the scale."""
        return {name: self._scaled(own, list(self.raw.values())) for name, own in self.raw.items()}

    def iqm(self, name: str, resamples: int = 500) -> Interval:
        """The interquartile mean of an entry over all environments, with its 95 % bootstrap interval.

        The best means are no constants, so all entries are resampled. No interval below `FEWEST_RUNS` seeds.
        """
        names, width = list(self.raw), len(self.origins)
        strata = [scores for own in self.raw.values() for scores in own]

        def statistic(drawn: Sequence[Array]) -> float:
            entries = [list(drawn[i * width : (i + 1) * width]) for i in range(len(names))]
            return estimates.iqm_over_environments(self._scaled(entries[names.index(name)], entries))

        few = min(map(len, strata)) < FEWEST_RUNS
        return statistic(strata), *(NONE if few else bootstrap_interval(statistic, strata, resamples=resamples))

    def _scaled(self, own: Sequence[Array], entries: Sequence[Sequence[Array]]) -> list[Array]:
        best = [max(estimates.mean(entry[i]) for entry in entries) for i in range(len(self.origins))]
        return [(own[i] - zero) / (best[i] - zero) for i, zero in enumerate(self.origins)]


def normalised(comparison: Comparison) -> Normalised:
    """The page's scores; none with fewer than two environments, or where no algorithm is above a random policy."""
    groups = groups_with_baseline(comparison)
    raw = {}
    for run_set in (run_set for run_set in groups[0].run_sets if run_set.exists) if len(groups) > 1 else ():
        own = [run_set_scores(group, run_set.name) for group in groups]
        if all(len(values) for values in own):
            raw[run_set.name] = own
    origins = tuple(map(origin_of, groups))
    above = [max(estimates.mean(own[i]) for own in raw.values()) > zero for i, zero in enumerate(origins) if raw]
    return Normalised(raw if all(above) else {}, origins)
