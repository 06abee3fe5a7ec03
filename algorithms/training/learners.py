"""What trains actors and critics: TD3, DDPG, SAC, CrossQ in one table, or a user's MODULE:NAME.

The names of the task functions are those of `gradients/updates.py`, which imports torch; this module does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from erlbench.algorithms.named import find_named
from erlbench.algorithms.training.critic import CriticSpec, initial_learner, initial_soft_learner, joined, separated
from erlbench.algorithms.training.update_settings import CrossQUpdate, DDPGUpdate, SACUpdate, TD3Update, Update
from erlbench.policy import PolicySpec
from erlbench.work.seeding import Key

MODULE = "erlbench.algorithms.gradients.updates"
# of joint updates where an algorithm has no such setting
USUAL: Mapping[str, Any] = MappingProxyType(
    {
        "policy_delay": 2,
        "critic_weight_decay": 0.0,
        "critic_gradient_clip": None,
        "reward_scale": 1.0,
        "value_network": False,
        "actor_norm": False,
    }
)
EPISODES = "erlbench.algorithms.gradients.episodes"
CROSSQ = "erlbench.algorithms.gradients.crossq"


@dataclass(frozen=True, kw_only=True)
class Learner:
    """In what the updates of an off-policy actor-critic differ; a user's may name task functions of its own module.

    `critic_function` takes `Updates[CriticUpdate]` and the inputs `critic`, `target_actor` and `replay`, and returns
    `critic`. `actor_function` takes `Updates[ActorUpdate]`, `parameters`, `critic` and `replay`, returns `parameters`.
    `joint_function` takes `Updates` of `joint_update`, `learner` (see `start`) and `replay`, and returns `learner` and
    `actor`; `episode_function` takes `Episodes` of it and the same inputs: for the couplings `side` and `winners`.
    """

    critics: int = 2
    target_noise: bool = False  # on the actions of the target policy
    stochastic: bool = False  # a Gaussian actor, with entropy in its loss and in the targets
    normalised: bool = False  # critics with BatchRenorm, and without targets
    critic_function: str = f"{MODULE}:update_critic"
    actor_function: str = f"{MODULE}:train_actor"
    joint_function: str = ""
    episode_function: str = ""
    joint_update: type[Update] = TD3Update

    def start(self, policy: PolicySpec, critic: CriticSpec, key: Key, final_scale: float = 1.0) -> np.ndarray:
        """A fresh learner, flat float32: actor and critics with targets and Adam's moments."""
        if self.stochastic:
            return initial_soft_learner(replace(policy, stochastic=False), critic, False, key)
        return initial_learner(policy, critic, key, final_scale=final_scale)

    def update(self, policy: PolicySpec, critic: CriticSpec, *settings: Any) -> Update:
        """A joint update whose fields are those of the first of `settings` that has them."""
        plain, entropy = replace(policy, stochastic=False), -float(policy.sizes[-1])
        return self.joint_update.of(settings, plain, critic, target_entropy=entropy, **USUAL)

    def actor(self, policy: PolicySpec, learner: np.ndarray) -> np.ndarray:
        """The policy in a learner's vector, `(policy.size,)`."""
        return joined(policy, learner[: policy.size]) if self.stochastic else learner[: policy.size]

    def moved(self, policy: PolicySpec, learner: np.ndarray, z: np.ndarray, tau: float) -> np.ndarray:
        """The learner's vector with its actor, and its target actor if there is one, moved by `tau` to the policy z."""
        result, goal = learner.copy(), separated(policy, z) if self.stochastic else z
        rows = result[: policy.size * (1 if self.stochastic else 2)].reshape(-1, policy.size)
        rows[:] = (1.0 - tau) * rows + tau * goal
        return result


def _joint(function: str, episode: str, update: type[Update]) -> dict[str, Any]:
    return {
        "joint_function": f"{MODULE}:{function}",
        "episode_function": f"{EPISODES}:{episode}",
        "joint_update": update,
    }


LEARNERS: Mapping[str, Learner] = MappingProxyType(
    {
        "td3": Learner(target_noise=True, **_joint("update_actor_critics", "train_td3", TD3Update)),
        "ddpg": Learner(critics=1, **_joint("update_ddpg", "train_ddpg", DDPGUpdate)),
        "sac": Learner(stochastic=True, **_joint("update_sac", "train_sac", SACUpdate)),
        "crossq": Learner(
            stochastic=True,
            normalised=True,
            critic_function=f"{CROSSQ}:update_critics",
            actor_function=f"{CROSSQ}:train_actor",
            joint_function=f"{CROSSQ}:update_crossq",
            episode_function=f"{CROSSQ}:train_crossq",
            joint_update=CrossQUpdate,
        ),
    }
)


def find_learner(name: str) -> Learner:
    """The learner of this name, or of MODULE:NAME; raises `UsageError`."""
    learner: Learner = find_named("learner", name, LEARNERS, Learner)
    return learner
