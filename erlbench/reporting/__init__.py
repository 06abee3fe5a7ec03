"""The report: reads run folders, writes tables, figures and pages; imports nothing that runs cells."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from erlbench import errors
from erlbench.bundle import STUDY, is_bundle, open_bundles
from erlbench.errors import ErlbenchError, UsageError, check_known
from erlbench.files import new_file, refuse_links, writable
from erlbench.records.read import ignore
from erlbench.records.run import run_folders
from erlbench.reporting.answers import answer_study
from erlbench.reporting.cells import LEFT_OUT, Warn, clean, list_rows
from erlbench.reporting.checklist import write_checklist
from erlbench.reporting.citations import FILE as REFERENCES
from erlbench.reporting.citations import write_references
from erlbench.reporting.differences import make_sides_page, read_sides
from erlbench.reporting.documents import Table
from erlbench.reporting.drawing import ChartData
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.page import SMOKE, Maker, write_index
from erlbench.reporting.page_cells import REFERENCE, PageCells, make_all_runs_page, score_page, without_judgement
from erlbench.reporting.published import find_references
from erlbench.reporting.runs import find_runs
from erlbench.reporting.score import AUTO, cut_runs
from erlbench.reporting.studies import (
    add_departures,
    is_of_folder,
    make_study_page,
    make_study_pages,
    select_folder_runs,
    was_run,
)
from erlbench.reporting.words import FILE as VERDICTS
from erlbench.reporting.words import write_verdicts
from erlbench.words import counted

if TYPE_CHECKING:
    from erlbench.experiment.study import Study

RESULTS = (Path("results"),)


def requested_report(options: ReportOptions, warn: Warn | None = None) -> tuple[Path, Table | None]:
    """Write the report; the path of its `index.html`, and the table of folders side by side.

    Folders may be bundles. A folder that is named after a profile of studies chooses it.

    Raises `UsageError` for a folder, study or option that cannot be used, and when there is no run.
    """
    folders = [*(options.results or RESULTS), *([options.reference] if options.reference else [])]
    for folder in folders:
        if not folder.is_dir() and not is_bundle(folder):
            raise UsageError(f"there is no folder {folder}; give the folders that `erlbench run` wrote")
    with open_bundles(folders) as opened:
        reference = opened.pop() if options.reference else None
        options = replace(options, results=tuple(opened), reference=reference)
        if options.side_by_side:
            return build_comparison(options, warn)
        studies = _select_studies(opened, warn or errors.warn)
        for name in options.study:
            check_known(name, studies, f"unknown study '{name}'")
        chosen = {name: studies[name] for name in options.study or studies}
        profiles = {name for study in chosen.values() for name in study.profiles}
        names = {folder.resolve().name for folder in opened}
        profile = names.pop() if len(names) == 1 and names <= profiles and not options.at else None
        return build_report(options, chosen, profile, warn), None


def _select_studies(folders: Sequence[Path], warn: Warn) -> dict[str, Study]:
    """The studies that can have pages: the suite's, the user's, and the folders' studies.

    A folder's study is in a study.toml, no link, in one of `folders` or between it and one of its runs.
    """
    from erlbench.experiment.studies import known_studies  # imports the registry of algorithms

    runs = [(root, run) for root in folders for run in run_folders(root)]
    above = dict.fromkeys(
        folder for root, run in runs for folder in reversed(run.parents) if root in (folder, *folder.parents)
    )
    with_study = [folder for folder in above if (folder / STUDY).is_file() and not (folder / STUDY).is_symlink()]
    return known_studies(warn=warn, folders=with_study, joined=True)


@np.errstate(all="ignore")  # scores may be too large for a mean
def build_report(
    options: ReportOptions, studies: Mapping[str, Study], profile: str | None = None, warn: Warn | None = None
) -> Path:
    """Read the runs below the folders of `options`, write the report, and return the path of its `index.html`.

    `profile` chooses the studies' profile; None takes, study by study, the one that most of the runs fit. A study has a
    page if it was run (`was_run`); one that `options` name, if it shares a cell with the runs. All runs together stand
    on the page `all-runs`. Where `options.at` cuts the runs, no study has a page. The runs below `options.reference`
    come first: a page of all, and one of each study with some.

    `warn` gets whatever cannot be used (default: it is printed on standard error); the report lists it. Raises
    `UsageError` when there is no run, or the report cannot be written.
    """
    warnings, named = Warnings(warn or errors.warn), bool(options.study)
    if options.at and named:
        raise UsageError("--at cuts all runs at the same moment, whatever study they belong to; leave --study out")
    runs = find_runs(options.results, warnings.add)
    if options.baseline:
        check_known(options.baseline, sorted({*runs.name}), f"--baseline {options.baseline}: no run has that name")
    options.style.check(runs.name, runs.env)
    references = _list_reference_pages(options.reference, studies) if options.reference else []
    if at := options.at:
        shortened = cut_runs(runs, at, warnings.add)
        page = make_all_runs_page(shortened, f"All runs after {at}", at)
        if left := len({*runs.path} - {*shortened.path}):
            page = replace(page, note=f"Left out: {counted(left, 'run')}; the warnings of the overview say why.")
        return _write(options, [*references, page], shortened, warnings)
    pages: list[PageCells] = []
    for study in studies.values():
        study_pages = _list_study_pages(study, runs, profile, named, options.metric, warnings)
        if named and not study_pages:
            chosen = f", profile {profile}" if profile else ""
            warnings.add(f"no run belongs to the study '{study.name}'{chosen}; it has no page")
        pages += study_pages
    whole = make_all_runs_page(runs)
    tested_paths = {run.path for page in pages if page.pairs == () for run in page.runs}
    if not options.baseline and {run.path for run in whole.runs} <= tested_paths:
        whole = replace(whole, pairs=())  # what studies compare is tested there
    if pages and all(page.profile == SMOKE for page in pages):
        whole = without_judgement(whole)
    return _write(options, [*references, *pages, whole], runs, warnings)


@np.errstate(all="ignore")
def build_comparison(options: ReportOptions, warn: Warn | None = None) -> tuple[Path, Table]:
    """Write a report that sets the folders of `options` side by side: the path of its `index.html`, and its table.

    The first folder is what the others are compared with. Raises `UsageError` as
    `build_report` does, and for fewer than two folders.
    """
    warnings = Warnings(warn or errors.warn)
    runs = read_sides(options.results, warnings.add)
    page = make_sides_page(runs, options.metric)
    return _write(options, [page], runs, warnings), page.tables[0]


class Warnings:
    """The warnings of a report in their order, each passed on once."""

    def __init__(self, warn: Warn) -> None:
        self._warn, self.remarks = warn, dict[str, None]()

    def add(self, text: str) -> None:
        """Pass a warning on, unless it was."""
        if (warning := clean(text)) not in self.remarks:
            self.remarks[warning] = None
            self._warn(warning)


def _list_study_pages(
    study: Study, runs: pd.DataFrame, profile: str | None, named: bool, metric: str, warnings: Warnings
) -> list[PageCells]:
    """The study's pages with its answers, and the warnings about its runs; neither for a study that was not run.

    A study of the folder itself has a page in any case. What a study asks is answered.
    """
    remarks: list[str] = []
    runs, of_folder = select_folder_runs(study, runs), is_of_folder(study)
    if of_folder and profile not in study.profiles:  # the folder has the name of another study's profile
        profile = None
    candidates = make_study_pages(study, runs, profile, remarks.append)
    if not candidates and of_folder:
        candidates = [make_study_page(study, profile or next(iter(study.profiles)), runs[:0])]
    pages = []
    for page in (_prepare_page(page, study) for page in candidates if named or of_folder or was_run(page)):
        asks = (study.compare or study.claim or of_folder) and page.profile != SMOKE
        answer = answer_study(study, page.profile, runs, remarks.append, metric) if asks else None
        pages.append(replace(page, answer=answer))
    if pages or named or any(study.name in names for names in runs.studies):
        for warning in remarks:
            warnings.add(warning)
    return pages


def _list_reference_pages(reference: Path, studies: Mapping[str, Study]) -> list[PageCells]:
    """All runs below `reference`, and the studies of which some are, each with the profile of most of these.

    These runs are incomplete as they are kept: what lacks a file is simply not drawn.
    """
    runs = find_runs([reference], ignore)
    pages = [replace(make_all_runs_page(runs), name=REFERENCE, title="Reference results", is_reference=True)]
    for study in studies.values():
        if candidates := make_study_pages(study, runs, None, ignore):
            most = max(candidates, key=lambda page: len(page.runs))
            name, title = f"{REFERENCE}-{study.name}", f"Reference results: {study.title}"
            pages.append(replace(_prepare_page(most, study), name=name, title=title, is_reference=True))
    return pages


def _write(options: ReportOptions, pages: Sequence[PageCells], runs: pd.DataFrame, warnings: Warnings) -> Path:
    """Write the report, then replace an earlier one; the path of its `index.html`."""
    out = options.out
    with writable(out, "; choose another folder by --out"):
        prepare_folder(out)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=out) as folder:
            new = Path(folder)
            index = out / _write_pages(new, options, pages, list_rows(runs), warnings).relative_to(new)
            for path in sorted(new.rglob("*")):  # a folder before its files
                place = out / path.relative_to(new)
                if path.is_dir():
                    place.mkdir(exist_ok=True)
                else:
                    path.replace(place)
    if left_out := sum(LEFT_OUT in warning for warning in warnings.remarks):
        raise ErlbenchError(f"{index} is written; folders left out of it: {left_out}; see the lines above")
    return index


def _write_pages(
    out: Path, options: ReportOptions, pages: Sequence[PageCells], runs: Sequence[Any], warnings: Warnings
) -> Path:
    """Write the pages and the index."""
    charts = ChartData(sum(len(page.runs) for page in pages if page.is_reference) + len(runs))
    maker = Maker(out=out, warn=warnings.add, options=options, charts=charts)
    quiet = replace(maker, warn=ignore)
    written = []
    for page in pages:
        scored = score_page(page, options.metric, options.baseline)
        written.append((quiet if page.is_reference else maker).write(scored))
    if options.metric != AUTO and not any(len(cell.scores) for page in written for cell in page.rows):
        warnings.add(f"--metric {options.metric}: no finished run has such a score")
    answers = [page.answer for page in pages if page.answer]
    write_verdicts(out / VERDICTS, {page.name: page.verdicts for page in written}, answers)
    cells = [cell for page in written if not page.is_reference for cell in page.rows]
    sources = [source for cell in cells for source in find_references(cell)]
    write_references(out / REFERENCES, runs, sources)
    checklist = write_checklist(out, written, runs, warnings.remarks, sources) if options.checklist else None
    return write_index(out, written, runs, warnings.remarks, charts, checklist)


def _prepare_page(page: PageCells, study: Study) -> PageCells:
    """A study's page with the departures of its runs' settings; smoke scores are compared with nothing."""
    page = add_departures(page, study)
    return without_judgement(page) if page.profile == SMOKE else page


MARKER = ".erlbench-report"


def prepare_folder(out: Path) -> None:
    """Make and mark the folder. Raises `UsageError` where it holds a link, or files and no marker."""
    out.mkdir(parents=True, exist_ok=True)
    refuse_links(out)
    marked = (out / MARKER).is_file()
    if not marked and any(not path.name.startswith(".") for path in out.iterdir()):
        raise UsageError(f"{out} holds other files and no report; choose another folder by --out")
    with open(new_file(out / MARKER), "w", encoding="utf-8") as file:
        file.write("A report of erlbench, whose files the next report to this folder replaces.\n")
