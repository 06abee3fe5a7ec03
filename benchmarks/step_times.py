"""How long a step takes, relative to HalfCheetah's: python -m benchmarks.step_times [ENV]...

It prints the table [steps] of erlbench/experiment/costs.toml: whole episodes of a random policy of 400-300, resets
included, in processor time of one core, the median of turns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from benchmarks.harness import cpu_seconds, median, take_turns
from erlbench.envs.registry import Problem, ids, problem
from erlbench.policy import NumpyPolicy, PolicySpec, initial_policy
from erlbench.settings import environment_name
from erlbench.work.rollout import play
from erlbench.work.store import Store
from erlbench.work.workspace import Workspace

MEASURE, LEAST, TURNS = "HalfCheetah-v5", 500, 3  # steps of a turn, at least; turns


def turn(task: Problem, workspace: Workspace) -> Callable[[], float]:
    """A function that plays whole episodes of at least `LEAST` steps and gives processor seconds per step."""
    sizes = (task.observation_size, 400, 300, task.action_size)
    spec = (PolicySpec(sizes, "tanh", (), (), actions="discrete", image=task.image) if task.discrete
            else PolicySpec(sizes, "tanh", task.action_low, task.action_high))  # fmt: skip
    policy, env = NumpyPolicy(spec, initial_policy(spec, (0,))), workspace.environment(task.env)

    def seconds() -> float:
        lengths: list[int] = []

        def episodes() -> None:
            while sum(lengths) < LEAST:
                lengths.append(play(env, policy, min(task.env.max_episode_steps, 2 * LEAST), len(lengths)).length)

        return cpu_seconds(episodes) / sum(lengths)

    return seconds


def main(names: list[str]) -> None:
    """Print a line of the table for each environment that observes something."""
    workspace = Workspace(Store.create())
    for name in names or ids():
        if (task := problem(name)).observation_size:
            turns = {one: turn(problem(one), workspace) for one in dict.fromkeys((MEASURE, name))}
            seconds = take_turns(turns, TURNS)
            print(f'"{environment_name(name)}" = {median(seconds[name] / seconds[MEASURE]):.2g}  # {task.env.id}')


if __name__ == "__main__":
    main(sys.argv[1:])
