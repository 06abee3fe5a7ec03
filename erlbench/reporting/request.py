"""A report as users ask for it, on the command line or in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from erlbench.bundle import is_bundle, open_bundles
from erlbench.errors import UsageError
from erlbench.experiment.studies import find_profile, find_study, known_studies
from erlbench.experiment.study import Study
from erlbench.reporting import build_report
from erlbench.reporting.data.comparison import ALL_RUNS, REFERENCE
from erlbench.reporting.data.remarks import Remark
from erlbench.reporting.data.sections import QUESTION
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.pages.checklist import NAME as CHECKLIST


def requested_report(
    folders: Sequence[Path], out: Path, options: ReportOptions, *, study: Sequence[str] = (),
    studies: Iterable[str] = (), profile: str | None = None, reference: Path | None = None,
    warn: Callable[[Remark], None] | None = None,
) -> Path:  # fmt: skip
    """Check the words of a request and write the report by `build_report`; the path of its `index.html`.

    `folders` and `reference` may be bundles. `study` are the names of the studies that are wanted (none: all that were
    run), `studies` files with studies of the user. Without `profile` the folders' own name chooses it, if they are
    named after one.

    Raises `UsageError` for a folder, study, profile or option that cannot be used, and when there is no run.
    """
    for folder in (*folders, *([reference] if reference else [])):
        if not folder.is_dir() and not is_bundle(folder):
            raise UsageError(f"there is no folder {folder}; give the folders that `erlbench run` wrote")
    known = known_studies(studies)
    for name in known:
        if name in (ALL_RUNS, CHECKLIST) or f"{name}-".startswith((f"{REFERENCE}-", f"{QUESTION}-")):
            raise UsageError(f"the study '{name}' has the name of another page of the report; give it another name")
    chosen = {name: find_study(known, name) for name in study or known}
    with open_bundles([*folders, *([reference] if reference else [])]) as found:
        folders, reference = found[: len(folders)], found[-1] if reference else None
        if profile is None:
            profile = None if options.at else _profile_of(folders, chosen)
        elif study:
            for one in chosen.values():
                find_profile(one, profile)
        return build_report(
            folders, out, chosen, profile, warn, options, reference, named=bool(study), counting=known.values()
        )


def _profile_of(folders: Sequence[Path], studies: Mapping[str, Study]) -> str | None:
    """The profile that all folders are named after, if any."""
    profiles = {name for study in studies.values() for name in study.profiles}
    names = {folder.resolve().name for folder in folders}
    return names.pop() if len(names) == 1 and names <= profiles else None
