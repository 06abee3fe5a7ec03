"""TD3 and SAC: whole steps with environment and replay, against Stable-Baselines3 and an eager loop in plain torch.

All have the same networks, batch, updates per step and environment. One thread is measured in processor time, two
cores by the wall clock.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.harness import NO_PEER, Claim, Samples, cpu_seconds, median, take_turns, wall_seconds
from benchmarks.peers import eager
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
SB3, EAGER = "Stable-Baselines3's", "eager torch's"
NO_CORE = "not measured: it takes 2 cores"
Candidate = Callable[[], float]


def measure() -> Iterator[Claim]:
    """Three ratios for each algorithm."""
    store = Store.create()
    try:
        for algo in ALGORITHMS:
            with tempfile.TemporaryDirectory() as folder:
                yield from _compare(algo, Learning(algo, store, Path(folder)))
    finally:
        store.close()


def _compare(algo: str, mine: Learning) -> Iterator[Claim]:
    name = f"{algo.upper()} {ENVIRONMENT.partition('-')[0]} 256-256 batch 256"
    peer = stable_baselines3(algo)
    candidates = {"erlbench": mine.one_thread, "eager": eager_torch(algo)}
    if peer is not None:
        candidates["stable_baselines3"] = lambda: peer(1)
    seconds = take_turns(candidates, REPEATS)
    yield _claim(f"{name}, 1 thread: steps/s / {SB3}", 1.8, seconds, "stable_baselines3")
    yield _claim(f"{name}, 1 thread: steps/s / {EAGER}", 1.0, seconds, "eager")
    seconds = {}
    if peer is not None and cores() >= 2:
        seconds = take_turns({"erlbench": mine.two_cores, "stable_baselines3": lambda: peer(2)}, REPEATS)
    note = NO_CORE if cores() < 2 else NO_PEER
    yield _claim(f"{name}, 2 cores: steps/s / {SB3}", 2.2, seconds, "stable_baselines3", note)


def _claim(claim: str, target: float, seconds: Samples, peer: str, note: str = NO_PEER) -> Claim:
    if peer not in seconds:
        return Claim(claim, math.nan, target, note=note)
    samples = {name: seconds[name] for name in ("erlbench", peer)}
    return Claim(claim, median(seconds[peer] / seconds["erlbench"]), target, samples=samples)


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
        from benchmarks.peers.sb3_peer import create
    except ImportError:
        return None
    model: Any = create(algo, ENVIRONMENT, 0, WARM_UP)
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


def eager_torch(algo: str) -> Candidate:
    """The eager loop, after as many random actions; processor time per step."""
    loop = eager.Loop(ENVIRONMENT, eager.AGENTS[algo](problem(ENVIRONMENT), HIDDEN, BATCH))
    loop.explore(WARM_UP)
    return lambda: cpu_seconds(lambda: loop.learn(STEPS)) / STEPS
