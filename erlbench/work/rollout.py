"""Playing episodes with one policy: the task function of every rollout.

The environment is Gymnasium's class without its outer wrappers; the time limit is in the loop and is a
truncation, never a terminal state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from erlbench.envs.answers import EARLIER, IS_SOLVED, REALS, SOLVED
from erlbench.envs.registry import EnvSpec
from erlbench.errors import NumericalError
from erlbench.policy import NumpyPolicy, PolicySpec
from erlbench.work.contract import Infos, checked_step, info_values, raised, reset
from erlbench.work.seeding import Key, Purpose, environment_seed, generator
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace

if TYPE_CHECKING:
    from erlbench.envs.wrappers import Env

LARGEST = float(np.finfo(np.float32).max)
REFUSE, WORST = "refuse", "worst"  # what becomes of an individual whose return is NaN
BEYOND = "which float32 cannot hold"
NOT_FINITE = "NaN, infinite or too large value for float32"


@dataclass(slots=True)  # not frozen: one is made for every task, and that would take five times as long
class RolloutSettings:
    """What a task of episodes plays; not to be changed once the task is submitted."""

    env: EnvSpec
    policy: PolicySpec
    episodes: int = 1
    _: KW_ONLY
    record: bool = False  # give the transitions, for the replay
    random_actions: bool = False  # uniform, in place of the policy's
    action_noise: float = 0.0  # sigma of `ExplorationNoise`
    noise_decay: float = 1.0  # its theta; 1: white noise
    seeds: tuple[int, ...] = ()  # of the start states, one per episode; by default they come from the task's key
    limit: int | None = None  # steps of an episode, fewer than the environment's; a truncation
    observe: float = 0.0  # probability that an episode gives its observations
    mode: bool = False  # a stochastic policy acts by its mode
    nan_fitness: str = ""  # of an algorithm with that setting: `REFUSE`, or `WORST`: a reward may be NaN


class Episode:
    """One episode's observations `(T + 1, observation)`, normalised actions `(T, action)` and rewards `(T,)`.

    Rows beyond `length` are unused. `total` is the float64 sum of the rewards in order.
    """

    def __init__(self, limit: int, observation_size: int, action_size: int, image: bool = False) -> None:
        shape = limit + 1, observation_size
        self.observations: np.ndarray
        if image:  # they are not read again, so all rows are one
            self.observations = as_strided(np.empty(observation_size, np.uint8), shape, (0, 1))
        else:
            self.observations = np.empty(shape)
        self.actions = np.empty((limit, action_size), np.float32)
        self.rewards = np.empty(limit)
        self.length = 0
        self.total = 0.0
        self.terminated = False
        self.infos = Infos()

    def check(self, nan_fitness: str = "", action: Any = 0.0) -> None:
        """Raise `NumericalError` for the first value that is NaN, infinite or beyond float32, which networks use.

        A reward may be NaN where `nan_fitness` is `WORST`. `action` is the policy's last one, which is named first.
        """
        length = self.length
        rewards = self.rewards[:length]
        if nan_fitness == WORST:
            rewards = np.nan_to_num(rewards, posinf=np.inf, neginf=-np.inf)
        if is_finite(rewards) and is_finite(self.observations[: length + 1]):
            return
        if not is_finite(action):
            raise NumericalError(f"the policy's action of step {length} has a {NOT_FINITE}")
        for step in range(length):
            if not is_finite(self.observations[step]):  # first: a reward may be NaN because of it
                raise NumericalError(f"the observation before step {step + 1} has a {NOT_FINITE}")
            if not is_finite(rewards[step]):
                hint = "; in a new run, --set nan_fitness=worst ranks such an individual last" if nan_fitness else ""
                raise NumericalError(f"the reward of step {step + 1} is {rewards[step]}, {BEYOND}{hint}")
        raise NumericalError(f"the observation after step {length} has a {NOT_FINITE}")


def is_finite(values: Any) -> bool:
    """Whether all numbers are finite in float32; sums of them are then finite in float64."""
    return np.asarray(values).dtype == np.uint8 or bool((np.abs(values) <= LARGEST).all())


def play(
    env: Env,
    policy: NumpyPolicy,
    limit: int,
    seed: int,
    random: np.random.Generator | None = None,
    noise: ExplorationNoise | None = None,
    random_actions: bool = False,
    mode: bool = False,
    spare: Episode | None = None,
    keys: tuple[str, ...] = (),
    nan_fitness: str = "",
) -> Episode:
    """One episode of at most `limit` steps. With `spare` it is written over that one, and its actions are not kept.

    `noise` is added to the normalised action, which is then clipped to [-1, 1] if the policy is bounded (a linear
    policy's actions are in the environment's units, and are not clipped);
    with `random_actions` the action is uniform instead. Both and a stochastic policy draw from `random`; with `mode`
    the latter acts by its mode. `keys` of the infos whose numbers are kept (`Episode.infos`).
    A reward may be NaN where `nan_fitness` is `WORST`.
    """
    spec = policy.spec
    episode = spare or Episode(limit, spec.sizes[0], spec.sizes[-1], bool(spec.image))
    observations, actions, rewards = episode.observations, episode.actions, episode.rewards
    observations[0] = observation = reset(env, seed)
    policy.reset(None if mode else random)
    episode.infos = infos = Infos(keys)
    step, total, terminated, shape = 0, 0.0, False, observation.shape
    act, denormalise, advance, dtype = policy.normalised, policy.denormalise, env.step, observation.dtype
    while step < limit:
        if random_actions:
            assert random is not None
            action = spec.random_action(random)
        else:
            action = act(observation)
            if noise is not None:
                assert random is not None
                action += noise.step(random)
                if spec.bounded:
                    np.clip(action, -1.0, 1.0, out=action)
        if spare is None:
            actions[step] = action
        chosen = denormalise(action)
        try:
            outcome = advance(chosen)
        except Exception as error:
            raise raised(error, f"at step {step + 1} (reset seed {seed})") from error
        try:
            observation, reward, terminated, ended, info = outcome
            usual = (
                type(observation) is np.ndarray and observation.shape == shape and observation.dtype is dtype
                and type(reward) in REALS and terminated is False and ended is False and type(info) is dict
            )  # fmt: skip
        except Exception:
            usual = False
        if not usual:  # the last step of an episode, or what only looks like a step
            observation, reward, terminated, ended, info = checked_step(outcome, shape, step + 1)
            dtype = observation.dtype
        if info and (keys or SOLVED in info or IS_SOLVED in info or EARLIER in info):
            infos.update(info)
        step += 1
        observations[step] = observation
        rewards[step - 1] = reward
        total += float(reward)
        if ended:
            break
    episode.length, episode.total, episode.terminated = step, total, bool(terminated)
    try:
        episode.check(nan_fitness, action)
    except NumericalError as error:
        raise NumericalError(f"{error} (reset seed {seed})") from None
    return episode


def rollout(settings: RolloutSettings, inputs: Mapping[str, np.ndarray], key: Key, workspace: Workspace) -> Outcome:
    """Task function: whole episodes of the policy `inputs["parameters"]`.

    Values: `returns` (undiscounted sums) and `lengths`, one per episode; and the values of `info_values`. With
    `record`, the arrays `observations`, `actions`, `rewards`, `continues` that `Replay.append` takes. With `observe`,
    the value `observed` is the number of observations that the contributing episodes acted on, and, if there are any,
    the array `observed` `(2, observation)` float64 holds their sum and the sum of their squares.
    """
    spec, parameters = settings.policy, inputs["parameters"]
    if not np.isfinite(parameters).all():
        raise NumericalError("the policy's parameters have a NaN or infinite value")
    policy = NumpyPolicy(spec, np.ascontiguousarray(parameters))
    env, longest = workspace.environment(settings.env), settings.env.max_episode_steps
    limit, observe, sigma = min(longest, settings.limit or longest), settings.observe, settings.action_noise
    seeds = settings.seeds or [environment_seed(*key, index) for index in range(settings.episodes)]
    keys = settings.env.info
    random = generator(*key, int(Purpose.EXPLORATION))
    spare = _spare(workspace, longest, spec)
    values: dict[str, Any] = {"returns": [], "lengths": []}
    recorded, observed, infos = [], [], []
    for seed in seeds:
        contributes = bool(observe) and random.random() < observe
        noise = ExplorationNoise(spec.sizes[-1], settings.noise_decay, sigma) if sigma else None
        over = None if contributes or settings.record else spare
        episode = play(
            env, policy, limit, seed, random, noise, settings.random_actions, settings.mode, over, keys,
            settings.nan_fitness,
        )  # fmt: skip
        infos.append(episode.infos)
        values["returns"].append(episode.total)
        values["lengths"].append(episode.length)
        if settings.record:
            recorded.append(episode)
        if contributes:
            observed.append(episode.observations[: episode.length])
    values |= info_values(infos)
    arrays = transitions(recorded) if recorded else {}
    if observe:
        values["observed"] = sum(map(len, observed))
    if observed:
        seen = np.concatenate(observed)
        arrays["observed"] = np.stack([seen.sum(axis=0), np.square(seen).sum(axis=0)])
    return Outcome(values, arrays)


def _spare(workspace: Workspace, limit: int, spec: PolicySpec) -> Episode:
    """This process's episode to write over: for short ones new memory would take much of the time."""
    shape = (limit, spec.sizes[0], spec.sizes[-1], bool(spec.image))
    if ("episode", shape) not in workspace.scratch:
        workspace.scratch["episode", shape] = Episode(*shape)
    episode: Episode = workspace.scratch["episode", shape]
    return episode


def transitions(episodes: list[Episode]) -> dict[str, np.ndarray]:
    """Episodes as the arrays that `Replay.append` takes, float32."""
    continues = []
    for episode in episodes:
        ones = np.ones(episode.length, np.float32)
        ones[-1] = 0.0 if episode.terminated else 1.0
        continues.append(ones)
    arrays = {
        "observations": np.concatenate([e.observations[: e.length + 1] for e in episodes]),
        "actions": np.concatenate([e.actions[: e.length] for e in episodes]),
        "rewards": np.concatenate([e.rewards[: e.length] for e in episodes]),
        "continues": np.concatenate(continues),
    }
    return {name: array.astype(np.float32, copy=False) for name, array in arrays.items()}


class ExplorationNoise:
    """Exploration noise, zero before an episode: x <- (1 - theta) x + sigma N(0, I).

    An Ornstein-Uhlenbeck process with mean 0 in steps of time 1 (Lillicrap et al. 2016, section 7); white noise for
    theta = 1.
    """

    def __init__(self, size: int, theta: float, sigma: float) -> None:
        self._x = np.zeros(size, np.float32)
        self._theta, self._sigma = np.float32(theta), np.float32(sigma)

    def step(self, random: np.random.Generator) -> np.ndarray:
        """The noise of the next step, `(size,)` float32; the next call overwrites it."""
        self._x -= self._theta * self._x
        self._x += self._sigma * random.standard_normal(len(self._x), dtype=np.float32)
        return self._x
