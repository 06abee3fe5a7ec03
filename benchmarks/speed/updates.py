"""Gradient steps against their floors, one thread: TD3's, SAC's, and those of the tasks of CEM-RL and its kin."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Claim, cpu_seconds, median, take_turns
from benchmarks.speed.floors import Floors
from erlbench.algorithms import sac, td3
from erlbench.algorithms.gradients.episode_loop import Memory
from erlbench.algorithms.gradients.minibatches import arithmetic
from erlbench.algorithms.gradients.programs.program import InTurn
from erlbench.algorithms.gradients.programs.sac import SACProgram
from erlbench.algorithms.gradients.programs.td3 import TD3Program
from erlbench.algorithms.gradients.updates import LearnerProgram, make_updates, train_actor, update_critic
from erlbench.algorithms.training.critic import critic_spec, initial_critic, initial_learner, initial_soft_learner
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, TD3Update, Updates
from erlbench.policy import PolicySpec, initial_parameters
from erlbench.work.replay import Replay
from erlbench.work.store import Store
from erlbench.work.tasks import ReplayView
from erlbench.work.workspace import Workspace

SHAPE = (17, 6)  # observation and action, HalfCheetah's and Walker2d's
SIZES = (((256, 256), 256), ((400, 300), 100))
LABELS = {"td3": "TD3 step", "sac": "SAC step", "critic": "critic update", "actor": "actor update"}
TRANSITIONS, UPDATES, REPEATS = 20_000, 48, 7


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
                sides = {"": bench, "_floor": floors}
                seconds = take_turns(
                    {kind + side: getattr(one, kind) for kind in LABELS for side, one in sides.items()}, REPEATS
                )
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
        self.policy = PolicySpec((observation, *hidden, action), "tanh", (-1.0,) * action, (1.0,) * action)
        self.critic_spec = critic_spec(self.policy, hidden, "leaky-relu")
        self._actor, self._critic = initial_parameters(self.policy.sizes, (0,)), initial_critic(self.critic_spec, (1,))
        self.batch = batch
        relu = PolicySpec(self.policy.sizes, "relu", self.policy.action_low, self.policy.action_high)
        critic = critic_spec(relu, hidden, "relu")
        update = TD3Update.of(relu, critic, td3.TD3Settings(batch_size=batch, learning_rate=1e-3))
        self._td3 = TD3Program(update, "cpu")
        self._td3.load(initial_learner(relu, critic, (0,)), 0, 0)
        self._sac = SACProgram(sac.update_of(sac.SACSettings(batch_size=batch), relu, critic), "cpu")
        self._sac.load(initial_soft_learner(relu, critic, False, (0,)), 0, 0)
        self._memory = Memory(view, workspace, 1, TRANSITIONS)

    def td3(self) -> float:
        """TD3's step with its minibatch and target noise; every second one with actor and targets."""
        return self._updates(self._td3)

    def sac(self) -> float:
        """SAC's step with its minibatch and noise."""
        return self._updates(self._sac)

    def _updates(self, learner: LearnerProgram) -> float:
        random, executor = np.random.default_rng(0), InTurn()

        def run() -> None:
            for number in range(UPDATES):  # one at a time, as after each step of an episode
                with arithmetic():
                    make_updates(learner, self._memory, random, executor, range(number, number + 1))

        return cpu_seconds(run) / UPDATES

    def critic(self) -> float:
        """The task function of critic updates."""
        inputs = {"critic": self._critic, "target_actor": self._actor, "replay": self._view}
        numbers = {"learning_rate": 1e-3, "discount": 0.99, "tau": 0.005, "target_noise": 0.2, "noise_clip": 0.5}
        update = CriticUpdate(self.policy, self.critic_spec, self.batch, **numbers, temperature=0.2)
        return self._task(update_critic, Updates(update, UPDATES), inputs)

    def actor(self) -> float:
        """The task function that trains an actor."""
        inputs = {"critic": self._critic, "parameters": self._actor, "replay": self._view}
        update = ActorUpdate(self.policy, self.critic_spec, self.batch, 1e-3, 0.2)
        return self._task(train_actor, Updates(update, UPDATES), inputs)

    def _task(self, function: Any, settings: Updates[Any], inputs: dict[str, Any]) -> float:
        return cpu_seconds(lambda: function(settings, inputs, (0,), self._workspace)) / UPDATES
