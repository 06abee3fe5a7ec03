"""PDERL's two operators (Bodnar, Day and Lio, AAAI 2020): distillation crossover, and proximal mutation.

Algorithms 1 and 2 with details of its public code (github.com/crisbodnar/pderl).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.gradients.episode_loop import Memory
from erlbench.algorithms.gradients.learners.networks import MLP, FlatAdam
from erlbench.algorithms.gradients.learners.td3 import values
from erlbench.algorithms.gradients.minibatches import arithmetic, saved
from erlbench.algorithms.training.breeding import Distillation, ProximalMutation
from erlbench.policy import PolicySpec
from erlbench.work.seeding import Key, Purpose, generator
from erlbench.work.tasks import Outcome
from erlbench.work.workspace import Workspace


def remembered(
    ranges: Sequence[tuple[int, int]], inputs: Mapping[str, Any], workspace: Workspace, policy: PolicySpec
) -> Tensor:
    """The observations of these transitions of the replay, `(transitions, observation)`."""
    indices = np.concatenate([np.arange(*each) for each in ranges])
    observations = np.empty((len(indices), policy.sizes[0]), np.float32)
    Memory.of(inputs["replay"], workspace).gather(indices, observations)
    return torch.from_numpy(observations)


def make_actor(policy: PolicySpec, parameters: Tensor, gradients: Tensor | None = None) -> MLP:
    """The deterministic policy of a vector."""
    return MLP(policy.sizes, policy.activation, "tanh", parameters, gradients)


def distil(settings: Distillation, inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: the child of two parents, which learns from each where its action has the higher value.

    Inputs: `first`, `second` (the less fit, from which the child starts), `learner` (its critics give the values),
    `replay`. Arrays: `parameters`.
    """
    policy, random = settings.policy, generator(*key, int(Purpose.MINIBATCH))
    states = remembered(settings.ranges, inputs, workspace, policy)
    q = inputs["learner"][4 * policy.size :][: settings.critic.size]  # Q_1
    vectors = (inputs["first"], inputs["second"], q)
    first, child, row = (torch.from_numpy(np.array(vector, np.float32)) for vector in vectors)
    parents = [make_actor(policy, first), make_actor(policy, child.clone())]
    critics = [MLP(settings.critic.sizes, settings.critic.activation, "linear", row)]
    adam = FlatAdam(child, torch.zeros(2, len(child)), settings.learning_rate)
    actor = make_actor(policy, child, adam.gradients)
    with arithmetic():
        size = min(settings.batch_size, len(states))
        for _ in range(settings.epochs * (len(states) // size)):
            batch = states[random.permutation(len(states))[:size]]
            adam.descend(distillation_loss(actor(batch), better_actions(parents, critics, batch)))
    return Outcome({}, {"parameters": saved(child, "a child")})


def better_actions(parents: Sequence[MLP], critics: Sequence[MLP], states: Tensor) -> Tensor:
    """For each state the first parent's action where Q(s, a_1) > Q(s, a_2), else the second's."""
    with torch.no_grad():
        first, second = (parent(states) for parent in parents)
        return torch.where(values(critics, states, first) > values(critics, states, second), first, second)


def distillation_loss(actions: Tensor, targets: Tensor) -> Tensor:
    """The SUM of squared differences over batch and dimensions, and the mean of squared actions."""
    return ((actions - targets) ** 2).sum() + (actions**2).mean()


def mutate(settings: ProximalMutation, inputs: Mapping[str, Any], key: Key, workspace: Workspace) -> Outcome:
    """Task function: `parameters` with noise on all weight matrices, divided by the sensitivity of the actions.

    Inputs: `parameters`, `replay`. Arrays: `parameters`.
    """
    policy, random = settings.policy, generator(*key, int(Purpose.NOISE))
    states = remembered(settings.ranges, inputs, workspace, policy)
    states = states[random.permutation(len(states))[: settings.batch_size]]
    vector = torch.from_numpy(np.array(inputs["parameters"], np.float32))
    noise, scale = (
        random.standard_normal(len(vector), dtype=np.float32),
        sensitivity(policy, vector.double(), states.double()).numpy(),
    )
    mutated = vector.numpy().copy()
    for tensor in policy.tensors:
        if len(tensor.shape) == 2:
            mutated[tensor.place] += settings.magnitude * noise[tensor.place] / scale[tensor.place]
    return Outcome({}, {"parameters": saved(torch.from_numpy(mutated), "a mutated individual")})


def sensitivity(policy: PolicySpec, vector: Tensor, states: Tensor) -> Tensor:
    """S = sqrt(sum_k (sum over the batch of da_k / dw)^2) of each parameter; 0 counts as 1, and 0.01 is the least.

    In float64, as the sum over the batch may cancel.
    """
    gradients = torch.zeros_like(vector)
    actions, total = make_actor(policy, vector, gradients)(states), torch.zeros_like(vector)
    for k in range(actions.shape[1]):
        gradients.zero_()
        actions[:, k].sum().backward(retain_graph=True)  # type: ignore[no-untyped-call]
        total += gradients**2
    scale = total.sqrt()
    return torch.where(scale == 0, 1.0, scale.clamp(min=0.01))
