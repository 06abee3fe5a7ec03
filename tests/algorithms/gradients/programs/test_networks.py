"""Hand-written passes against autograd: every activation, one and two networks, numpy's and torch's operations."""

import pytest
import torch

from erlbench.algorithms.gradients.learners.networks import MLP
from erlbench.algorithms.gradients.programs import networks as passes
from erlbench.algorithms.gradients.programs.networks import Network
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
