"""Passes split in two: the bits of the whole, or no split."""

from __future__ import annotations

import pytest
import torch

from erlbench.algorithms.gradients.programs import operations
from erlbench.algorithms.gradients.programs import splits as module
from erlbench.algorithms.gradients.programs.adam import Adam
from erlbench.algorithms.gradients.programs.networks import HIDDEN, LAST, Network
from erlbench.algorithms.gradients.programs.parameters import Half
from erlbench.algorithms.gradients.programs.splits import WHOLE, Split, second_half, split_in_two
from erlbench.policy import parameter_count


def network(sizes, batch, activation="relu", output="linear", gradients=True, columns=None):
    random = torch.Generator().manual_seed(5)
    parameters = 0.1 * torch.randn(1, parameter_count(sizes), generator=random)
    inputs = torch.randn(batch, sizes[0], generator=random)
    found = torch.zeros_like(parameters) if gradients else None
    return Network(sizes, activation, output, parameters, inputs, found, columns), found


def run(*lanes):
    for lane in lanes:
        for operation in lane:
            operation()


@pytest.mark.parametrize("activation", ["relu", "tanh", "leaky-relu"])
@pytest.mark.parametrize(
    ("sizes", "batch"), [((17, 256, 256, 6), 256), ((11, 400, 300, 3), 100), ((23, 256, 256, 1), 256), ((5, 64, 2), 64)]
)
def test_a_network_is_split_exactly_where_they_have_the_bits_of_the_whole(sizes, batch, activation):
    """Which depends on the BLAS and its kernels."""
    whole, expected = network(sizes, batch, activation, "tanh", columns=slice(2, 5))
    other, found = network(sizes, batch, activation, "tanh", columns=slice(2, 5))
    lanes = Split(list(module._rows(batch)), [Half(*module._place(sizes), first) for first in (True, False)])
    run(whole.forward())
    run(*(other.forward(rows=rows, layers=HIDDEN) for rows in reversed(lanes.rows)), other.forward(layers=LAST))
    whole.output_gradient.copy_(whole.outputs + 1.0)
    other.output_gradient.copy_(whole.output_gradient)
    run(whole.backward(), whole.backward_to_inputs(), whole.gradients())
    run(*(other.backward(rows=rows) for rows in reversed(lanes.rows)), other.backward_to_inputs())
    run(*(other.gradients(half=half) for half in reversed(lanes.halves)))
    pairs = [(other.outputs, whole.outputs), (other.input_gradient, whole.input_gradient), (found, expected)]
    for a, b in pairs:
        assert b.any()
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-4 * b.abs().max().item())
    exact = all(torch.equal(a, b) for a, b in pairs)
    assert split_in_two(2, other) == (lanes if exact else WHOLE)
    assert split_in_two(1, other) == WHOLE


def test_a_half_touches_nothing_of_the_other():
    sizes = (5, 64, 2)
    net, found = network(sizes, 64)
    lanes, (place,) = split_in_two(2, net), second_half(sizes, torch.zeros(0))
    first, second = lanes.rows
    run(net.forward(rows=second))
    assert not net.outputs[0, first].any()
    assert net.outputs[0, second].any()
    run(net.forward(rows=first))
    net.output_gradient.fill_(1.0)
    run(net.backward(rows=first))
    assert not net.deltas[0][0, second].any()
    run(net.backward(rows=second), net.gradients(half=lanes.halves[0]))
    assert found[0, :place].any()
    assert not found[0, place:].any()


def test_several_networks_are_split_only_if_each_can_be(monkeypatch):
    wide, narrow = network((5, 64, 2), 64)[0], network((5, 64, 2), 64, gradients=False)[0]
    assert len(split_in_two(2, wide, narrow).rows) == 2
    monkeypatch.setattr(module, "_is_exact", lambda other, last_whole: other is wide)
    assert split_in_two(2, wide) != WHOLE
    assert split_in_two(2, wide, narrow) == WHOLE


def test_no_split_where_bits_would_change(monkeypatch):
    """As with a BLAS whose kernels split elsewhere: this one rounds once for every two rows that it is given."""

    def product(a, b, out):
        return [lambda: out.copy_(a @ b).add_(1e-3 * (len(a[0]) // 2))]

    monkeypatch.setattr(operations, "product", product)
    monkeypatch.setattr("erlbench.algorithms.gradients.programs.networks.product", product)
    module._tried.cache_clear()
    net, _ = network((5, 64, 2), 64)
    assert split_in_two(2, net) == WHOLE
    monkeypatch.undo()
    module._tried.cache_clear()
    assert split_in_two(2, net) != WHOLE


def test_actions_and_their_gradients_do_not_hinder_a_split(monkeypatch):
    """They are computed whole: this BLAS computes narrow products otherwise when it is given fewer rows."""
    real = operations.product

    def product(a, b, out):
        narrow = out.shape[2] == 2 and out.shape[1] < 64
        return [*real(a, b, out), *([lambda: out.mul_(1.001)] if narrow else [])]

    monkeypatch.setattr("erlbench.algorithms.gradients.programs.networks.product", product)
    module._tried.cache_clear()
    actor, _ = network((5, 64, 2), 64)
    critic, _ = network((7, 64, 1), 64, gradients=False, columns=slice(5, None))
    found = split_in_two(2, actor, critic), split_in_two(2, network((7, 64, 2), 64)[0], actor)
    module._tried.cache_clear()
    assert len(found[0].rows) == 2
    assert found[1] == WHOLE  # its Q values would be narrow


def test_a_split_is_tried_where_the_parameters_lie(monkeypatch):
    """This BLAS rounds otherwise where a matrix does not begin with a vector and rows are few."""

    def product(a, b, out):
        aside = b.data_ptr() % 64 and len(a[0]) < 40
        return [lambda: out.copy_(a @ b).mul_(1.001 if aside else 1.0)]

    monkeypatch.setattr("erlbench.algorithms.gradients.programs.networks.product", product)
    module._tried.cache_clear()
    size, inputs = parameter_count((5, 64, 2)), torch.zeros(64, 5)
    aligned, shifted = torch.zeros(1, size), torch.zeros(size + 1)[None, 1:]
    found = [split_in_two(2, Network((5, 64, 2), "relu", "linear", flat, inputs)) for flat in (aligned, shifted)]
    module._tried.cache_clear()
    assert len(found[0].rows) == 2
    assert found[1] == WHOLE


@pytest.mark.parametrize(("sizes", "batch"), [((5, 64, 2), 12), ((5, 12, 1), 64), ((3, 2), 64)])
def test_no_split_of_what_is_too_small(sizes, batch):
    assert split_in_two(2, network(sizes, batch)[0]) == WHOLE


def test_no_split_of_twins_or_off_the_cpu(monkeypatch):
    parameters = torch.zeros(2, parameter_count((5, 64, 2)))
    assert split_in_two(2, Network((5, 64, 2), "relu", "linear", parameters, torch.zeros(64, 5))) == WHOLE
    monkeypatch.setattr(module, "on_cpu", lambda tensor: False)
    assert split_in_two(2, network((5, 64, 2), 64)[0]) == WHOLE


@pytest.mark.parametrize("sizes", [(17, 256, 256, 6), (11, 400, 300, 3), (376, 256, 256, 17), (376, 64, 64, 17)])
def test_the_split_is_near_the_middle_and_changes_no_bit_of_a_step(sizes):
    (place,), size = second_half(sizes, torch.zeros(0)), parameter_count(sizes)
    assert 0.35 < place / size < 0.65
    random = torch.Generator().manual_seed(3)
    start, gradients = torch.randn(size, generator=random), torch.randn(size, generator=random)
    found = []
    for splits in ([], [place]):
        parameters = start.clone()
        run(*[Adam(parameters, gradients, torch.zeros(2, size), 1e-3, splits).step()] * 3)
        found.append(parameters)
    assert torch.equal(*found)
