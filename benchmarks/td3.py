"""TD3 against Stable-Baselines3's: same networks, batch, updates per step, environment; one thread each."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from benchmarks.harness import NO_PEER, Claim, cpu_seconds, median, take_turns
from erlbench.algorithms.base import Context
from erlbench.algorithms.td3 import TD3, TD3Settings
from erlbench.envs.registry import problem
from erlbench.replay import Replay
from erlbench.settings import resolve
from erlbench.store import Store
from erlbench.workspace import Workspace

ENVIRONMENT, HIDDEN, BATCH = "HalfCheetah-v5", (256, 256), 256
WARM_UP, STEPS, REPEATS = 1000, 150, 7
CLAIM = "TD3 HalfCheetah 256-256 batch 256, 1 thread: steps/s / Stable-Baselines3's"


def measure() -> Iterator[Claim]:
    """One ratio, environment steps and replay included."""
    candidates: dict[str, Callable[[], float]] = {}
    store = Store.create()
    try:
        with tempfile.TemporaryDirectory() as folder:
            candidates["erlbench"] = erlbench(store, Path(folder))
            peer = stable_baselines3()
            if peer is None:
                yield Claim(CLAIM, math.nan, 1.8, note=NO_PEER)
                return
            candidates["stable_baselines3"] = peer
            seconds = take_turns(candidates, REPEATS)
            yield Claim(CLAIM, median(seconds["stable_baselines3"] / seconds["erlbench"]), 1.8, samples=seconds)
    finally:
        store.close()


def erlbench(store: Store, folder: Path) -> Callable[[], float]:
    """The task of an episode, of `STEPS` steps, after one of random actions; seconds per step."""
    task = problem(ENVIRONMENT)
    overrides = {"hidden": HIDDEN, "critic_hidden": HIDDEN, "batch_size": BATCH, "start_timesteps": WARM_UP}
    replay = Replay(folder, task.observation_size, task.action_size)
    settings = resolve(TD3Settings, ENVIRONMENT, {}, overrides)
    algorithm = TD3(settings, Context(task, 0, 1_000_000, 1, store, replay))
    workspace = Workspace(store)
    (episode,) = algorithm.ask()
    algorithm.tell(episode, workspace.run(episode))
    (episode,) = algorithm.ask()
    short = replace(episode, settings={**episode.settings, "limit": STEPS})

    def run() -> float:
        return cpu_seconds(lambda: workspace.run(short)) / STEPS

    return run


def stable_baselines3() -> Callable[[], float] | None:
    """The peer with erlbench's settings, after as many random actions; None: not installed."""
    try:
        import stable_baselines3
        import torch
        from stable_baselines3.common.noise import NormalActionNoise
    except ImportError:
        return None
    torch.set_num_threads(1)
    env: Any = gymnasium.make(ENVIRONMENT)
    size = env.action_space.shape[0]
    model = stable_baselines3.TD3(
        "MlpPolicy", env, learning_rate=3e-4, buffer_size=1_000_000, learning_starts=WARM_UP, batch_size=BATCH,
        tau=0.005, gamma=0.99, train_freq=1, gradient_steps=1, policy_delay=2,
        action_noise=NormalActionNoise(np.zeros(size), 0.1 * np.ones(size)), target_policy_noise=0.2,
        target_noise_clip=0.5, policy_kwargs={"net_arch": list(HIDDEN)}, seed=0, device="cpu",
    )  # fmt: skip
    model.learn(WARM_UP)

    def run() -> float:
        before = int(model.num_timesteps)
        seconds = cpu_seconds(lambda: model.learn(STEPS, reset_num_timesteps=False))
        return seconds / (int(model.num_timesteps) - before)

    return run
