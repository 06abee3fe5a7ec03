"""Critics and whole learners as float32 arrays, for the driver, which knows no torch.

The array of critics has the shape `(4, count * size)`: rows are the online parameters, the target parameters, and
Adam's first and second moments; each row holds Q1, then Q2 (DDPG has Q1 only). A critic is an MLP of
`[observation, action in [-1, 1]]` with one output. CrossQ's are normalised and have no row of targets: `(3, ...)`.

Behind the parameters of a normalised network stand scale, bias, running mean and running variance of its layers'
inputs, `(4, inputs of all layers)`; the running statistics have no gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from erlbench.policy import PolicySpec, initial_parameters, layer_slices, parameter_count
from erlbench.work.seeding import Key, generator

NORM_EPSILON = 1e-3  # added to variances


@dataclass(frozen=True)
class CriticSpec:
    """The network of each of the critics: layer widths `(observation + action, hidden ..., 1)`."""

    sizes: tuple[int, ...]
    activation: str  # of the hidden layers: tanh, relu or leaky-relu
    count: int
    normalised: bool  # CrossQ's: no targets

    @cached_property
    def size(self) -> int:
        """Number of parameters of one critic, with its normalisation's."""
        return parameter_count(self.sizes) + (norm_size(self.sizes) if self.normalised else 0)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the critics' array."""
        return 3 if self.normalised else 4, self.count * self.size


def critic_spec(
    policy: PolicySpec, hidden: Sequence[int], activation: str, count: int = 2, normalised: bool = False
) -> CriticSpec:
    """The critics for actions of `policy`."""
    return CriticSpec((policy.sizes[0] + policy.sizes[-1], *hidden, 1), activation, count, normalised)


def initial_critic(spec: CriticSpec, key: Key) -> np.ndarray:
    """Fresh critics: PyTorch's default initialisation, targets equal to the online networks, zero moments."""
    critic = np.zeros(spec.shape, np.float32)
    for index, row in enumerate(critic[0].reshape(spec.count, spec.size)):
        parameters = initial_parameters(spec.sizes, (*key, index))
        row[:] = np.concatenate([parameters, initial_norm(spec.sizes)]) if spec.normalised else parameters
    if not spec.normalised:
        critic[1] = critic[0]
    return critic


def norm_size(sizes: Sequence[int]) -> int:
    """The numbers behind the parameters of a normalised network."""
    return 4 * sum(sizes[:-1])


def initial_norm(sizes: Sequence[int]) -> np.ndarray:
    """Scale 1, bias 0, running mean 0 and variance 1."""
    return np.repeat(np.array([1, 0, 0, 1], np.float32), sum(sizes[:-1]))


def fold_norm(policy: PolicySpec, vector: np.ndarray) -> np.ndarray:
    """The deterministic policy that acts as a normalised actor does by its running statistics, float32."""
    parameters, norm = vector[: policy.size].astype(np.float64), vector[actor_size(policy) :].astype(np.float64)
    scale, bias, mean, variance = norm.reshape(4, -1)
    slope = scale / np.sqrt(variance + NORM_EPSILON)
    offset, start = bias - slope * mean, 0
    for (weight, biases), inputs in zip(layer_slices(policy.sizes), policy.sizes):
        matrix, span = parameters[weight].reshape(-1, inputs), slice(start, start + inputs)
        parameters[biases] += matrix @ offset[span]
        matrix *= slope[span]
        start += inputs
    return parameters.astype(np.float32)


def actor_size(policy: PolicySpec) -> int:
    """Parameters of SAC's stochastic actor: the deterministic `policy`, and behind it the head of log std."""
    return policy.size + parameter_count(policy.sizes[-2:])


def value_sizes(policy: PolicySpec, critic: CriticSpec) -> tuple[int, ...]:
    """Layer widths of the state-value network of SAC v1: the critics' without the action."""
    return (policy.sizes[0], *critic.sizes[1:])


def learner_parts(
    policy: PolicySpec, critic: CriticSpec, value_network: bool, actor_norm: bool = False
) -> dict[str, tuple[int, int]]:
    """The shapes that make up the flat vector of SAC's and CrossQ's learner, in order.

    `actor`: parameters, with `actor_norm` its normalisation's, and Adam's two moments. `temperature`: log alpha
    and its moments. `critic`: the rows of `initial_critic`. `value`, with a value network only: online, target, and
    moments.
    """
    actor = actor_size(policy) + (norm_size(policy.sizes) if actor_norm else 0)
    parts = {"actor": (3, actor), "temperature": (3, 1), "critic": critic.shape}
    if value_network:
        parts["value"] = (4, parameter_count(value_sizes(policy, critic)))
    return parts


def initial_learner(
    policy: PolicySpec, critic: CriticSpec, key: Key, final_init: float | None = None, final_scale: float = 1.0
) -> np.ndarray:
    """A fresh learner of TD3 or DDPG, float32 `(4 * policy.size + 4 * critic.count * critic.size,)`.

    The actor, the target actor, Adam's first and second moments of the actor, then the rows of `initial_critic`.
    Weights and biases of the last layers are from U(-final_init, final_init); None: PyTorch's default. They are
    multiplied by `final_scale`.
    """
    actors, critics = np.zeros((4, policy.size), np.float32), initial_critic(critic, (*key, 1))
    actors[0] = initial_parameters(policy.sizes, (*key, 0))
    networks = [(actors[0], policy.sizes), *((row, critic.sizes) for row in critics[0].reshape(critic.count, -1))]
    for number, (parameters, sizes) in enumerate(networks, 2):
        weight, bias = layer_slices(sizes)[-1]
        last = parameters[weight.start : bias.stop]
        if final_init is not None:
            last[:] = generator(*key, number).uniform(-final_init, final_init, last.size)
        last *= np.float32(final_scale)
    actors[1], critics[1] = actors[0], critics[0]
    return np.concatenate([actors.ravel(), critics.ravel()])


def initial_soft_learner(
    policy: PolicySpec, critic: CriticSpec, key: Key, value_network: bool = False, actor_norm: bool = False
) -> np.ndarray:
    """A fresh learner of SAC or CrossQ, flat float32, of `learner_parts`: PyTorch's default weights, log alpha = 0."""
    sizes = policy.sizes
    shapes = learner_parts(policy, critic, value_network, actor_norm)
    parts = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    heads = initial_parameters(sizes, (*key, 0)), initial_parameters(sizes[-2:], (*key, 2))
    parts["actor"][0] = np.concatenate([*heads, *([initial_norm(sizes)] if actor_norm else [])])
    parts["critic"][:] = initial_critic(critic, (*key, 1))
    if value_network:
        parts["value"][:2] = initial_parameters(value_sizes(policy, critic), (*key, 3))
    return np.concatenate([array.ravel() for array in parts.values()])


def separated(policy: PolicySpec, vector: np.ndarray) -> np.ndarray:
    """The vector of SAC's actor, mean then log std, from a stochastic `policy`'s, whose last layer has both."""
    split, weights, outputs = _heads(policy)
    shared, log_std, bias, log_std_bias = np.split(vector, (split, split + weights, split + weights + outputs))
    return np.concatenate([shared, bias, log_std, log_std_bias])


def joined(policy: PolicySpec, vector: np.ndarray) -> np.ndarray:
    """The inverse of `separated`."""
    split, weights, outputs = _heads(policy)
    shared, bias, log_std, log_std_bias = np.split(vector, (split, split + outputs, split + outputs + weights))
    return np.concatenate([shared, log_std, bias, log_std_bias])


def _heads(policy: PolicySpec) -> tuple[int, int, int]:
    """Where the weights of the mean's head end, and how many weights and outputs a head has."""
    inputs, outputs = policy.sizes[-2:]
    return parameter_count(policy.sizes[:-1]) + inputs * outputs, inputs * outputs, outputs
