"""Atari: frames per second and core with a policy of images, beside the game with its preprocessing alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.harness import Claim, cpu_seconds, median, take_turns
from erlbench.algorithms.openai_es import OpenAIES, OpenAIESSettings
from erlbench.envs.registry import problem
from erlbench.envs.wrappers import Env
from erlbench.policy import NumpyPolicy, initial_policy
from erlbench.settings import resolve
from erlbench.work.rollout import play
from erlbench.work.store import Store
from erlbench.work.workspace import Workspace

GAMES = ("ALE/Pong-v5@paper", "ALE/Freeway-v5@paper")
STEPS, FRAMES, REPEATS = 500, 4, 5  # of a turn; of a step; turns


def measure() -> Iterator[Claim]:
    """Frames per second of each game with the policy of OpenAI-ES, and without."""
    store = Store.create()
    workspace = Workspace(store)
    try:
        for name in GAMES:
            task = problem(name)
            spec = OpenAIES.policy_for(resolve(OpenAIESSettings, name, {}, {}), task)
            policy, env = NumpyPolicy(spec, initial_policy(spec, (0,))), workspace.environment(task.env)
            actions = np.random.default_rng(0).integers(task.action_size, size=STEPS)

            turns = {"alone": partial(step_alone, env, actions), "with policy": partial(step_with, env, policy)}
            seconds = take_turns(turns, REPEATS)
            rates = [f"{FRAMES / median(per_step):,.0f} frames/s {what}" for what, per_step in seconds.items()]
            ratio = median(seconds["alone"] / seconds["with policy"])
            yield Claim(f"{name}: speed with policy / alone", ratio, 0.4, note=", ".join(rates), samples=seconds)
    finally:
        workspace.close()
        store.close()


def step_alone(env: Env, actions: np.ndarray) -> float:
    """Processor seconds per step of the game with its preprocessing, the start of the episode included."""

    def steps() -> None:
        env.reset(seed=1)
        for action in actions:
            env.step(action)

    return cpu_seconds(steps) / len(actions)


def step_with(env: Env, policy: NumpyPolicy) -> float:
    """The same with a policy, in an episode."""
    lengths: list[int] = []
    return cpu_seconds(lambda: lengths.append(play(env, policy, STEPS, 1).length)) / lengths[0]
