"""The gradient tasks of the algorithms that mix evolution with gradients: critic updates, and an actor's training.

The task functions are in `gradients/updates.py`, which imports torch; this module names them only.
"""

from __future__ import annotations

from dataclasses import dataclass

from erlbench.algorithms.base import Algorithm
from erlbench.algorithms.training.actor_critic_settings import ActorCriticSettings
from erlbench.algorithms.training.critic import CriticSpec, critic_spec, initial_critic
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, Update, Updates
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import ArrayRef, Input, Priority, ReplayView, Task


@dataclass
class CriticState:
    """The shared critic: `(4, 2P)` float32 with rows online, target, and Adam's two moments."""

    parameters: ArrayRef
    step: int = 0  # updates so far, those in flight included
    in_flight: bool = False


def new_critic(algorithm: Algorithm) -> CriticState:
    """A fresh critic of the run, in the store."""
    return CriticState(algorithm.share(initial_critic(critic_of(algorithm), algorithm.key(Purpose.PARAMETERS, 1))))


def critic_of(algorithm: Algorithm) -> CriticSpec:
    """The critic's network: the actor's hidden widths, and its own activation."""
    settings: ActorCriticSettings = algorithm.settings
    count = 1 if settings.learner == "ddpg" else 2
    return critic_spec(algorithm.policy_spec, settings.hidden, settings.critic_activation, count)


def critic_task(
    algorithm: Algorithm,
    critic: Input,
    target_actor: Input,
    updates: int,
    step: int,
    view: ReplayView,
    individual: int = 0,
) -> Task:
    """`updates` critic updates, of which `step` were made before, towards the targets of `target_actor`.

    Its output `critic` has the shape of its input `critic`.
    """
    settings: ActorCriticSettings = algorithm.settings
    update = CriticUpdate(
        algorithm.policy_spec,
        critic_of(algorithm),
        settings.batch_size,
        settings.critic_learning_rate,
        settings.discount,
        settings.tau,
        settings.target_noise if settings.learner == "td3" else 0.0,
        settings.noise_clip,
        settings.temperature,
    )
    inputs: dict[str, Input] = {"critic": critic, "target_actor": target_actor, "replay": view}
    return update_task(algorithm, "critic", "update_critic", Updates(update, updates, step), inputs, individual)


def next_critic_block(algorithm: Algorithm, critic: CriticState) -> Task:
    """The next `critic_block` updates of a critic that learns all the time, towards the targets of the mean.

    It marks the block as in flight. The task's `individual` is `context.workers`, which no individual of AES-RL has.
    """
    settings, context = algorithm.settings, algorithm.context
    view, updates = context.replay.view(settings.replay_size), settings.critic_block
    task = critic_task(
        algorithm, critic.parameters, algorithm.policy(), updates, critic.step, view, individual=context.workers
    )
    critic.in_flight, critic.step = True, critic.step + updates
    return task


def actor_task(
    algorithm: Algorithm, parameters: Input, critic: Input, updates: int, view: ReplayView, individual: int = 0
) -> Task:
    """`updates` steps of the actor `parameters` up the critic, with a fresh Adam; output `parameters`."""
    settings: ActorCriticSettings = algorithm.settings
    policy, spec, rate = algorithm.policy_spec, critic_of(algorithm), settings.actor_learning_rate
    update = ActorUpdate(policy, spec, settings.batch_size, rate, settings.temperature)
    inputs: dict[str, Input] = {"parameters": parameters, "critic": critic, "replay": view}
    return update_task(algorithm, "actor", "train_actor", Updates(update, updates), inputs, individual)


def update_task(
    algorithm: Algorithm,
    kind: str,
    function: str,
    settings: Updates[Update],
    inputs: dict[str, Input],
    individual: int = 0,
) -> Task:
    """A task of the kind `critic` or `actor` with the task function `function` of `gradients/updates.py`."""
    task_id = algorithm.new_id()
    return Task(
        task_id,
        kind,
        f"erlbench.algorithms.gradients.updates:{function}",
        algorithm.key(Purpose.MINIBATCH, task_id),
        settings,
        inputs,
        Priority.CRITIC if kind == "critic" else Priority.ACTOR,
        gradient=True,
        individual=individual,
    )
