"""What is known before a run: that it cannot answer, and how often it is evaluated unless the user says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from erlbench.algorithms import registry
from erlbench.envs.registry import Problem
from erlbench.errors import CellError
from erlbench.experiment.cells import Cell, usual_frequency

FEW = 3  # doubts of one kind that are shown one by one


class DoubtKind(Enum):
    """Why a cell cannot answer."""

    FAILS = auto()
    NEVER_TRAINS = auto()
    FEW_GENERATIONS = auto()
    NOT_EVALUATED = auto()  # but at its start and its end


@dataclass(frozen=True)
class Doubt:
    """Why a cell cannot answer, and what to change."""

    kind: DoubtKind
    name: str
    env: str
    text: str

    def __str__(self) -> str:
        return f"{self.name} on {self.env}{'' if self.kind is DoubtKind.FAILS else ':'} {self.text}"


def planned_steps(cell: Cell, task: Problem) -> float:
    """About how many training steps a cell takes, by its steps, modelled minutes and generations."""
    steps = float(cell.total_timesteps)
    if cell.total_minutes is not None:
        from erlbench.experiment.estimate import steps_in_time

        steps = max(steps, steps_in_time(cell))
    if cell.total_generations is None:
        return steps
    return min(steps, cell.total_generations * registry.find(cell.algo).needs(cell.settings, task).steps)


def doubts(cells: Iterable[Cell], problem_of: Callable[[str, Mapping[str, Any]], Problem]) -> Iterator[Doubt]:
    """Those of each cell without its seed."""
    seen: dict[Any, Cell] = {}
    for cell in cells:
        seen.setdefault((cell.name, cell.env, cell.settings, cell.total_timesteps, cell.eval_freq), cell)
    for cell in seen.values():
        try:
            task = problem_of(cell.env, cell.env_settings)
        except CellError as error:
            yield Doubt(DoubtKind.FAILS, cell.name, cell.env, f"will fail: {error}")
        else:
            yield from (Doubt(kind, cell.name, cell.env, text) for kind, text in _doubts(cell, task))


def describe_evaluation(cells: Iterable[Cell], problem_of: Callable[[str, Mapping[str, Any]], Problem]) -> str:
    """A line on the cells whose evaluations may play more steps than their training; empty where none do."""
    costly: dict[str, str] = {}
    for cell in {(cell.name, cell.env): cell for cell in cells}.values():
        try:
            task = problem_of(cell.env, cell.env_settings)
        except CellError:
            continue
        training, played = planned_steps(cell, task), evaluation_steps(cell, task)
        if played > training:
            costly[f"{cell.name} on {cell.env}"] = f"up to {played:,.0f} steps beside {training:,.0f} of training"
    if not costly:
        return ""
    (first, numbers), more = next(iter(costly.items())), len(costly) - 1
    where = f"{first} and {more} more" if more else first
    return f"evaluation plays {numbers} ({where}); --eval-freq and --eval-episodes change that"


def evaluation_steps(cell: Cell, task: Problem) -> float:
    """How many steps the evaluations play if all episodes reach the time limit; at most one a generation."""
    generation = registry.find(cell.algo).needs(cell.settings, task).steps
    evaluations = 1 + planned_steps(cell, task) // max(cell.eval_freq, generation)
    return (evaluations * cell.eval_episodes + cell.final_episodes) * task.env.max_episode_steps


def in_short(found: Iterable[Doubt]) -> Iterator[str]:
    """A line for each doubt; of more than `FEW` of one kind the first, and how many there are besides."""
    kinds: dict[DoubtKind, list[Doubt]] = {}
    for doubt in found:
        kinds.setdefault(doubt.kind, []).append(doubt)
    for same in kinds.values():
        shown = same if len(same) <= FEW else same[:1]
        yield from map(str, shown)
        if more := len(same) - len(shown):
            yield f"the same goes for {more} more cells (-v lists them)"


def _doubts(cell: Cell, task: Problem) -> Iterator[tuple[DoubtKind, str]]:
    algorithm = registry.find(cell.algo)
    planned, warmup = planned_steps(cell, task), algorithm.warmup(cell.settings)
    generation = algorithm.needs(cell.settings, task).steps
    if planned <= warmup:
        yield (
            DoubtKind.NEVER_TRAINS,
            (
                f"it never trains, for all of its {planned:,.0f} steps are warm-up (start_timesteps {warmup:,}); give "
                f"--total-timesteps above {warmup:,}, or a smaller one: --set start_timesteps={_rounded(planned / 10)}"
            ),
        )
    elif cell.total_generations is None and planned - warmup < 2 * generation:
        names = [name for name in algorithm.generation_settings if hasattr(cell.settings, name)]
        less = f", or fewer by --set {names[0]}=N ({getattr(cell.settings, names[0])} now)" if names else ""
        yield (
            DoubtKind.FEW_GENERATIONS,
            (
                f"a generation has about {generation:,.0f} steps or more, so {planned:,.0f} steps are one or two; give "
                f"--total-timesteps {_rounded(warmup + 10 * generation)} for about ten{less}"
            ),
        )
    if planned < cell.eval_freq:
        yield (
            DoubtKind.NOT_EVALUATED,
            (
                f"it is evaluated at its start and its end only, for --eval-freq {cell.eval_freq:,} is above its "
                f"{planned:,.0f} steps; give --eval-freq {usual_frequency(planned)}"
            ),
        )


def _rounded(value: float) -> int:
    """A number of one digit and zeros, at least 1."""
    digits = 10 ** max(0, math.floor(math.log10(max(1.0, value))))
    return max(1, math.ceil(value / digits) * digits)
