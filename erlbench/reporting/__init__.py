"""The report: reads run directories, writes tables and figures; imports nothing of the run side."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from erlbench.errors import UsageError, nearest
from erlbench.reporting.data.comparison import check_profile, compare, everything, judged, without_judgement
from erlbench.reporting.data.published import load_published
from erlbench.reporting.data.runs import find_runs
from erlbench.reporting.options import Options
from erlbench.reporting.pages.charts import ChartData
from erlbench.reporting.pages.index import write_index
from erlbench.reporting.pages.page import SMOKE, Maker

if TYPE_CHECKING:
    from erlbench.experiment.studies import Study


def build(
    results: Sequence[Path], out: Path, studies: Mapping[str, Study], profile: str | None,
    warn: Callable[[str], None] | None = None, options: Options | None = None,
) -> Path:  # fmt: skip
    """Read the runs below `results`, write the report to `out`, and return the path of its `index.html`.

    `profile` chooses the studies' profile; None takes, study by study, the one that most of the runs fit. All runs
    together stand on the page `all-runs`. `options` add to what is shown.
    Whatever cannot be used is told to `warn` (default: standard error) and listed in the report. Raises `UsageError`
    when there is no run, no such profile, or `out` cannot be written.
    """
    warnings: list[str] = []

    def collect(message: str) -> None:
        if message not in warnings:
            warnings.append(message)
            (warn or _print)(message)

    options = options or Options()
    check_profile(studies, profile)
    runs = find_runs(results, collect)
    if options.baseline and options.baseline not in {run.name for run in runs}:
        names = sorted({run.name for run in runs})
        hint = nearest(options.baseline, names) or f"; there are {', '.join(names)}"
        raise UsageError(f"--baseline {options.baseline}: no run has that name{hint}")
    comparisons = [page for study in studies.values() for page in compare(study, runs, profile, collect)]
    comparisons = [without_judgement(page) if page.profile == SMOKE else page for page in comparisons]
    comparisons = [judged(page, options.baseline, options.metric) for page in (*comparisons, everything(runs))]
    charts = ChartData(options.smooth)
    try:
        out.mkdir(parents=True, exist_ok=True)
        maker = Maker(out, load_published(), collect, options, charts)
        return write_index(out, [maker.write(comparison) for comparison in comparisons], runs, warnings, charts)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"the report cannot be written to {out}: {reason}; choose another folder by --out") from error


def _print(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr)
