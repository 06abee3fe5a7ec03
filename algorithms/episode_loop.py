"""Learning while acting: one episode with an update after every step, and the transitions that it learns from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from erlbench.algorithms.learners import arithmetic
from erlbench.algorithms.side_by_side import Together, in_turn, two_threads
from erlbench.errors import NumericalError, TaskError
from erlbench.policy import PolicySpec
from erlbench.replay import ReplayReader
from erlbench.rollout import Episode, reset
from erlbench.seeding import Key, Purpose, environment_seed, generator
from erlbench.tasks import ReplayView
from erlbench.workspace import Workspace


class Memory:
    """The transitions of the past, a replay view, and behind them those of the present episode."""

    def __init__(self, view: ReplayView, workspace: Workspace, limit: int, capacity: int) -> None:
        self._reader: ReplayReader | None = workspace.replay(view) if view.stop > view.start else None
        self._past, self._capacity = view, capacity
        self.observations = np.empty((limit + 1, view.observation_size), np.float32)
        self._transitions = np.empty((limit, view.action_size + 2), np.float32)
        self.start, self.stop = view.start, view.stop

    @classmethod
    def of(cls, view: ReplayView, workspace: Workspace) -> Memory:
        """The past alone, for updates between episodes."""
        return cls(view, workspace, 0, view.stop - view.start)

    def add(self, episode: Episode) -> None:
        """Take in the last step of the episode."""
        step = episode.length - 1
        self.observations[step + 1] = episode.observations[step + 1]
        transition = self._transitions[step]
        transition[:-2] = episode.actions[step]
        transition[-2], transition[-1] = episode.rewards[step], not episode.terminated
        self.stop = self._past.stop + step + 1
        self.start = max(self._past.start, self.stop - self._capacity)

    def gather(
        self,
        indices: np.ndarray,
        observations: np.ndarray,
        transitions: np.ndarray | None = None,
        next_observations: np.ndarray | None = None,
    ) -> None:
        """As `ReplayReader.gather`, but with the past's transitions before the present's."""
        past = indices[indices < self._past.stop]
        present = indices[indices >= self._past.stop] - self._past.stop
        split = len(past)
        if self._reader is not None:
            outputs = (array if array is None else array[:split] for array in (transitions, next_observations))
            self._reader.gather(past, observations[:split], *outputs)
        self.observations.take(present, axis=0, out=observations[split:], mode="clip")
        if transitions is not None:
            self._transitions.take(present, axis=0, out=transitions[split:], mode="clip")
        if next_observations is not None:
            self.observations.take(present + 1, axis=0, out=next_observations[split:], mode="clip")


Act = Callable[[np.ndarray, np.random.Generator, np.ndarray], object]
Update = Callable[[Memory, np.random.Generator, int], object]


def learn(
    settings: Mapping[str, Any], view: ReplayView, key: Key, workspace: Workspace, act: Act, update: Update
) -> tuple[Episode, int]:
    """Play one episode of at most `limit` steps and learn after its steps; the episode and the number of updates.

    Step t of the run (from 0) takes a random action if t < `start_timesteps`; otherwise the learner's, and is
    followed by an update from the replay's `view` and this episode so far. `act(observation, random, action)` writes
    a normalised action; `update(memory, random, index)` makes the update `index` (from 0) of this episode.
    Settings: `env`, `policy`, `timesteps` (before the episode), `limit`, `start_timesteps`, `replay_capacity`.
    A NaN or infinite value raises `NumericalError`.
    """
    policy: PolicySpec = settings["policy"]
    memory = Memory(view, workspace, settings["limit"], settings["replay_capacity"])
    sampling, exploring = generator(*key, int(Purpose.MINIBATCH)), generator(*key, int(Purpose.EXPLORATION))
    step, seed = _Step(settings, workspace), environment_seed(*key, 0)
    episode = Episode(settings["limit"], policy.sizes[0], policy.sizes[-1])
    episode.observations[0] = memory.observations[0] = reset(step.env, seed)
    updates, ended = 0, False
    while episode.length < settings["limit"] and not ended:
        warm = settings["timesteps"] + episode.length >= settings["start_timesteps"]
        action = episode.actions[episode.length]
        if warm:
            act(episode.observations[episode.length], exploring, action)
        else:
            action[:] = exploring.uniform(-1.0, 1.0, len(action))
        ended = step(episode, seed)
        memory.add(episode)
        if warm:
            with arithmetic():
                update(memory, sampling, updates)
            updates += 1
    episode.check()
    return episode, updates


@contextmanager
def side_by_side(workspace: Workspace) -> Iterator[Together]:
    """How the independent parts of an update run: on a CPU in two threads if the pool has left two to the task."""
    if workspace.threads < 2 or workspace.device != "cpu":
        yield in_turn
        return
    with two_threads(arithmetic()) as together:
        yield together


class _Step:
    """Steps the environment with the action that stands in an episode, and records what came of it."""

    def __init__(self, settings: Mapping[str, Any], workspace: Workspace) -> None:
        policy: PolicySpec = settings["policy"]
        self.env = workspace.environment(settings["env"])
        self._denormalise = policy.denormaliser()

    def __call__(self, episode: Episode, seed: int) -> bool:
        """Whether the episode ended with this step; `seed` is named in errors."""
        step = episode.length
        if not np.isfinite(episode.actions[step]).all():
            raise NumericalError(f"the action of step {step + 1} has a NaN or infinite value")
        try:
            action = self._denormalise(episode.actions[step])
            observation, reward, terminated, truncated, _ = self.env.step(action)
            episode.observations[step + 1] = observation
            episode.rewards[step] = reward
        except Exception as error:
            message = f"the environment raised {type(error).__name__} at step {step + 1} (reset seed {seed}): {error}"
            raise TaskError(message) from error
        episode.total += float(reward)
        episode.length += 1
        episode.terminated = bool(terminated)
        return bool(terminated or truncated)
