"""What trains actors and critics: TD3, DDPG, SAC in one table, or a user's MODULE:NAME.

The names of the task functions are those of `gradients/updates.py`, which imports torch; this module does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from erlbench.algorithms.named import find_named

MODULE = "erlbench.algorithms.gradients.updates"


@dataclass(frozen=True, kw_only=True)
class Learner:
    """In what the updates of an off-policy actor-critic differ; a user's may name task functions of its own module.

    `critic_function` takes `Updates[CriticUpdate]` and the inputs `critic`, `target_actor` and `replay`, and returns
    `critic`. `actor_function` takes `Updates[ActorUpdate]`, `parameters`, `critic` and `replay`, returns `parameters`.
    """

    critics: int = 2
    target_noise: bool = False  # on the actions of the target policy
    stochastic: bool = False  # a Gaussian actor, with entropy in its loss and in the targets
    critic_function: str = f"{MODULE}:update_critic"
    actor_function: str = f"{MODULE}:train_actor"


LEARNERS: Mapping[str, Learner] = MappingProxyType(
    {"td3": Learner(target_noise=True), "ddpg": Learner(critics=1), "sac": Learner(stochastic=True)}
)


def find_learner(name: str) -> Learner:
    """The learner of this name, or of MODULE:NAME; raises `UsageError`."""
    learner: Learner = find_named("learner", name, LEARNERS, Learner)
    return learner
