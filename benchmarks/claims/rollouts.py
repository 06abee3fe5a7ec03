"""Rollouts: steps per second on one core against their floor, an eager-torch loop, and EvoTorch's GymNE.

The floor is bare physics (`mj_step` through the very states of the rollout) plus the policy's matrix products.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gymnasium
import mujoco
import numpy as np
import torch

from benchmarks.harness import NO_PEER, Claim, cpu_seconds, median, take_turns
from erlbench.envs.registry import Problem, problem
from erlbench.policy import NumpyPolicy, PolicySpec, initial_parameters, layer_slices
from erlbench.work.rollout import RolloutSettings, play, rollout
from erlbench.work.store import Store
from erlbench.work.workspace import Workspace

ENVIRONMENTS = ("HalfCheetah-v5", "Walker2d-v5", "Humanoid-v5")
NETWORKS = ((400, 300), (64, 64))
STEPS = 1000  # at least, per turn
REPEATS = 9


def measure() -> Iterator[Claim]:
    """Three claims for each environment and network."""
    store = Store.create()
    workspace = Workspace(store)
    try:
        for env_id in ENVIRONMENTS:
            for hidden in NETWORKS:
                yield from _measure(Bench(env_id, hidden, workspace))
    finally:
        workspace.close()
        store.close()


def _measure(bench: Bench) -> Iterator[Claim]:
    candidates = {"erlbench": bench.ours, "physics": bench.physics, "products": bench.products, "torch": bench.torch}
    peer = bench.evotorch()
    if peer is not None:
        candidates["evotorch"] = peer
    seconds = take_turns(candidates, REPEATS)
    floor = seconds["physics"] + seconds["products"]
    yield Claim(f"rollout {bench.name}: speed / floor's", median(floor / seconds["erlbench"]), 0.8, samples=seconds)
    for name, label in (("torch", "eager torch's"), ("evotorch", "EvoTorch GymNE's")):
        claim = f"rollout {bench.name}: speed / {label}"
        if name in seconds:
            yield Claim(claim, median(seconds[name] / seconds["erlbench"]), 2.0)
        else:
            yield Claim(claim, math.nan, 2.0, note=NO_PEER)


class Bench:
    """The candidates for one environment and network; each returns seconds per environment step."""

    def __init__(self, env_id: str, hidden: tuple[int, int], workspace: Workspace) -> None:
        self.name = f"{env_id.removesuffix('-v5')} {hidden[0]}-{hidden[1]}"
        self._env_id, self._workspace = env_id, workspace
        self._problem: Problem = problem(env_id)
        sizes = (self._problem.observation_size, *hidden, self._problem.action_size)
        self.spec = PolicySpec(sizes, "tanh", self._problem.action_low, self._problem.action_high)
        self.parameters = initial_parameters(sizes, (0,))
        self._record()
        self._gym = gymnasium.make(env_id)
        self._network = _torch_policy(self.spec, self.parameters)

    def _record(self) -> None:
        """Where the episodes start and end, and their actions."""
        env: Any = self._workspace.environment(self._problem.env)
        policy = NumpyPolicy(self.spec, self.parameters)
        self.env, self._model, self._data, self._frame_skip = env, env.model, env.data, env.frame_skip
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

    def torch(self) -> float:
        """Gymnasium's environment and a `torch.nn.Sequential`, as one writes it at first."""
        steps = 0

        def run() -> None:
            nonlocal steps
            with torch.no_grad():
                for seed in range(len(self.episodes)):
                    observation, _ = self._gym.reset(seed=seed)
                    over = False
                    while not over:
                        action = self._network(torch.as_tensor(observation, dtype=torch.float32)).numpy()
                        observation, _, terminated, truncated, _ = self._gym.step(action)
                        over = terminated or truncated
                        steps += 1

        return cpu_seconds(run) / steps

    def evotorch(self) -> Callable[[], float] | None:
        """EvoTorch's problem class with as many solutions as there are episodes; None: not installed."""
        try:
            from evotorch.neuroevolution import GymNE
        except ImportError:
            return None
        logging.getLogger("evotorch").setLevel(logging.WARNING)
        peer = GymNE(self._env_id, network=_torch_policy(self.spec, self.parameters), observation_normalization=False)
        batch = peer.generate_batch(len(self.episodes))
        values = torch.from_numpy(np.tile(self.parameters, (len(self.episodes), 1)))

        def run() -> float:
            batch.set_values(values)  # forgets the evaluations
            before = peer.status.get("total_interaction_count", 0)
            seconds = cpu_seconds(lambda: peer.evaluate(batch))
            return seconds / int(peer.status["total_interaction_count"] - before)

        return run


class _Scale(torch.nn.Module):
    """From [-1, 1] to the environment's actions."""

    def __init__(self, spec: PolicySpec) -> None:
        super().__init__()
        self.register_buffer("centre", torch.from_numpy(spec.centre))
        self.register_buffer("half_range", torch.from_numpy(spec.half_range))

    def forward(self, action: torch.Tensor) -> torch.Tensor:
        return self.centre + self.half_range * action


def _torch_policy(spec: PolicySpec, parameters: np.ndarray) -> torch.nn.Sequential:
    layers: list[torch.nn.Module] = []
    for inputs, outputs in zip(spec.sizes, spec.sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.Tanh()]
    network = torch.nn.Sequential(*layers, _Scale(spec))
    torch.nn.utils.vector_to_parameters(torch.from_numpy(parameters.copy()), network.parameters())
    return network
