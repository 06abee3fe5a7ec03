"""A report as users ask for it, on the command line or in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from erlbench import errors
from erlbench.bundle import is_bundle, open_bundles
from erlbench.errors import UsageError
from erlbench.experiment.studies import FILE, find_study, known_studies
from erlbench.experiment.study import Study
from erlbench.records.run import run_folders
from erlbench.reporting import build_comparison, build_report
from erlbench.reporting.data.comparison import ALL_RUNS, REFERENCE
from erlbench.reporting.data.remarks import Remark, as_remark
from erlbench.reporting.data.study_comparisons import is_of_folder
from erlbench.reporting.documents.model import Table
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.pages.checklist import NAME as CHECKLIST

RESULTS = (Path("results"),)


def requested_report(options: ReportOptions, warn: Callable[[Remark], None] | None = None) -> Path:
    """Check a request and write the report by `build_report`; the path of its `index.html`.

    Folders may be bundles. A folder that is named after a profile of studies chooses it.

    Raises `UsageError` for a folder, study or option that cannot be used, and when there is no run.
    """
    folders, reference = list(options.results or RESULTS), options.reference
    for folder in (*folders, *([reference] if reference else [])):
        if not folder.is_dir() and not is_bundle(folder):
            raise UsageError(f"there is no folder {folder}; give the folders that `erlbench run` wrote")
    with open_bundles([*folders, *([reference] if reference else [])]) as found:
        folders, reference = found[: len(folders)], found[-1] if reference else None
        known = _page_studies(folders, warn or errors.warn)
        chosen = {name: find_study(known, name) for name in options.study or known}
        profile = None if options.at else _profile_of(folders, chosen)
        return build_report(folders, options.out, chosen, profile, warn, options, reference, named=bool(options.study))


def side_by_side(options: ReportOptions, warn: Callable[[Remark], None] | None = None) -> tuple[Path, Table]:
    """Set the folders of a request, which may be bundles, side by side: the page's path, and its table."""
    folders = list(options.results)
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("--side-by-side was given the same folder twice; name folders with different runs")
    with open_bundles(folders) as found:
        return build_comparison(found, options.out, warn, options)


def _page_studies(folders: Sequence[Path], warn: Callable[[Remark], None]) -> dict[str, Study]:
    """The studies that have names for pages: the suite's, the user's, those of the folders."""
    known = known_studies(warn=lambda text: warn(as_remark(text)), folders=find_study_folders(folders))
    for name, study in list(known.items()):
        if name in (ALL_RUNS, CHECKLIST) or f"{name}-".startswith(f"{REFERENCE}-"):
            message = f"the study '{name}' has the name of another page of the report; give it another name"
            if not is_of_folder(study):
                raise UsageError(message)
            warn(as_remark(f"{study.file}: {message}; left out"))
            del known[name]
    return known


def find_study_folders(roots: Sequence[Path]) -> list[Path]:
    """The folders with a study.toml, no link, that are one of `roots` or between it and one of its runs."""
    folders: dict[Path, None] = {}
    for root in roots:
        for run in run_folders(root):
            above = [folder for folder in run.parents if folder == root or root in folder.parents]
            folders |= dict.fromkeys(reversed(above))
    return [folder for folder in folders if (folder / FILE).is_file() and not (folder / FILE).is_symlink()]


def _profile_of(folders: Sequence[Path], studies: Mapping[str, Study]) -> str | None:
    """The profile that all folders are named after, if any."""
    profiles = {name for study in studies.values() for name in study.profiles}
    names = {folder.resolve().name for folder in folders}
    return names.pop() if len(names) == 1 and names <= profiles else None
