"""What driver and worker say to each other: whole messages in both directions, tasks without what was said before.

Most tasks of a run differ in nothing but their id, key, inputs and place, and their settings are the larger part of
them. So each end of a connection remembers the last settings of every kind of task, and a task names them by a number
unless they have changed.
"""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

from erlbench.work.tasks import Counts, Priority, Result, Task

HEADER = struct.Struct("=Q")  # length of what follows
BLOCK = 1 << 16  # bytes asked for at once; nearly every message is shorter


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
        self._forms: dict[tuple[str, str], tuple[int, Form]] = {}

    def write(self, *tasks: Task) -> bytes:
        """One message, in which what the tasks share stands once.

        Raises what pickle raises; what the worker knows is then what it was before.
        """
        forms, parts = dict(self._forms), []
        for task in tasks:
            form = Form(task.kind, task.function, task.settings, task.priority, task.counts, task.gradient)
            name = task.kind, task.function
            number, known = forms.get(name, (len(forms), None))
            news = None if form == known else tuple(form)
            parts.append((number, news, task.id, task.key, task.inputs, task.individual))
            if news is not None:
                forms[name] = number, form
        message = pickle.dumps(parts, pickle.HIGHEST_PROTOCOL)
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
        for number, news, task_id, key, inputs, individual in pickle.loads(message):
            if news is not None:
                self._forms[number] = Form(*news)
            kind, function, settings, priority, counts, gradient = self._forms[number]
            tasks.append(Task(task_id, kind, function, key, settings, inputs, priority, counts, gradient, individual))
        return tasks


def write_result(result: Result) -> bytes:
    """The message of a result; the driver knows from which process it comes."""
    values = (result.task, result.values, result.arrays, result.start, result.end, result.second_core)
    return pickle.dumps(values, pickle.HIGHEST_PROTOCOL)


def write_other(message: Any) -> bytes:
    """The message of anything else that a worker has to say."""
    return pickle.dumps(message, pickle.HIGHEST_PROTOCOL)


def read_answer(message: bytes, process: int) -> Any:
    """What the worker of slot `process` has said: a `Result`, or something else."""
    answer = pickle.loads(message)
    if not isinstance(answer, tuple):
        return answer
    task, values, arrays, start, end, second_core = answer
    return Result(task, values, arrays, start, end, process, second_core)


def send(descriptor: int, messages: Iterable[bytes]) -> None:
    """Write whole messages at once; raises OSError when nobody reads any more."""
    data = b"".join([part for message in messages for part in (HEADER.pack(len(message)), message)])
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, memoryview(data)[written:])


def receive(descriptor: int) -> list[bytes]:
    """Wait for messages and read as many as there are, all whole; raises EOFError when nobody writes any more."""
    messages: list[bytes] = []
    data, start = os.read(descriptor, BLOCK), 0
    while start < len(data) or not messages:
        stop = start + HEADER.size
        if stop <= len(data):
            stop += HEADER.unpack_from(data, start)[0]
        if stop <= len(data) and start < len(data):
            messages.append(data[start + HEADER.size : stop])
            start = stop
        elif more := os.read(descriptor, BLOCK):
            data = data[start:] + more
            start = 0
        else:
            raise EOFError
    return messages
