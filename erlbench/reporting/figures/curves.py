"""The figure of learning curves: over every axis on the page, over one or two of these on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from erlbench.reporting.data.comparability import comparable, similar_budget
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.runs import Run
from erlbench.reporting.data.seeds import sample_words
from erlbench.reporting.figures.axis import AXES, averaged, seed_curve
from erlbench.reporting.figures.captions import curve_caption
from erlbench.reporting.figures.colours import colour_numbers
from erlbench.reporting.figures.model import Band, Panel, Plot, RunLine, Series
from erlbench.reporting.figures.references import behind, published_generations, published_points
from erlbench.reporting.figures.training import training_of, training_series
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.statistics.curves import MOST_POINTS, Curve, band_kind
from erlbench.reporting.statistics.intervals import FEWEST_RUNS

FEWER_POINTS = 60  # of a mean that only the page shows

Drawn = tuple[RunSet, list[tuple[Run, RunLine]]]  # a run set, and its runs that have a point on an axis
Means = dict[object, tuple[Curve, dict[str, Band]]]


@dataclass(frozen=True)
class Curves:
    """Makes the learning curves of a report. Means that several pages show are computed once."""

    published: Published
    options: ReportOptions
    means: Means = field(default_factory=dict)

    def plot(self, comparison: Comparison, group: Group) -> Plot | None:
        """The returns of a group's evaluations. None when no run has an evaluation that can be drawn.

        Paper has the axis of the options, or else the study's own and another one. These two are training steps and
        training time where the study names none.
        """
        asked = self.options.x
        wanted = [asked] if asked else list(dict.fromkeys((comparison.x, "timesteps", "time")))[:2]
        found = {name: self._drawn(group, name, zero=name in wanted) for name in AXES}
        training = training_of(group.run_sets)
        paper = [name for name in wanted if found[name] or name in training] or wanted[-1:]
        if not (found[paper[0]] or paper[0] in training):
            return None
        panels = {
            name: self._panel(
                comparison, group, name, drawn, training.get(name, ()), MOST_POINTS if name in paper else FEWER_POINTS
            )
            for name, drawn in found.items() if drawn or name in paper or name in training
        }  # fmt: skip
        run_sets = [run_set for run_set, _ in found[paper[0]] or training[paper[0]]]
        band = band_kind(
            [len({run.seed for run in averaged(run_set)}) for run_set in run_sets], self.options.style.band
        )
        plot = Plot(kind="curves", title=group.env, panels=panels, paper=paper, band=band)
        return replace(plot, caption=curve_caption(plot, comparison, group, run_sets, self.published, self.options))

    def _drawn(self, group: Group, name: str, zero: bool) -> list[Drawn]:
        """What an axis shows; with `zero` also runs that never leave its zero."""
        found: list[Drawn] = []
        for run_set in AXES[name].drawable(group.run_sets)[0]:
            own = []
            for run in run_set.runs:
                x, y = AXES[name].evaluations(run.evaluations, self.options.style.smooth)
                if len(x) and (zero or x[-1] > 0):
                    status = "" if run.status == "done" else f" ({run.status})"
                    own.append((run, RunLine(f"seed {run.seed}{status}", x, y)))
            if own:
                found.append((run_set, own))
        return found

    def _panel(
        self, comparison: Comparison, group: Group, name: str, drawn: Sequence[Drawn],
        training: Sequence[tuple[RunSet, Sequence[RunLine]]], most: int,
    ) -> Panel:  # fmt: skip
        """The curves over one axis, each with at most `most` points."""
        lines = [*(one for _, own in drawn for _, one in own), *(one for _, own in training for one in own)]
        largest = max((float(one.x[-1]) for one in lines), default=0.0)
        label, unit = AXES[name].unit(largest)
        colours = colour_numbers(run_set.name for run_set in comparison.run_sets)
        levels = published_levels(comparison, group, self.published)
        series = []
        for run_set, own in drawn:
            mean = [pair for pair in own if pair[0].done] or own
            line, bands = self._mean(name, mean, most, len(run_set.seeds) >= FEWEST_RUNS)
            thin = [one for _, one in own if len(mean) > 1 or one is not mean[0][1]]
            series.append(Series(
                label=f"{run_set.label} ({_seeds(run_set)})", group=run_set.label, x=line.x / unit, y=line.mean,
                colour=colours[run_set.name], averaged=len({run.seed for run, _ in mean}),
                level=levels.get(run_set.name), bands=bands,
                runs=[RunLine(one.name, one.x / unit, one.y) for one in thin],
            ))  # fmt: skip
        if name == "timesteps":
            run_sets = [run_set for run_set, _ in drawn]
            series += behind(run_sets, colours, self.published)
            series += published_points(comparison, group, self.published)
        if name == "generation":
            series += published_generations(comparison, group, colours, self.published)
        series += [training_series(run_set, own, colours[run_set.name], unit) for run_set, own in training]
        return Panel(x=label, y="Return" if training else "Evaluation return", series=series, steps=True)

    def _mean(
        self, name: str, runs: Sequence[tuple[Run, RunLine]], most: int, interval: bool
    ) -> tuple[Curve, dict[str, Band]]:
        """The mean over the runs and its bands, with that of the bootstrap where an `interval` is wanted."""
        key = name, most, interval, tuple((run.path, len(run.evaluations)) for run, _ in runs)
        if key not in self.means:  # a run has another length where another page cuts it
            points = [(run.seed, (one.x, one.y)) for run, one in runs]
            line, bands = seed_curve(points, "range", most), {}
            if len(runs) > 1:
                bands["range"] = line.low, line.high
            if interval and line.runs > 1:
                found = seed_curve(points, "interval", most)
                bands["interval"] = found.low, found.high
            self.means[key] = line, bands
        return self.means[key]


def published_levels(comparison: Comparison, group: Group, published: Published) -> dict[str, float]:
    """The published means that may be drawn beside our curves, by the names of their run sets."""
    if not comparable(group.env, group.env_published):
        return {}
    levels = {}
    for run_set in group.run_sets:
        found = published.find(comparison.source, comparison.table, group.env_published, run_set.published, "mean")
        if found and similar_budget(group.total_timesteps, found.steps):
            levels[run_set.name] = found.value
    return levels


def _seeds(run_set: RunSet) -> str:
    drawn = [run.seed for run in run_set.runs if len(run.evaluations)]
    count = len({*drawn})
    text = sample_words(count, len(drawn), run_set.planned)
    unfinished = count - len(run_set.seeds)
    return text + (f", {unfinished} unfinished" if unfinished else "")
