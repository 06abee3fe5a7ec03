"""Scores that can be pooled over environments: 0 is a random policy, 1 the best mean of those compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from erlbench.reporting.data.origin import find_origin
from erlbench.reporting.data.page_cells import PageCells
from erlbench.reporting.statistics.estimates import (
    FEWEST_RUNS,
    NONE,
    Array,
    bootstrap_interval,
    iqm_over_environments,
    mean,
)
from erlbench.reporting.verdict.pairs import get_scores, groups_with_baseline

AXIS = "Normalised return (0: random policy, 1: best mean)"
WORDS = "each scaled so that 0 is a random policy (random_scores.csv, else runs before training) and 1 the best mean"
Scores = Mapping[str, Sequence[Array]]  # of entries, an array (seeds,) per environment


def pooled_scores(page: PageCells) -> tuple[Scores, list[float]]:
    """The scores of the entries in all environments of the baseline, and those of random policies there.

    No entry that lacks one; none at all with fewer than two environments, or where no algorithm is above a random
    policy.
    """
    groups = groups_with_baseline(page)
    origins = [find_origin(group.env, group.cells) for group in groups]
    names = [one.name for one in groups[0].cells if one.exists] if len(groups) > 1 else []
    scores = {name: [get_scores(group, name) for group in groups] for name in names}
    scores = {name: own for name, own in scores.items() if all(map(len, own))}
    above = scores and all(best > origin for best, origin in zip(_best_means(scores), origins, strict=True))
    return scores if above else {}, origins


def normalise(scores: Scores, origins: Sequence[float]) -> dict[str, list[Array]]:
    """Scores that can be pooled over environments: 0 is a random policy, 1 the best mean of those compared."""
    places = [*zip(origins, _best_means(scores), strict=True)]
    return {
        name: [(values - zero) / (best - zero) for values, (zero, best) in zip(own, places, strict=True)]
        for name, own in scores.items()
    }


def pooled_iqm(scores: Scores, origins: Sequence[float], name: str, resamples: int = 500) -> tuple[float, float, float]:
    """The interquartile mean of an entry over all environments, with its 95 % bootstrap interval.

    The best means are no constants, so all entries are resampled. No interval below `FEWEST_RUNS` seeds.
    """
    strata, width = [values for own in scores.values() for values in own], len(origins)

    def statistic(drawn: Sequence[Array]) -> float:
        entries = {entry: drawn[i * width : (i + 1) * width] for i, entry in enumerate(scores)}
        return iqm_over_environments(normalise(entries, origins)[name])

    few = min(map(len, strata)) < FEWEST_RUNS
    return statistic(strata), *(NONE if few else bootstrap_interval(statistic, strata, resamples=resamples))


def _best_means(scores: Scores) -> list[float]:
    return [max(map(mean, own)) for own in zip(*scores.values(), strict=True)]
