"""How long a cell may take and how much memory it needs, from operation counts; right within a factor of two or so."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from erlbench.algorithms import registry
from erlbench.envs.registry import Problem, problem
from erlbench.experiment.cells import Cell
from erlbench.settings import environment_name

FLOPS = 80e9  # float32 operations a second of one core in a minibatch
PARAMETER_SECONDS = 1.5e-9  # a critic's or actor's optimiser step, per parameter
STEP_SECONDS = {  # one environment step with its policy
    "HalfCheetah": 100e-6,
    "Walker2d": 200e-6,
    "Hopper": 180e-6,
    "Swimmer": 130e-6,
    "Ant": 370e-6,
    "Humanoid": 420e-6,
    "HumanoidStandup": 450e-6,
    "erlbench/PartiallyObservablePendulum": 20e-6,  # of several episodes together
}
OTHER_STEP_SECONDS = 100e-6
START_SECONDS = 3.0  # imports and first episodes
GRADIENT_BYTES, ROLLOUT_BYTES = 260e6, 70e6  # a process with torch, and one without


@dataclass(frozen=True)
class Estimate:
    """One cell's needs."""

    core_seconds: float  # all processes together
    seconds: float  # wall-clock with the given processes
    memory: float  # bytes, all processes together
    disk: float  # bytes of replay while it runs


def estimates(cells: Iterable[Cell], processes: Callable[[Cell], int | None]) -> list[Estimate]:
    """What each cell takes with its number of processes (0 or None counts as 1); makes each environment once."""
    problems: dict[tuple[str, str], Problem] = {}
    found = []
    for cell in cells:
        key = cell.env, repr(sorted(cell.env_settings.items()))
        if key not in problems:
            problems[key] = problem(cell.env, cell.env_settings)
        found.append(estimate(cell, problems[key], processes(cell) or 1))
    return found


def estimate(cell: Cell, problem: Problem, processes: int) -> Estimate:
    """What `cell` takes with `processes` processes; evaluation included."""
    step = STEP_SECONDS.get(environment_name(cell.env), OTHER_STEP_SECONDS)
    algorithm = registry.find(cell.algo)
    budget = max(cell.total_timesteps, _steps_in_time(cell))
    planned = algorithm.training_steps(cell.settings, problem, budget, cell.total_generations)
    generations = math.ceil(planned / algorithm.generation_steps(cell.settings, problem))
    due = min(budget // cell.eval_freq, generations)  # they wait for a generation's end
    evaluations = due * cell.eval_episodes + cell.final_episodes
    steps = planned * algorithm.simulated_steps + evaluations * problem.env.max_episode_steps / 2
    trained = max(0, planned - getattr(cell.settings, "start_timesteps", 0))
    learns = algorithm.critic_updates > 0 and algorithm.gradient_workers(cell.settings, cell.workers) > 0
    critic_time, actor_time = _update_seconds(cell, problem) if learns else (0.0, 0.0)
    caught_up = trained if algorithm.is_synchronous(cell.settings) else planned  # AES-RL's critic catches up
    critic = caught_up * algorithm.critic_updates * critic_time
    actors = trained * algorithm.actor_updates * actor_time
    held, per_generation = algorithm.search_cost(cell.settings, problem)
    search = per_generation * planned / algorithm.generation_steps(cell.settings, problem)
    tasks = steps * step + critic + actors
    chain = critic + actors / max(1.0, algorithm.actor_updates)  # what no further process shortens
    width = observation_width(problem)
    recorded = algorithm.recorded_steps(cell.settings, problem, budget, cell.total_generations)
    disk = 4.0 * recorded * width if learns else 0.0
    memory = (1 + processes) * (GRADIENT_BYTES if learns else ROLLOUT_BYTES) + held
    alone = START_SECONDS + search  # while no task runs
    return Estimate(alone + tasks, alone + max(chain, tasks / max(1, processes)), memory, disk)


def _steps_in_time(cell: Cell) -> int:
    """About how many training steps the modelled minutes of a cell's budget are; 0 where it has none."""
    if cell.total_minutes is None:
        return 0
    listed, costs = registry.find(cell.algo), cell.costs
    critic, actors = listed.critic_updates * costs.critic_update, listed.actor_updates * costs.actor_update
    others = (listed.simulated_steps * costs.timestep + actors) / cell.processors
    waits = listed.is_synchronous(cell.settings) or getattr(cell.settings, "critic_ratio", None)
    waited = critic if waits else 0.0
    return math.ceil(60 * cell.total_minutes / max(others, waited, 1e-9))


def observation_width(problem: Problem) -> int:
    """Numbers per transition in the replay: observation, action, reward, continue flag, row."""
    return problem.observation_size + problem.action_size + 3


def _update_seconds(cell: Cell, problem: Problem) -> tuple[float, float]:
    """Seconds of one critic update (twin critics) and of one actor update."""
    hidden, batch = getattr(cell.settings, "hidden", ()), getattr(cell.settings, "batch_size", 0)
    if not hidden:
        return 0.0, 0.0
    actor = _products((problem.observation_size, *hidden, problem.action_size))
    critic = _products((problem.observation_size + problem.action_size, *hidden, 1))
    inner = critic - (problem.observation_size + problem.action_size) * hidden[0]  # no gradient of the inputs
    critic_flops = 2.0 * batch * (actor + 4 * critic + 2 * (critic + inner))
    actor_flops = 2.0 * batch * (2 * actor + critic + inner + inner)
    return (critic_flops / FLOPS + 2 * critic * PARAMETER_SECONDS, actor_flops / FLOPS + actor * PARAMETER_SECONDS)


def _products(sizes: tuple[int, ...]) -> int:
    return sum(inputs * outputs for inputs, outputs in pairwise(sizes))
