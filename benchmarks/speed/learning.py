"""TD3 and SAC: whole steps with environment and replay, against Stable-Baselines3.

Both have the same networks, batch, updates per step and environment; what is compared is processor time of one thread.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

from benchmarks.harness import NO_PEER, Claim, cpu_seconds, median, take_turns
from erlbench.algorithms import registry
from erlbench.algorithms.base import Context
from erlbench.envs.registry import problem
from erlbench.settings import resolve
from erlbench.work.replay import Replay
from erlbench.work.store import Store
from erlbench.work.workspace import Workspace

ALGORITHMS, ENVIRONMENT, HIDDEN, BATCH = ("td3", "sac"), "HalfCheetah-v5", (256, 256), 256
WARM_UP, STEPS, REPEATS = 1000, 150, 9
SB3 = "Stable-Baselines3's"
PEER = {
    "learning_rate": 3e-4, "buffer_size": 1_000_000, "batch_size": BATCH, "tau": 0.005, "gamma": 0.99, "train_freq": 1,
    "gradient_steps": 1, "policy_kwargs": {"net_arch": [*HIDDEN]}, "device": "cpu", "learning_starts": WARM_UP,
}  # fmt: skip
TARGET = 1.8


def measure() -> Iterator[Claim]:
    """One ratio for each algorithm."""
    store = Store.create()
    try:
        for algo in ALGORITHMS:
            with tempfile.TemporaryDirectory() as folder:
                yield from compare(algo, Learning(algo, store, Path(folder)))
    finally:
        store.close()


def compare(algo: str, mine: Learning) -> Iterator[Claim]:
    """With one thread."""
    claim = f"{algo.upper()} {ENVIRONMENT.partition('-')[0]} 256-256 batch 256, 1 thread: steps/s / {SB3}"
    peer = stable_baselines3(algo)
    if peer is None:
        yield Claim(claim, math.nan, TARGET, note=NO_PEER)
        return
    seconds = take_turns({"erlbench": mine.seconds_per_step, "stable_baselines3": peer}, REPEATS)
    yield Claim(claim, median(seconds["stable_baselines3"] / seconds["erlbench"]), TARGET, samples=seconds)


class Learning:
    """The task of an episode, of `STEPS` steps, after one of random actions; all return seconds per step."""

    def __init__(self, algo: str, store: Store, folder: Path) -> None:
        task, cls = problem(ENVIRONMENT), registry.find(algo)
        overrides = {"hidden": HIDDEN, "critic_hidden": HIDDEN, "batch_size": BATCH, "start_timesteps": WARM_UP}
        replay = Replay(folder, task.observation_size, task.action_size)
        store.attach("replay", folder)
        settings = resolve(cls.settings_type, ENVIRONMENT, {}, overrides)
        context = Context(problem=task, seed=0, total_timesteps=1_000_000, workers=1, store=store, replay=replay)
        algorithm = cls(settings, context)
        self._workspace = Workspace(store)
        (episode,) = algorithm.ask()
        algorithm.tell(episode, self._workspace.run(episode))
        (episode,) = algorithm.ask()
        self._episode = replace(episode, settings=replace(episode.settings, limit=STEPS))
        replay.close()

    def seconds_per_step(self) -> float:
        """Processor time on one core."""
        return cpu_seconds(lambda: self._workspace.run(self._episode)) / STEPS


def stable_baselines3(algo: str) -> Callable[[], float] | None:
    """The peer's processor time per step, with erlbench's settings, after random actions; None: not installed."""
    try:
        import stable_baselines3 as sb3
        from stable_baselines3.common.noise import NormalActionNoise
    except ImportError:
        return None
    size = problem(ENVIRONMENT).action_size
    noise = NormalActionNoise(np.zeros(size), 0.1 * np.ones(size))
    td3 = {"policy_delay": 2, "action_noise": noise, "target_policy_noise": 0.2, "target_noise_clip": 0.5}
    make, settings = (sb3.TD3, td3) if algo == "td3" else (sb3.SAC, {"ent_coef": "auto_1.0"})
    model: Any = make("MlpPolicy", gymnasium.make(ENVIRONMENT), seed=0, **PEER, **settings)
    model.learn(WARM_UP)

    def seconds_per_step() -> float:
        before = int(model.num_timesteps)
        taken = cpu_seconds(lambda: model.learn(STEPS, reset_num_timesteps=False))
        return taken / (int(model.num_timesteps) - before)

    torch.set_num_threads(1)
    return seconds_per_step
