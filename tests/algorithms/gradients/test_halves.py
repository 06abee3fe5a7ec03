"""Halves of a network's passes: the bits of the whole, or none at all."""

from __future__ import annotations

import pytest
import torch

from erlbench.algorithms.gradients import halves as module
from erlbench.algorithms.gradients.halves import BLOCK, Forward, Halves, halves, place_of_cut
from erlbench.algorithms.gradients.mlp import Adam, Mlp
from erlbench.algorithms.gradients.side_by_side import in_turn
from erlbench.policy import parameter_count


class InTurnAsTwo:
    """What two processes do, in this one and in the opposite order."""

    processes = 2

    def __call__(self, works):
        for work in reversed(works):
            work()


def network(sizes, batch, activation="relu", output="linear", gradients=True, columns=None):
    random = torch.Generator().manual_seed(5)
    parameters = 0.1 * torch.randn(1, parameter_count(sizes), generator=random)
    inputs = torch.randn(batch, sizes[0], generator=random)
    found = torch.zeros_like(parameters) if gradients else None
    return Mlp(sizes, activation, output, parameters, inputs, found, columns), found


@pytest.mark.parametrize("activation", ["relu", "tanh", "leaky-relu"])
@pytest.mark.parametrize(
    ("sizes", "batch"), [((17, 256, 256, 6), 256), ((11, 400, 300, 3), 100), ((23, 256, 256, 1), 256), ((5, 64, 2), 64)]
)
def test_there_are_halves_exactly_where_they_have_the_bits_of_the_whole(sizes, batch, activation):
    """Which depends on the BLAS and its kernels."""
    whole, expected = network(sizes, batch, activation, "tanh", columns=slice(2, 5))
    other, found = network(sizes, batch, activation, "tanh", columns=slice(2, 5))
    divided = Halves(other, module._rows(batch), module._cut(sizes))
    whole.forward()
    for half in (1, 0):
        divided.forward(half)
    whole.output_gradient.copy_(whole.outputs + 1.0)
    other.output_gradient.copy_(whole.output_gradient)
    whole.backward()
    for step in (divided.backward, divided.gradients):
        for half in (1, 0):
            step(half)
    pairs = [(other.outputs, whole.outputs), (other.input_gradient, whole.input_gradient), (found, expected)]
    for a, b in pairs:
        assert b.any()
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-4 * b.abs().max().item())
    assert (halves(other) is not None) == all(torch.equal(a, b) for a, b in pairs)


def test_a_half_touches_nothing_of_the_other():
    sizes = (5, 64, 2)
    net, found = network(sizes, 64)
    divided, cut = halves(net), place_of_cut(sizes)
    assert divided is not None
    first, second = divided.rows
    divided.forward(1)
    assert not net.outputs[0, first].any()
    assert net.outputs[0, second].any()
    divided.forward(0)
    net.output_gradient.fill_(1.0)
    divided.backward(0)
    assert not net.deltas[0][0, second].any()
    divided.backward(1)
    divided.gradients(0)
    assert found[0, :cut].any()
    assert not found[0, cut:].any()


def test_no_halves_where_bits_would_change(monkeypatch):
    """As with a BLAS whose kernels cut elsewhere."""
    monkeypatch.setattr(module, "_product", lambda a, b, out: lambda: torch.mm(a.double(), b.double()).float())
    module._exact.cache_clear()
    net, _ = network((5, 64, 2), 64)
    assert halves(net) is None
    monkeypatch.undo()
    module._exact.cache_clear()
    assert halves(net) is not None


@pytest.mark.parametrize(("sizes", "batch"), [((5, 64, 2), 12), ((5, 12, 1), 64), ((3, 2), 64)])
def test_no_halves_of_what_is_too_small(sizes, batch):
    assert halves(network(sizes, batch)[0]) is None


def test_no_halves_of_twins_or_off_the_cpu(monkeypatch):
    parameters = torch.zeros(2, parameter_count((5, 64, 2)))
    assert halves(Mlp((5, 64, 2), "relu", "linear", parameters, torch.zeros(64, 5))) is None
    monkeypatch.setattr(module, "on_cpu", lambda tensor: False)
    assert halves(network((5, 64, 2), 64)[0]) is None


@pytest.mark.parametrize("sizes", [(17, 256, 256, 6), (11, 400, 300, 3), (376, 256, 256, 17), (376, 64, 64, 17)])
def test_the_cut_is_near_the_middle_and_changes_no_bit_of_a_step(sizes):
    cut, size = place_of_cut(sizes), parameter_count(sizes)
    assert 0.35 < cut / size < 0.65
    random = torch.Generator().manual_seed(3)
    start, gradients = torch.randn(size, generator=random), torch.randn(size, generator=random)
    found = []
    for cuts in ([], [cut]):
        parameters = start.clone()
        adam = Adam(parameters, gradients, torch.zeros(size), torch.zeros(size), cuts)
        for _ in range(3):
            adam.step(1e-3)
        found.append(parameters)
    assert torch.equal(*found)


def test_forward_is_the_same_in_one_process_and_in_two():
    forward = Forward(network((17, 256, 256, 6), 256, gradients=False)[0])
    one = forward(in_turn).clone()
    assert torch.equal(forward(InTurnAsTwo()), one)
    odd = Forward(network((17, 256, 256, 6), BLOCK, gradients=False)[0])
    assert not odd.works
    assert odd(InTurnAsTwo()).any()
