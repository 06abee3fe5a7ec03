"""One gradient step of critics and of an actor (TD3, Fujimoto et al. 2018; DDPG), on preallocated buffers.

Actions are normalised to [-1, 1] everywhere: in the replay, for the critics, and so for the target policy's noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.critic import CriticSpec
from erlbench.algorithms.gradients.halves import VECTOR, halves, place_of_cut
from erlbench.algorithms.gradients.mlp import Adam, Mlp, on_cpu
from erlbench.algorithms.gradients.side_by_side import Together, Work, in_turn
from erlbench.errors import NumericalError
from erlbench.policy import PolicySpec


class Source(Protocol):
    """Something that transitions can be read from, such as a `ReplayReader`."""

    def gather(
        self,
        indices: np.ndarray,
        observations: np.ndarray,
        transitions: np.ndarray | None = None,
        next_observations: np.ndarray | None = None,
    ) -> None:
        """Copy the transitions `indices` into the given arrays."""


class Minibatches:
    """`count` minibatches of transitions, side by side on the device."""

    def __init__(self, policy: PolicySpec, batch_size: int, count: int, device: str) -> None:
        self.observation_size, self.action_size = policy.sizes[0], policy.sizes[-1]
        rows = batch_size * count
        pinned = device.startswith("cuda")
        self._host = [
            torch.zeros(rows, columns, pin_memory=pinned)
            for columns in (self.observation_size, self.action_size + 2, self.observation_size)
        ]
        self._device = [tensor.to(device) for tensor in self._host]  # on a CPU the same tensors
        self._arrays = [tensor.numpy() for tensor in self._host]
        self.observations, transitions, self.next_observations = self._device
        self.actions = transitions[:, : self.action_size]
        self.rewards = transitions[:, self.action_size, None]
        self.continues = transitions[:, self.action_size + 1, None]

    def gather(self, source: Source, indices: np.ndarray, observations_only: bool = False) -> None:
        """Read the transitions `indices` of a replay, `(batch_size * count,)`."""
        used = 1 if observations_only else 3
        source.gather(indices, *self._arrays[:used])
        for host, device in zip(self._host[:used], self._device):
            if host is not device:
                device.copy_(host)


class HostCopy:
    """Parameters where numpy can read them: on a CPU the same memory, else a copy that `update` renews."""

    def __init__(self, parameters: Tensor) -> None:
        self._source, self.tensor = parameters, parameters.cpu()

    def update(self) -> None:
        """After the parameters have changed."""
        if self.tensor.data_ptr() != self._source.data_ptr():
            self.tensor.copy_(self._source)


class CriticLearner:
    """The critics with their targets and Adam moments; the caller fills the minibatch's buffers.

    Given the next state's value the critics have nothing to do with each other: each is a lane, and `together` runs
    the lanes. Its result does not depend on how.
    """

    def __init__(self, critic: CriticSpec, batch_size: int, state: Tensor, weight: float = 1.0) -> None:
        """`state`: `critic.shape` as in `algorithms.critic`, used in place; `weight` multiplies the loss."""
        self.state = state
        self.inputs = state.new_zeros(batch_size, critic.sizes[0])  # observation, action
        self.next_inputs = torch.zeros_like(self.inputs)  # next observation, target action
        self.rewards = state.new_zeros(batch_size, 1)
        self.continues = torch.zeros_like(self.rewards)
        gradients = torch.zeros_like(state[0])
        networks = state.view(4, critic.count, critic.size)
        rows = gradients.view(critic.count, -1)
        self.online = Mlp(critic.sizes, critic.activation, "linear", networks[0], self.inputs, rows)
        self.target = Mlp(critic.sizes, critic.activation, "linear", networks[1], self.next_inputs)
        lanes = self.online.lanes
        cuts = [critic.size * lane for lane in range(1, len(lanes))]
        self.adam = Adam(self.state[0], gradients, self.state[2], self.state[3], cuts)
        self.together: Together = in_turn
        self.next_values = torch.zeros_like(self.rewards)
        self.gradient_clip: float | None = None  # bound of the gradient's norm, for a single critic
        self._gradients = gradients
        self._rows = batch_size / weight
        self._losses = state.new_zeros(len(lanes))
        self._errors = [(self.online.outputs[lane], self.online.output_gradient[lane]) for lane in lanes]
        self._numbers = torch.zeros(2, dtype=torch.float64)  # learning rate and tau, where a second process sees them
        self._value_works = [partial(self.target.forward_lane, lane) for lane in range(len(lanes))]
        self._fit_works = [partial(self._fit_lane, lane) for lane in range(len(lanes))]
        middle = state.shape[1] // 2 // VECTOR * VECTOR
        parts = zip(*(row.tensor_split([middle]) for row in (state[1], state[0])))
        self._track_works = [partial(self._track_part, target, online) for target, online in parts]
        self.works: list[Work] = [works[-1] for works in (self._value_works, self._fit_works, self._track_works)]

    def take(self, batch: Minibatches, next_actions: Tensor) -> None:
        """Fill the buffers with a minibatch and the target actions `(batch, action)` of its next states."""
        split = batch.observation_size
        self.inputs[:, :split] = batch.observations
        self.inputs[:, split:] = batch.actions
        self.next_inputs[:, :split] = batch.next_observations
        self.next_inputs[:, split:] = next_actions
        self.rewards.copy_(batch.rewards)
        self.continues.copy_(batch.continues)

    def update(self, discount: float, learning_rate: float, loss: Tensor) -> None:
        """`fit` with TD3's values: min(Q1', Q2')(next observation, target action); with one critic DDPG's: Q1'."""
        torch.amin(self.target_values(), 0, out=self.next_values)
        self.fit(discount, learning_rate, loss)

    def target_values(self) -> Tensor:
        """The target critics' values of `next_inputs`, `(critics, batch, 1)`."""
        self.together(self._value_works)
        return self.target.outputs

    def fit(self, discount: float, learning_rate: float, loss: Tensor) -> None:
        """One Adam step on weight * sum over critics of MSE(Q, y), whose value goes to the scalar tensor `loss`.

        y = reward + discount * continues * `next_values`, which the caller has set and this overwrites.
        """
        self.next_values.mul_(self.continues).mul_(discount).add_(self.rewards)
        self._numbers[0] = learning_rate
        self.together(self._fit_works)
        torch.sum(self._losses, 0, out=loss)
        loss.div_(self._rows)

    def _fit_lane(self, lane: int) -> None:
        self.online.forward_lane(lane)
        values, error = self._errors[lane]
        flat = torch.sub(values, self.next_values, out=error).view(-1)
        torch.dot(flat, flat, out=self._losses[lane])
        error.mul_(2.0 / self._rows)
        self.online.backward_lane(lane)
        if self.gradient_clip is not None:
            clip_norm(self._gradients, self.gradient_clip)
        self.adam.step_lane(lane, self._numbers[0].item())

    def track(self, tau: float) -> None:
        """Move the targets: target += tau * (online - target)."""
        self._numbers[1] = tau
        self.together(self._track_works)

    def _track_part(self, target: Tensor, online: Tensor) -> None:
        target.lerp_(online, self._numbers[1].item())


class ActorLearner:
    """An actor that climbs Q1(s, pi(s)), which is only read; the caller fills `observations`.

    Where `together` has two processes, they share the minibatch and then the parameters. The result does not depend
    on it.
    """

    def __init__(
        self,
        policy: PolicySpec,
        critic: CriticSpec,
        batch_size: int,
        parameters: Tensor,
        first: Tensor,
        second: Tensor,
        q1: Tensor,
    ) -> None:
        """`parameters` and Adam's moments `(policy.size,)`, `q1` `(critic.size,)`, all used in place."""
        self.observations = parameters.new_zeros(batch_size, policy.sizes[0])
        self._inputs = parameters.new_zeros(batch_size, critic.sizes[0])
        gradients = torch.zeros_like(parameters)
        self._actor = Mlp(policy.sizes, policy.activation, "tanh", parameters[None], self.observations, gradients[None])
        self._split = policy.sizes[0]
        self._q1 = Mlp(
            critic.sizes,
            critic.activation,
            "linear",
            q1[None],
            self._inputs,
            input_columns=slice(policy.sizes[0], None),
        )
        cut = place_of_cut(policy.sizes) if on_cpu(parameters) else 0
        self.adam = Adam(parameters, gradients, first, second, [cut] if cut else [])
        self.together: Together = in_turn
        self._gradient = -1.0 / batch_size
        self._number = torch.zeros(1, dtype=torch.float64)  # the learning rate, where a second process sees it
        self._halves = halves(self._actor), halves(self._q1)
        self._works = [
            [partial(work, half) for half in range(2)] for work in (self._act_and_slope, self._slope, self._step)
        ]
        self.works: list[Work] = [second for _, second in self._works]

    def update(self, learning_rate: float) -> None:
        """One Adam step on -mean Q1(s, pi(s)) for the observations in `observations`."""
        if self._is_shared:
            self._share(0, learning_rate)
        else:
            self.act()
            self._climb(learning_rate)

    def act(self) -> None:
        """The first part of `update`, which needs no critic: the actions pi(s)."""
        self._inputs[:, : self._split].copy_(self.observations)
        self._inputs[:, self._split :].copy_(self._actor.forward()[0])

    def climb(self, learning_rate: float) -> None:
        """The rest of `update`."""
        if self._is_shared:
            self._share(1, learning_rate)
        else:
            self._climb(learning_rate)

    @property
    def _is_shared(self) -> bool:
        return self.together.processes > 1 and None not in self._halves and len(self.adam.lanes) == 2

    def _climb(self, learning_rate: float) -> None:
        self._q1.forward()
        self._q1.output_gradient.fill_(self._gradient)
        self._q1.backward()
        self._actor.output_gradient.copy_(self._q1.input_gradient)
        self._actor.backward()
        self.adam.step(learning_rate)

    def _share(self, first: int, learning_rate: float) -> None:
        """The works `first` on the halves of the minibatch, and then those on the halves of the parameters."""
        self._number[0] = learning_rate
        self.together(self._works[first])
        self.together(self._works[-1])

    def _act_and_slope(self, half: int) -> None:
        actor, _ = self._halves
        assert actor is not None
        rows = actor.rows[half]
        self._inputs[rows, : self._split].copy_(self.observations[rows])
        actor.forward(half)
        self._inputs[rows, self._split :].copy_(self._actor.outputs[0, rows])
        self._slope(half)

    def _slope(self, half: int) -> None:
        actor, q1 = self._halves
        assert actor is not None
        assert q1 is not None
        rows = actor.rows[half]
        q1.forward(half)
        self._q1.output_gradient[0, rows].fill_(self._gradient)
        q1.backward(half)
        self._actor.output_gradient[0, rows].copy_(self._q1.input_gradient[0, rows])
        actor.backward(half)

    def _step(self, half: int) -> None:
        actor, _ = self._halves
        assert actor is not None
        actor.gradients(half)
        self.adam.step_lane(half, self._number.item())


class Sharing(Protocol):
    """What runs some of its works by `together`."""

    together: Together


Actor = TypeVar("Actor", bound=Sharing)


class ActorAndCritics(Generic[Actor]):
    """Critics and an actor that learn in turn; one `together` runs the works of both."""

    critic: CriticLearner
    actor: Actor

    @property
    def together(self) -> Together:
        """What runs the works that do not depend on each other."""
        return self.critic.together

    @together.setter
    def together(self, together: Together) -> None:
        self.critic.together = self.actor.together = together


def smooth(actions: Tensor, noise: Tensor, scale: float, clip: float) -> None:
    """Target policy smoothing in place: clip(action + clip(scale * noise, +-clip), -1, 1); `noise` is overwritten."""
    noise.mul_(scale).clamp_(-clip, clip)
    actions.add_(noise).clamp_(-1.0, 1.0)


def clip_norm(gradients: Tensor, bound: float) -> None:
    """Scale a flat gradient in place so that its norm is at most `bound`, as `torch.nn.utils.clip_grad_norm_` does."""
    norm = torch.linalg.vector_norm(gradients)
    gradients.mul_(norm.add_(1e-6).reciprocal_().mul_(bound).clamp_(max=1.0))


def load(tensor: Tensor, array: np.ndarray) -> None:
    """Copy an array into a tensor of the same shape."""
    if tuple(tensor.shape) != array.shape:
        raise ValueError(f"expected an array of shape {tuple(tensor.shape)}, not {array.shape}")
    tensor.copy_(torch.from_numpy(np.array(array, np.float32)))


def saved(tensor: Tensor, what: str) -> np.ndarray:
    """A copy of a tensor as an array; a NaN or infinite value raises `NumericalError`."""
    array = tensor.to("cpu", copy=True).numpy()
    if not np.isfinite(array).all():
        raise NumericalError(f"{what} has a NaN or infinite value")
    return array


def check_losses(losses: Tensor, before: int) -> float:
    """The mean of the critic's losses; a NaN or infinite one raises `NumericalError` with the update's number."""
    values = losses.double().cpu().numpy()
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise NumericalError(f"the critic's loss of update {before + int(wrong[0]) + 1} is {values[wrong[0]]}")
    return float(values.mean()) if len(values) else 0.0


@contextmanager
def arithmetic() -> Iterator[None]:
    """Inside, denormal numbers are zero, and numpy does not warn.

    The moments of dead units decay into denormal numbers, which are slow; and NaN and infinity are found in the
    losses and parameters.
    """
    torch.set_flush_denormal(True)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        torch.set_flush_denormal(False)
