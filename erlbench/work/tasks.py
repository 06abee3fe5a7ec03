"""What travels between a driver and its workers: tasks, references to their arrays, and results.

A task is a pure function of its settings, its key and the arrays it names. It can therefore be run again after
a worker has died, run in any process, and be written to a checkpoint. Messages hold references, never arrays.

`Task`, `Perturbed` and `Result` are made once per task, so they are not frozen: making one that is frozen takes three
to five times as long. Nobody may change one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

from erlbench.work.noise import NoiseTable
from erlbench.work.seeding import Key


@dataclass(frozen=True)
class ArrayRef:
    """An array in the run's store; written once, then read-only."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"


@dataclass(frozen=True)
class Output:
    """The array `name` that the task `task` will return; what needs it starts afterwards."""

    task: int
    name: str


@dataclass(slots=True)
class Perturbed:
    """The vector `centre + sign * scale * e` with `e ~ N(0, I)` named by `key`, all float32.

    `scale` is a vector (a standard deviation per parameter) or one number. Where `size` is given, only that many
    leading entries move, and the rest of `centre` is what it was (`PolicySpec.learnt_size`).
    """

    centre: ArrayRef
    scale: ArrayRef | float
    key: Key
    sign: int = 1
    table: NoiseTable | None = None  # where e is a slice of one, else it is drawn from the key
    size: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Its values alone: without their names a message is shorter, and is made and read in half the time."""
        return Perturbed, (self.centre, self.scale, self.key, self.sign, self.table, self.size)


@dataclass(frozen=True)
class ReplayView:
    """Transitions `start` to `stop - 1` of a replay, which the store of each process finds by its name."""

    replay: str
    observation_size: int
    action_size: int
    start: int
    stop: int


Input = ArrayRef | Output | Perturbed | ReplayView


class Priority(IntEnum):
    """Which of the tasks that could start goes first (lowest value); ties go to the lowest id."""

    ROLLOUT = 0  # short, and other tasks wait for the return
    CRITIC = 1  # the serial chain of actor-critic algorithms
    ACTOR = 2
    EVALUATION = 3  # no task waits for it


class Counts(IntEnum):
    """The column to which a task's environment steps belong."""

    NOTHING = 0
    TRAINING = 1  # the papers' axis
    FITNESS = 2  # episodes of the mean, used for learning
    EVALUATION = 3  # the reported policy's episodes, not used for learning


@dataclass(slots=True)
class Task:
    """One unit of work. It starts when the tasks whose outputs are its inputs, and the tasks of `after`, are finished.

    `function` names a module-level function as `module:name`. A `Workspace` calls it as
    `function(settings, inputs, key, workspace)`. `inputs` are loaded arrays; a `ReplayView` stays as it is. The
    function returns an `Outcome`.
    """

    id: int
    kind: str  # for tasks.csv and episodes.csv: es, rl, random, mean, critic, actor, evaluation, ...
    function: str
    key: Key
    settings: Any = field(default_factory=dict)  # plain values: a dataclass or a dict
    inputs: Mapping[str, Input] = field(default_factory=dict)
    priority: Priority = Priority.ROLLOUT
    counts: Counts = Counts.NOTHING
    gradient: bool = False  # runs in a process with torch and, if asked for, a GPU
    individual: int = 0  # its number among those in flight, for the algorithm and the files
    after: tuple[int, ...] = ()  # ids of further tasks to wait for

    def __reduce__(self) -> tuple[Any, ...]:
        """Its values alone: without their names a message is shorter, and is made and read in half the time."""
        return Task, (
            self.id, self.kind, self.function, self.key, self.settings, self.inputs, self.priority, self.counts,
            self.gradient, self.individual, self.after,
        )  # fmt: skip

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"task {self.id} ({self.kind})"

    def output(self, name: str) -> Output:
        """A handle of the array `name` that this task will return, as an input of other tasks."""
        return Output(self.id, name)


@dataclass(frozen=True)
class Outcome:
    """What a task function returns: plain values, and arrays that go to the store as `<task id>.<name>`."""

    values: Mapping[str, Any]
    arrays: Mapping[str, Any] = field(default_factory=dict)  # name -> np.ndarray


@dataclass(slots=True)
class Result:
    """A finished task: its plain values, references to its arrays, and when and where it ran."""

    task: int
    values: Mapping[str, Any]
    arrays: Mapping[str, ArrayRef]
    start: float  # seconds, time.monotonic()
    end: float
    process: int  # the pool's slot
    cpu: float = 0.0  # seconds of processor time of the process that ran it

    def __reduce__(self) -> tuple[Any, ...]:
        """Its values alone, as of a `Perturbed`."""
        return Result, (self.task, self.values, self.arrays, self.start, self.end, self.process, self.cpu)


def count_timesteps(values: Mapping[str, Any]) -> int:
    """Environment steps of a task with these values: `steps`, or else its episodes' steps.

    They differ where an episode goes on in another task: it is reported where it ends.
    """
    timesteps: int = values["steps"] if "steps" in values else sum(values.get("lengths", ()))
    return timesteps


def dependencies(task: Task) -> set[int]:
    """Ids of the tasks that `task` waits for: whose outputs are its inputs, and `after`."""
    return {value.task for value in task.inputs.values() if isinstance(value, Output)}.union(task.after)


def in_phases(*phases: Sequence[Task]) -> list[Task]:
    """All tasks; the tasks of a phase wait for all tasks of the last phase before it that has any."""
    tasks: list[Task] = []
    before: tuple[int, ...] = ()
    for phase in filter(None, phases):
        tasks += [replace(task, after=(*task.after, *before)) for task in phase]
        before = tuple(task.id for task in phase)
    return tasks


def list_arrays(value: Input) -> list[ArrayRef]:
    """The arrays of the store that an input refers to."""
    if isinstance(value, ArrayRef):
        return [value]
    if isinstance(value, Perturbed):
        return [value.centre, value.scale] if isinstance(value.scale, ArrayRef) else [value.centre]
    return []  # an output that is not there yet, or transitions of a replay
