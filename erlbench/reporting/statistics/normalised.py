"""Scores that can be pooled over environments: on fixed scales, or relative to the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from erlbench.reporting.data.comparison import Comparison
from erlbench.reporting.data.normalisation import scale_of
from erlbench.reporting.data.runs import Array
from erlbench.reporting.statistics import estimates
from erlbench.reporting.statistics.baseline import groups_with_baseline, label, run_set_scores
from erlbench.reporting.statistics.intervals import bootstrap_interval

Interval = tuple[float, float, float]  # value, low, high
FIXED, RELATIVE = "fixed", "relative"


@dataclass(frozen=True)
class Normalised:
    """The scores of a page's entries in all environments of the baseline."""

    scores: Mapping[str, list[Array]]  # by name, an array (runs,) per environment; entries that lack none
    raw: Mapping[str, list[Array]]  # the same before
    baseline: str
    label: str  # the baseline's, in tables
    how: str  # `FIXED` or `RELATIVE`; empty without scores

    @property
    def axis(self) -> str:
        """What a figure's axis calls them."""
        if self.how == FIXED:
            return "Normalised return (0: random policy, 1: reference)"
        return f"Return relative to the mean of {self.label}"

    @property
    def words(self) -> str:
        """How they were made, for captions."""
        if self.how == FIXED:
            return "each scaled so that 0 is a random policy and 1 a published score (sources: normalisation.csv)"
        return f"each divided by {self.label}'s mean in its environment"

    def iqm(self, name: str) -> Interval:
        """The interquartile mean of an entry over all environments, with its 95 % bootstrap interval.

        The baseline's mean is no constant: where it is the scale, its runs are resampled, too.
        """
        value = estimates.iqm_over_environments(self.scores[name])
        if self.how == FIXED:
            return value, *bootstrap_interval(estimates.iqm_over_environments, self.scores[name])
        own, bases = self.raw[name], self.raw[self.baseline]
        if name == self.baseline:
            return value, *bootstrap_interval(lambda scores: estimates.relative_iqm(scores, scores), own)
        half = len(own)
        return value, *bootstrap_interval(
            lambda scores: estimates.relative_iqm(scores[:half], scores[half:]), [*own, *bases]
        )


def normalised(comparison: Comparison) -> Normalised:
    """The page's scores on fixed scales, or divided by the baseline's means where an environment has no such scale.

    Without scores with fewer than two environments, and where a mean that would divide them is not positive.
    """
    groups = groups_with_baseline(comparison)
    nothing = Normalised({}, {}, comparison.baseline, label(comparison), "")
    if len(groups) < 2:
        return nothing
    scales = [scale_of(group.env) for group in groups]
    fixed = [scale for scale in scales if scale is not None]
    means = [estimates.mean(run_set_scores(group, comparison.baseline)) for group in groups]
    how = FIXED if len(fixed) == len(groups) else RELATIVE
    if how == RELATIVE and min(means) <= 0:
        return nothing
    raw, scores = {}, {}
    for run_set in (run_set for run_set in groups[0].run_sets if run_set.exists):
        own = [run_set_scores(group, run_set.name) for group in groups]
        if all(len(values) for values in own):
            raw[run_set.name] = own
            scores[run_set.name] = (
                [scale.of(values) for scale, values in zip(fixed, own, strict=True)] if how == FIXED
                else [values / mean for values, mean in zip(own, means, strict=True)]
            )  # fmt: skip
    return Normalised(scores, raw, comparison.baseline, label(comparison), how)
