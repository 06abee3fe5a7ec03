"""A user's own studies beside the suite's: those of `studies.toml` here, and of files that `report --studies` names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from erlbench.errors import UsageError, warn
from erlbench.experiment.studies import Study, load_studies

HERE = Path("studies.toml")


def known_studies(files: Iterable[str] = (), warn: Callable[[str], None] = warn) -> dict[str, Study]:
    """All studies by name: the suite's, those of `HERE`, those of `files`, which win in this order.

    Nothing in one file makes another one unusable: `HERE`, which nobody has asked for, is left out with a warning when
    it has a mistake. A mistake in one of `files`, and a name that the suite has, is a `UsageError`.
    """
    suite = load_studies()
    studies = dict(suite)
    if HERE.is_file():
        try:
            studies |= _own(HERE, suite)
        except UsageError as error:
            warn(f"{error}; the studies of this file are left out")
    for name in files:
        studies |= _own(Path(name), suite)
    return studies


def _own(path: Path, suite: dict[str, Study]) -> dict[str, Study]:
    found = load_studies(path)
    if taken := [name for name in found if name in suite]:
        raise UsageError(f"{path}: the suite has a study '{taken[0]}' already; choose another name")
    return found
