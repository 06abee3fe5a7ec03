"""Adam and SGD against PyTorch's."""

import numpy as np
import pytest

from erlbench.algorithms.search.optimisers import Adam, Sgd
from erlbench.work.seeding import generator


@pytest.mark.parametrize(("epsilon", "tolerance"), [(1e-8, 1e-5), (1e-20, 1e-12)])
def test_adam_is_pytorchs_but_for_the_place_of_epsilon(epsilon, tolerance):
    import torch

    gradients = generator(1).standard_normal((50, 4)) * [1, 10, 0.1, 1]
    start = np.array([1.0, 2, 3, 4])
    theirs = torch.nn.Parameter(torch.tensor(start))
    torch_adam = torch.optim.Adam([theirs], lr=0.03, eps=epsilon)
    adam, ours = Adam(0.03, epsilon=epsilon), start.copy()
    moments = adam.start(4)
    for gradient in gradients:
        theirs.grad = torch.tensor(gradient)
        torch_adam.step()
        ours += adam.step(moments, gradient)
    assert moments.steps == 50
    np.testing.assert_allclose(ours, theirs.detach().numpy(), atol=tolerance, rtol=0)


def test_adams_first_step_with_its_epsilon_beside_the_uncorrected_root():
    adam = Adam(0.1, epsilon=0.5)
    step = adam.step(adam.start(1), np.array([2.0]))
    assert step == pytest.approx(-0.1 * np.sqrt(1 - 0.999) / 0.1 * 0.2 / (np.sqrt(0.001 * 4) + 0.5))


def test_sgd_is_pytorchs_with_dampening_after_a_gradient_of_zero():
    import torch

    gradients = generator(2).standard_normal((20, 3))
    theirs = torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))
    torch_sgd = torch.optim.SGD([theirs], lr=0.2, momentum=0.9, dampening=0.9)
    sgd, ours = Sgd(0.2), np.zeros(3)
    moments = sgd.start(3)
    for gradient in [np.zeros(3), *gradients]:
        theirs.grad = torch.tensor(gradient)
        torch_sgd.step()
        ours += sgd.step(moments, gradient)
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-12)
