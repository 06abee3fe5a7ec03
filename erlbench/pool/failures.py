"""How an error of a task travels from a worker to the driver."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from erlbench.errors import ErlbenchError, TaskError


@dataclass(frozen=True)
class Failure:
    """What a worker sends instead of a result."""

    type: type[ErlbenchError] | None  # None: not one of ours
    message: str
    details: str  # the worker's traceback


def failure(error: BaseException) -> Failure:
    """Describe an error."""
    details = "".join(traceback.format_exception(error))
    if isinstance(error, ErlbenchError):
        return Failure(type(error), f": {error}", details)
    if isinstance(error, MemoryError):  # of the process; that the store is full is an error of its own
        return Failure(TaskError, f": out of memory ({error}); run fewer processes", details)
    return Failure(None, f" raised {type(error).__name__}: {error}", details)


def as_error(subject: str, failure: Failure, task: int | None = None) -> ErlbenchError:
    """The error to raise in the driver: of the same class if it is one of ours; `subject` begins the message."""
    message = subject + failure.message
    if failure.type is None or issubclass(failure.type, TaskError):
        return TaskError(message, failure.details, task)
    error = failure.type(message)
    error.task = task
    return error
