"""Why a cell failed, for its user."""

from __future__ import annotations

import contextlib
import traceback

from erlbench.errors import ADVICE, CellError, ErlbenchError, TaskError, explain
from erlbench.running.results import RunDirectory


def explained(error: Exception, directory: RunDirectory) -> str:
    """One message for the user; a traceback, where there is one worth reading, goes to error.txt."""
    try:
        directory.check()  # else it says more than the error that came of it
    except CellError as gone:
        return str(gone)
    if isinstance(error, OSError) and error.errno in ADVICE:
        return explain(error, directory.path)
    details = error.details if isinstance(error, TaskError) else ""
    if not isinstance(error, ErlbenchError):
        details = "".join(traceback.format_exception(error))
    message = str(error) if isinstance(error, ErlbenchError) else f"{type(error).__name__}: {error}"
    if details:
        with contextlib.suppress(OSError, CellError):
            directory.write("error.txt", details.encode())
            message += f" (traceback in {directory.path / 'error.txt'})"
    return message
