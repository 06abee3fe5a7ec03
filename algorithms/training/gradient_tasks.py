"""The gradient tasks of the algorithms that mix evolution with gradients: critic updates, and an actor's training.

The task functions are in `gradients/updates.py`, which imports torch; this module names them only. Their sources are
CEM-RL (Pourchot and Sigaud, ICLR 2019), TD3 (Fujimoto et al., ICML 2018), DDPG (Lillicrap et al., ICLR 2016), and SAC
(Haarnoja et al., arXiv:1812.05905).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from erlbench.algorithms.base import Algorithm
from erlbench.algorithms.training.critic import CriticSpec, critic_spec
from erlbench.algorithms.training.learners import Learner, find_learner
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, Updates
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import ArrayRef, Input, Priority, Task


@dataclass
class CriticState:
    """The shared critics: the float32 array `(4, count * size)` of `training/critic.py`, and how far it has come."""

    parameters: ArrayRef
    step: int = 0  # updates so far, those in flight included
    in_flight: bool = False


def make_critic_spec(algorithm: Algorithm[Any, Any]) -> CriticSpec:
    """The critic's network: by default with the actor's hidden widths, and the critic's activation."""
    settings = algorithm.settings
    hidden = getattr(settings, "critic_hidden", settings.hidden)
    learner: Learner = algorithm.learner  # type: ignore[attr-defined]
    activation = settings.critic_activation
    return critic_spec(algorithm.policy_spec, hidden, activation, learner.critics, learner.normalised)


def critic_task(
    algorithm: Algorithm[Any, Any], critic: Input, target_actor: Input, updates: int, step: int, individual: int = 0
) -> Task:
    """A task of `updates` updates of the critics towards the targets of a frozen actor (CEM-RL, algorithm 1).

    An update is TD3's or DDPG's (algorithm 1 of both), or SAC's with a fixed temperature (eq. 3 and 5). `critic` is
    the array `(4, count * size)` of `training/critic.py`, which has made `step` updates before; `target_actor` has the
    shape `(policy.size,)`; both are float32. Minibatches are drawn from the latest `replay_size` transitions. Actions
    are normalised to [-1, 1], rewards are the environment's. The output `critic` has the shape of the input.
    """
    settings, learner = algorithm.settings, find_learner(algorithm.settings.learner)
    fields = {} if learner.target_noise else {"target_noise": 0.0}
    rate = settings.critic_learning_rate
    update = CriticUpdate.of(algorithm.policy_spec, make_critic_spec(algorithm), settings, learning_rate=rate, **fields)
    inputs: dict[str, Input] = {"critic": critic, "target_actor": target_actor}
    return update_task(algorithm, "critic", learner.critic_function, Updates(update, updates, step), inputs, individual)


def next_critic_block(algorithm: Algorithm[Any, Any], critic: CriticState, updates: int) -> Task:
    """The next `updates` updates of a critic that learns all the time, towards the targets of the mean.

    It marks the block as in flight. The task's `individual` is `context.workers`, which no individual of AES-RL has.
    """
    workers = algorithm.context.workers
    task = critic_task(algorithm, critic.parameters, algorithm.policy(), updates, critic.step, workers)
    critic.in_flight, critic.step = True, critic.step + updates
    return task


def actor_task(
    algorithm: Algorithm[Any, Any], parameters: Input, critic: Input, updates: int, individual: int = 0
) -> Task:
    """A task of `updates` Adam steps, from zero moments, of one actor up frozen critics (CEM-RL, algorithm 1).

    The loss is TD3's and DDPG's, -mean Q_1(s, pi(s)) (algorithm 1 of both), or SAC's with a fixed temperature (eq.
    7). `parameters` has the shape `(policy.size,)`, `critic` is the array `(4, count * size)` of `training/critic.py`;
    both are float32. Observations are drawn from the latest `replay_size` transitions; actions are normalised to
    [-1, 1]. The output `parameters` has the shape of the input.
    """
    settings = algorithm.settings
    rate, function = settings.actor_learning_rate, find_learner(settings.learner).actor_function
    update = ActorUpdate.of(algorithm.policy_spec, make_critic_spec(algorithm), settings, learning_rate=rate)
    inputs: dict[str, Input] = {"parameters": parameters, "critic": critic}
    return update_task(algorithm, "actor", function, Updates(update, updates), inputs, individual)


def joint_task(run: Any, learner: Input, updates: int) -> Task:
    """A task of `updates` updates of all of a hybrid's learner next to the population; see `Learner.joint_function`."""
    counters = run.counters
    values = Updates(run.joint_update(), updates, counters.critic_updates, counters.actor_updates)
    return update_task(run, "critic", run.learner.joint_function, values, {"learner": learner})


def update_task(
    algorithm: Algorithm[Any, Any],
    kind: str,
    function: str,
    settings: Any,
    inputs: dict[str, Input],
    individual: int = 0,
) -> Task:
    """A task of the kind `critic` or `actor` with the task function `function`, `module:name`.

    Its input `replay` is by default a view of the latest `replay_size` transitions.
    """
    if "replay" not in inputs:
        inputs = inputs | {"replay": algorithm.context.replay.view(algorithm.settings.replay_size)}
    priority = Priority.CRITIC if kind == "critic" else Priority.ACTOR
    fields = {"priority": priority, "gradient": True, "individual": individual}
    return algorithm.task(kind, function, Purpose.MINIBATCH, settings, inputs, **fields)
