"""Policies of images: A3C's convolutions and virtual batch normalisation against torch's modules."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn

from erlbench.policy import NumpyPolicy, PolicySpec, initial_policy, load_policy, serialise_policy
from erlbench.policy.pixels import EPSILON, pack_frames, unpack_frames

IMAGE, ACTIONS = (4, 84, 84), 6
PLAIN = PolicySpec((4 * 84 * 84, 256, ACTIONS), "relu", (), (), actions="discrete", squashing="linear", image=IMAGE)
NORMALISED = PolicySpec(**{**vars(PLAIN), "reference": 16})


def images(count, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, *IMAGE), dtype=np.uint8)


def policy_of(spec, seed=1):
    vector = initial_policy(spec, (seed,))
    if spec.reference:
        vector[spec.learnt_size :] = pack_frames(images(spec.reference, seed=2))
    return vector


def modules(vector, normalised=False):
    """The network as torch has it; with normalisation by the statistics of the batch that it gets."""

    def norm(kind, size):  # whose running statistics are those of one batch
        return kind(size, EPSILON, momentum=None, affine=False) if normalised else nn.Identity()

    network = nn.Sequential(
        nn.Conv2d(4, 16, 8, 4), norm(nn.BatchNorm2d, 16), nn.ReLU(),
        nn.Conv2d(16, 32, 4, 2), norm(nn.BatchNorm2d, 32), nn.ReLU(), nn.Flatten(),
        nn.Linear(2592, 256), norm(nn.BatchNorm1d, 256), nn.ReLU(),
        nn.Linear(256, ACTIONS),
    )  # fmt: skip
    nn.utils.vector_to_parameters(torch.from_numpy(vector[: PLAIN.learnt_size].copy()), network.parameters())
    return network


def outputs(spec, vector, batch):
    policy = NumpyPolicy(spec, vector)
    return np.array([policy.normalised(image.ravel()).copy() for image in batch])


def test_a_plain_policy_gives_the_outputs_of_torchs_modules():
    assert PLAIN.size == PLAIN.learnt_size == 677_686  # A3C's
    assert NORMALISED.size == 677_686 + 16 * 4 * 84 * 84 // 2
    vector, batch = policy_of(PLAIN), images(3)
    with torch.no_grad():
        expected = modules(vector)(torch.from_numpy(batch).float() / 255).numpy()
    assert_allclose(outputs(PLAIN, vector, batch), expected, atol=1e-5)


def test_virtual_batch_normalisation_is_torchs_by_the_statistics_of_the_reference_batch():
    """Mutations: the image's own statistics, the unbiased variance, a normalised last layer, statistics that stay."""
    batch, random = images(3), np.random.default_rng(3)
    for scale in (0.0, 0.02):  # of another vector the statistics are others
        vector = policy_of(NORMALISED)
        vector[: NORMALISED.learnt_size] += scale * random.standard_normal(NORMALISED.learnt_size, np.float32)
        network = modules(vector, normalised=True)
        with torch.no_grad():
            network(torch.from_numpy(images(16, seed=2)).float() / 255)
            for norm in (each for each in network if hasattr(each, "running_var")):
                count = 16 * {16: 400, 32: 81, 256: 1}[norm.num_features]
                norm.running_var *= (count - 1) / count  # torch's is the unbiased one
            expected = network.eval()(torch.from_numpy(batch).float() / 255).numpy()
        assert_allclose(outputs(NORMALISED, vector, batch), expected, atol=1e-5)


def test_a_reference_batch_goes_through_a_vector_and_a_file_without_loss(tmp_path):
    frames, vector = images(16, seed=2), policy_of(NORMALISED)
    assert_array_equal(unpack_frames(vector[NORMALISED.learnt_size :], IMAGE, 16), frames)
    (tmp_path / "policy.safetensors").write_bytes(serialise_policy(vector, NORMALISED))
    policy = load_policy(tmp_path / "policy.safetensors")
    assert policy.spec == NORMALISED
    assert_array_equal(policy.parameters, vector)
    odd = np.array([3, 255, 0], np.uint8).reshape(3, 1, 1, 1)
    assert_array_equal(unpack_frames(pack_frames(odd), (1, 1, 1), 3), odd)


def test_what_cannot_be_is_refused():
    vector = policy_of(NORMALISED)
    for number in (-1.0, 0.5, 65_536.0, np.nan):
        vector[-1] = number
        with pytest.raises(ValueError, match="no pairs of bytes"):
            NumpyPolicy(NORMALISED, vector)
    kinds = {"actions": "discrete", "squashing": "linear"}
    with pytest.raises(ValueError, match="too small for the convolutions"):
        PolicySpec((4 * 2 * 2, 8, 2), "relu", (), (), image=(4, 2, 2), **kinds).size  # noqa: B018
