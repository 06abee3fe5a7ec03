"""Floors of gradient steps: only the products that an update cannot do without, and the bytes of its optimiser.

Each product runs by the BLAS that is the faster one for its shape here: numpy's or PyTorch's. Adam reads and writes 28
bytes a parameter (parameter, gradient, two moments in; parameter and moments out), a target update 12; they are copied
as that many bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch

from benchmarks.harness import cpu_seconds
from erlbench.policy import parameter_count

ADAM, TRACK = 28, 12  # bytes per parameter
CALLS, TRIES = 10, 5  # to tell which library is faster
Operations = list[Callable[[], object]]


class Floors:
    """For networks with these hidden widths and minibatches of `batch`; all in seconds of one thread."""

    def __init__(self, observation: int, action: int, hidden: Sequence[int], batch: int) -> None:
        actor, critic = (observation, *hidden, action), (observation + action, *hidden, 1)
        critics, actors = 2 * parameter_count(critic), parameter_count(actor)
        # Critic: target action, two targets, two critics forward and backward. Actor: forward, Q1 forward, Q1
        # backward to the action's columns, backward.
        self._critic = forward(actor, batch) + 2 * (2 * forward(critic, batch) + backward(critic, batch))
        self._actor = forward(actor, batch) + forward(critic, batch) + inputs_backward(critic, batch)
        self._actor += backward(actor, batch)
        self._actor.append(product(_random(batch, hidden[0]), _random(hidden[0], action)))
        # SAC's actor has twice as many outputs; it draws next actions, and its own go through both critics and back.
        gaussian = (observation, *hidden, 2 * action)
        self._sac = 2 * forward(gaussian, batch) + backward(gaussian, batch) + 2 * (
            3 * forward(critic, batch) + backward(critic, batch) + inputs_backward(critic, batch)
            + forward((hidden[0], action), batch)
        )  # fmt: skip
        self._sac += copy(critics * (ADAM + TRACK)) + copy(parameter_count(gaussian) * ADAM)
        self._optimise_critic, self._track_critic = copy(critics * ADAM), copy(critics * TRACK)
        self._optimise_actor, self._track_actor = copy(actors * ADAM), copy(actors * TRACK)

    def critic(self) -> float:
        """A critic update, followed by its targets'."""
        return _seconds(self._critic + self._optimise_critic + self._track_critic)

    def actor(self) -> float:
        """An actor update by a frozen critic."""
        return _seconds(self._actor + self._optimise_actor)

    def td3(self) -> float:
        """A step of TD3: a critic update, and half an update of actor and targets."""
        both = self._actor + self._optimise_actor + self._track_critic + self._track_actor
        return _seconds(2 * (self._critic + self._optimise_critic) + both) / 2

    def sac(self) -> float:
        """A step of SAC: an update of critics, actor and the critics' targets."""
        return _seconds(self._sac)


def forward(sizes: Sequence[int], batch: int) -> Operations:
    """The products of a forward pass."""
    return [product(_random(batch, inputs), _random(outputs, inputs).T) for inputs, outputs in zip(sizes, sizes[1:])]


def backward(sizes: Sequence[int], batch: int) -> Operations:
    """The products for the gradients of all weights."""
    weights = [product(_random(batch, outputs).T, _random(batch, inputs)) for inputs, outputs in zip(sizes, sizes[1:])]
    return weights + inputs_backward(sizes, batch)


def inputs_backward(sizes: Sequence[int], batch: int) -> Operations:
    """The products for the gradients of all layers' inputs but the first's."""
    return [product(_random(batch, outputs), _random(outputs, inputs)) for inputs, outputs in zip(sizes[1:], sizes[2:])]


def product(a: np.ndarray, b: np.ndarray) -> Callable[[], object]:
    """`a @ b` as the faster library computes it; an outer product needs none."""
    out = np.zeros((len(a), b.shape[1]), np.float32)
    if len(b) == 1:
        return partial(np.multiply, a, b, out)
    by_numpy, by_torch = partial(np.dot, a, b, out), partial(torch.mm, *map(torch.from_numpy, (a, b)))
    by_torch = partial(by_torch, out=torch.from_numpy(out))
    return min(by_numpy, by_torch, key=lambda operation: min(_seconds([operation], CALLS) for _ in range(TRIES)))


def copy(moved: int) -> Operations:
    """Read half of the bytes, write the other half."""
    source = _random(1, moved // 8)
    return [partial(np.copyto, np.zeros_like(source), source)]


def _random(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((rows, columns), dtype=np.float32)


def _seconds(operations: Operations, times: int = 20) -> float:
    def run() -> None:
        for _ in range(times):
            for operation in operations:
                operation()

    return cpu_seconds(run) / times
