"""Operations of networks, arguments bound; on a CPU, `tanh` and many products are numpy's, on the same memory."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor

from erlbench.algorithms.gradients.programs.program import Program
from erlbench.machine import kernel

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
