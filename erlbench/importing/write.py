"""Writes an imported run's folder, whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomli_w

from erlbench import __version__
from erlbench.errors import UsageError
from erlbench.files import reason
from erlbench.importing.run import ImportedRun
from erlbench.records.run import CONFIG, META, STATUS, file_checksum
from erlbench.records.schema import EpisodeRow, EvaluationRow, Row
from erlbench.records.write import RowFile


def check_free(out: Path, run: ImportedRun) -> None:
    """Raise `UsageError` where the run's folder is there already, or stands behind a link."""
    for folder in (run.folder, *run.folder.parents[:-1]):
        if (out / folder).is_symlink():
            raise UsageError(f"{out / folder} is a link, which is neither followed nor replaced; remove it first")
    if os.path.lexists(out / run.folder):
        raise UsageError(f"{out / run.folder} is there already; give another --out or --name, or move it away")


def write_run(out: Path, run: ImportedRun) -> Path:
    """The folder of the run below `out`, written under another name first; `UsageError` where that fails."""
    folder = out / run.folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=".import-", dir=folder.parent))
        try:
            _write(new, run)
            new.chmod(0o777 & ~_mask())
            new.rename(folder)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {reason(error)}; choose another folder by --out") from error
    return folder


def _write(folder: Path, run: ImportedRun) -> None:
    _rows(folder, EvaluationRow, run.evaluations)
    if run.episodes:
        _rows(folder, EpisodeRow, run.episodes, json.dumps({"env_id": run.env}))
    (folder / CONFIG).write_text(tomli_w.dumps(run.config()), encoding="utf-8")
    imported = datetime.now(UTC).isoformat(timespec="seconds")
    _object(folder / META, {"imported": imported, "erlbench": __version__})
    last = run.evaluations[-1]
    status: dict[str, Any] = {
        "status": "done" if run.reached else "interrupted",
        "timesteps": last.timesteps,
        "return_mean": last.return_mean,
        "updated": imported,
    }
    if run.total_timesteps:
        status["total_timesteps"] = run.total_timesteps
    if isinstance(last.train_time_s, float):
        status["train_time_s"] = last.train_time_s
    if not run.reached:
        status["message"] = "its files end before the budget that was given"
    status["files"] = {path.name: file_checksum(path) for path in sorted(folder.iterdir())}
    _object(folder / STATUS, status)


def _rows(folder: Path, kind: type[Row], rows: Sequence[Row], comment: str = "") -> None:
    file = RowFile(folder, kind, comment)
    try:
        file.start()
        for row in rows:
            file.write(row)
    finally:
        file.close()


def _object(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _mask() -> int:
    """The umask; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
