"""What is known before a run: that it cannot answer, and how often it is evaluated unless the user says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from erlbench.algorithms import registry
from erlbench.envs.registry import Problem
from erlbench.errors import CellError
from erlbench.experiment.cells import Cell
from erlbench.experiment.estimate import steps_in_time

EVAL_FREQ = 5000  # training steps between two evaluations
FEWEST_EVALUATIONS = 10  # on the way, of a budget below `EVAL_FREQ` times as much


def usual_frequency(steps: float) -> int:
    """Training steps between two evaluations that nobody asked for: `EVAL_FREQ`, or a tenth of a smaller budget."""
    return max(1, min(EVAL_FREQ, math.ceil(steps / FEWEST_EVALUATIONS)))


def planned_steps(cell: Cell, task: Problem) -> float:
    """About how many training steps a cell takes, by its steps, modelled minutes and generations."""
    steps = float(max(cell.total_timesteps, steps_in_time(cell)))
    if cell.total_generations is None:
        return steps
    return min(steps, cell.total_generations * registry.find(cell.algo).needs(cell.settings, task).steps)


def doubts(cells: Iterable[Cell], problem_of: Callable[[str, Mapping[str, Any]], Problem]) -> Iterator[str]:
    """One line for each cell without its seed that cannot answer: what is wrong, and what to change."""
    seen: dict[Any, Cell] = {}
    for cell in cells:
        seen.setdefault((cell.name, cell.env, cell.settings, cell.total_timesteps, cell.eval_freq), cell)
    for cell in seen.values():
        try:
            task = problem_of(cell.env, cell.env_settings)
        except CellError as error:
            yield f"{cell.name} on {cell.env} will fail: {error}"
        else:
            yield from (f"{cell.name} on {cell.env}: {line}" for line in _doubts(cell, task))


def sharing(processes: int | None, jobs: int, cells: int) -> Iterator[str]:
    """One line where cells that run at once share this process, and so one core."""
    if processes == 0 and min(jobs, cells) > 1:
        yield (
            f"{min(jobs, cells)} cells at once share one process and its core with --processes 0, so that none is "
            f"done sooner; give --processes {min(jobs, cells)}, or start a command for each cell"
        )


def _doubts(cell: Cell, task: Problem) -> Iterator[str]:
    algorithm = registry.find(cell.algo)
    planned, warmup = planned_steps(cell, task), algorithm.warmup(cell.settings)
    generation = algorithm.needs(cell.settings, task).steps
    if planned <= warmup:
        yield (
            f"it never trains, for all of its {planned:,.0f} steps are warm-up (start_timesteps {warmup:,}); give "
            f"--total-timesteps above {warmup:,}, or a smaller one: --set start_timesteps={_rounded(planned / 10)}"
        )
    elif cell.total_generations is None and planned - warmup < 2 * generation:
        names = [name for name in algorithm.generation_settings if hasattr(cell.settings, name)]
        less = f", or fewer by --set {names[0]}=N ({getattr(cell.settings, names[0])} now)" if names else ""
        yield (
            f"a generation has about {generation:,.0f} steps or more, so {planned:,.0f} steps are one or two; give "
            f"--total-timesteps {_rounded(warmup + 10 * generation)} for about ten{less}"
        )
    if planned < cell.eval_freq:
        yield (
            f"it is evaluated at its start and its end only, for --eval-freq {cell.eval_freq:,} is above its "
            f"{planned:,.0f} steps; give --eval-freq {usual_frequency(planned)}"
        )


def _rounded(value: float) -> int:
    """A number of one digit and zeros, at least 1."""
    digits = 10 ** max(0, math.floor(math.log10(max(1.0, value))))
    return max(1, math.ceil(value / digits) * digits)
