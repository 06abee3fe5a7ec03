"""TD3 and SAC: whole steps with environment and replay, against Stable-Baselines3.

Both have the same networks, batch, updates per step and environment. One thread is measured in processor time, two
cores by the wall clock.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

from benchmarks.harness import NO_PEER, Claim, cpu_seconds, median, take_turns, wall_seconds
from erlbench.algorithms import registry
from erlbench.algorithms.base import Context
from erlbench.envs.registry import problem
from erlbench.machine.resources import cores
from erlbench.settings import resolve
from erlbench.work.replay import Replay
from erlbench.work.store import Store
from erlbench.work.workspace import Core, Workspace

ALGORITHMS, ENVIRONMENT, HIDDEN, BATCH = ("td3", "sac"), "HalfCheetah-v5", (256, 256), 256
WARM_UP, STEPS, REPEATS = 1000, 150, 9
SB3 = "Stable-Baselines3's"
PEER = {
    "learning_rate": 3e-4, "buffer_size": 1_000_000, "batch_size": BATCH, "tau": 0.005, "gamma": 0.99, "train_freq": 1,
    "gradient_steps": 1, "policy_kwargs": {"net_arch": [*HIDDEN]}, "device": "cpu", "learning_starts": WARM_UP,
}  # fmt: skip
NO_CORE = "not measured: it takes 2 cores"


def measure() -> Iterator[Claim]:
    """Two ratios for each algorithm."""
    store = Store.create()
    try:
        for algo in ALGORITHMS:
            with tempfile.TemporaryDirectory() as folder:
                yield from compare(algo, Learning(algo, store, Path(folder)))
    finally:
        store.close()


def compare(algo: str, mine: Learning) -> Iterator[Claim]:
    """With one thread and on two cores."""
    name = f"{algo.upper()} {ENVIRONMENT.partition('-')[0]} 256-256 batch 256"
    peer = stable_baselines3(algo)
    for threads, target, ours in ((1, 1.8, mine.one_thread), (2, 2.2, mine.two_cores)):
        claim = f"{name}, {'1 thread' if threads == 1 else '2 cores'}: steps/s / {SB3}"
        if peer is None or cores() < threads:
            yield Claim(claim, math.nan, target, note=NO_PEER if cores() >= threads else NO_CORE)
            continue
        theirs = partial(peer, threads)
        seconds = take_turns({"erlbench": ours, "stable_baselines3": theirs}, REPEATS)
        ratio = median(seconds["stable_baselines3"] / seconds["erlbench"])
        yield Claim(claim, ratio, target, samples=seconds)


class Learning:
    """The task of an episode, of `STEPS` steps, after one of random actions; all return seconds per step."""

    def __init__(self, algo: str, store: Store, folder: Path) -> None:
        task, cls = problem(ENVIRONMENT), registry.find(algo)
        overrides = {"hidden": HIDDEN, "critic_hidden": HIDDEN, "batch_size": BATCH, "start_timesteps": WARM_UP}
        replay = Replay(folder, task.observation_size, task.action_size)
        settings = resolve(cls.settings_type, ENVIRONMENT, registry.preset(algo, "paper"), overrides)
        algorithm = cls(
            settings, Context(problem=task, seed=0, total_timesteps=1_000_000, workers=1, store=store, replay=replay)
        )
        self._workspace = Workspace(store)
        (episode,) = algorithm.ask()
        algorithm.tell(episode, self._workspace.run(episode))
        (episode,) = algorithm.ask()
        self._episode = replace(episode, settings=replace(episode.settings, limit=STEPS))
        replay.close()

    def one_thread(self) -> float:
        """Processor time on one core."""
        return cpu_seconds(lambda: self._run(None)) / STEPS

    def two_cores(self) -> float:
        """Time that passes on two cores."""
        return wall_seconds(lambda: self._run(IdleCore())) / STEPS

    def _run(self, core: Core | None) -> None:
        self._workspace.second_core = core
        self._workspace.run(self._episode)


class IdleCore:
    """A second core that nobody else wants."""

    def idle(self) -> bool:
        """Always."""
        return True

    def take(self) -> bool:
        """Always."""
        return True

    def held(self) -> float:
        return 0.0

    def give_back(self) -> None:
        """To nobody."""


def stable_baselines3(algo: str) -> Callable[[int], float] | None:
    """The peer with erlbench's settings, after as many random actions; None: not installed.

    Called with 1 it returns processor time per step, with more threads the time that passes.
    """
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

    def run(threads: int) -> float:
        before, seconds = int(model.num_timesteps), cpu_seconds if threads == 1 else wall_seconds
        torch.set_num_threads(threads)
        try:
            taken = seconds(lambda: model.learn(STEPS, reset_num_timesteps=False))
        finally:
            torch.set_num_threads(1)
        return taken / (int(model.num_timesteps) - before)

    return run
