"""Settings of gradient tasks: what one update is, and how many a task makes. Plain values, known without torch.

A program (`gradients/programs`) is built once for each update. Learning rates, discount and tau lie in its memory, the
other settings are constants of its operations.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, Self, TypeVar

from erlbench.algorithms.training.critic import CriticSpec
from erlbench.envs.registry import EnvSpec
from erlbench.policy import PolicySpec


@dataclass(frozen=True)
class Update:
    """What all updates have; noise is in units of the action normalised to [-1, 1]."""

    stochastic: ClassVar[bool] = False  # whether the learner's actor draws its actions
    policy: PolicySpec
    critic: CriticSpec
    batch_size: int

    @classmethod
    def of(cls, policy: PolicySpec, critic: CriticSpec, *settings: object, **more: Any) -> Self:
        """The update whose fields are `more`, then from the first of `settings` that has a value of that name.

        One `learning_rate` is for actor and critics; the target entropy is by default -1 per action dimension.
        """
        values = {name: value for each in reversed(settings) for name, value in vars(each).items() if value is not None}
        rates = both_rates(values["learning_rate"]) if "learning_rate" in values else {}
        values = {"target_entropy": -float(policy.sizes[-1]), **rates, **values, **more}
        names = [field.name for field in fields(cls)[2:] if field.name in values]
        return cls(policy, critic, **{name: values[name] for name in names})


def both_rates(learning_rate: float) -> dict[str, float]:
    """The fields of an update whose actor and critics learn at the same rate."""
    return {"actor_learning_rate": learning_rate, "critic_learning_rate": learning_rate}


@dataclass(frozen=True, kw_only=True)
class TD3Update(Update):
    """A joint update of TD3."""

    actor_learning_rate: float
    critic_learning_rate: float
    discount: float
    tau: float
    target_noise: float
    noise_clip: float
    policy_delay: int = 2


@dataclass(frozen=True, kw_only=True)
class DDPGUpdate(Update):
    """A joint update of DDPG."""

    actor_learning_rate: float
    critic_learning_rate: float
    critic_weight_decay: float = 0.0
    critic_gradient_clip: float | None = None
    discount: float
    tau: float


@dataclass(frozen=True, kw_only=True)
class SACUpdate(Update):
    """A joint update of SAC; without a `temperature` it is learnt, at the actor's rate."""

    stochastic: ClassVar[bool] = True
    actor_learning_rate: float
    critic_learning_rate: float
    discount: float
    tau: float
    reward_scale: float = 1.0
    temperature: float | None = None
    target_entropy: float
    value_network: bool = False


@dataclass(frozen=True, kw_only=True)
class CrossQUpdate(Update):
    """A joint update of CrossQ; without a `temperature` it is learnt, at the actor's rate."""

    stochastic: ClassVar[bool] = True
    actor_learning_rate: float
    critic_learning_rate: float
    discount: float
    policy_delay: int = 3
    temperature: float | None = None
    target_entropy: float
    actor_norm: bool = False


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
