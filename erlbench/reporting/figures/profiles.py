"""The figure of performance profiles: which share of an algorithm's runs scores above a threshold."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from erlbench.reporting.data.comparison import Comparison
from erlbench.reporting.data.score import METRICS
from erlbench.reporting.figures import style
from erlbench.reporting.statistics.estimates import performance_profile
from erlbench.reporting.statistics.normalised import normalised
from erlbench.words import counted


def draw_profiles(comparison: Comparison, path: Path) -> list[str]:
    """Run-score distributions over all environments (Agarwal et al. 2021).

    Draws nothing, and returns no sentences, without scores that can be pooled (`normalised`) or with single runs only.
    """
    pooled = normalised(comparison)
    scores = pooled.scores
    if len(scores) < 2 or max(len(values) for own in scores.values() for values in own) < 2:
        return []
    values = [np.concatenate(own) for own in scores.values()]
    labels = {
        run_set.name: run_set.label for group in comparison.groups for run_set in group.run_sets if run_set.exists
    }
    order = list(labels)
    thresholds = np.linspace(min(0.0, *map(np.min, values)), 1.02 * max(map(np.max, values)), 400)
    with style.new_figure(style.WIDTH, 2.6 + 0.17 * -(-len(scores) // 3)) as figure:
        axes = figure.subplots()
        for entry, own in zip(scores, values, strict=True):
            look = style.line_style(order.index(entry))
            shown = f"{labels[entry]} ({counted(own.size, 'run')})"
            axes.plot(thresholds, performance_profile(own, thresholds), **look, markevery=40, label=shown)
        axes.set(xlabel=pooled.axis, ylabel="Share of runs above", ylim=(-0.02, 1.02))
        figure.legend(loc="outside lower center", ncols=style.legend_columns(len(scores)))
        style.save(figure, path)
    environments = ", ".join(group.env for group in comparison.groups if group.run_set(comparison.baseline))
    return [
        f"Performance profile: share of all runs on {environments} whose {METRICS[comparison.metric].title} is above "
        f"the threshold; returns: {pooled.words}; after {comparison.budget}."
    ]
