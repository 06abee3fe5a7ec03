"""Doubts before a run: budgets that cannot answer, and evaluations that cost more than the training."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from erlbench.algorithms import registry
from erlbench.envs.registry import Problem
from erlbench.errors import CellError
from erlbench.experiment.cells import Cell, usual_frequency
from erlbench.experiment.estimate import planned_steps

FEW = 3  # doubts of one kind that are shown one by one
# Why a cell cannot answer.
FAILS, NEVER_TRAINS, FEW_GENERATIONS = "fails", "never trains", "few generations"
NOT_EVALUATED = "not evaluated"  # but at its start and its end
COSTLY = "costly evaluation"
ProblemOf = Callable[[str, Mapping[str, Any]], Problem]


def find_doubts(cells: Iterable[Cell], problem_of: ProblemOf) -> Iterator[tuple[str, str]]:
    """The kind of each doubt and a line on it, of each cell without its seed."""
    kinds = {(cell.name, cell.env, cell.settings, cell.total_timesteps, cell.eval_freq): cell for cell in cells}
    for cell in kinds.values():
        where = f"{cell.name} on {cell.env}"
        try:
            problem = problem_of(cell.env, cell.env_settings)
        except CellError as error:
            yield FAILS, f"{where} will fail: {error}"
        else:
            yield from ((kind, f"{where}: {text}") for kind, text in _doubt_budget(cell, problem))


def shorten_doubts(doubts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The line of each doubt; of more than `FEW` of one kind the first, and how many there are besides."""
    kinds: dict[str, list[str]] = {}
    for kind, line in doubts:
        kinds.setdefault(kind, []).append(line)
    for lines in kinds.values():
        yield from lines if len(lines) <= FEW else lines[:1]
        if len(lines) > FEW:
            yield f"the same goes for {len(lines) - 1} more cells (-v lists them)"


def _doubt_budget(cell: Cell, problem: Problem) -> Iterator[tuple[str, str]]:
    algorithm = registry.find(cell.algo)
    planned, warmup = planned_steps(cell, problem), algorithm.warmup(cell.settings)
    generation = algorithm.needs(cell.settings, problem).steps
    if planned <= warmup:
        yield (
            NEVER_TRAINS,
            f"it never trains, for all of its {planned:,.0f} steps are warm-up (start_timesteps {warmup:,}); give "
            f"--total-timesteps above {warmup:,}, or a smaller one: --set start_timesteps={_round_up(planned / 10)}",
        )
    elif cell.total_generations is None and planned - warmup < 2 * generation:
        names = [name for name in algorithm.generation_settings if hasattr(cell.settings, name)]
        less = f", or fewer by --set {names[0]}=N ({getattr(cell.settings, names[0])} now)" if names else ""
        yield (
            FEW_GENERATIONS,
            f"a generation has about {generation:,.0f} steps or more, so {planned:,.0f} steps are one or two; give "
            f"--total-timesteps {_round_up(warmup + 10 * generation)} for about ten{less}",
        )
    if planned < cell.eval_freq:
        yield (
            NOT_EVALUATED,
            f"it is evaluated at its start and its end only, for --eval-freq {cell.eval_freq:,} is above its "
            f"{planned:,.0f} steps; give --eval-freq {usual_frequency(planned)}",
        )
    # All episodes may reach the time limit; an evaluation waits for a generation's end.
    episodes = (1 + planned // max(cell.eval_freq, generation)) * cell.eval_episodes + cell.final_episodes
    if (played := episodes * problem.env.max_episode_steps) > planned:
        yield (
            COSTLY,
            f"its evaluation plays up to {played:,.0f} steps beside {planned:,.0f} of training; --eval-freq and "
            "--eval-episodes change that",
        )


def _round_up(value: float) -> int:
    """A number of one digit and zeros, at least 1."""
    digits = 10 ** int(math.log10(max(1.0, value)))
    return max(1, math.ceil(value / digits) * digits)
