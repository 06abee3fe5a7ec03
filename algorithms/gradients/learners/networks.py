"""Networks on flat float32 vectors, for autograd; Adam on them; targets that follow.

A learner's state is rows of the same length: parameters, targets, and Adam's two moments. `MLP` and `FlatAdam` use them
in place, so a checkpoint has the whole state, and nothing is copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu, linear

from erlbench.policy import layer_slices

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "leaky-relu": leaky_relu,
    "linear": lambda x: x,
}


def views(state: Tensor, shapes: Mapping[str, tuple[int, int]]) -> dict[str, Tensor]:
    """The parts of a flat vector, one behind the other, as `learner_parts` has them."""
    segments = torch.split(state, [math.prod(shape) for shape in shapes.values()])
    return {name: segment.view(shape) for (name, shape), segment in zip(shapes.items(), segments)}


class MLP:
    """An MLP, PyTorch's order of parameters. Without `gradients` nothing is learnt: a target, or frozen."""

    normalise: Callable[[int, Tensor], Tensor] = staticmethod(lambda layer, x: x)
    """What is done to the inputs of each layer."""

    def __init__(
        self, sizes: Sequence[int], activation: str, output: str, parameters: Tensor, gradients: Tensor | None = None
    ) -> None:
        """`parameters`, `gradients`: `(parameter_count(sizes),)`; `backward` adds to `gradients`."""
        self._hidden, self._output = ACTIVATIONS[activation], ACTIVATIONS[output]
        self._layers = []
        for (weight, bias), inputs, outputs in zip(layer_slices(sizes), sizes, sizes[1:]):
            tensors = parameters[weight].view(outputs, inputs), parameters[bias]
            if gradients is not None:
                tensors = tensors[0].detach().requires_grad_(), tensors[1].detach().requires_grad_()
                tensors[0].grad, tensors[1].grad = gradients[weight].view(outputs, inputs), gradients[bias]
            self._layers.append(tensors)

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs `(batch, sizes[-1])` of inputs `(batch, sizes[0])`."""
        *hidden, last = self._layers
        for layer, (weight, bias) in enumerate(hidden):
            x = self._hidden(linear(self.normalise(layer, x), weight, bias))
        return self._output(linear(self.normalise(len(hidden), x), *last))


class FlatAdam:
    """Adam (Kingma and Ba 2015, PyTorch's defaults but for what is named) on one flat vector."""

    def __init__(
        self, parameters: Tensor, moments: Sequence[Tensor] | Tensor, learning_rate: float,
        gradients: Tensor | None = None, **named: float,
    ) -> None:  # fmt: skip
        """`parameters` `(n,)`, `moments` `(2, n)` and `gradients` `(n,)`, by default new, are used in place.

        `named`: `beta1`, `weight_decay`, ... `step` are the operations of a step.
        """
        self.gradients = torch.zeros_like(parameters) if gradients is None else gradients
        self.steps = parameters.new_zeros(())
        tensors: Any = [parameters], [self.gradients], [moments[0]], [moments[1]], [], [self.steps]
        defaults = {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0, "amsgrad": False, "maximize": False}
        options: dict[str, Any] = {**defaults, **named}
        fused = partial(torch._fused_adam_, *tensors, lr=learning_rate, **options)
        self.step: list[Callable[[], object]] = [partial(self.steps.add_, 1), fused]

    def descend(self, loss: Tensor, clip: float | None = None) -> None:
        """One step down the gradient of `loss`, whose norm is at most `clip`."""
        self.gradients.zero_()
        loss.backward()  # type: ignore[no-untyped-call]
        if clip is not None:  # as torch.nn.utils.clip_grad_norm_
            self.gradients.mul_((clip / (self.gradients.norm() + 1e-6)).clamp(max=1.0))
        for operation in self.step:
            operation()


def follow(target: Tensor, online: Tensor, tau: float) -> None:
    """Targets: theta' <- tau theta + (1 - tau) theta'."""
    target.lerp_(online, tau)
