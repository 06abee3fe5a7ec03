"""A report as users ask for it, on the command line or in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from erlbench import errors
from erlbench.bundle import is_bundle, open_bundles
from erlbench.errors import UsageError, check_known
from erlbench.experiment.studies import FILE, known_studies
from erlbench.experiment.study import Study
from erlbench.records.run import run_folders
from erlbench.reporting import build_comparison, build_report
from erlbench.reporting.cells import Warn
from erlbench.reporting.checklist import NAME as CHECKLIST
from erlbench.reporting.documents import Table
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.page_cells import ALL_RUNS, REFERENCE
from erlbench.reporting.studies import is_of_folder

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
        known = _page_studies(opened, warn or errors.warn)
        for name in options.study:
            check_known(name, known, f"unknown study '{name}'")
        chosen = {name: known[name] for name in options.study or known}
        profiles = {name for study in chosen.values() for name in study.profiles}
        names = {folder.resolve().name for folder in opened}
        profile = names.pop() if len(names) == 1 and names <= profiles and not options.at else None
        return build_report(options, chosen, profile, warn), None


def _page_studies(folders: Sequence[Path], warn: Warn) -> dict[str, Study]:
    """The studies that have names for pages: the suite's, the user's, and those of the folders.

    These are in a study.toml, no link, in one of `folders` or between it and one of its runs.
    """
    runs = [(root, run) for root in folders for run in run_folders(root)]
    above = dict.fromkeys(
        folder for root, run in runs for folder in reversed(run.parents) if root in (folder, *folder.parents)
    )
    with_study = [folder for folder in above if (folder / FILE).is_file() and not (folder / FILE).is_symlink()]
    studies = known_studies(warn=warn, folders=with_study, joined=True)
    for name in [name for name in studies if name in (ALL_RUNS, CHECKLIST) or f"{name}-".startswith(f"{REFERENCE}-")]:
        message = f"the study '{name}' has the name of another page of the report; give it another name"
        if not is_of_folder(studies[name]):
            raise UsageError(message)
        warn(f"{studies.pop(name).file}: {message}; left out")
    return studies
