"""Rollouts: steps per second on one core against their floor.

The floor is bare physics (`mj_step` through the very states of the rollout) plus the policy's matrix products.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import mujoco
import numpy as np
import torch

from benchmarks.harness import Claim, cpu_seconds, median, take_turns
from erlbench.envs.registry import Problem, problem
from erlbench.policy import NumpyPolicy, PolicySpec, initial_parameters, layer_slices
from erlbench.work.rollout import RolloutSettings, play, rollout
from erlbench.work.store import Store
from erlbench.work.workspace import Workspace

ENVIRONMENTS = ("HalfCheetah-v5", "Walker2d-v5", "Humanoid-v5")
NETWORKS = ((400, 300), (64, 64))
STEPS, REPEATS = 1000, 9  # at least so many steps per turn


def measure() -> Iterator[Claim]:
    """A ratio for each environment and network."""
    store = Store.create()
    workspace = Workspace(store)
    try:
        for env_id in ENVIRONMENTS:
            for hidden in NETWORKS:
                bench = Bench(env_id, hidden, workspace)
                candidates = {"erlbench": bench.ours, "physics": bench.physics, "products": bench.products}
                seconds = take_turns(candidates, REPEATS)
                ratio = median((seconds["physics"] + seconds["products"]) / seconds["erlbench"])
                yield Claim(f"rollout {bench.name}: speed / floor's", ratio, 0.8, samples=seconds)
    finally:
        workspace.close()
        store.close()


class Bench:
    """Rollout and floor for one environment and network; each method returns seconds per environment step."""

    def __init__(self, env_id: str, hidden: tuple[int, int], workspace: Workspace) -> None:
        self.name = f"{env_id.removesuffix('-v5')} {hidden[0]}-{hidden[1]}"
        self._workspace = workspace
        self._problem: Problem = problem(env_id)
        sizes = (self._problem.observation_size, *hidden, self._problem.action_size)
        self.spec = PolicySpec(sizes, "tanh", self._problem.action_low, self._problem.action_high)
        self.parameters = initial_parameters(sizes, (0,))
        self._record()

    def _record(self) -> None:
        """Where the episodes start and end, and their actions."""
        env: Any = self._workspace.environment(self._problem.env)
        policy = NumpyPolicy(self.spec, self.parameters)
        self._model, self._data, self._frame_skip = env.model, env.data, env.frame_skip
        self.episodes: list[tuple[np.ndarray, np.ndarray, list[np.ndarray], np.ndarray]] = []
        self.steps = 0
        while self.steps < STEPS:
            seed = len(self.episodes)
            episode = play(env, policy, self._problem.env.max_episode_steps, seed)
            actions = [policy.denormalise(action) for action in episode.actions[: episode.length]]
            end = env.data.qpos.copy()
            env.reset(seed=seed)
            self.episodes.append((env.data.qpos.copy(), env.data.qvel.copy(), actions, end))
            self.steps += episode.length

    def ours(self) -> float:
        """The task function of every rollout."""
        seeds = tuple(range(len(self.episodes)))
        settings = RolloutSettings(self._problem.env, self.spec, len(self.episodes), seeds=seeds)
        inputs = {"parameters": self.parameters}
        return cpu_seconds(lambda: rollout(settings, inputs, (0,), self._workspace)) / self.steps

    def physics(self) -> float:
        """The steps of the simulation alone."""
        model, data, frame_skip, seconds = self._model, self._data, self._frame_skip, 0.0
        for qpos, qvel, actions, end in self.episodes:
            mujoco.mj_resetData(model, data)
            data.qpos[:], data.qvel[:] = qpos, qvel
            mujoco.mj_forward(model, data)
            start = time.process_time()
            for action in actions:
                data.ctrl[:] = action
                mujoco.mj_step(model, data, frame_skip)
            seconds += time.process_time() - start
            assert np.array_equal(data.qpos, end), "the floor went through other states than the rollout"
        return seconds / self.steps

    def products(self) -> float:
        """The policy's matrix-vector products alone, by the faster library."""
        by_numpy: list[Callable[[], object]] = []
        by_torch: list[Callable[[], object]] = []
        below = np.zeros(self.spec.sizes[0], np.float32)
        for (weight, _), inputs, outputs in zip(layer_slices(self.spec.sizes), self.spec.sizes, self.spec.sizes[1:]):
            matrix, layer = self.parameters[weight].reshape(outputs, inputs), np.zeros(outputs, np.float32)
            by_numpy.append(partial(matrix.dot, below, layer))
            by_torch.append(partial(torch.mv, *map(torch.from_numpy, (matrix, below)), out=torch.from_numpy(layer)))
            below = layer

        def run(operations: list[Callable[[], object]]) -> None:
            for _ in range(self.steps):
                for operation in operations:
                    operation()

        return min(cpu_seconds(partial(run, operations)) for operations in (by_numpy, by_torch)) / self.steps
