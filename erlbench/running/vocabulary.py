"""What a checkpoint may say: a closed list of dataclasses with the types of their fields, and of task functions.

A checkpoint may come from somebody else, and its checksum is no signature. So nothing in it names code that the
algorithm of the command does not declare, a file outside the run, or another environment than the command's.
"""

from __future__ import annotations

import re
import sys
import types
import typing
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from erlbench.algorithms.base import Algorithm, Counters
from erlbench.envs.registry import EnvSpec, Problem
from erlbench.policy import PolicySpec
from erlbench.records.older import type_of_today
from erlbench.records.schema import cached
from erlbench.running.asynchrony import Asynchrony
from erlbench.running.encoding import DamagedCheckpoint, dataclasses_in
from erlbench.running.evaluation import EvaluationState
from erlbench.work.tasks import ArrayRef, Output, Perturbed, ReplayView, Result, Task

SUITE = "erlbench."
ALWAYS = (Task, Result, ArrayRef, Output, Perturbed, ReplayView, EvaluationState, Asynchrony)
_NAME = re.compile(r"\d+\.[^/\0]{1,200}")  # of an array in a store, below which it is a file
_CONTENT: Mapping[str, Any] = {
    "algorithm": Mapping[str, Any], "outstanding": list[Task], "evaluation": EvaluationState,
    "replay": Mapping[str, Any], "clock": Mapping[str, float | None], "files": Mapping[str, Mapping[str, Any]],
    "pool": Mapping[str, Any], "last_return": float | None, "asynchrony": Asynchrony | None,
    "asked": Mapping[int, Sequence[Any]],
}  # fmt: skip
_OLDER = frozenset({"asynchrony", "asked"})  # which checkpoints of older versions lack


class Vocabulary:
    """What a checkpoint of this algorithm, as the command made it, may say."""

    def __init__(self, algorithm: Algorithm[Any, Any]) -> None:
        kind = type(algorithm)
        self._algorithm = algorithm
        own = {base.__module__ for base in kind.__mro__ if issubclass(base, Algorithm) and not _of_suite(base)}
        classes = (value for module in own for value in vars(sys.modules[module]).values() if _defined(value, module))
        roots = (*ALWAYS, type(algorithm.state), *kind.task_functions.values(), *classes)
        self._types = {f"{one.__module__}:{one.__qualname__}": one for one in _closure(roots)}

    def find(self, name: str) -> type | None:
        """The dataclass that a checkpoint names `module:class`, perhaps by its old name; None for all others."""
        return self._types.get(":".join(type_of_today(name))) if isinstance(name, str) else None

    def check(self, payload: Any, arrays: Mapping[str, np.ndarray]) -> None:
        """Raise `DamagedCheckpoint` for a payload, made of dataclasses that `find` found, that says anything else."""
        if not isinstance(payload, Mapping) or not _CONTENT.keys() - _OLDER <= payload.keys():
            raise DamagedCheckpoint("it lacks a part of a run's state")
        for name, hint in _CONTENT.items():
            if name in payload and not conforms(payload[name], hint):
                raise DamagedCheckpoint(f"its part '{name}' is none that a run writes")
        self._check_snapshot(payload["algorithm"])
        for value in dataclasses_in(payload):
            self._check(value, arrays)

    def _check_snapshot(self, snapshot: Mapping[str, Any]) -> None:
        counters = snapshot.get("counters")
        known = {field.name for field in fields(Counters)}
        if not (
            isinstance(snapshot.get("state"), type(self._algorithm.state))
            and conforms(snapshot.get("ids"), int)
            and conforms(counters, Mapping[str, int])
            and set(counters or ()) <= known
            and min((counters or {}).values(), default=0) >= 0
        ):
            raise DamagedCheckpoint("its state is none of the algorithm of this command")

    def _check(self, value: Any, arrays: Mapping[str, np.ndarray]) -> None:
        hints = _hints(type(value))
        for field in fields(value):
            if not conforms(getattr(value, field.name), hints[field.name]):
                raise DamagedCheckpoint(f"{type(value).__name__}.{field.name} is none that a run writes")
        match value:
            case Task():
                self._check_task(value)
            case ArrayRef():
                array = arrays.get(value.name)
                if not _NAME.fullmatch(value.name):
                    raise DamagedCheckpoint(f"{value.name[:80]!r} is no name of an array")
                if array is None or array.shape != value.shape or str(array.dtype) != value.dtype:
                    raise DamagedCheckpoint(f"the array {value.name[:80]!r} is not what its reference says")
            case ReplayView(replay=name) if name != self._algorithm.context.replay.name:
                raise DamagedCheckpoint("a task reads the replay of another run")
            case EnvSpec() if value != self._algorithm.context.problem.env:
                raise DamagedCheckpoint("a task plays another environment than the command's")
            case Problem() if value != self._algorithm.context.problem:
                raise DamagedCheckpoint("a task has another problem than the command's")
            case PolicySpec() if value != self._algorithm.policy_spec:
                raise DamagedCheckpoint("a task has another policy than the command's")

    def _check_task(self, task: Task) -> None:
        """Only a declared function, with settings of its class, or one that the plug-in's own module defines."""
        functions = self._algorithm.task_functions
        declared = task.function in functions or self._algorithm.declares(task.function)
        if not declared or not isinstance(task.settings, functions.get(task.function, object)):
            raise DamagedCheckpoint(f"a task names {task.function[:80]!r}, no task function of the command's algorithm")


def conforms(value: Any, hint: Any) -> bool:
    """Whether a decoded value is of the type that an annotation says."""
    if hint is Any or hint is object:
        return True
    if isinstance(hint, typing.TypeVar):
        return conforms(value, hint.__bound__ or Any)
    if hint is None or hint is types.NoneType:
        return value is None
    origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(conforms(value, one) for one in arguments)
    if origin is typing.Literal:
        return value in arguments
    if origin is tuple and arguments:
        return isinstance(value, tuple) and _elements(value, arguments)
    if not isinstance(origin, type):
        return False
    if issubclass(origin, IntEnum):
        return isinstance(value, int) and value in set(origin)
    if origin in (int, float):
        return isinstance(value, (int, float) if origin is float else int) and not isinstance(value, bool)
    if not isinstance(value, origin) or not arguments:
        return isinstance(value, origin)
    if isinstance(value, Mapping):
        return all(conforms(key, arguments[0]) and conforms(item, arguments[1]) for key, item in value.items())
    return not isinstance(value, Sequence | AbstractSet) or all(conforms(item, arguments[0]) for item in value)


def _elements(value: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    if hints[-1] is Ellipsis:
        return all(conforms(item, hints[0]) for item in value)
    return len(value) == len(hints) and all(map(conforms, value, hints))


@cached
def _hints(kind: type) -> Mapping[str, Any]:
    return typing.get_type_hints(kind)


def _closure(roots: Collection[Any]) -> set[type]:
    """The dataclasses that these, their bases' other subclasses and the annotations of their fields name."""
    found: set[type] = set()
    waiting = list(roots)
    while waiting:
        one = waiting.pop()
        if isinstance(one, type) and is_dataclass(one) and one not in found:
            found.add(one)
            waiting += [*_hints(one).values(), *one.__subclasses__()]
        else:
            waiting += _parts(one)
    return found


def _parts(hint: Any) -> Iterator[Any]:
    if isinstance(hint, typing.TypeVar):
        yield hint.__bound__
    yield from filter(None, (typing.get_origin(hint), *typing.get_args(hint)))


def _of_suite(kind: type) -> bool:
    return kind.__module__.startswith(SUITE)


def _defined(value: Any, module: str) -> bool:
    return isinstance(value, type) and value.__module__ == module
