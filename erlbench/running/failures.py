"""Why a cell failed, for its user."""

from __future__ import annotations

import contextlib
import traceback

from erlbench.errors import ADVICE, CellError, ErlbenchError, TaskError, explain, said_by
from erlbench.records.run import ERROR
from erlbench.running.results import RunDirectory
from erlbench.work.store import Store


def explained(error: Exception, directory: RunDirectory, store: Store | None = None) -> str:
    """One message for the user; a traceback, where there is one worth reading, goes to error.txt."""
    try:
        directory.check()  # else it says more than the error that came of it
    except CellError as gone:
        return str(gone)
    if store is not None and store.gone:
        return f"another program removed {store.folder}, where processes share arrays; the same command goes on"
    if isinstance(error, OSError) and error.errno in ADVICE:
        return explain(error, directory.path)
    details = error.details if isinstance(error, TaskError) else ""
    if not isinstance(error, ErlbenchError):
        details = "".join(traceback.format_exception(error))
    message = str(error) if isinstance(error, ErlbenchError) else said_by(error)
    if details:
        with contextlib.suppress(OSError, CellError):
            directory.write(ERROR, details.encode(errors="backslashreplace"))
            message += f" (traceback in {directory.path / ERROR})"
    return message
