"""The folder of a report: only a folder without other files, or with our marker file, is written to."""

from __future__ import annotations

from pathlib import Path

from erlbench.errors import UsageError
from erlbench.files import new_file, refuse_links

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
