"""The options of a report: its additional tables and figures, and how curves are drawn."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from erlbench.errors import UsageError, check_known
from erlbench.experiment.toml_file import TomlFile
from erlbench.options import argument, option
from erlbench.records.axes import AXES
from erlbench.reporting.score import AUTO, METRICS, Moment, parse_moment
from erlbench.settings import setting

ALGORITHMS, ENVIRONMENTS = "algorithms", "environments"
STATISTICS = ("std", "mean", "iqm", "median")
BANDS = (AUTO, "range")
MOST_LABEL = 200  # characters
_COLOUR = re.compile("#[0-9A-Fa-f]{6}")
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class PaperStyle:
    """The keys of the file."""

    algorithms: tuple[str, ...] = setting((), "shown, in this order; none: all")
    environments: tuple[str, ...] = setting((), "shown, in this order; none: all")
    labels: Mapping[str, str] = field(default_factory=dict)  # in place of names of algorithms and environments
    colours: Mapping[str, str] = field(default_factory=dict)  # of algorithms
    rows: str = setting(AUTO, "of the table; auto: the longer side", choices=(AUTO, ALGORITHMS, ENVIRONMENTS))
    statistic: str = setting("std", "of the table's cells: mean ± std, or with an interval", choices=STATISTICS)
    smooth: int = setting(1, "evaluations in a curve's moving average; 1 leaves it as it is", minimum=1, maximum=10_000)
    band: str = setting(AUTO, "of curves; auto: interval of the mean from six runs on, else range", choices=BANDS)

    def label(self, name: str, usual: str = "") -> str:
        """What an algorithm or an environment is called."""
        return self.labels.get(name, usual or name)

    def check(self, algorithms: Iterable[str], environments: Iterable[str]) -> None:
        """Raise `UsageError` for a name that no run has."""
        algorithm_names, env_names = list(dict.fromkeys(algorithms)), list(dict.fromkeys(environments))
        for what, names, candidates in (
            ("algorithm", (*self.algorithms, *self.colours), algorithm_names),
            ("environment", self.environments, env_names),
            ("algorithm or environment", self.labels, [*algorithm_names, *env_names]),
        ):
            for name in names:
                check_known(name, candidates, f"--paper: no run has the {what} '{name}'")


def read_style(path: Path) -> PaperStyle:
    """The style of a file; a `UsageError` names the line of what cannot be meant."""
    file = TomlFile(path)
    style: PaperStyle = file.build(PaperStyle, file.data, ())
    for name, colour in style.colours.items():
        if not _COLOUR.fullmatch(colour):
            file.fail(f"the colour of {name} is '{colour[:20]}'; give one such as #0072B2", ("colours", name))
    for name, label in style.labels.items():
        if not 0 < len(label) <= MOST_LABEL or not label.isprintable():
            file.fail(f"the label of {name} must be one line of at most {MOST_LABEL} characters", ("labels", name))
    return style


def select_items(items: Iterable[Item], names: Iterable[str], key: Callable[[Item], str]) -> list[Item]:
    """The items in the order of `names`; without names all, as they are."""
    available, wanted = list(items), list(names)
    return [item for name in wanted for item in available if key(item) == name] if wanted else available


PUBLISHED, STANDARD = "published", "standard"
FORMATS = ("png", "svg", "pdf")  # of figures; the first is for figures without a chart
Panels = tuple[tuple[str, ...], ...]  # the columns of each panel


def parse_panels(text: Any, what: str = "--columns") -> Panels:
    """The panels of `sigma,score_es+score_sac`: a comma begins a panel, + joins columns in one."""
    panels = (tuple(name.strip() for name in panel.split("+") if name.strip()) for panel in str(text).split(","))
    return tuple(panel for panel in panels if panel)


def parse_scores(text: Any, what: str = "--reach") -> tuple[float, ...]:
    """The scores of `41.97,70.73`, lowest first; none for `published`. Raises `UsageError` for anything else."""
    words = [word.strip() for word in str(text).split(",") if word.strip()]
    if words == [PUBLISHED]:
        return ()
    try:
        scores = sorted({float(word) for word in words})
    except ValueError:
        scores = []
    if not scores or not all(map(math.isfinite, scores)):
        raise UsageError(
            f"{what}: '{text}' is no score; give numbers such as {what}=250,475.5, or {what}={PUBLISHED} (folders "
            "stand before it)"
        )
    return tuple(scores)


def parse_style(value: Any, what: str = "--paper") -> PaperStyle:
    """The style of a file, or the standard one."""
    if value in (STANDARD, True):
        return PaperStyle()
    if not isinstance(value, str | Path):
        raise UsageError(f"{what} must be the path of a TOML file, not {value!r}")
    return read_style(Path(os.path.expanduser(value)))


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of `erlbench report`; raises `UsageError` for values that cannot be meant."""

    results: tuple[Path, ...] = argument("[DIR]...", ())
    out: Path = option(Path("report"), "folder of the report", "DIR")
    study: tuple[str, ...] = option((), "only these studies [default: all that were run]", "NAME[,NAME...]")
    baseline: str = option("", "compare all others with these runs [default: the study's own]", "NAME")
    metric: str = option(
        AUTO,
        "the score of a run: mean of its curve over the last fifth that all share, final evaluation, mean of its "
        "last ten, mean over training, ...; auto: the curve where all runs have it, else final",
        choices=(AUTO, *METRICS),
    )
    at: Moment | None = option(
        None,
        "compare all runs at this number of training steps or minutes, whatever their budgets are, by the "
        "nearest evaluation",
        "STEPS|MINUTESmin",
        parse=lambda text, _: parse_moment(str(text)),
    )
    x: str = option(
        "",
        f"x-axis of the curves: {', '.join(AXES)} [default: the paper's and training steps; without a paper's: "
        "training steps and time]",
        "AXIS",
        choices=tuple(AXES),
    )
    formats: tuple[str, ...] = option(
        (), f"write curves as {', '.join(FORMATS)} [default: charts of the page alone]", "FORMAT[,FORMAT...]"
    )
    paper: PaperStyle | None = option(
        None,
        "a table (.tex, .md, .csv) and a figure of all environments for a paper; the file has order, labels, "
        "colours, statistic, smoothing of curves",
        "[STYLE.toml]",
        bare=STANDARD,
        parse=parse_style,
    )
    reach: tuple[float, ...] | None = option(
        None,
        "a table of the training steps to these scores [without scores: the published ones of the environment]",
        "[SCORE[,SCORE...]]",
        bare=PUBLISHED,
        parse=parse_scores,
    )
    columns: Panels = option(
        (),
        "also draw these columns of train.csv, a panel each; NAME+NAME are in one panel",
        "NAME[,NAME...]",
        parse=parse_panels,
    )
    reference: Path | None = option(None, "results to open the report with, on a separate page", "DIR")
    checklist: bool = option(
        False, "the reproducibility checklist of NeurIPS, items 4 to 8 and 12, filled in from the runs"
    )
    side_by_side: bool = option(
        False, "set the folders side by side, the first one against each other: two commits, machines or people"
    )

    def __post_init__(self) -> None:
        for name in self.formats:
            if name not in FORMATS:
                raise UsageError(f"--formats {name}: no such format of figures; there are {', '.join(FORMATS)}")
        if self.columns and self.x and not AXES[self.x].train_column:
            raise UsageError(
                f"--columns cannot be drawn over {self.x}: train.csv does not count them; choose --x generation, "
                "timesteps or time, or draw the columns in a separate report"
            )
        if self.at and self.columns:
            raise UsageError("--columns draws whole runs; leave --at out")
        if self.side_by_side and (self.study or self.at or self.baseline or self.reference):
            raise UsageError("--side-by-side compares whole folders; leave --study, --at, --baseline, --reference out")

    @property
    def style(self) -> PaperStyle:
        """The style of curves, and of a paper's table and figure."""
        return self.paper or PaperStyle()
