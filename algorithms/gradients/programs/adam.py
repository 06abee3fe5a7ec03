"""Adam and the bound of a gradient's norm, as operations on flat float32 vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from erlbench.algorithms.gradients.programs.program import Program


class Adam:
    """Adam (Kingma & Ba 2015, PyTorch's defaults) on one flat vector, in one fused pass for each of its pieces."""

    def __init__(
        self,
        parameters: Tensor,
        gradients: Tensor,
        moments: Sequence[Tensor],
        learning_rate: Tensor | float,
        splits: Sequence[int] = (),
        weight_decay: float = 0.0,
    ) -> None:
        """All contiguous and of the same length, used in place; `moments` are the first and the second.

        A `learning_rate` in memory is read at each step. `splits`: where all but the first piece begin. `weight_decay`
        times the parameters is added to the gradients.
        """
        pieces = zip(*(tensor.tensor_split(list(splits)) for tensor in (parameters, gradients, *moments)))
        self._pieces = [[[tensor] for tensor in piece] for piece in pieces]
        self._steps = [torch.zeros((), device=parameters.device) for _ in self._pieces]
        more: dict[str, Any] = {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "amsgrad": False, "maximize": False}
        self._fused = partial(torch._fused_adam_, lr=learning_rate, weight_decay=weight_decay, **more)

    def reset(self, steps: int) -> None:
        """Go on after `steps` steps."""
        for counted in self._steps:
            counted.fill_(steps)

    def step(self, piece: int | None = None) -> Program:
        """One step of descent of one piece, by default of all."""
        chosen = range(len(self._pieces)) if piece is None else (piece,)
        pairs = [(self._pieces[k], self._steps[k]) for k in chosen]
        return [
            operation
            for tensors, steps in pairs
            for operation in (partial(steps.add_, 1), partial(self._fused, *tensors, [], [steps]))
        ]


def clipped(gradient: Tensor, bound: float | None) -> Program:
    """Scale the gradient so that its norm is at most the bound, as `torch.nn.utils.clip_grad_norm_` does."""
    if bound is None:
        return []
    norm = gradient.new_zeros(())
    return [
        partial(torch.linalg.vector_norm, gradient, out=norm),
        partial(norm.add_, 1e-6),
        norm.reciprocal_,
        partial(norm.mul_, bound),
        partial(norm.clamp_, max=1.0),
        partial(gradient.mul_, norm),
    ]
