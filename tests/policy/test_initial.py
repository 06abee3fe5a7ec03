"""Where policies start: PyTorch's ranges, OpenAI-ES's norms, keyed numbers."""

from pathlib import Path

import numpy as np
import pytest
import torch

from erlbench.policy import PolicySpec, initial_policy, load_policy, serialise_policy

KEY = (0, 1)


@pytest.mark.parametrize(
    ("name", "module"), [("lstm.weight_ih_l0", torch.nn.LSTM(3, 64)), ("layer.1.weight", torch.nn.Linear(64, 50))]
)
def test_tensors_are_drawn_from_torchs_range_and_keyed(name, module):
    spec = PolicySpec((3, 64, 50), "tanh", (-1.0,) * 50, (1.0,) * 50, network="lstm")
    ours = np.abs(spec.split(initial_policy(spec, KEY))[name]).max()
    theirs = max(float(tensor.detach().abs().max()) for tensor in module.parameters())
    assert theirs == pytest.approx(0.125, rel=0.01)
    assert ours == pytest.approx(theirs, rel=0.02)
    assert np.array_equal(initial_policy(spec, KEY), initial_policy(spec, KEY))
    assert not np.array_equal(initial_policy(spec, KEY), initial_policy(spec, (1, 1)))


def test_normc_scales_what_goes_into_a_unit():
    spec = PolicySpec((8, 32, 32, 3), "tanh", (-1.0,) * 3, (1.0,) * 3)
    tensors = spec.split(initial_policy(spec, KEY, "normc"))
    for name, tensor in tensors.items():
        if name.endswith("bias"):
            assert not tensor.any()
        else:
            norm = 0.01 if name == "layer.2.weight" else 1.0
            np.testing.assert_allclose(np.linalg.norm(tensor, axis=1), norm, rtol=1e-6)
    flat = initial_policy(PolicySpec((200, 200, 1), "tanh", (-1.0,), (1.0,)), KEY, "normc")[:40_000]
    assert np.mean(flat**4) / np.mean(flat**2) ** 2 == pytest.approx(3, abs=0.1)  # normal, not uniform


@pytest.mark.data
def test_a_stored_policy_is_written_again_byte_for_byte():
    folders = sorted((Path(__file__).parents[2] / "results" / "search-or-settings").glob("*/*/seed-010"))
    assert len(folders) == 3
    for folder in folders:
        policy = load_policy(folder)
        assert serialise_policy(policy.parameters, policy.spec) == (folder / "policy.safetensors").read_bytes()
