"""Settings of gradient tasks: what one update is, and how many a task makes. Plain values, known without torch.

A program (`gradients/programs`) is built once for each update. Learning rates, discount and tau lie in its memory, the
other settings are constants of its operations.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Generic, Self, TypeVar

from erlbench.algorithms.training.critic import CriticSpec
from erlbench.envs.registry import EnvSpec
from erlbench.policy import PolicySpec, parameter_count


@dataclass(frozen=True)
class Update:
    """What all updates have; noise is in units of the action normalised to [-1, 1]."""

    policy: PolicySpec
    critic: CriticSpec
    batch_size: int

    @classmethod
    def of(cls, settings: object, policy: PolicySpec, critic: CriticSpec) -> Self:
        """The update whose other fields are those of `settings` with the same names."""
        return cls(policy, critic, **{field.name: getattr(settings, field.name) for field in fields(cls)[2:]})


@dataclass(frozen=True, kw_only=True)
class TD3Update(Update):
    """A joint update of TD3."""

    learning_rate: float
    discount: float
    tau: float
    target_noise: float
    noise_clip: float
    policy_delay: int


@dataclass(frozen=True, kw_only=True)
class DDPGUpdate(Update):
    """A joint update of DDPG."""

    actor_learning_rate: float
    critic_learning_rate: float
    critic_weight_decay: float
    critic_gradient_clip: float | None
    discount: float
    tau: float


@dataclass(frozen=True, kw_only=True)
class SACUpdate(Update):
    """A joint update of SAC; without a `temperature` it is learnt."""

    learning_rate: float
    discount: float
    tau: float
    reward_scale: float
    temperature: float | None
    target_entropy: float
    value_network: bool


@dataclass(frozen=True, kw_only=True)
class CriticUpdate(Update):
    """An update of the critics alone: SAC's where the policy is stochastic, else TD3's, or DDPG's without noise."""

    learning_rate: float
    discount: float
    tau: float
    target_noise: float
    noise_clip: float
    temperature: float


@dataclass(frozen=True)
class ActorUpdate(Update):
    """A step of an actor alone: SAC's where the policy is stochastic."""

    learning_rate: float
    temperature: float


U = TypeVar("U", bound=Update, covariant=True)


@dataclass(frozen=True)
class Updates(Generic[U]):
    """A task of so many updates from the replay; the counts are of updates made before."""

    update: U
    updates: int
    critic_updates: int = 0
    actor_updates: int = 0


@dataclass(frozen=True, kw_only=True)
class Episodes(Generic[U]):
    """A task of episodes with an update after every step; see `gradients.episode_loop.learn_episodes`."""

    update: U
    env: EnvSpec
    timesteps: int  # of the run, before the task
    limit: int  # steps of an episode, at most
    start_timesteps: int  # random actions before this step of the run
    replay_size: int
    critic_updates: int
    actor_updates: int
    episodes: int = 1
    start_updates: int | None = None  # updates from this step on; by default from `start_timesteps` on
    exploration_noise: float = 0.0  # sigma
    noise_decay: float = 1.0  # theta of `erlbench.work.rollout.ExplorationNoise`; 1: white noise


def actor_size(policy: PolicySpec) -> int:
    """Parameters of SAC's stochastic actor: the deterministic `policy`, and behind it the head of log std."""
    return policy.size + parameter_count(policy.sizes[-2:])


def value_sizes(policy: PolicySpec, critic: CriticSpec) -> tuple[int, ...]:
    """Layer widths of the state-value network of SAC v1: the critics' without the action."""
    return (policy.sizes[0], *critic.sizes[1:])


def learner_parts(policy: PolicySpec, critic: CriticSpec, value_network: bool) -> dict[str, tuple[int, int]]:
    """The shapes that make up the flat vector of SAC's learner, in order.

    `actor`: parameters and Adam's two moments. `temperature`: log alpha and its moments. `critic`: the rows of
    `initial_critic`. `value`, with a value network only: online, target, and moments.
    """
    parts = {"actor": (3, actor_size(policy)), "temperature": (3, 1), "critic": critic.shape}
    if value_network:
        parts["value"] = (4, parameter_count(value_sizes(policy, critic)))
    return parts
