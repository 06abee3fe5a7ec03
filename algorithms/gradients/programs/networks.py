"""Networks: passes, and the update of targets, as operations on flat float32 vectors.

The one place where passes are written. A network may represent several of the same shape (twin critics): its tensors
have a leading axis for them. A pass can be asked for some of the networks only. On a CPU, `tanh` and many products are
numpy's, on the same memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.gradients.programs.program import Operation, Program
from erlbench.machine import kernel
from erlbench.policy import layer_slices

SLOPE = 0.01  # of leaky-relu below zero
# A call of PyTorch's BLAS takes longer than one of numpy's; a product with so many multiply-adds is worth it.
LARGE = 1 << 19


def on_cpu(tensor: Tensor) -> bool:
    """Whether numpy can work on the tensor's memory."""
    return tensor.device.type == "cpu"


def product(a: Tensor, b: Tensor, out: Tensor) -> Program:
    """`out[k] = a[k] @ b[k]`, on a CPU by the BLAS of `kernel.products` if it is large, else by numpy's."""
    if b.shape[1] == 1:  # an outer product
        return [partial(torch.mul, a, b, out=out)]
    if not on_cpu(out):
        return [partial(torch.bmm, a, b, out=out)]
    if out[0].numel() * b.shape[1] >= LARGE and kernel.products() == kernel.TORCH:
        return [partial(torch.mm, a[k], b[k], out=out[k]) for k in range(len(out))]
    whole = all(matrix[0].is_contiguous() or matrix[0].T.is_contiguous() for matrix in (a, b))
    multiply = np.dot if whole else np.matmul  # `dot` copies a part of a transposed matrix
    return [partial(multiply, a[k].numpy(), b[k].numpy(), out=out[k].numpy()) for k in range(len(out))]


def activate(activation: str, x: Tensor) -> Program:
    """`x = f(x)`."""
    if activation == "linear":
        return []
    if activation == "relu":
        return [x.relu_]
    if activation == "leaky-relu":
        return [partial(torch.nn.functional.leaky_relu_, x, SLOPE)]
    if activation == "tanh":
        return [partial(np.tanh, x.numpy(), out=x.numpy()) if on_cpu(x) else x.tanh_]
    raise ValueError(f"unknown activation '{activation}'")


def differentiate(activation: str, x: Tensor, delta: Tensor) -> Program:
    """`delta *= f'` where `x = f(...)` is the layer after its activation."""
    aten = torch.ops.aten
    if activation == "linear":
        return []
    if activation == "relu":
        return [partial(aten.threshold_backward.grad_input, delta, x, 0, grad_input=delta)]
    if activation == "leaky-relu":
        return [partial(aten.leaky_relu_backward.grad_input, delta, x, SLOPE, True, grad_input=delta)]
    return [partial(aten.tanh_backward.grad_input, delta, x, grad_input=delta)]


def layers(vectors: Tensor, sizes: Sequence[int]) -> tuple[list[Tensor], list[Tensor]]:
    """Views of flat vectors as weights `(networks, outputs, inputs)` and biases `(networks, 1, outputs)`."""
    shapes = list(zip(layer_slices(sizes), sizes, sizes[1:]))
    weights = [vectors[:, weight].view(-1, outputs, inputs) for (weight, _), inputs, outputs in shapes]
    return weights, [vectors[:, None, bias] for (_, bias), _, _ in shapes]


ALL = slice(None)


class Network:
    """MLPs of the same shape on the same inputs; `outputs` is `(networks, batch, sizes[-1])`.

    `forward` reads `inputs` `(batch, sizes[0])` and writes `outputs`. `backward` reads `output_gradient` (d loss / d
    outputs, overwritten) and writes what `gradients` reads, and `backward_to_inputs`: that writes `input_gradient`
    `(networks, batch, columns)` of the columns `input_columns` of the inputs.
    """

    def __init__(
        self, sizes: Sequence[int], activation: str, output: str, parameters: Tensor, inputs: Tensor,
        gradients: Tensor | None = None, input_columns: slice | None = None,
    ) -> None:  # fmt: skip
        """`parameters` and `gradients`: contiguous `(networks, parameter_count(sizes))`, used in place.

        `activation`: of the hidden layers (tanh, relu, leaky-relu); `output`: linear or one of these.
        """
        networks, batch = len(parameters), len(inputs)
        self._activations = [activation] * (len(sizes) - 2) + [output]
        self._weights, self._biases = layers(parameters, sizes)
        self.layers = [inputs.new_zeros(networks, batch, size) for size in sizes[1:]]
        self.outputs = self.layers[-1]
        self._below = [inputs.expand(networks, *inputs.shape), *self.layers[:-1]]
        # On a CPU each network by itself; a GPU computes all at once.
        self.parts = [slice(k, k + 1) for k in range(networks)] if on_cpu(inputs) else [ALL]
        self._gradients = None if gradients is None else layers(gradients, sizes)
        self.deltas: list[Tensor] = []
        if gradients is not None or input_columns is not None:
            self.deltas = [torch.zeros_like(layer) for layer in self.layers]  # d loss / d (W x + b)
            self.output_gradient = self.deltas[-1]
        if input_columns is not None:
            self._columns = self._weights[0][:, :, input_columns]
            self.input_gradient = inputs.new_zeros(networks, batch, self._columns.shape[2])

    def forward(self, networks: slice = ALL) -> Program:
        """Layer by layer y = f(W x + b)."""
        program: Program = []
        for x, w, b, layer, f in zip(self._below, self._weights, self._biases, self.layers, self._activations):
            y = layer[networks]
            program += [*product(x[networks], w[networks].mT, y), partial(y.add_, b[networks]), *activate(f, y)]
        return program

    def backward(self, networks: slice = ALL) -> Program:
        """From the last layer: delta = d loss / d (W x + b), by delta_(i-1) = f'(W_i^T delta_i)."""
        program: Program = []
        for index in range(len(self.layers) - 1, -1, -1):
            delta = self.deltas[index][networks]
            program += differentiate(self._activations[index], self.layers[index][networks], delta)
            if index:
                program += product(delta, self._weights[index][networks], self.deltas[index - 1][networks])
        return program

    def backward_to_inputs(self, networks: slice = ALL) -> Program:
        """After `backward`: d loss / d inputs = W^T delta."""
        return product(self.deltas[0][networks], self._columns[networks], self.input_gradient[networks])

    def gradients(self, networks: slice = ALL) -> Program:
        """After `backward`: dW = delta^T x and db = sum of delta over the minibatch."""
        assert self._gradients is not None
        program: Program = []
        for index, (weights, biases) in enumerate(zip(*self._gradients)):
            delta = self.deltas[index][networks]
            program += product(delta.mT, self._below[index][networks], weights[networks])
            program.append(partial(torch.sum, delta, 1, keepdim=True, out=biases[networks]))
        return program


def polyak_update(target: Tensor, online: Tensor, tau: float) -> Operation:
    """Target = (1 - tau) * target + tau * online."""
    return partial(target.lerp_, online, tau)


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
