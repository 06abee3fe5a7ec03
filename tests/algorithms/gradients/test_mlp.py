"""Hand-written passes against autograd: every activation, one and two networks, numpy's and torch's operations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from erlbench.algorithms.gradients import mlp
from erlbench.algorithms.gradients.mlp import Adam, Mlp
from erlbench.policy import ACTIVATIONS, parameter_count
from tests.algorithms import oracle

SIZES, BATCH = (7, 20, 12, 3), 9


@pytest.mark.parametrize("numpy_operations", [True, False], ids=["numpy", "torch"])
@pytest.mark.parametrize("networks", [1, 2])
@pytest.mark.parametrize("output", ["linear", "tanh"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_passes_equal_autograd(activation, output, networks, numpy_operations, monkeypatch):
    if not numpy_operations:  # what a GPU runs
        monkeypatch.setattr(mlp, "on_cpu", lambda tensor: False)
    random = torch.Generator().manual_seed(1)
    parameters = 0.4 * torch.randn(networks, parameter_count(SIZES), generator=random)
    inputs = torch.randn(BATCH, SIZES[0], generator=random)
    gradients = torch.full_like(parameters, torch.nan)
    network = Mlp(SIZES, activation, output, parameters, inputs, gradients, slice(4, 7))
    weights = torch.randn(networks, BATCH, SIZES[-1], generator=random)  # of the outputs in the loss
    for _ in range(2):  # the second pass finds used buffers
        outputs = network.forward().clone()
        network.output_gradient.copy_(weights)
        network.backward()
    modules = [
        oracle.network(SIZES, activation, row.numpy(), nn.Tanh() if output == "tanh" else None) for row in parameters
    ]
    for index, module in enumerate(modules):
        x = inputs.clone().requires_grad_()
        expected = module(x)
        (expected * weights[index]).sum().backward()
        found = [outputs[index], gradients[index], network.input_gradient[index]]
        wanted = [expected, torch.cat([p.grad.flatten() for p in module.parameters()]), x.grad[:, 4:7]]
        for a, b in zip(found, wanted):
            assert (a - b).abs().max() <= 1e-6 * max(1.0, b.abs().max().item())


def test_a_lane_touches_nothing_of_the_others():
    parameters, gradients = torch.randn(2, parameter_count(SIZES)), torch.zeros(2, parameter_count(SIZES))
    network = Mlp(SIZES, "relu", "linear", parameters, torch.randn(BATCH, SIZES[0]), gradients)
    expected = network.forward().clone()
    network.outputs.zero_()
    network.forward_lane(1)
    assert not network.outputs[0].any()
    assert torch.equal(network.outputs[1], expected[1])
    network.forward_lane(0)
    network.output_gradient.fill_(1.0)
    network.backward_lane(0)
    assert gradients[0].any()
    assert not gradients[1].any()


def test_adams_lanes_step_by_themselves():
    whole, parts, gradients = torch.ones(10), torch.ones(10), torch.linspace(-1, 1, 10)
    Adam(whole, gradients, torch.zeros(10), torch.zeros(10)).step(1e-2)
    lanes = Adam(parts, gradients, torch.zeros(10), torch.zeros(10), [5])
    lanes.step_lane(1, 1e-2)
    assert torch.equal(parts[:5], torch.ones(5))
    assert parts[5:].tolist() == pytest.approx(whole[5:].tolist(), rel=1e-6)
    lanes.step_lane(0, 1e-2)
    assert parts.tolist() == pytest.approx(whole.tolist(), rel=1e-6)


def test_adam_equals_torch():
    random = torch.Generator().manual_seed(2)
    parameters, gradients = torch.randn(1000, generator=random), torch.zeros(1000)
    expected = nn.Parameter(parameters.clone())
    theirs = torch.optim.Adam([expected], lr=1e-2)
    mine = Adam(parameters, gradients, torch.zeros(1000), torch.zeros(1000))
    for step in range(50):
        gradients.copy_(torch.randn(1000, generator=random) * 10.0 ** (step % 5 - 3))
        expected.grad = gradients.clone()
        theirs.step()
        mine.step(1e-2)
    assert (parameters - expected).abs().max() < 1e-5


def test_unknown_activation_is_an_error():
    with pytest.raises(ValueError, match="unknown activation 'selu'"):
        Mlp(SIZES, "selu", "linear", torch.zeros(1, parameter_count(SIZES)), torch.zeros(BATCH, SIZES[0]))


def test_numpy_works_on_the_same_memory():
    """A change of the flat vector is seen by the next forward pass."""
    parameters, inputs = torch.zeros(1, parameter_count(SIZES)), torch.ones(BATCH, SIZES[0])
    network = Mlp(SIZES, "tanh", "linear", parameters, inputs)
    assert not network.forward().any()
    parameters[0, -3:] = torch.arange(3.0)
    assert np.array_equal(network.forward()[0, 4].numpy(), [0, 1, 2])
