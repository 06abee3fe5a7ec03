"""The errors that a user can meet, each with the exit code that the command line gives it; warnings."""

from __future__ import annotations

import difflib
import errno
import sys
import tomllib
import traceback
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

# What happened, and what to do before the same command is run again; read now, as later no file may be opened.
ADVICE: dict[int, list[str]] = {
    getattr(errno, name): words
    for name, words in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}

CLOSE = 0.66  # similarity of a hint: one of three letters may be wrong ("tua" for "tau"), more are another word


class ErlbenchError(Exception):
    """Base of all errors with a message for the user; never shown with a traceback."""

    exit_code = 1
    task: int | None = None  # the number of the task that it is about, where it comes from a pool


class UsageError(ErlbenchError):
    """The user asked for something that cannot be done: what was wrong, where, and what to do."""

    exit_code = 2


class CellError(ErlbenchError):
    """One cell (algorithm x environment x seed) cannot go on; the other cells do."""


class TaskError(CellError):
    """A task raised: the message names the task, `details` holds the worker's traceback."""

    def __init__(self, message: str, details: str = "", task: int | None = None) -> None:
        super().__init__(message)
        self.details, self.task = details, task


class NumericalError(CellError):
    """A NaN or an infinite value in an observation, a reward, a loss or a parameter vector."""


class Interrupted(ErlbenchError):
    """Ctrl-C or SIGTERM: the same command continues from what is saved."""

    exit_code = 130


def warn(message: object) -> None:
    """Print a warning to standard error, where the caller gave no other function for it; nobody may read it."""
    with suppress(OSError):
        print(f"warning: {message}", file=sys.stderr)


def explain(error: OSError, place: object = "") -> str:
    """What a system call failed on and what to do: "the disk is full (FILE); free some space and run ... again"."""
    where = error.filename if error.filename is not None else place
    where = f" ({where})" if where else ""
    if error.errno is None or error.errno not in ADVICE:
        return f"{error.strerror or error}{where}"
    what, remedy = ADVICE[error.errno]
    return f"{what}{where}; {remedy} and run the same command again"


def describe_error(error: BaseException) -> str:
    """The class and the text of an exception."""
    return f"{type(error).__name__}: {error_text(error)}"


def error_text(error: BaseException) -> str:
    """The text of an exception in one line; without a text its place, as "in door.py, line 12: assert x".

    Other bytes than UTF-8 are escaped; an exception whose text cannot be made has none.
    """
    try:
        text = " ".join(str(error).encode(errors="backslashreplace").decode().split())
    except Exception:
        text = ""
    places = traceback.extract_tb(error.__traceback__)
    if text or not places:
        return text or "no reason given"
    return f"in {places[-1].filename}, line {places[-1].lineno}: {places[-1].line}"


def check_known(word: str, words: Iterable[str], message: str) -> None:
    """Raise a `UsageError` with the message and the nearest word, or all of them, unless `word` is one of `words`."""
    valid = list(words)
    if word not in valid:
        raise UsageError(message + (nearest(word, valid) or f"; there are {', '.join(valid) or 'none'}"))


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint `; did you mean 'x'?` when a valid word is near, in any case, else the empty string."""
    originals = {valid.lower(): valid for valid in words}
    close = difflib.get_close_matches(word.lower(), originals, n=1, cutoff=CLOSE)
    return f"; did you mean '{originals[close[0]]}'?" if close else ""
