"""The figure of performance profiles: which share of an algorithm's runs scores above a threshold."""

from __future__ import annotations

from collections import Counter

import numpy as np

from erlbench.reporting.data.comparison import Comparison
from erlbench.reporting.data.seeds import sample_words
from erlbench.reporting.figures.colours import colour_numbers
from erlbench.reporting.figures.model import Panel, Plot, Series
from erlbench.reporting.statistics.baseline import groups_with_baseline
from erlbench.reporting.statistics.estimates import performance_profile
from erlbench.reporting.statistics.normalised import AXIS, WORDS, normalised

THRESHOLDS = 400


def profiles_plot(comparison: Comparison) -> Plot | None:
    """Run-score distributions over all environments (Agarwal et al. 2021).

    None without scores that can be pooled (`normalised`) or with single runs only.
    """
    pooled = normalised(comparison)
    scores = pooled.scores
    if len(scores) < 2 or max(len(values) for own in scores.values() for values in own) < 2:
        return None
    values = {name: np.concatenate(own) for name, own in scores.items()}
    labels, runs = {}, Counter[str]()
    for run_set in (one for group in groups_with_baseline(comparison) for one in group.run_sets if one.exists):
        labels[run_set.name] = run_set.label
        runs[run_set.name] += sum(map(len, run_set.run_scores))
    colours = colour_numbers(labels)
    everything = np.concatenate(list(values.values()))
    x = np.linspace(min(0.0, everything.min()), 1.02 * everything.max(), THRESHOLDS)
    series = [
        Series(label=f"{labels[name]} ({sample_words(own.size, runs[name])})", group=name,
               colour=colours[name], x=x, y=performance_profile(own, x), beside=True)
        for name, own in values.items()
    ]  # fmt: skip
    environments = ", ".join(group.env for group in comparison.groups if group.run_set(comparison.baseline))
    caption = (
        f"Performance profile: share of all runs on {environments} whose {comparison.score_title} is above "
        f"the threshold; returns: {WORDS}; after {comparison.budget}."
    )
    panel = Panel(x=AXIS, y="Share of runs above", series=series, shares=True)
    return Plot(kind="profile", title="", panels={"": panel}, paper=("",), caption=[caption])
