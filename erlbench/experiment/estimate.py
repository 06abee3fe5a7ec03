"""What a cell will take, and whether it can answer: time and memory by the built-in costs, and doubts before a run.

Times are right within a factor of two or so. Doubts are of budgets that cannot answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from erlbench.algorithms import registry
from erlbench.algorithms.base import POLICY_BYTES
from erlbench.envs.registry import Problem
from erlbench.errors import CellError, ErlbenchError
from erlbench.experiment.cells import Cell, usual_frequency
from erlbench.experiment.costs import BUILT_IN, built_in_costs
from erlbench.experiment.schedule import Share
from erlbench.files import Values, read_toml
from erlbench.settings import environment_name

MEASURED = 256 * 258_100  # minibatch x weights of actor and critic, of the cell that the built-in costs are from
STEPS = read_toml(BUILT_IN)["steps"]  # how long an environment step takes, relative to HalfCheetah's
START_SECONDS = 3.0  # imports and first episodes
ProblemOf = Callable[[str, Values], Problem]
GRADIENT_BYTES, ROLLOUT_BYTES = 260e6, 70e6  # a process with torch, and one without

FEW = 3  # doubts of one kind that are shown one by one
NEVER_TRAINS = "never trains"


def estimate_cell(cell: Cell, processes: int, find_problem: ProblemOf) -> Share:
    """What `cell` takes with `processes` processes; nothing where its environment cannot be made."""
    try:
        return estimate(cell, find_problem(cell.env, cell.env_settings), processes)
    except ErlbenchError:
        return Share(processes=processes)


def estimate(cell: Cell, problem: Problem, processes: int) -> Share:
    """What `cell` takes with `processes` processes; evaluation included."""
    algorithm, costs = registry.find(cell.algo), built_in_costs()
    needs, planned = algorithm.needs(cell.settings, problem), planned_steps(cell, problem)
    budget = max(cell.total_timesteps, steps_in_time(cell))
    due = min(budget // cell.eval_freq, math.ceil(planned / needs.steps))  # they wait for a generation's end
    evaluations = due * cell.eval_episodes + cell.final_episodes
    steps = planned * algorithm.simulated_steps + evaluations * problem.env.max_episode_steps / 2
    trained = max(0, planned - algorithm.warmup(cell.settings))
    learns = algorithm.critic_updates > 0 and algorithm.gradient_workers(cell.settings, cell.workers) > 0
    size = update_size(cell.settings, problem) / MEASURED * algorithm.update_cost(cell.settings) if learns else 0.0
    caught_up = trained if algorithm.is_synchronous(cell.settings) else planned  # AES-RL's critic catches up
    critic = caught_up * algorithm.critic_updates * size * costs.critic_update
    actors = trained * algorithm.actor_updates * size * costs.actor_update
    tasks = steps * STEPS.get(environment_name(cell.env), 1.0) * costs.timestep + critic + actors
    chain = critic + actors / max(1.0, algorithm.actor_updates)  # what no further process shortens
    disk = 4.0 * planned * needs.recorded * observation_width(problem) if learns else 0.0
    policies = POLICY_BYTES * algorithm.policy_for(cell.settings, problem).size
    memory = (1 + processes) * (GRADIENT_BYTES if learns else ROLLOUT_BYTES) + needs.memory + policies
    alone = START_SECONDS + needs.seconds * planned / needs.steps  # while no task runs
    return Share(
        processes=processes,
        core_seconds=alone + tasks,
        seconds=alone + max(chain, tasks / max(1, processes)),
        memory=memory,
        disk=disk,
    )


def planned_steps(cell: Cell, problem: Problem) -> float:
    """About how many training steps a cell takes, by its steps, modelled minutes and generations."""
    steps = max(cell.total_timesteps, steps_in_time(cell))
    if cell.total_generations is None:
        return steps
    return min(steps, cell.total_generations * registry.find(cell.algo).needs(cell.settings, problem).steps)


def steps_in_time(cell: Cell) -> int:
    """About how many training steps the modelled minutes of a cell's budget are; 0 where it has none."""
    if cell.total_minutes is None:
        return 0
    listed, costs = registry.find(cell.algo), cell.costs
    critic, actors = listed.critic_updates * costs.critic_update, listed.actor_updates * costs.actor_update
    others = (listed.simulated_steps * costs.timestep + actors) / cell.processors
    waits = listed.is_synchronous(cell.settings) or getattr(cell.settings, "critic_updates_per_step", None)
    waited = critic if waits else 0.0
    return math.ceil(60 * cell.total_minutes / max(others, waited, 1e-9))


def never_timed(cells: Iterable[Cell]) -> list[str]:
    """The environments of which no step was timed; an estimate takes it for as long as HalfCheetah's."""
    envs = dict.fromkeys(cell.env for cell in cells)
    return [env for env in envs if environment_name(env) not in STEPS]


def observation_width(problem: Problem) -> int:
    """Numbers per transition in the replay: observation, action, reward, continue flag, row."""
    return problem.observation_size + problem.action_size + 3


def update_size(settings: Any, problem: Problem) -> int:
    """Minibatch x weights of an actor and a critic, to which an update's time is nearly proportional."""
    hidden, batch = getattr(settings, "hidden", ()), getattr(settings, "batch_size", 0)
    observation, action = problem.observation_size, problem.action_size
    critic = getattr(settings, "critic_hidden", hidden)
    networks = ((observation, *hidden, action), (observation + action, *critic, 1))
    return batch * sum(inputs * outputs for sizes in networks for inputs, outputs in pairwise(sizes))


def find_doubts(cells: Iterable[Cell], find_problem: ProblemOf) -> Iterator[tuple[str, str]]:
    """The kind of each doubt and a line on it, of each cell without its seed."""
    kinds = {(cell.name, cell.env, repr(cell.settings), cell.total_timesteps, cell.eval_freq): cell for cell in cells}
    for cell in kinds.values():
        where = f"{cell.name} on {cell.env}"
        try:
            problem = find_problem(cell.env, cell.env_settings)
        except CellError as error:
            yield "fails", f"warning: {where} will fail: {error}"
            continue
        for kind, text in _doubt_budget(cell, problem):
            yield kind, f"warning: {where}: {text}"


def shorten_doubts(doubts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The line of each doubt; of more than `FEW` of one kind the first, and the number of the others."""
    kinds: dict[str, list[str]] = {}
    for kind, line in doubts:
        kinds.setdefault(kind, []).append(line)
    for lines in kinds.values():
        yield from lines if len(lines) <= FEW else [f"{lines[0]} (also {len(lines) - 1} more cells; -v lists them)"]


def _doubt_budget(cell: Cell, problem: Problem) -> Iterator[tuple[str, str]]:
    algorithm = registry.find(cell.algo)
    planned = planned_steps(cell, problem)
    warmup = algorithm.warmup(cell.settings) if algorithm.gradient_workers(cell.settings, 1) else 0
    generation = algorithm.needs(cell.settings, problem).steps
    if planned <= warmup:
        yield (
            NEVER_TRAINS,
            f"it never trains, for all of its {planned:,.0f} steps are warm-up; give "
            f"--total-timesteps above {warmup:,}, or less warm-up: --set start_timesteps={_round_up(planned / 10)}",
        )
    elif cell.total_generations is None and planned - warmup < 2 * generation:
        names = [name for name in algorithm.generation_settings if hasattr(cell.settings, name)]
        less = f", or fewer by --set {names[0]}=N ({getattr(cell.settings, names[0])} now)" if names else ""
        yield (
            "few generations",
            f"a generation has about {generation:,.0f} steps or more, so {planned:,.0f} steps are one or two; give "
            f"--total-timesteps {_round_up(warmup + 10 * generation)} for about ten{less}",
        )
    if planned < cell.eval_freq:
        yield (
            "not evaluated",
            f"it is evaluated at its start and its end only, for --eval-freq {cell.eval_freq:,} is above its "
            f"{planned:,.0f} steps; give --eval-freq {usual_frequency(planned)}",
        )


def _round_up(value: float) -> int:
    """A number of one digit and zeros, at least 1."""
    digits = 10 ** int(math.log10(max(1.0, value)))
    return max(1, math.ceil(value / digits) * digits)
