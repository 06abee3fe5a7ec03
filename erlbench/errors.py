"""The errors that a user can meet, each with the exit code that the command line gives it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ErlbenchError(Exception):
    """Base of all errors with a message for the user; never shown with a traceback."""

    exit_code = 1


class UsageError(ErlbenchError):
    """The user asked for something that cannot be done: what was wrong, where, and what to do."""

    exit_code = 2


class CellError(ErlbenchError):
    """One cell (algorithm x environment x seed) cannot go on; the other cells do."""


class TaskError(CellError):
    """A task raised: the message names the task, `details` holds the worker's traceback."""

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details


class NumericalError(CellError):
    """A NaN or an infinite value in an observation, a reward, a loss or a parameter vector."""


class Interrupted(ErlbenchError):
    """Ctrl-C or SIGTERM: everything is saved and the same command continues."""

    exit_code = 130


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint `; did you mean 'x'?` when a valid word lies near, else the empty string."""
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=0.5)
    return f"; did you mean '{close[0]}'?" if close else ""
