"""What driver and worker say to each other: whole messages in both directions, tasks without what was said before.

Most tasks of a run differ in nothing but their id, key, inputs and place, and their settings are the larger part of
them. So each end of a connection remembers the last settings of every kind of task, and a task names them by a number
unless they have changed.
"""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from erlbench.pool.failures import failure
from erlbench.work.tasks import Counts, Priority, Result, Task

HEADER = struct.Struct("=Q")  # length of what follows
COUNT = struct.Struct("=I")  # tasks in a message; it can be read where the rest cannot
READ_AT_ONCE = 1 << 16  # bytes asked for at once; nearly every message is shorter


class Form(NamedTuple):
    """What tasks have in common."""

    kind: str
    function: str
    settings: Any
    priority: Priority
    counts: Counts
    gradient: bool


class TaskWriter:
    """Turns tasks into messages for one worker."""

    def __init__(self) -> None:
        self._forms: dict[Any, tuple[int, Any]] = {}  # by kind and function

    def write(self, *tasks: Task) -> bytes:
        """One message, in which what the tasks share stands once.

        Raises what pickle raises; what the worker knows is then what it was before.
        """
        forms, parts = dict(self._forms), []
        form: Any = None
        number = 0
        for task in tasks:
            news, last = None, form
            form = task.kind, task.function, task.settings, task.priority, task.counts, task.gradient
            if form != last:
                number, known = forms.get(form[:2], (len(forms), None))
                if form != known:
                    news, forms[form[:2]] = form, (number, form)
            parts.append((number, news, task.id, task.key, task.inputs, task.individual))
        message = COUNT.pack(len(parts)) + pickle.dumps(parts, pickle.HIGHEST_PROTOCOL)
        self._forms = forms
        return message

    def forget(self) -> None:
        """Say everything again from now on."""
        self._forms.clear()


class TaskReader:
    """The worker's counterpart of `TaskWriter`."""

    def __init__(self) -> None:
        self._forms: dict[int, Form] = {}

    def read(self, message: bytes) -> list[Task]:
        """The tasks as they were written."""
        tasks = []
        for number, news, task_id, key, inputs, individual in pickle.loads(memoryview(message)[COUNT.size :]):
            if news is not None:
                self._forms[number] = Form(*news)
            kind, function, settings, priority, counts, gradient = self._forms[number]
            tasks.append(Task(task_id, kind, function, key, settings, inputs, priority, counts, gradient, individual))
        return tasks


def tasks_in(message: bytes) -> int:
    """How many tasks a message of `TaskWriter` holds."""
    number: int = COUNT.unpack_from(message)[0]
    return number


def write_answers(answers: Sequence[Any]) -> bytes:
    """One message of results and of whatever else a worker has to say.

    The driver knows from which process it comes. What pickle refuses becomes the `Failure` of that.
    """
    parts = [_plain(answer) if isinstance(answer, Result) else answer for answer in answers]
    try:
        return pickle.dumps(parts, pickle.HIGHEST_PROTOCOL)
    except BaseException:
        return pickle.dumps([_sendable(part) for part in parts], pickle.HIGHEST_PROTOCOL)


def read_answers(message: bytes, process: int) -> list[Any]:
    """What the worker of slot `process` has said: each a `Result`, or something else."""
    return [_result(part, process) if isinstance(part, tuple) else part for part in pickle.loads(message)]


def _plain(result: Result) -> tuple[Any, ...]:
    return result.task, result.values, result.arrays, result.start, result.end, result.second_core, result.cpu


def _result(part: tuple[Any, ...], process: int) -> Result:
    task, values, arrays, start, end, *measured = part
    return Result(task, values, arrays, start, end, process, *measured)


def _sendable(part: Any) -> Any:
    try:
        pickle.dumps(part, pickle.HIGHEST_PROTOCOL)
    except BaseException as error:  # whatever a value's own code raises
        return failure(error)
    return part


def send(descriptor: int, messages: Iterable[bytes]) -> None:
    """Write whole messages at once; raises OSError when nobody reads any more."""
    data = b"".join([part for message in messages for part in (HEADER.pack(len(message)), message)])
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, memoryview(data)[written:])


def receive(descriptor: int) -> list[bytes]:
    """Wait for messages and read as many as there are, all whole; raises EOFError when nobody writes any more."""
    messages: list[bytes] = []
    data, start = os.read(descriptor, READ_AT_ONCE), 0
    while start < len(data) or not messages:
        stop = start + HEADER.size
        if stop <= len(data):
            stop += HEADER.unpack_from(data, start)[0]
        if stop <= len(data) and start < len(data):
            messages.append(data[start + HEADER.size : stop])
            start = stop
        elif more := os.read(descriptor, READ_AT_ONCE):
            data = data[start:] + more
            start = 0
        else:
            raise EOFError
    return messages
