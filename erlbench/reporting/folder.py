"""The folder of a report: files of the report before it are removed, those of others stay."""

from __future__ import annotations

from pathlib import Path

from erlbench.errors import UsageError
from erlbench.files import read_text

MANIFEST = ".erlbench-report"  # the files of the report, a line each
TITLE = "<title>erlbench report</title>"


def clear(out: Path) -> set[Path]:
    """Make the folder and remove what the last report wrote; the files that stay.

    Raises `UsageError` where it holds files but no report, as some would be overwritten.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name in _listed(out):
        path = out / name
        if ".." not in path.parts and path.is_file():
            path.unlink()
    if any(not path.name.startswith(".") for path in out.iterdir()) and not _is_report(out):
        raise UsageError(f"{out} holds other files and no report; choose another folder by --out")
    (out / MANIFEST).touch()  # a report that is cut off here can be written again
    return _files(out)


def sign(out: Path, others: set[Path]) -> None:
    """Write down which files the report has: all but `others`."""
    names = sorted(str(path.relative_to(out)) for path in _files(out) - others)
    (out / MANIFEST).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def _listed(out: Path) -> list[str]:
    try:
        return read_text(out / MANIFEST).splitlines()
    except (OSError, ValueError):
        return []


def _is_report(out: Path) -> bool:
    """Whether a report was written here, also by a version without a list of its files."""
    try:
        return (out / MANIFEST).is_file() or TITLE in read_text(out / "index.html")
    except (OSError, ValueError):
        return False


def _files(out: Path) -> set[Path]:
    return {path for path in out.rglob("*") if path.is_file() and path.name != MANIFEST}
