"""The task function of multi-actor TD3: a block of TD3 updates of one actor and the critic that it shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from erlbench.algorithms.gradients.buffers import scratch, side_by_side
from erlbench.algorithms.gradients.episode_loop import Memory
from erlbench.algorithms.gradients.learners import arithmetic, check_losses, saved
from erlbench.algorithms.gradients.td3_episode import Learner
from erlbench.work.seeding import Key, Purpose, generator
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


def update_td3(settings: Mapping[str, Any], inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: `updates` TD3 updates from the replay, of which the first, third, ... also move the actor.

    Settings: `policy` (PolicySpec), `critic` (CriticSpec), `updates`, `critic_updates` and `actor_updates` (Adam's
    steps before), `policy_delay` (2 for the first, third, ...), and those that `td3_episode.Learner.update` needs.
    Inputs: `actor` `(4, policy.size)` (online, target, Adam's moments), `critic` as in `algorithms.critic`, `replay`
    (a view, not empty). Values: `critic_updates`, `actor_updates`, `critic_loss` (mean; 0 without updates).
    Arrays: `actor`, `critic`, `policy` (the online actor). A NaN or infinite value raises `NumericalError`.
    """
    policy, critic, updates, view = settings["policy"], settings["critic"], settings["updates"], inputs["replay"]
    if view.stop <= view.start:
        raise ValueError(f"the replay holds no transitions from {view.start} to {view.stop}")
    learner = scratch(workspace, Learner, policy, critic, settings["batch_size"])
    state = np.concatenate([inputs["actor"].ravel(), inputs["critic"].ravel()])
    learner.load(state, settings["critic_updates"], settings["actor_updates"])
    memory, random = Memory.of(view, workspace), generator(*key, int(Purpose.MINIBATCH))
    losses, delay = torch.zeros(updates, device=workspace.device), settings["policy_delay"]
    learner.together = side_by_side(workspace, learner)
    with arithmetic():
        for index in range(updates):
            learner.update(settings, memory, random, losses[index], index % delay == 0)
    values = {
        "critic_updates": updates,
        "actor_updates": -(-updates // delay),
        "critic_loss": check_losses(losses, settings["critic_updates"]),
    }
    split, state = 4 * policy.size, saved(learner.state, "the learner")
    actor = state[:split].reshape(4, -1)
    return Outcome(values, {"actor": actor, "critic": state[split:].reshape(critic.shape), "policy": actor[0]})
