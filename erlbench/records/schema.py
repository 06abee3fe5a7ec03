"""The rows of a run's CSV files: one dataclass is the header, the writer, the reader and the documentation.

A field made by `column` carries its unit, its help, the names that it had in files of older versions, and what a reader
finds where a file does not have it. To add a column, add its line here; `docs/results.md` has the same lines.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any, ClassVar, Literal, TypeVar, cast

Kind = Literal["number", "integer", "text", "numbers", "integers"]
R = TypeVar("R", bound="Row")
NO_INDIVIDUALS = ("mean", "random", "validation", "unperturbed")  # further kinds of tasks that play
NO_LONGER = "second_cores"  # a column of train.csv that older versions wrote, no metric of the algorithm
REQUIRED = object()  # in place of a default: without this cell a row does not count


@dataclass(frozen=True)
class RowColumn:
    """One column of a file.

    Its cells are of one `kind`: a number, a text, or several numbers with spaces between them. A frame has `number` as
    float64, and `integer` as int64 where all cells are whole numbers, else as float64 with NaN for empty cells.
    """

    name: str
    kind: Kind
    _: KW_ONLY
    unit: str
    help: str
    was: tuple[str, ...] = ()  # its names in files of older versions
    default: Any = math.nan  # of an empty cell, and where a file lacks the column; `REQUIRED` for none
    metrics: bool = False  # replaced by the columns of the algorithm's metrics

    @property
    def numeric(self) -> bool:
        """Whether a cell is one number."""
        return self.kind in ("number", "integer")

    @property
    def required(self) -> bool:
        """Whether each row must have it: a finite number."""
        return self.default is REQUIRED

    @property
    def measured(self) -> bool:
        """Whether equal runs may differ in it: a clock measured it, or it names the process of a task."""
        return self.unit in ("s", "processes", "cores") or self.name == "process"


def column(help: str, unit: str = "", *, unset: Any = dataclasses.MISSING, **more: Any) -> Any:
    """A field of a row with its documentation; see `RowColumn`. `unset`: of a row that is made without it."""
    return dataclasses.field(default=unset, metadata={"help": help, "unit": unit, **more})


class Row:
    """A row of the file `file`; its fields are the columns in their order."""

    __slots__ = ()
    file: ClassVar[str]
    grows: ClassVar[str] = ""  # the column that grows from row to row
    unique: ClassVar[str] = ""  # the column that no two rows share


@dataclass(slots=True)
class EvaluationRow(Row):
    """An evaluation of the reported policy."""

    file: ClassVar[str] = "eval.csv"
    grows: ClassVar[str] = "timesteps"

    evaluation: int = column("index, from 0 (the initial policy)")
    final: int = column("1 for the final evaluation, which is the last row of a finished run; else 0")
    timesteps: int = column("training steps when the policy was taken", "steps", default=REQUIRED)
    fitness_timesteps: int = column("fitness steps by then", "steps")
    evaluation_timesteps: int = column("evaluation steps, this evaluation included", "steps")
    replayed_timesteps: int = column("replayed steps by then", "steps")
    episodes: int = column("training episodes by then", "episodes")
    generation: int = column(
        "updates of the search distribution by then; of algorithms without one: TD3's, DDPG's and SAC's episodes, "
        "PPO's iterations, multi-actor TD3's rounds"
    )
    critic_updates: int = column("by then", "gradient steps")
    actor_updates: int = column("by then", "gradient steps")
    train_time_s: float = column("training time when the policy was taken", "s")
    total_time_s: float = column("total time when the policy was taken", "s")
    return_mean: float = column("the score: mean over the episodes", "reward", default=REQUIRED)
    return_std: float = column("their sample standard deviation (n - 1); 0 for one episode", "reward")
    returns: tuple[float, ...] = column("return of each episode, separated by spaces", "reward", default=())
    lengths: tuple[int, ...] = column("length of each episode, separated by spaces", "steps", default=())
    paused_s: float = column("pauses in the training time by then", "s")
    digest: str = column(
        "of all that determines the rest of the run: [reproducibility.md](reproducibility.md#digests)", default=""
    )
    policy_sha256: str = column("SHA-256 of the policy's file, whether it is kept or not", default="")
    success: tuple[float, ...] = column(
        "1 or 0 for each episode: `success` or `is_success` of the last info that has it; empty without any", default=()
    )
    success_ever: tuple[float, ...] = column("1 or 0 for each episode: whether any step's info said so", default=())
    info: tuple[float, ...] = column(
        "for each episode the numbers of `info`, in the order of its keys, as the last info had them", default=()
    )


@dataclass(slots=True)
class EpisodeRow(Row):
    """An episode of training, or one that measures the mean."""

    file: ClassVar[str] = "episodes.csv"

    r: float = column("undiscounted return", "reward", default=REQUIRED)
    l: int = column("length", "steps", default=REQUIRED)  # noqa: E741  Stable-Baselines3's name
    t: float = column("training time when the episode was taken in", "s")
    kind: str = column(
        "`es`: an individual as sampled; `rl`: one trained by gradients; `random`: random actions of the warm-up of "
        "AES-RL, CEM-RL and P-CEM-RL (those of TD3, DDPG and SAC are `rl`); `mean`: the mean measured (fitness "
        "steps); `validation`: ESAC's choice of the reported policy (fitness steps); `unperturbed`: OpenAI-ES's "
        "episodes of the mean (`mean_share`)",
        default="",
    )
    individual: int = column("the individual's number among those in flight", was=("worker",))
    task: int = column("the task that played it")
    timesteps: int = column("training steps, those of its task included", "steps")
    success: int | None = column(
        "1 or 0: `success` or `is_success` of the last info that has it; empty without any", unset=None
    )
    success_ever: int | None = column("1 or 0: whether any step's info said so", unset=None)
    info: tuple[float, ...] = column(
        "the numbers of `info`, in the order of its keys, as the last info had them", default=(), unset=()
    )


@dataclass(slots=True)
class TaskRow(Row):
    """A task that a process ran."""

    file: ClassVar[str] = "tasks.csv"
    unique: ClassVar[str] = "task"

    task: int = column("number; those of evaluations start at 10^12, the final one has a task for ten episodes")
    kind: str = column(
        "as in episodes.csv, or `critic` (a block of critic updates), `actor` (one individual's training), `gradient` "
        "(a sum of noise of OpenAI-ES), `evaluation`",
        default="",
    )
    process: int = column("slot of the worker process that ran it", default=REQUIRED)
    individual: int = column("the individual's number among those in flight", was=("worker",))
    start_s: float = column("when it began, on the clock of total time", "s", default=REQUIRED)
    end_s: float = column("when it ended; evaluations done after training start after its end", "s", default=REQUIRED)
    timesteps: int = column("environment steps played", "steps")
    critic_updates: int = column("done", "gradient steps")
    actor_updates: int = column("done", "gradient steps")
    ready_s: float | None = column(
        "when it could have begun: it was asked for, and the tasks that it waits for were finished. "
        "`start_s` - `ready_s` is the time that it queued",
        "s",
    )
    staleness: int | None = column(
        "updates of the search distribution from the request of the task until its result is used, the update by "
        "this result not counted",
        "generations",
    )
    critic_lag: int | None = column("critic updates in the same span", "gradient steps")
    cpu_s: float = column("processor time of the process that ran it; with `--processes 0`, of the thread", "s")


@dataclass(slots=True)
class GenerationRow(Row):
    """An update of the search distribution."""

    file: ClassVar[str] = "train.csv"
    grows: ClassVar[str] = "generation"

    generation: int = column("as in eval.csv", default=REQUIRED)
    timesteps: int = column("training steps", "steps", default=REQUIRED)
    train_time_s: float = column("training time", "s", default=REQUIRED)
    paused_s: float = column("pauses in it", "s")
    critic_updates: int = column("so far", "gradient steps")
    actor_updates: int = column("so far", "gradient steps")
    metrics: Mapping[str, float] = column("the algorithm's own: see its page in `docs/algorithms/`", metrics=True)
    staleness_median: float | None = column(
        "median of the `staleness` of individuals' tasks since the last row", "generations"
    )
    staleness_90: float | None = column("their 0.9 quantile", "generations")
    critic_lag_median: float | None = column("median of their `critic_lag`", "gradient steps")
    critic_lag_90: float | None = column("their 0.9 quantile", "gradient steps")
    queueing_median_s: float | None = column("median of the time that they queued", "s")
    queueing_90_s: float | None = column("their 0.9 quantile", "s")
    critic_per_step: float = column("critic updates for each training step, so far", "gradient steps")
    actor_per_step: float = column("actor updates for each training step, so far", "gradient steps")
    busy_processes: float = column("processes at work, mean so far", "processes")


@dataclass(slots=True)
class EventRow(Row):
    """Something out of the ordinary."""

    file: ClassVar[str] = "events.csv"

    time_s: float = column("on the clock of total time", "s", default=REQUIRED)
    event: str = column(
        "`worker died`, `task hung` (its task is run again on a new worker), `fork server died`, `node joined`, "
        "`node lost`, `node refused` (of a Ray cluster), `paused`, `resumed`, `discarded` (a damaged checkpoint)",
        default="",
    )
    message: str = column("which task, process, checkpoint, and why", default="")


RESUMED = "resumed"  # an event: the run goes on from a checkpoint
COUNTED = (EvaluationRow, EpisodeRow, TaskRow, GenerationRow)  # whose files go back to a checkpoint; events only grow
ROWS = (*COUNTED, EventRow)


_F = TypeVar("_F", bound=Callable[..., Any])


def cached(function: _F) -> _F:
    """`functools.cache`, for functions of a class of rows: type checkers take it for unhashable."""
    return cast(_F, cache(function))


@cached
def list_columns(row: type[Row]) -> tuple[RowColumn, ...]:
    """The columns of a row's file, in their order."""
    hints = typing.get_type_hints(row)
    return tuple(
        RowColumn(field.name, _kind(hints[field.name]), **field.metadata)
        for field in dataclasses.fields(row)  # type: ignore[arg-type]
    )


@cached
def declared(row: type[Row]) -> Mapping[str, RowColumn]:
    """The columns by all names that they have or had, without the place of the algorithm's metrics."""
    return {name: listed for listed in list_columns(row) if not listed.metrics for name in (listed.name, *listed.was)}


def header(row: type[Row], metrics: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The names in a new file's first line; `metrics` are the algorithm's."""
    return tuple(name for listed in list_columns(row) for name in (metrics if listed.metrics else (listed.name,)))


def make_row(row: type[R], values: Mapping[str, Any]) -> R:
    """A row with these values; the cells of all other columns stay empty."""
    return row(*(values.get(column.name, "") for column in list_columns(row)))


def _kind(hint: Any) -> Kind:
    if typing.get_origin(hint) is tuple:
        return "integers" if typing.get_args(hint)[0] is int else "numbers"
    if hint is str:
        return "text"
    return "number" if float in (hint, *typing.get_args(hint)[:1]) else "integer"  # metrics: as they are
