"""The task functions of updates from the replay: critics alone, an actor alone, or all of a learner.

One loop makes all updates: draw minibatches, run the program, note the loss. The computation is in `learners/`.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from erlbench.algorithms.gradients.episode_loop import Memory
from erlbench.algorithms.gradients.minibatches import Transitions, arithmetic, saved
from erlbench.algorithms.gradients.programs.blocks import ActorProgram, CriticProgram
from erlbench.algorithms.gradients.programs.program import CudaGraphs, Executor, InTurn, Program
from erlbench.algorithms.gradients.programs.sac import SACProgram
from erlbench.algorithms.gradients.programs.td3 import DDPGProgram, TD3Program
from erlbench.algorithms.training.critic import actor_size, joined
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, TD3Update, Update, Updates
from erlbench.errors import NumericalError
from erlbench.work.seeding import Key, Purpose, generator
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace

KEPT = 4  # learners that a worker keeps between tasks, those used last
NUMBERS = "the critic's loss", "the actions' mean log probability"  # of an update, in the order of `report`
MakeProgram = Callable[[Any, str], Any]  # a `LearnerProgram` of settings and a device


class LearnerProgram(Protocol):
    """Networks, optimisers and buffers, and the programs of their updates."""

    block: int  # minibatches that one `draw` reads
    report: Tensor  # numbers of the last update: as many of `NUMBERS` as there are

    def draw(self, source: Transitions, random: np.random.Generator) -> None:
        """Read minibatches, and draw the noise that goes with them."""

    def update(self, number: int) -> list[Program]:
        """The programs of the update `number`, the first of a block after `draw`."""


def load_learner(workspace: Workspace, kind: MakeProgram, settings: Update) -> tuple[Any, Executor]:
    """The `LearnerProgram` with these settings, and what runs its programs.

    The workspace keeps those used last; their contents never outlive a task.
    """
    learners: OrderedDict[Any, tuple[Any, Executor]] = workspace.scratch.setdefault("learners", OrderedDict())
    name = kind, settings
    if name not in learners:
        learner = kind(settings, workspace.device)
        learners[name] = learner, InTurn() if workspace.device == "cpu" else CudaGraphs(workspace.device)
        if len(learners) > KEPT:
            learners.popitem(last=False)
    learners.move_to_end(name)
    return learners[name]


def make_updates(
    learner: LearnerProgram, source: Transitions, random: np.random.Generator, executor: Executor, numbers: range
) -> Tensor:
    """Make the updates `numbers`, `len(numbers)` rows of `report`; a minibatch is drawn from all of `source`."""
    if source.stop <= source.start:
        raise ValueError(f"the replay holds no transitions from {source.start} to {source.stop}")
    reports = learner.report.new_zeros(len(numbers), len(learner.report))
    for report, number in zip(reports, numbers):
        if number % learner.block == 0:
            learner.draw(source, random)
        for program in learner.update(number):
            executor.run(program)
        report.copy_(learner.report)
    return reports


def check_reports(reports: Tensor, before: int) -> None:
    """Raise `NumericalError` with the update's number if one of the reports has a NaN or infinite number."""
    if math.isfinite(reports.sum().item()):  # the usual case, quickly; a sum of finite numbers may also overflow
        return
    values = reports.cpu().numpy()
    for row, column in np.argwhere(~np.isfinite(values))[:1]:
        raise NumericalError(f"{NUMBERS[column]} of update {before + row + 1} is {values[row, column]:g}")


def checked_means(reports: Tensor, before: int) -> list[float]:
    """The means of the columns, after `check_reports`."""
    check_reports(reports, before)
    return reports.double().cpu().numpy().mean(0).tolist() if len(reports) else [0.0] * reports.shape[1]


def fit_critics(
    kind: MakeProgram, settings: Updates[CriticUpdate], inputs: Mapping[str, Any], key: Key, workspace: Workspace
) -> Outcome:
    """Updates of the critics towards a frozen target actor; the target critics follow each.

    Inputs: `critic` as in `algorithms.training.critic`, `target_actor` `(policy.size,)`, `replay` (a view).
    Values: `critic_updates`, `critic_loss` (mean over the updates). Arrays: `critic`.
    A NaN or infinite loss or parameter raises `NumericalError`.
    """
    learner, executor = load_learner(workspace, kind, settings.update)
    learner.load(inputs["critic"], inputs["target_actor"], settings.critic_updates)
    loss = from_replay(learner, settings, inputs, key, workspace, executor)
    values = {"critic_updates": settings.updates, "critic_loss": loss}
    return Outcome(values, {"critic": saved(learner.state, "the critic")})


update_critic = partial(fit_critics, CriticProgram)


def climb_critics(
    kind: MakeProgram, settings: Updates[ActorUpdate], inputs: Mapping[str, Any], key: Key, workspace: Workspace
) -> Outcome:
    """Adam steps, from zero moments, of one actor up a frozen critic.

    Inputs: `parameters` `(policy.size,)`, `critic`, `replay` (a view). Values: `actor_updates`. Arrays: `parameters`.
    A NaN or infinite parameter raises `NumericalError`.
    """
    if not np.isfinite(inputs["critic"][0]).all():
        raise NumericalError("the critic has a NaN or infinite value")
    learner, executor = load_learner(workspace, kind, settings.update)
    learner.load(inputs["parameters"], inputs["critic"])
    from_replay(learner, settings, inputs, key, workspace, executor)
    return Outcome({"actor_updates": settings.updates}, {"parameters": learner.parameters()})


train_actor = partial(climb_critics, ActorProgram)


def update_td3(settings: Updates[TD3Update], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: TD3 updates of one actor and critics, for multi-actor TD3.

    The first of every `policy_delay` updates also moves the actor. Inputs: `actor` `(4, policy.size)` (online, target,
    Adam's moments), `critic` as in `algorithms.training.critic`, `replay` (a view, not empty). Values:
    `critic_updates`, `actor_updates`, `critic_loss` (mean). Arrays: `actor`, `critic`, `policy` (the online actor).
    A NaN or infinite value raises `NumericalError`.
    """
    update = settings.update
    state = np.concatenate([inputs["actor"].ravel(), inputs["critic"].ravel()])
    outcome = update_joint(TD3Program, settings, {"learner": state, "replay": inputs["replay"]}, key, workspace)
    actor, critic = np.split(outcome.arrays["learner"], [4 * update.policy.size])
    actor = actor.reshape(4, -1)
    arrays = {"actor": actor, "critic": critic.reshape(update.critic.shape), "policy": actor[0]}
    return Outcome(outcome.values, arrays)


def update_joint(
    kind: MakeProgram, settings: Updates[Any], inputs: Mapping[str, Any], key: Key, workspace: Workspace
) -> Outcome:
    """Updates of actor, critics and targets, for the coupling `side`.

    Inputs: `learner` (`Learner.start`), `replay` (a view, not empty). Values: `critic_updates`, `actor_updates`,
    `critic_loss` (mean). Arrays: `learner`, `actor` (of a learner that draws its actions the stochastic policy's).
    A NaN or infinite loss or parameter raises `NumericalError`.
    """
    update, updates = settings.update, settings.updates
    learner, executor = load_learner(workspace, kind, update)
    learner.load(inputs["learner"], settings.critic_updates, settings.actor_updates)
    loss = from_replay(learner, settings, inputs, key, workspace, executor)
    of_actor = -(-updates // getattr(update, "policy_delay", 1))
    values = {"critic_updates": updates, "actor_updates": of_actor, "critic_loss": loss}
    state, policy = saved(learner.state, "the learner"), update.policy
    actor = joined(policy, state[: actor_size(policy)]) if update.stochastic else state[: policy.size]
    return Outcome(values, {"learner": state, "actor": actor})


update_actor_critics = partial(update_joint, TD3Program)
update_ddpg = partial(update_joint, DDPGProgram)
update_sac = partial(update_joint, SACProgram)


def from_replay(
    learner: LearnerProgram, settings: Updates[Any], inputs: Mapping[str, Any], key: Key, workspace: Workspace,
    executor: Executor,
) -> float:  # fmt: skip
    """Make a task's updates; the critics' mean loss, or 0 where there is none."""
    memory, random = Memory.of(inputs["replay"], workspace), generator(*key, int(Purpose.MINIBATCH))
    with arithmetic():
        reports = make_updates(learner, memory, random, executor, range(settings.updates))
    return (checked_means(reports, settings.critic_updates) or [0.0])[0]
