"""What trains actors and critics: TD3, DDPG, SAC, CrossQ in one table, or a user's MODULE:NAME.

The task functions have the names in `gradients/updates.py`, which imports torch; this module does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from erlbench.algorithms.registry import find_named
from erlbench.algorithms.training.critic import CriticSpec, initial_learner, initial_soft_learner, joined, separated
from erlbench.algorithms.training.update_settings import (
    CrossQUpdate,
    DDPGUpdate,
    Episodes,
    SACUpdate,
    TD3Update,
    Update,
    Updates,
)
from erlbench.errors import UsageError
from erlbench.policy import ACTIVATIONS, PolicySpec
from erlbench.settings import at_least_one, at_least_zero, fraction, setting
from erlbench.work.seeding import Key

MODULE = "erlbench.algorithms.gradients.updates"
EPISODES = "erlbench.algorithms.gradients.episodes"
CROSSQ = "erlbench.algorithms.gradients.crossq"


@dataclass(frozen=True, kw_only=True)
class Learner:
    """The differences between updates of off-policy actor-critics; a user's may name task functions of its module.

    `critic_function` takes `Updates[CriticUpdate]` and the inputs `critic`, `target_actor` and `replay`, and returns
    `critic`. `actor_function` takes `Updates[ActorUpdate]`, `parameters`, `critic` and `replay`, returns `parameters`.
    `joint_function` takes `Updates` of `joint_update`, `learner` (see `start`) and `replay`, and returns `learner` and
    `actor`; `episode_function` takes `Episodes` of it and the same inputs: for the couplings `side` and `winners`.
    """

    critics: int = 2
    target_noise: bool = False  # on the actions of the target policy
    stochastic: bool = False  # a Gaussian actor, with entropy in its loss and in the targets
    normalised: bool = False  # critics with BatchRenorm, and without targets
    update_cost: float = 1.0  # of an update's time, relative to TD3's; for estimates
    critic_function: str = f"{MODULE}:update_critic"
    actor_function: str = f"{MODULE}:train_actor"
    joint_function: str = ""
    episode_function: str = ""
    joint_update: type[Update] = TD3Update

    @property
    def task_functions(self) -> dict[str, type]:
        """Its task functions, with the classes of their settings."""
        updates = filter(None, (self.critic_function, self.actor_function, self.joint_function))
        episodes = filter(None, (self.episode_function,))
        return dict.fromkeys(updates, Updates) | dict.fromkeys(episodes, Episodes)

    def start(self, policy: PolicySpec, critic: CriticSpec, key: Key, **networks: Any) -> np.ndarray:
        """A fresh learner, flat float32: actor and critics with targets and Adam's moments.

        `networks` are further arguments of `initial_soft_learner`, or of `initial_learner`.
        """
        initial = initial_soft_learner if self.stochastic else initial_learner
        return initial(replace(policy, stochastic=False), critic, key, **networks)

    def update(self, policy: PolicySpec, critic: CriticSpec, *settings: Any, **networks: Any) -> Update:
        """A joint update whose fields are from `networks`, else from the first of `settings` that has them."""
        return self.joint_update.of(replace(policy, stochastic=False), critic, *settings, **networks)

    def actor(self, policy: PolicySpec, learner: np.ndarray) -> np.ndarray:
        """The policy in a learner's vector, `(policy.size,)`."""
        return joined(policy, learner[: policy.size]) if self.stochastic else learner[: policy.size]

    def moved(self, policy: PolicySpec, learner: np.ndarray, z: np.ndarray, tau: float) -> np.ndarray:
        """The learner's vector with its actor, and its target actor if there is one, moved by `tau` to the policy z."""
        result, goal = learner.copy(), separated(policy, z) if self.stochastic else z
        rows = result[: policy.size * (1 if self.stochastic else 2)].reshape(-1, policy.size)
        rows[:] = (1.0 - tau) * rows + tau * goal
        return result


LEARNERS: Mapping[str, Learner] = MappingProxyType(
    {
        "td3": Learner(
            target_noise=True,
            joint_function=f"{MODULE}:update_actor_critics",
            episode_function=f"{EPISODES}:train_td3",
            joint_update=TD3Update,
        ),
        "ddpg": Learner(
            critics=1,
            joint_function=f"{MODULE}:update_ddpg",
            episode_function=f"{EPISODES}:train_ddpg",
            joint_update=DDPGUpdate,
        ),
        "sac": Learner(
            stochastic=True,
            joint_function=f"{MODULE}:update_sac",
            episode_function=f"{EPISODES}:train_sac",
            joint_update=SACUpdate,
        ),
        "crossq": Learner(
            stochastic=True,
            normalised=True,
            update_cost=2.6,
            critic_function=f"{CROSSQ}:update_critics",
            actor_function=f"{CROSSQ}:train_actor",
            joint_function=f"{CROSSQ}:update_crossq",
            episode_function=f"{CROSSQ}:train_crossq",
            joint_update=CrossQUpdate,
        ),
    }
)


LEARNER_TASKS: Mapping[str, type] = MappingProxyType(
    {name: kind for learner in LEARNERS.values() for name, kind in learner.task_functions.items()}
)


def find_learner(name: str) -> Learner:
    """The learner of this name, or of MODULE:NAME; raises `UsageError`."""
    learner: Learner | type = find_named("learner", name, LEARNERS, Learner)
    if isinstance(learner, type):
        raise UsageError(f"learner '{name}' is a class; name an instance of it")
    return learner


# -- hyper-parameters of actors and critics that separate tasks update: of CEM-RL, P-CEM-RL and AES-RL ----------------


CEM_RL = "CEM-RL, public code"
TD3_PAPER = "TD3"
NOISE = (
    "TD3; CEM-RL's and AES-RL's public codes add it to the action as it is, without scaling it by the action's bound"
)
# of environments whose actions are not in [-1, 1]
ACTION_BOUNDS = {"Humanoid": 0.4, "HumanoidStandup": 0.4, "Pusher": 2.0, "Pendulum": 2.0, "InvertedPendulum": 3.0}


def unscaled(value: float) -> dict[str, float]:
    """By environment: a number in units of its action, as one in units of the action normalised to [-1, 1]."""
    return {env: round(value / bound, 4) for env, bound in ACTION_BOUNDS.items()}


@dataclass(frozen=True, kw_only=True)
class ActorCriticSettings:
    """Hyper-parameters of the networks and of the learner's updates."""

    learner: str = setting(
        "td3", "what trains: td3, ddpg (one critic), sac or crossq (stochastic individuals), or MODULE:NAME", CEM_RL
    )
    hidden: tuple[int, ...] = at_least_one((400, 300), "widths of the hidden layers of actor and critics", CEM_RL)
    activation: str = setting("tanh", "hidden activation of the actor", CEM_RL, choices=ACTIVATIONS)
    critic_activation: str = setting("leaky-relu", "hidden activation of the critics", CEM_RL, choices=ACTIVATIONS)
    actor_learning_rate: float = at_least_zero(1e-3, "Adam's step size for actors", CEM_RL)
    critic_learning_rate: float = at_least_zero(1e-3, "Adam's step size for the critics", CEM_RL)
    batch_size: int = at_least_one(100, "transitions per gradient step", CEM_RL)
    replay_size: int = at_least_one(1_000_000, "latest transitions to learn from", CEM_RL)
    discount: float = fraction(0.99, "discount factor", TD3_PAPER, symbol="gamma")
    tau: float = fraction(0.005, "step of the target critics towards the critics", TD3_PAPER)
    target_noise: float = at_least_zero(
        0.2, "standard deviation of the noise on target actions in [-1, 1]", NOISE, by_env=unscaled(0.2)
    )
    noise_clip: float = at_least_zero(0.5, "bound of that noise", NOISE, by_env=unscaled(0.5))
    temperature: float = at_least_zero(0.2, "fixed temperature of sac and crossq", "ESAC's SAC", symbol="alpha")
    stochastic: bool = setting(
        False, "individuals of sac and crossq draw their actions, instead of acting by the mode", "ours"
    )

    def check_learner(self) -> None:
        """Raise `UsageError` where the networks do not fit the learner, or a user's task function is missing."""
        learner = find_learner(self.learner)
        for function in learner.task_functions:
            if not function.startswith("erlbench."):  # these import torch
                find_named("task function", function, {}, object)
        if self.stochastic and not learner.stochastic:
            raise UsageError(f"stochastic individuals need learner=sac or crossq, not {self.learner}")
        if learner.stochastic and not self.hidden:
            raise UsageError(f"learner={self.learner} needs at least one hidden layer")
