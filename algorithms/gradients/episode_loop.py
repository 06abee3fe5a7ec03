"""Learning while acting: episodes with an update after every step, and the transitions that they learn from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from erlbench.algorithms.gradients.minibatches import arithmetic
from erlbench.algorithms.training.update_settings import Episodes
from erlbench.errors import NumericalError
from erlbench.work.contract import Infos, advance, reset
from erlbench.work.replay import ReplayReader
from erlbench.work.rollout import Episode
from erlbench.work.seeding import Key, Purpose, environment_seed, generator
from erlbench.work.tasks import ReplayView
from erlbench.work.workspace import Workspace


class Memory:
    """The transitions of the past, a replay view, followed by the transitions of the present task's episodes."""

    def __init__(self, view: ReplayView, workspace: Workspace, limit: int, capacity: int, episodes: int = 1) -> None:
        """Room for `episodes` episodes with `limit` steps in all."""
        self._reader: ReplayReader | None = workspace.replay(view) if view.stop > view.start else None
        self._past, self._capacity = view, capacity
        self.observations = np.empty((limit + episodes, view.observation_size), np.float32)
        self._transitions = np.empty((limit, view.action_size + 2), np.float32)
        self._rows = np.arange(limit)  # of the observation before each transition
        self._begun = 0
        self.start, self.stop = view.start, view.stop

    @classmethod
    def of(cls, view: ReplayView, workspace: Workspace) -> Memory:
        """The past alone, for updates between episodes."""
        return cls(view, workspace, 0, view.stop - view.start)

    def begin(self, observation: np.ndarray) -> None:
        """Begin the next episode with its first observation."""
        steps = self.stop - self._past.stop
        self._rows[steps:] = np.arange(steps, len(self._rows)) + self._begun
        self.observations[steps + self._begun] = observation
        self._begun += 1

    def add(self, episode: Episode) -> None:
        """Take in the last step of the episode."""
        step, place = episode.length - 1, self.stop - self._past.stop
        self.observations[self._rows[place] + 1] = episode.observations[step + 1]
        transition = self._transitions[place]
        transition[:-2] = episode.actions[step]
        transition[-2], transition[-1] = episode.rewards[step], not episode.terminated
        self.stop += 1
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
        rows = self._rows.take(present)
        self.observations.take(rows, axis=0, out=observations[split:], mode="clip")
        if transitions is not None:
            self._transitions.take(present, axis=0, out=transitions[split:], mode="clip")
        if next_observations is not None:
            self.observations.take(rows + 1, axis=0, out=next_observations[split:], mode="clip")


Act = Callable[[np.ndarray, np.random.Generator, np.ndarray], object]
MakeUpdate = Callable[[Memory, np.random.Generator, int], object]
Denormalise = Callable[[np.ndarray], Any]


def learn_episodes(
    settings: Episodes[Any], view: ReplayView, key: Key, workspace: Workspace, act: Act, update: MakeUpdate
) -> tuple[list[Episode], int]:
    """Play `settings.episodes` episodes and learn after their steps; they and the number of updates.

    Step t of the run (from 0) takes a random action if t < `start_timesteps`, otherwise the learner's. It is
    followed by an update from the replay's `view` and this task's steps so far, if t >= `start_updates`.
    `act(observation, random, action)` writes a normalised action; `update(memory, random, index)` makes the update
    `index` (from 0) of this task. A NaN or infinite value raises `NumericalError`.
    """
    policy, limit, count, steps = settings.update.policy, settings.limit, settings.episodes, settings.timesteps
    start_updates = settings.start_timesteps if settings.start_updates is None else settings.start_updates
    memory = Memory(view, workspace, limit * count, settings.replay_size, count)
    sampling, exploring = generator(*key, int(Purpose.MINIBATCH)), generator(*key, int(Purpose.EXPLORATION))
    env, denormalise = workspace.environment(settings.env), policy.denormaliser()
    episodes, updates = list[Episode](), 0
    for index in range(count):
        seed = environment_seed(*key, index)
        episode = Episode(limit, policy.sizes[0], policy.sizes[-1])
        episode.infos = Infos(settings.env.info)
        episode.observations[0] = reset(env, seed)
        memory.begin(episode.observations[0])
        ended = False
        while episode.length < limit and not ended:
            action = episode.actions[episode.length]
            if steps >= settings.start_timesteps:
                act(episode.observations[episode.length], exploring, action)
            else:
                action[:] = exploring.uniform(-1.0, 1.0, len(action))
            ended = _step(env, denormalise, episode, seed)
            memory.add(episode)
            if steps >= start_updates:
                with arithmetic():
                    update(memory, sampling, updates)
                updates += 1
            steps += 1
        episode.check()
        episodes.append(episode)
    return episodes, updates


def _step(env: gymnasium.Env[Any, Any], denormalise: Denormalise, episode: Episode, seed: int) -> bool:
    """Step with the action in the episode, and record the outcome; whether the episode ended."""
    step = episode.length
    if not np.isfinite(episode.actions[step]).all():
        raise NumericalError(f"the action of step {step + 1} has a NaN or infinite value")
    action = denormalise(episode.actions[step])
    observation, reward, terminated, ended = advance(env, action, step + 1, seed, episode.infos)
    episode.observations[step + 1], episode.rewards[step] = observation, reward
    episode.total += reward
    episode.length += 1
    episode.terminated = terminated
    return ended
