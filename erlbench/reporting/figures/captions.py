"""What the captions of learning curves say."""

from __future__ import annotations

from collections.abc import Sequence

from erlbench.records.config import TRAINING
from erlbench.reporting.data.comparability import comparable
from erlbench.reporting.data.comparison import Comparison, Group, RunSet
from erlbench.reporting.data.published import Published
from erlbench.reporting.data.score import CURVE
from erlbench.reporting.figures.axis import AXES, averaged, smoothing_note
from erlbench.reporting.figures.model import Plot
from erlbench.reporting.figures.references import points_notes, reference_notes
from erlbench.reporting.figures.training import DASHED, DASHED_RUNS
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.statistics.curves import band_words


def curve_caption(
    plot: Plot, comparison: Comparison, group: Group, run_sets: Sequence[RunSet], published: Published,
    options: ReportOptions,
) -> list[str]:  # fmt: skip
    """The caption and then notes of a plot's panels on paper, the first of which shows the `run_sets`."""
    axes = [AXES[name] for name in plot.paper]
    series = [one for name in plot.paper for one in plot.panels[name].series]
    dotted = any(one.level is not None for one in series)
    several = max(len(averaged(run_set)) for run_set in run_sets) > 1
    which = "finished runs" if any(run_set.done for run_set in run_sets) else "runs"
    seeds = ", a seed by the mean of its runs" if any(len(one.done) > len(one.seeds) for one in run_sets) else ""
    lines = (
        f"Lines: mean of the {which}{seeds}, up to where the first of them ends; thin: single runs; band: "
        f"{band_words(plot.band)}."
        if several
        else "Lines: single runs, no band."
    )
    dashed = [one.look == DASHED for one in series]
    what = "training return" if dashed and all(dashed) else "return of the evaluations"
    caption = [
        f"{group.env}: {what} over {' and over '.join(axis.words for axis in axes)}; budget "
        f"{group.limit}. {lines}"
        + (" Dotted: published mean." if dotted else "")
        + (f" {DASHED_RUNS}" if any(dashed) else "")
    ]
    if stretch := next((one.stretch for one in run_sets if one.metric == CURVE), None):
        caption.append(f"The scores of the tables are means of these curves {stretch}.")
    if nominal := [run_set.label for run_set in run_sets if run_set.nominal]:
        caption.append(f"{' and '.join(nominal)}: that budget counts a generation as one episode of full length.")
    caption += [f"{note}."] if (note := smoothing_note(options.style.smooth, "evaluations")) else []
    caption += _time_notes(run_sets) if "time" in plot.paper else []
    chosen = (options.x,) if options.x else (comparison.x, "time")
    caption += filter(None, dict.fromkeys(AXES[name].drawable(group.run_sets)[1] for name in chosen))
    caption += _published_notes(comparison, group, run_sets, dotted, published)
    caption += _imported_notes(run_sets)
    return [*caption, *reference_notes(series), *points_notes(series)]


def _imported_notes(run_sets: Sequence[RunSet]) -> list[str]:
    """Whose runs other programs made, and which of them evaluated no policy."""
    found: dict[str, None] = {}
    for run_set in run_sets:
        for about in (run.imported for run in run_set.runs if run.imported):
            means = "; running means of training returns" if about.returns == TRAINING else ""
            found[f"{run_set.label} ({about.origin}{means})"] = None
    return [f"Imported: {', '.join(found)}."] if found else []


def _time_notes(run_sets: Sequence[RunSet]) -> list[str]:
    notes = []
    if any(run.simulated_time for run_set in run_sets for run in run_set.runs):
        notes.append("Some runs are in simulated time: their times are modelled, not measured.")
    hardware = sorted({run.machine.hardware for run_set in run_sets for run in run_set.runs if run.machine.cpu})
    if len(hardware) > 1:
        notes.append("The runs are from several machines: their times compare no algorithms.")
    return notes


def _published_notes(
    comparison: Comparison, group: Group, run_sets: Sequence[RunSet], lines: bool, published: Published
) -> list[str]:
    known = any(
        published.find(comparison.source, comparison.table, group.env_published, run_set.published, "mean")
        for run_set in run_sets
    )
    if lines:
        return [f"Dotted: mean published in {comparison.source}, {comparison.table}, on {group.env_published}."]
    if not known:
        return []
    same = comparable(group.env, group.env_published)
    other = "budget" if same else f"environment ({group.env_published})"
    return [f"Published final values are left out: they belong to another {other}."]
