"""Hand-written passes against autograd: every activation, one and two networks, numpy's and torch's operations."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from erlbench.algorithms.gradients.learners.networks import MLP
from erlbench.algorithms.gradients.programs import networks as passes
from erlbench.algorithms.gradients.programs.networks import Adam, Network
from erlbench.policy import ACTIVATIONS, parameter_count

SIZES, BATCH = (7, 20, 12, 3), 9


def run(*lanes):
    for lane in lanes:
        for operation in lane:
            operation()


@pytest.mark.parametrize("numpy_operations", [True, False], ids=["numpy", "torch"])
@pytest.mark.parametrize("networks", [1, 2])
@pytest.mark.parametrize("output", ["linear", "tanh"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_passes_equal_autograd(activation, output, networks, numpy_operations, monkeypatch):
    if not numpy_operations:  # what a GPU runs
        monkeypatch.setattr(passes, "on_cpu", lambda tensor: False)
    random = torch.Generator().manual_seed(1)
    parameters = 0.4 * torch.randn(networks, parameter_count(SIZES), generator=random)
    inputs = torch.randn(BATCH, SIZES[0], generator=random)
    gradients = torch.full_like(parameters, torch.nan)
    network = Network(SIZES, activation, output, parameters, inputs, gradients, slice(4, 7))
    weights = torch.randn(networks, BATCH, SIZES[-1], generator=random)  # of the outputs in the loss
    for _ in range(2):  # the second pass finds used buffers
        run(network.forward())
        outputs = network.outputs.clone()
        network.output_gradient.copy_(weights)
        run(network.backward(), network.backward_to_inputs(), network.gradients())
    for index, row in enumerate(parameters):
        x, slope = inputs.clone().requires_grad_(), torch.zeros_like(row)
        expected = MLP(SIZES, activation, output, row, slope)(x)
        (expected * weights[index]).sum().backward()
        found = [outputs[index], gradients[index], network.input_gradient[index]]
        wanted = [expected, slope, x.grad[:, 4:7]]
        for a, b in zip(found, wanted):
            assert (a - b).abs().max() <= 1e-6 * max(1.0, b.abs().max().item())


def test_a_pass_of_one_network_touches_nothing_of_the_others():
    parameters, gradients = torch.randn(2, parameter_count(SIZES)), torch.zeros(2, parameter_count(SIZES))
    network = Network(SIZES, "relu", "linear", parameters, torch.randn(BATCH, SIZES[0]), gradients)
    run(network.forward())
    expected = network.outputs.clone()
    network.outputs.zero_()
    first, second = network.parts
    run(network.forward(second))
    assert not network.outputs[0].any()
    assert torch.equal(network.outputs[1], expected[1])
    run(network.forward(first))
    network.output_gradient.fill_(1.0)
    run(network.backward(first), network.gradients(first))
    assert gradients[0].any()
    assert not gradients[1].any()


def test_adams_pieces_step_by_themselves():
    whole, pieces, gradients = torch.ones(10), torch.ones(10), torch.linspace(-1, 1, 10)
    run(Adam(whole, gradients, torch.zeros(2, 10), 1e-2).step())
    adam = Adam(pieces, gradients, torch.zeros(2, 10), 1e-2, [5])
    run(adam.step(1))
    assert torch.equal(pieces[:5], torch.ones(5))
    assert pieces[5:].tolist() == pytest.approx(whole[5:].tolist(), rel=1e-6)
    run(adam.step(0))
    assert pieces.tolist() == pytest.approx(whole.tolist(), rel=1e-6)


def test_adam_equals_torch():
    random = torch.Generator().manual_seed(2)
    parameters, gradients = torch.randn(1000, generator=random), torch.zeros(1000)
    expected = nn.Parameter(parameters.clone())
    theirs = torch.optim.Adam([expected], lr=1e-2)
    mine = Adam(parameters, gradients, torch.zeros(2, 1000), 1e-2).step()
    for step in range(50):
        gradients.copy_(torch.randn(1000, generator=random) * 10.0 ** (step % 5 - 3))
        expected.grad = gradients.clone()
        theirs.step()
        run(mine)
    assert (parameters - expected).abs().max() < 1e-5
