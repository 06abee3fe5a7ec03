"""Gradient steps against their floors, one thread: TD3's, SAC's, and those of the tasks of CEM-RL and its kin."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.floors import Floors
from benchmarks.harness import Claim, cpu_seconds, median, take_turns
from erlbench.algorithms import sac, td3
from erlbench.algorithms.critic import critic_spec, initial_critic
from erlbench.algorithms.gradients import sac_episode, td3_episode
from erlbench.algorithms.gradients.actor_critic import train_actor, update_critic
from erlbench.algorithms.gradients.episode_loop import Memory
from erlbench.algorithms.gradients.learners import arithmetic
from erlbench.policy import PolicySpec, initial_parameters
from erlbench.work.replay import Replay
from erlbench.work.store import Store
from erlbench.work.tasks import ReplayView
from erlbench.work.workspace import Workspace

SHAPE = (17, 6)  # observation and action, HalfCheetah's and Walker2d's
SIZES = (((256, 256), 256), ((400, 300), 100))
LABELS = {"td3": "TD3 step", "sac": "SAC step", "critic": "critic update", "actor": "actor update"}
TRANSITIONS, UPDATES, REPEATS = 20_000, 48, 7
TD3 = {"discount": 0.99, "tau": 0.005, "learning_rate": 1e-3, "target_noise": 0.2, "noise_clip": 0.5}
SAC = {"discount": 0.99, "tau": 0.005, "learning_rate": 3e-4, "reward_scale": 1.0, "temperature": None}


def measure() -> Iterator[Claim]:
    """Four ratios for each size."""
    store = Store.create()
    try:
        with tempfile.TemporaryDirectory() as folder:
            view = random_replay(Path(folder), *SHAPE)
            for hidden, batch in SIZES:
                bench = Bench(*SHAPE, hidden, batch, view, Workspace(store))
                floors = Floors(*SHAPE, hidden, batch)
                name = f"{hidden[0]}-{hidden[1]} batch {batch}: time / floor"
                seconds = take_turns(
                    {"td3": bench.td3, "td3_floor": floors.td3, "sac": bench.sac,
                     "sac_floor": floors.sac, "critic": bench.critic, "critic_floor": floors.critic,
                     "actor": bench.actor, "actor_floor": floors.actor}, REPEATS)  # fmt: skip
                for kind, label in LABELS.items():
                    ratio = median(seconds[kind] / seconds[f"{kind}_floor"])
                    samples = {key: seconds[key] for key in (kind, f"{kind}_floor")}
                    yield Claim(f"{label} {name}", ratio, 1.35, at_least=False, samples=samples)
    finally:
        store.close()


def random_replay(folder: Path, observation: int, action: int) -> ReplayView:
    """A replay of random transitions with so many entries, in episodes of 1000."""
    replay, rng, episodes = Replay(folder, observation, action), np.random.default_rng(0), TRANSITIONS // 1000
    replay.append(
        rng.standard_normal((TRANSITIONS + episodes, observation), dtype=np.float32),
        rng.uniform(-1, 1, (TRANSITIONS, action)).astype(np.float32),
        rng.standard_normal(TRANSITIONS, dtype=np.float32),
        np.ones(TRANSITIONS, np.float32),
        [1000] * episodes,
    )
    view = replay.view()
    replay.close()
    return view


class Bench:
    """The updates for one size; each returns seconds per update."""

    def __init__(
        self, observation: int, action: int, hidden: Sequence[int], batch: int, view: ReplayView, workspace: Workspace
    ) -> None:
        self._workspace, self._view = workspace, view
        self._policy = PolicySpec((observation, *hidden, action), "tanh", (-1.0,) * action, (1.0,) * action)
        self._spec = critic_spec(self._policy, hidden, "leaky-relu")
        self._actor, self._critic = initial_parameters(self._policy.sizes, (0,)), initial_critic(self._spec, (1,))
        self._settings = {**TD3, "policy": self._policy, "critic": self._spec, "batch_size": batch, "step": 0}
        relu = PolicySpec(self._policy.sizes, "relu", self._policy.action_low, self._policy.action_high)
        critic = critic_spec(relu, hidden, "relu")
        self._td3 = td3_episode.Learner(relu, critic, batch, "cpu")
        self._td3.load(td3.initial_learner(relu, critic, (0,)), 0, 0)
        self._sac = sac_episode.Learner(relu, critic, False, batch, "cpu")
        self._sac.load(sac.initial_learner(relu, critic, False, (0,)), 0, 0, None)
        self._memory = Memory(view, workspace, 1, TRANSITIONS)

    def td3(self) -> float:
        """TD3's step with its minibatch and target noise; every second one with actor and targets."""
        losses, rng = torch.zeros(UPDATES), np.random.default_rng(0)

        def run() -> None:
            for index in range(UPDATES):
                with arithmetic():
                    self._td3.update(self._settings, self._memory, rng, losses[index], index % 2 == 1)

        return cpu_seconds(run) / UPDATES

    def sac(self) -> float:
        """SAC's step with its minibatch and noise."""
        rows, rng = torch.zeros(UPDATES, 2), np.random.default_rng(0)
        settings = {**SAC, "target_entropy": -self._policy.sizes[-1]}

        def run() -> None:
            for row in rows:
                with arithmetic():
                    self._sac.update(settings, self._memory, rng, row)

        return cpu_seconds(run) / UPDATES

    def critic(self) -> float:
        """The task function of critic updates."""
        inputs = {"critic": self._critic, "target_actor": self._actor, "replay": self._view}
        return self._task(update_critic, inputs)

    def actor(self) -> float:
        """The task function that trains an actor."""
        inputs = {"critic": self._critic, "parameters": self._actor, "replay": self._view}
        return self._task(train_actor, inputs)

    def _task(self, function: Any, inputs: dict[str, Any]) -> float:
        settings = {**self._settings, "updates": UPDATES}
        return cpu_seconds(lambda: function(settings, inputs, (0,), self._workspace)) / UPDATES
