"""What a report shows besides its standard tables, and how its curves are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from erlbench.errors import UsageError, nearest
from erlbench.reporting.data.comparison import Comparison, judged_group
from erlbench.reporting.data.cut import Moment, parse_moment
from erlbench.reporting.data.score import AUTO, FINAL, METRICS
from erlbench.reporting.paper_style import PaperStyle, read_style
from erlbench.reporting.statistics.curves import BANDS

PUBLISHED = "published"
FORMATS = ("png", "svg", "pdf")  # of figures; the first is the default
FAILED = ("last", "initial")
STATISTICS = ("std", "mean", "iqm", "median")  # of a paper's table: mean ± std, or with an interval
Panels = tuple[tuple[str, ...], ...]  # the columns of each panel


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of `erlbench report`; raises `UsageError` for values that cannot be meant."""

    panels: Panels = ()  # columns of train.csv that are drawn
    reach: tuple[float, ...] | None = None  # scores of the table of steps; () for the published ones, None for no table
    x: str = ""  # what curves are drawn over, of the studies' `AXES`; "" for training steps, and minutes beside them
    smooth: int = 1  # points of the moving average of curves; 1 leaves them as they are
    band: str = "auto"  # of `BANDS`
    baseline: str = ""  # the entry that all others are compared with; "" for a study's own
    metric: str = AUTO  # of `METRICS`, what a run's score is; AUTO: a study keeps the final one of its paper
    failed: str = "last"  # of `FAILED`: how failed runs are scored in the row that counts them
    at: Moment | None = None  # when all runs are compared, whatever their budgets are; None: at their ends
    formats: tuple[str, ...] = FORMATS[:1]  # of figures, some of `FORMATS`
    table: bool = False  # for a paper: algorithms and environments
    statistic: str = "std"  # of `STATISTICS`, of that table's cells
    checklist: bool = False  # of reproducibility, on a page of its own
    grid: bool = False  # a figure with the curves of all environments
    style: PaperStyle = field(default_factory=PaperStyle)  # of both

    def __post_init__(self) -> None:
        from erlbench.experiment.study import AXES  # loads the list of algorithms

        for option, value, allowed in (
            ("x", self.x, ("", *AXES)),
            ("band", self.band, BANDS),
            ("metric", self.metric, (AUTO, *METRICS)),
            ("failed", self.failed, FAILED),
            ("statistic", self.statistic, STATISTICS),
        ):
            if value not in allowed:
                hint = nearest(value, allowed) or f"; there are {', '.join(filter(None, allowed))}"
                raise UsageError(f"--{option} {value}: no such choice{hint}")
        for name in self.formats or ("",):
            if name not in FORMATS:
                raise UsageError(f"--formats {name}: no such format of figures; there are {', '.join(FORMATS)}")
        if not isinstance(self.smooth, int) or self.smooth < 1:
            raise UsageError(f"--smooth {self.smooth}: a moving average takes one point or more; 1 leaves curves as is")
        if self.at and self.panels:
            raise UsageError("--columns draws whole runs; leave --at out")

    def judged(self, comparison: Comparison) -> Comparison:
        """The comparison as the options want it judged; another baseline only where a judged entry has that name."""
        metric = FINAL if comparison.study and self.metric == AUTO else self.metric
        groups = tuple(judged_group(group, metric) for group in comparison.groups)
        judged = [run_set.name for run_set in comparison.run_sets if run_set.exists and run_set.judged]
        baseline = self.baseline if self.baseline in judged else comparison.baseline
        return replace(comparison, groups=groups, metric=metric, baseline=baseline, failed=self.failed)


def parse_options(
    columns: str = "", reach: str | None = None, at: str | None = None, formats: str = FORMATS[0],
    style: str | Path | None = None, **others: Any,
) -> ReportOptions:  # fmt: skip
    """The options from the words of the command line; `others` are fields as they are."""
    scores, moment = None if reach is None else parse_scores(reach), None if at is None else parse_moment(at)
    names = tuple(dict.fromkeys(name.strip() for name in formats.split(",")))
    how = PaperStyle() if style is None else read_style(Path(style))
    return ReportOptions(panels=parse_panels(columns), reach=scores, at=moment, formats=names, style=how, **others)


def parse_panels(text: str) -> Panels:
    """The panels of `sigma,score_es+score_sac`: a comma begins a panel, + joins columns in one."""
    panels = (tuple(name.strip() for name in panel.split("+") if name.strip()) for panel in text.split(","))
    return tuple(panel for panel in panels if panel)


def parse_scores(text: str) -> tuple[float, ...]:
    """The scores of `41.97,70.73`, lowest first; none for `published`. Raises `UsageError` for anything else."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if words == [PUBLISHED]:
        return ()
    scores = {_score(word) for word in words}
    if not scores:
        raise UsageError(f"--reach is empty: give scores such as --reach=250,475.5, or --reach={PUBLISHED}")
    return tuple(sorted(scores))


def _score(word: str) -> float:
    try:
        score = float(word)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise UsageError(
            f"--reach: '{word}' is no score; give numbers such as --reach=250,475.5, or --reach={PUBLISHED} (folders "
            "stand before it)"
        )
    return score
