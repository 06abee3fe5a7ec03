"""Policies: parameter counts, layout, initialisation, and numpy inference against torch."""

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from erlbench.policy import NumpyPolicy, PolicySpec, initial_parameters, layer_slices, parameter_count, save_policy

TORCH = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU, "leaky-relu": lambda: torch.nn.LeakyReLU(0.01)}


def spec(sizes, activation="tanh", low=-1.0, high=1.0):
    return PolicySpec(tuple(sizes), activation, (low,) * sizes[-1], (high,) * sizes[-1])


@pytest.mark.parametrize(
    ("sizes", "count"),
    [((17, 400, 300, 6), 129306), ((11, 400, 300, 3), 126003), ((8, 400, 300, 2), 124502), ((8, 2), 18)],
)
def test_parameter_counts_of_the_papers(sizes, count):
    assert parameter_count(sizes) == count
    assert layer_slices(sizes)[-1][1].stop == count


@pytest.mark.parametrize("activation", list(TORCH))
def test_inference_equals_torch(activation):
    sizes = (5, 32, 16, 3)
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), TORCH[activation]()]
    network = torch.nn.Sequential(*layers[:-1], torch.nn.Tanh())
    parameters = torch.nn.utils.parameters_to_vector(network.parameters()).detach().numpy()
    policy = NumpyPolicy(spec(sizes, activation), parameters)
    for observation in np.random.default_rng(0).normal(size=(20, 5)):
        expected = network(torch.tensor(observation, dtype=torch.float32)).detach().numpy()
        np.testing.assert_allclose(policy.normalised(observation), expected, atol=1e-6)


def test_actions_are_scaled_to_their_interval():
    policy = NumpyPolicy(spec((2, 1), low=-1.0, high=3.0), np.array([0, 0, 50], np.float32))
    np.testing.assert_allclose(policy.denormalise(policy.normalised(np.zeros(2))), [3.0])


def test_initialisation_is_torchs_range_and_keyed():
    first = initial_parameters((17, 400, 6), (0, 1))
    weight, bias = layer_slices((17, 400, 6))[0]
    bound = 1 / np.sqrt(17)
    assert first.dtype == np.float32
    assert np.abs(first[: bias.stop]).max() <= bound
    assert np.abs(first[weight]).max() > 0.99 * bound
    np.testing.assert_array_equal(first, initial_parameters((17, 400, 6), (0, 1)))
    assert not np.array_equal(first, initial_parameters((17, 400, 6), (1, 1)))


def test_a_vector_of_the_wrong_size_is_refused():
    with pytest.raises(ValueError, match="has 3 parameters"):
        NumpyPolicy(spec((2, 1)), np.zeros(4, np.float32))


def test_a_saved_policy_holds_named_layers(tmp_path):
    parameters = np.arange(9, dtype=np.float32)
    save_policy(tmp_path / "p.safetensors", parameters, spec((2, 3)))
    layers = load_file(tmp_path / "p.safetensors")
    np.testing.assert_array_equal(layers["layer.0.weight"], [[0, 1], [2, 3], [4, 5]])
    np.testing.assert_array_equal(layers["layer.0.bias"], [6, 7, 8])
