"""The report: reads run directories, writes tables and figures; imports nothing that runs cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from erlbench import errors
from erlbench.errors import ErlbenchError, UsageError, nearest
from erlbench.records.axes import AXES
from erlbench.reporting.citations import FILE as REFERENCES
from erlbench.reporting.citations import write_references
from erlbench.reporting.data.comparison import REFERENCE, Comparison, everything, without_judgement
from erlbench.reporting.data.cut import cut_runs
from erlbench.reporting.data.departures import with_departures
from erlbench.reporting.data.published import load_published
from erlbench.reporting.data.remarks import Remark, RemarkKind, as_remark, remark
from erlbench.reporting.data.runs import StoredRun, find_runs
from erlbench.reporting.data.sides import read_sides
from erlbench.reporting.data.study_comparisons import (
    check_profile,
    comparisons_of,
    folder_runs,
    is_of_folder,
    page_of,
    was_run,
)
from erlbench.reporting.documents.model import Record as Record
from erlbench.reporting.documents.model import Table
from erlbench.reporting.folder import prepare_folder
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.pages.charts import ChartData
from erlbench.reporting.pages.index import write_index
from erlbench.reporting.pages.page import SMOKE, Maker
from erlbench.reporting.tables.differences import differences_table
from erlbench.reporting.verdict.answers import StudyAnswer, answer_study
from erlbench.reporting.verdict.words import FILE as VERDICTS
from erlbench.reporting.verdict.words import write_verdicts

if TYPE_CHECKING:
    from erlbench.experiment.study import Study


def build_report(
    results: Sequence[Path], out: Path, studies: Mapping[str, Study], profile: str | None,
    warn: Callable[[Remark], None] | None = None, options: ReportOptions | None = None, reference: Path | None = None,
    named: bool = False,
) -> Path:  # fmt: skip
    """Read the runs below `results`, write the report to `out`, and return the path of its `index.html`.

    `profile` chooses the studies' profile; None takes, study by study, the one that most of the runs fit. A study has a
    page if it was run (`was_run`); `named`, where the user chose the studies, gives one to each that shares a cell with
    the runs. All runs together stand on the page `all-runs`. `options` add to what is shown; their `at` cuts the runs,
    and then no study has a page. The runs below `reference` come first: a page of all, and one of each study with some.

    `warn` gets whatever cannot be used (default: it is printed on standard error); the report lists it. Raises
    `UsageError` when there is no run, no such profile, or `out` cannot be written.
    """
    report = _Report(out, warn, options)
    if report.options.at and (named or profile is not None):
        raise UsageError("--at cuts all runs at the same moment, whatever study they belong to; leave --study out")
    check_profile(studies, profile)
    runs = find_runs(results, report.collect)
    _check_baseline(report.options.baseline, runs)
    report.options.style.check((run.name for run in runs), (run.env for run in runs))
    known = report.reference_pages(reference, studies)
    if at := report.options.at:
        runs = cut_runs(runs, at, report.collect)
        page = everything(runs, f"All runs after {at}", at)
        return report.write([page], runs, known=known)
    pages = {name: report.pages_of(study, runs, profile, named) for name, study in studies.items()}
    for name in (name for name, own in pages.items() if named and not own):
        report.collect(remark(RemarkKind.NO_PAGE, study=name, profile=f", profile {profile}" if profile else ""))
    comparisons = [page for own in pages.values() for page in own]
    asked = {run.path for page in comparisons if not page.tested for run in page.runs}
    whole = everything(runs)
    whole = replace(whole, tested=not {run.path for run in whole.runs} <= asked)
    if comparisons and all(page.profile == SMOKE for page in comparisons):
        whole = without_judgement(whole)
    return report.write([*comparisons, whole], runs, known=known)


def build_comparison(
    folders: Sequence[Path], out: Path, warn: Callable[[Remark], None] | None = None,
    options: ReportOptions | None = None,
) -> tuple[Path, Table]:  # fmt: skip
    """Write a report that sets folders of results side by side to `out`: the path of its `index.html`, and its table.

    The first folder is what the others are compared with. Raises `UsageError` as
    `build_report` does, and for fewer than two folders.
    """
    report = _Report(out, warn, options)
    sides = read_sides(folders, report.collect)
    runs = [run for side in sides for run in side.renamed]
    table = differences_table(sides, report.options.metric)
    return report.write([everything(runs, "All runs side by side")], runs, table), table


class _Report:
    """What is written where, and the warnings on the way."""

    def __init__(self, out: Path, warn: Callable[[Remark], None] | None, options: ReportOptions | None) -> None:
        self.out, self.options = out, options or ReportOptions()
        _check_panels(self.options)
        self._warn = warn or errors.warn
        self._warnings: dict[Remark, None] = {}  # in their order
        self.answers: dict[str, StudyAnswer] = {}  # by the names of pages

    def collect(self, said: Remark | str) -> None:
        """Pass a warning on, once."""
        warning = as_remark(said)
        if warning not in self._warnings:
            self._warnings[warning] = None
            self._warn(warning)

    def pages_of(self, study: Study, runs: Sequence[StoredRun], profile: str | None, named: bool) -> list[Comparison]:
        """The study's pages, and the warnings about its runs; neither for a study that was not run.

        A study of the folder itself has a page in any case. What a study asks is answered.
        """
        warnings: list[Remark | str] = []
        runs, of_folder = folder_runs(study, runs), is_of_folder(study)
        if of_folder and profile not in study.profiles:  # the folder has the name of another study's profile
            profile = None
        found = comparisons_of(study, runs, profile, warnings.append)
        if not found and of_folder:
            found = [page_of(study, profile or next(iter(study.profiles)), ())]
        pages = [_prepared(page, study) for page in found if named or of_folder or was_run(page)]
        for page in pages:
            if (study.compare or study.claim or of_folder) and page.profile != SMOKE:
                metric = self.options.metric
                self.answers[page.name] = answer_study(study, page.profile, runs, warnings.append, metric)
        if pages or named or any(study.name in run.machine.studies for run in runs):
            for warning in warnings:
                self.collect(warning)
        return pages

    def reference_pages(self, reference: Path | None, studies: Mapping[str, Study]) -> list[Comparison]:
        """All runs below `reference`, and the studies of which some are, each with the profile of most of these.

        These runs are incomplete as they are kept: what lacks a file is simply not drawn.
        """
        if reference is None:
            return []
        runs = find_runs([reference], _ignore)
        pages = []
        for study in studies.values():
            if found := comparisons_of(study, runs, None, _ignore):
                most = max(found, key=lambda page: len(page.runs))
                name, title = f"{REFERENCE}-{study.name}", f"Reference results: {study.title}"
                pages.append(replace(_prepared(most, study), name=name, title=title))
        return [replace(everything(runs), name=REFERENCE, title="Reference results"), *pages]

    def write(
        self, comparisons: Sequence[Comparison], runs: Sequence[StoredRun], *tables: Table,
        known: Sequence[Comparison] = (),
    ) -> Path:  # fmt: skip
        """Write a page for each of the `known` comparisons and of the others, `tables` on the last one; the index."""
        charts = ChartData(sum(len(one.runs) for one in known) + len(runs))
        try:
            prepare_folder(self.out)
            maker = Maker(
                out=self.out, published=load_published(), warn=self.collect, options=self.options, charts=charts
            )
            quiet = replace(maker, warn=_ignore)
            pages = [replace(quiet.write(self.options.judged(one)), known=True) for one in known]
            judged = [self.options.judged(one) for one in comparisons]
            pages += [maker.write(one, answer=self.answers.get(one.name)) for one in judged[:-1]]
            pages.append(maker.write(judged[-1], *tables))
            verdicts = {page.comparison.name: page.verdicts for page in pages}
            write_verdicts(self.out / VERDICTS, verdicts, self.answers.values())
            run_sets = [run_set for page in comparisons for run_set in page.run_sets]
            sources = [one.source for run_set in run_sets for one in maker.published.references.of(run_set)]
            write_references(self.out / REFERENCES, runs, sources)
            warnings = list(self._warnings)
            index = write_index(self.out, pages, runs, warnings, charts, sources, self.options.checklist)
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(
                f"the report cannot be written to {self.out}: {reason}; choose another folder by --out"
            ) from error
        if left_out := sum(warning.kind is RemarkKind.LEFT_OUT for warning in self._warnings):
            raise ErlbenchError(f"{index} is written; folders left out of it: {left_out}; see the lines above")
        return index


def _check_panels(options: ReportOptions) -> None:
    if options.columns and options.x and not AXES[options.x].train_column:
        raise UsageError(
            f"--columns cannot be drawn over {options.x}: train.csv does not count them; choose --x generation, "
            "timesteps or time, or draw the columns in a report of their own"
        )


def _check_baseline(baseline: str, runs: Sequence[StoredRun]) -> None:
    names = sorted({run.name for run in runs})
    if baseline and baseline not in names:
        hint = nearest(baseline, names) or f"; there are {', '.join(names)}"
        raise UsageError(f"--baseline {baseline}: no run has that name{hint}")


def _prepared(page: Comparison, study: Study) -> Comparison:
    """A study's page with what its runs' settings differ in; nothing stands beside scores that mean nothing."""
    page = with_departures(page, study)
    return without_judgement(page) if page.profile == SMOKE else page


def _ignore(said: Remark | str) -> None:
    pass
