"""The steps of an iteration of PPO or TRPO: sampled actions, running normalisation, episodes that go on.

What an iteration sees is what stable-baselines3 sees on one environment in `VecNormalize`. Its last episode goes on
in the next iteration, which may be in another process: from the same seed with the same actions it comes to the same
state, and those steps are not counted again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from stable_baselines3.common.running_mean_std import RunningMeanStd

from erlbench.algorithms.parts.on_policy_settings import EPSILON, OBSERVATION_CLIP, OnPolicyIteration, OnPolicySettings
from erlbench.errors import NumericalError, TaskError
from erlbench.policy import NumpyPolicy, PolicySpec
from erlbench.work.contract import Infos, advance, reset
from erlbench.work.rollout import NOT_FINITE, is_finite
from erlbench.work.seeding import Key, Purpose, environment_seed, generator
from erlbench.work.workspace import Workspace

REWARD_CLIP = 10.0  # standard deviations; of normalised rewards
NO_VARIANCE = np.zeros(())  # of what comes one at a time


class Statistics:
    """The running statistics of `initial_statistics`, with the rules of `VecNormalize`."""

    def __init__(self, array: np.ndarray, discount: float, observations: bool, rewards: bool) -> None:
        size = (len(array) - 5) // 2
        array = np.array(array, np.float64)
        count, mean, variance, returns, self.discounted = (float(value) for value in array[2 * size :])
        self._observations, self._returns = RunningMeanStd(), RunningMeanStd()
        seen, scale = vars(self._observations), vars(self._returns)
        seen.update(mean=array[:size], var=array[size : 2 * size], count=count)
        scale.update(mean=np.float64(mean), var=np.float64(variance), count=returns)
        self._discount, self._normalise, self._scale = discount, observations, rewards

    def array(self) -> np.ndarray:
        """As `initial_statistics`."""
        seen, returns = self._observations, self._returns
        rest = [seen.count, float(returns.mean), float(returns.var), returns.count, self.discounted]
        return np.concatenate([seen.mean, seen.var, rest])

    def see(self, observation: np.ndarray) -> None:
        """Take in an observation that an action follows."""
        if self._normalise:
            self._observations.update_from_moments(observation, NO_VARIANCE, 1)

    def normalised(self, observation: np.ndarray) -> np.ndarray:
        """What the networks see, float32."""
        if not self._normalise:
            return observation.astype(np.float32)
        seen = self._observations
        scaled = (observation - seen.mean) / np.sqrt(seen.var + EPSILON)
        return np.clip(scaled, -OBSERVATION_CLIP, OBSERVATION_CLIP).astype(np.float32)

    def reward(self, reward: float) -> np.float32:
        """The reward that is learnt from."""
        if not self._scale:
            return np.float32(reward)
        single = np.float32(reward)  # as the vector environments of stable-baselines3 give it
        self.discounted = self.discounted * self._discount + float(single)
        self._returns.update_from_moments(np.array(self.discounted), NO_VARIANCE, 1)
        scaled = single / np.sqrt(self._returns.var + EPSILON)
        return np.float32(np.clip(scaled, -REWARD_CLIP, REWARD_CLIP))


class Playing:
    """The episode under way: its start, its actions, and its current observation."""

    def __init__(self, env: gymnasium.Env[Any, Any], limit: int, seed: int, keys: tuple[str, ...] = ()) -> None:
        self.env, self.limit, self.seed, self.infos = env, limit, seed, Infos(keys)
        self.observation = np.array(reset(env, seed))  # a copy: environments may reuse theirs
        self.actions: list[np.ndarray] = []
        self.total = 0.0
        self.terminated = self.ended = False

    def step(self, action: np.ndarray) -> float:
        """Step with `action` as it is recorded; the reward."""
        executed, step = self._executed(action), len(self.actions) + 1
        observation, reward, self.terminated, ended = advance(self.env, executed, step, self.seed, self.infos)
        self.observation = np.array(observation)
        self.actions.append(action)
        self.total += reward
        self.ended = ended or step >= self.limit
        if not (is_finite(reward) and is_finite(observation)):
            raise NumericalError(f"the reward or the observation of step {len(self.actions)} has a {NOT_FINITE}")
        return reward

    def replay(self, actions: np.ndarray, observation: np.ndarray) -> None:
        """Repeat `actions`, after which the environment must show `observation`."""
        for action in actions:
            self.step(action)
        if not np.array_equal(self.observation, observation):
            raise TaskError(
                f"the environment, reset with seed {self.seed}, does not repeat itself: {len(actions)} equal actions "
                "lead to another observation; the environment must depend on nothing but seed and actions"
            )

    def _executed(self, action: np.ndarray) -> Any:
        space = self.env.action_space
        if isinstance(space, gymnasium.spaces.Discrete):
            return int(action[0])
        assert isinstance(space, gymnasium.spaces.Box)
        return np.clip(action, space.low, space.high)


class Rollout:
    """The steps of an iteration, as the networks see them, and the episode that goes on."""

    def __init__(self, steps: int, observation_size: int, columns: int, statistics: Statistics, replayed: int) -> None:
        self.observations = np.empty((steps, observation_size), np.float32)
        self.actions = np.empty((steps, columns), np.float32)
        self.rewards = np.empty(steps, np.float32)
        self.starts = np.empty(steps, np.float32)  # 1 where an episode begins
        self.truncated: list[tuple[int, np.ndarray]] = []  # step that an episode was truncated at, observation after it
        self.returns: list[float] = []  # of the episodes that ended
        self.lengths: list[int] = []
        self.infos: list[Infos] = []
        self.statistics = statistics
        self.next_observation = np.empty(0, np.float32)  # as the networks see it
        self.ended = False  # whether an episode ended with the last step
        self.seed = -1  # of the episode that goes on
        self.observation = np.empty(0)  # the current one
        self.actions_to_replay = np.empty((0, columns), np.float32)
        self.replayed = replayed  # steps that were made again before the first one

    def count(self, episode: Playing) -> None:
        """Report an episode."""
        self.returns.append(episode.total)
        self.lengths.append(len(episode.actions))
        self.infos.append(episode.infos)


def collect(
    learning: OnPolicySettings,
    settings: OnPolicyIteration,
    inputs: Mapping[str, np.ndarray],
    network: np.ndarray,
    deviations: np.ndarray | None,
    key: Key,
    workspace: Workspace,
) -> Rollout:
    """Play `settings.steps` steps with the policy network's vector `network`; see `on_policy.iterate`.

    `deviations` are the actions'; None where they are discrete.
    """
    problem = settings.problem
    env, limit, seeds = workspace.environment(problem.env), problem.env.max_episode_steps, iter(range(2**31))
    statistics = Statistics(
        inputs["statistics"], learning.discount, learning.normalise_observations, learning.normalise_rewards
    )
    sizes = (problem.observation_size, *learning.hidden, problem.action_size)
    policy = NumpyPolicy(PolicySpec(sizes, learning.activation, (), (), squashing="linear"), network)
    random = generator(*key, int(Purpose.EXPLORATION))
    if settings.seed < 0:
        episode = Playing(env, limit, environment_seed(*key, next(seeds)), problem.env.info)
        statistics.see(episode.observation)
    else:
        episode = Playing(env, limit, settings.seed, problem.env.info)
        episode.replay(inputs["actions"], inputs["observation"])
    replayed = len(episode.actions)
    rollout = Rollout(settings.steps, sizes[0], 1 if problem.discrete else sizes[-1], statistics, replayed)
    observation = statistics.normalised(episode.observation)
    for step in range(settings.steps):
        rollout.observations[step], rollout.starts[step] = observation, not episode.actions
        action = rollout.actions[step]
        sample_action(policy.normalised(observation), deviations, random, action)
        reward = episode.step(action)
        rollout.ended = episode.ended
        if episode.ended:
            rollout.count(episode)
            final, truncated = episode.observation, not episode.terminated
            episode = Playing(env, limit, environment_seed(*key, next(seeds)), problem.env.info)
        statistics.see(episode.observation)
        rollout.rewards[step] = statistics.reward(reward)
        if rollout.ended:
            statistics.discounted = 0.0  # the next reward begins another return
            if truncated:
                rollout.truncated.append((step, statistics.normalised(final)))
        observation = statistics.normalised(episode.observation)
    rollout.next_observation = observation
    rollout.seed, rollout.observation = episode.seed, episode.observation
    if episode.actions:
        rollout.actions_to_replay = np.stack(episode.actions)
    if settings.last and episode.actions:
        rollout.count(episode)  # truncated by the budget
    return rollout


def sample_action(
    output: np.ndarray, deviations: np.ndarray | None, random: np.random.Generator, action: np.ndarray
) -> None:
    """Write a sample into `action`: N(output, deviations), or the index of a softmax of `output` (Gumbel's way)."""
    if deviations is None:
        action[0] = np.argmax(output + random.gumbel(size=len(output)))
    else:
        action[:] = output + deviations * random.standard_normal(len(output), dtype=np.float32)
