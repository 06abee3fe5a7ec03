"""PPO: proximal policy optimisation with a clipped objective, on stable-baselines3's networks and updates.

Schulman, Wolski, Dhariwal, Radford and Klimov, "Proximal Policy Optimization Algorithms", 2017 (arXiv 1707.06347),
with the constants of OpenAI baselines' ppo2 for MuJoCo. An iteration collects `rollout_steps` steps and makes some
epochs of minibatch updates on them; its task is in `erlbench.algorithms.gradients.ppo_iteration`, which imports torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from erlbench.algorithms.base import Algorithm, Context
from erlbench.envs.registry import Problem
from erlbench.experiment.settings import setting
from erlbench.policy import ACTIVATIONS, PolicySpec
from erlbench.work.seeding import Key, Purpose, generator
from erlbench.work.tasks import ArrayRef, Counts, Priority, Result, Task

PPO2, SB3 = "baselines ppo2, MuJoCo", "stable-baselines3"
OBSERVATION_CLIP = 10.0  # standard deviations; of normalised observations, in ppo2 and stable-baselines3
EPSILON = 1e-8  # added to variances

# sb3: the defaults of stable-baselines3. esac: the networks of the PPO in the ESAC paper.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {},
    "sb3": {
        "learning_rate_schedule": "constant",
        "value_clip_range": None,
        "normalise_observations": False,
        "normalise_rewards": False,
    },
    "esac": {"hidden": (512, 512), "activation": "relu"},
}


@dataclass(frozen=True)
class PPOSettings:
    """Hyper-parameters of PPO."""

    hidden: tuple[int, ...] = setting((64, 64), "hidden layers' widths, policy and value net each", PPO2, minimum=1)
    activation: str = setting("tanh", "hidden activation of both networks", PPO2, choices=ACTIVATIONS)
    rollout_steps: int = setting(2048, "environment steps per iteration", PPO2, minimum=2)
    batch_size: int = setting(64, "transitions per update", PPO2, minimum=2)
    epochs: int = setting(10, "passes over an iteration's steps", PPO2, minimum=1)
    learning_rate: float = setting(3e-4, "Adam's step size at the start", PPO2, minimum=0)
    learning_rate_schedule: str = setting(
        "linear", "linear: to 0 at the end of the budget", PPO2, choices=("linear", "constant")
    )
    discount: float = setting(0.99, "discount factor gamma", PPO2, minimum=0, maximum=1)
    gae_lambda: float = setting(0.95, "lambda of the generalised advantages", PPO2, minimum=0, maximum=1)
    clip_range: float = setting(0.2, "the probability ratio is clipped to 1 +- this", PPO2, minimum=0)
    value_clip_range: float | None = setting(
        0.2, "how far values may move from the old ones; none: anywhere", PPO2, minimum=1e-12
    )
    entropy_coefficient: float = setting(0.0, "weight of the entropy in the loss", PPO2)
    value_coefficient: float = setting(0.5, "weight of the values' error in the loss", PPO2, minimum=0)
    max_gradient_norm: float = setting(0.5, "longer gradients are shortened to this", PPO2, minimum=0)
    target_divergence: float | None = setting(
        None, "an iteration's updates end beyond 1.5 times this KL divergence; none: never", SB3, minimum=0
    )
    log_std_init: float = setting(0.0, "log of the actions' standard deviation at the start", PPO2)
    normalise_advantages: bool = setting(True, "advantages of a minibatch get mean 0 and deviation 1", PPO2)
    normalise_observations: bool = setting(True, "by running mean and deviation, clipped to +- 10", PPO2)
    normalise_rewards: bool = setting(True, "by the running deviation of discounted returns, clipped to +- 10", PPO2)


@dataclass(frozen=True)
class PPOIteration:
    """Settings of the task of one iteration."""

    ppo: PPOSettings
    problem: Problem
    steps: int  # of the environment
    last: bool  # whether the budget ends here
    progress: float  # what is left of the budget afterwards, from 1 to 0
    updates: int  # gradient steps so far
    seed: int  # of the episode that goes on; -1 if there is none


@dataclass
class PPOState:
    """Everything PPO needs to go on."""

    learner: ArrayRef  # see initial_learner
    actor: ArrayRef  # the reported policy
    statistics: ArrayRef  # see initial_statistics
    actions: ArrayRef | None = None  # of the episode that goes on in the next iteration, (T, action) float32
    observation: ArrayRef | None = None  # after them
    seed: int = -1  # of that episode; -1 before the first
    running: bool = False  # whether an iteration is under way
    metrics: dict[str, float] = field(default_factory=dict)  # of the last iteration


class PPO(Algorithm):
    """Proximal policy optimisation, by stable-baselines3: one environment, clipped objective."""

    settings_type: ClassVar[type] = PPOSettings
    settings: PPOSettings
    state: PPOState

    def __init__(self, settings: PPOSettings, context: Context) -> None:
        super().__init__(settings, context)
        problem = context.problem
        learner = initial_learner(problem, settings, self.key(Purpose.PARAMETERS))
        statistics = initial_statistics(problem.observation_size)
        actor = reported_parameters(learner[0], statistics, problem, settings)
        self.state = PPOState(self.share(learner), self.share(actor), self.share(statistics))

    @classmethod
    def depends_on_budget(cls, settings: PPOSettings) -> str:
        return "the last iteration ends with the budget, and the learning rate can fall to 0 there"

    @classmethod
    def policy_for(cls, settings: PPOSettings, problem: Problem) -> PolicySpec:
        return reported_policy(problem, settings)

    @classmethod
    def recorded_steps(
        cls, settings: PPOSettings, problem: Problem, total_timesteps: int, total_generations: int | None = None
    ) -> float:
        return 0.0  # it learns from each iteration's own steps

    def policy(self) -> ArrayRef:
        return self.state.actor

    def _ask(self) -> list[Task]:
        """One iteration; the last one is as long as the budget lets it be."""
        if self.state.running or self.exhausted:
            return []
        self.state.running = True
        state, task_id = self.state, self.new_id()
        total, before = self.context.total_timesteps, self.counters.timesteps
        steps = min(self.settings.rollout_steps, total - before)
        settings = PPOIteration(
            self.settings,
            self.context.problem,
            steps,
            last=before + steps == total,
            progress=(total - before - steps) / total,
            updates=self.counters.critic_updates,
            seed=state.seed,
        )
        inputs = {"learner": state.learner, "statistics": state.statistics}
        if state.actions is not None and state.observation is not None:
            inputs |= {"actions": state.actions, "observation": state.observation}
        return [
            Task(
                task_id,
                "rl",
                "erlbench.algorithms.gradients.ppo_iteration:iteration",
                self.key(Purpose.EPISODE, task_id),
                settings,
                inputs,
                Priority.CRITIC,
                Counts.TRAINING,
                gradient=True,
            )
        ]

    def _tell(self, task: Task, result: Result) -> None:
        state, arrays = self.state, result.arrays
        state.learner, state.actor, state.statistics = arrays["learner"], arrays["actor"], arrays["statistics"]
        state.actions, state.observation, state.seed = arrays["actions"], arrays["observation"], result.values["seed"]
        state.metrics, state.running = dict(result.values["metrics"]), False
        self.counters.generation += 1

    def metrics(self) -> dict[str, float]:
        return dict(self.state.metrics)


# -- networks as flat vectors -----------------------------------------------------------------------------------------


def layer_sizes(problem: Problem, hidden: Sequence[int], outputs: int) -> list[tuple[int, int]]:
    """(inputs, outputs) of each layer of the network with `outputs` outputs."""
    widths = (problem.observation_size, *hidden, outputs)
    return list(zip(widths, widths[1:]))


def initial_learner(problem: Problem, settings: PPOSettings, key: Key) -> np.ndarray:
    """A fresh learner, float32 `(3, P)`: parameters and Adam's first and second moments.

    The parameters are in stable-baselines3's order: log standard deviations (continuous actions only), hidden layers
    of the policy, hidden layers of the value network, last layer of the policy, last layer of the value network.
    Weights are orthogonal, times sqrt(2) in hidden layers, 0.01 in the policy's last and 1 in the values' last one.
    """
    *hidden, last = layer_sizes(problem, settings.hidden, problem.action_size)
    layers = [(sizes, math.sqrt(2.0)) for sizes in (*hidden, *hidden)]
    layers += [(last, 0.01), ((last[0], 1), 1.0)]
    random = generator(*key)
    parts = [] if problem.discrete else [np.full(problem.action_size, settings.log_std_init)]
    for (inputs, outputs), gain in layers:
        normal = random.standard_normal((outputs, inputs))
        parts += [gain * orthogonal(normal).ravel(), np.zeros(outputs)]
    parameters = np.concatenate(parts).astype(np.float32)
    return np.stack([parameters, np.zeros_like(parameters), np.zeros_like(parameters)])


def orthogonal(normal: np.ndarray) -> np.ndarray:
    """The matrix with orthonormal rows or columns that `torch.nn.init.orthogonal_` makes of normal numbers."""
    wide = normal.shape[0] < normal.shape[1]
    q, r = np.linalg.qr(normal.T if wide else normal)
    q *= np.sign(np.diag(r))
    return q.T if wide else q


def actor_parameters(parameters: np.ndarray, problem: Problem, hidden: Sequence[int]) -> np.ndarray:
    """The policy network's vector, in the order of `PolicySpec`, from the learner's parameters `(P,)`."""
    *below, last = layer_sizes(problem, hidden, problem.action_size)
    start = 0 if problem.discrete else problem.action_size
    width = sum((inputs + 1) * outputs for inputs, outputs in below)
    final = start + 2 * width
    size = (last[0] + 1) * last[1]
    return np.concatenate([parameters[start : start + width], parameters[final : final + size]])


def initial_statistics(observation_size: int) -> np.ndarray:
    """Running statistics, float64: observations' mean, variance, count; returns' mean, variance, count; return."""
    ones = np.ones(observation_size)
    return np.concatenate([0 * ones, ones, [1e-4, 0.0, 1.0, 1e-4, 0.0]])


def reported_parameters(
    parameters: np.ndarray, statistics: np.ndarray, problem: Problem, settings: PPOSettings
) -> np.ndarray:
    """The vector of `reported_policy`, float32."""
    actor, size = actor_parameters(parameters, problem, settings.hidden), problem.observation_size
    if not settings.normalise_observations:
        return actor
    deviation = np.sqrt(statistics[size : 2 * size] + EPSILON)
    return np.concatenate([actor, statistics[:size], deviation]).astype(np.float32)


def reported_policy(problem: Problem, settings: PPOSettings) -> PolicySpec:
    """The policy that is evaluated: the mean action, clipped to its range, or the likeliest one."""
    return PolicySpec(
        (problem.observation_size, *settings.hidden, problem.action_size),
        settings.activation,
        problem.action_low,
        problem.action_high,
        squashing="linear" if problem.discrete else "clip",
        actions="discrete" if problem.discrete else "continuous",
        normalisation=settings.normalise_observations,
        observation_clip=OBSERVATION_CLIP,
    )
