"""The figure for a paper: the learning curves of all environments, a panel each, with one legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from erlbench.reporting.data.caveats import caveats
from erlbench.reporting.data.comparison import Comparison, Group
from erlbench.reporting.figures.colours import colour_numbers
from erlbench.reporting.figures.model import CURVE, PALETTE, Panel, Plot, Series, Sheet
from erlbench.reporting.paper_style import PaperStyle, chosen
from erlbench.reporting.statistics.curves import band_words

NAME = "grid"


def grid_plot(comparison: Comparison, plots: Sequence[tuple[Group, Plot]], style: PaperStyle) -> Plot | None:
    """One figure of the plots of environments, each with the axis that it has on paper first; None without any.

    An algorithm has one colour, dash and marker in all panels. Other people's runs, published numbers and training
    returns are left out.
    """
    shown = chosen(plots, style.environments, lambda one: one[0].env)
    labels = {one.label: style.label(one.name, one.label) for one in comparison.run_sets if one.exists}
    names = {one.label: one.name for one in comparison.run_sets if one.exists}
    order = chosen(labels, style.algorithms, names.__getitem__)
    panels: dict[str, Panel] = {}
    for group, plot in shown:
        series = [one for one in plot.panels[plot.paper[0]].series if one.look == CURVE and one.group in order]
        if series:
            twice = sum(other.env == group.env for other, _ in shown) > 1
            panels[comparison.slug(group)] = replace(
                plot.panels[plot.paper[0]],
                title=style.label(group.env, comparison.group_name(group) if twice else group.env),
                series=[_plain(one, labels[one.group]) for one in series],
            )
    if not panels:
        return None
    bands = {plot.band for _, plot in shown}
    band = bands.pop() if len(bands) == 1 else "range"
    numbers = colour_numbers(one.name for one in comparison.run_sets)
    chosen_colours = {number: style.colours[name] for name, number in numbers.items() if name in style.colours}
    palette = tuple(chosen_colours.get(i, PALETTE[i % len(PALETTE)]) for i in range(1 + max(numbers.values())))
    return Plot(
        kind="grid",
        title="",
        panels=panels,
        paper=[*panels],
        band=band,
        sheet=Sheet(
            width=style.width, height=style.height, columns=style.columns, font=style.font, family=style.family,
            palette=palette,
        ),
        caption=[
            f"Evaluation returns on all environments of the page, mean over runs; band: {band_words(band)}.",
            *caveats(comparison),
        ],
    )  # fmt: skip


def _plain(series: Series, label: str) -> Series:
    """A curve as a small panel shows it: its mean and band alone."""
    return replace(series, label=label, group=label, runs=(), level=None)
