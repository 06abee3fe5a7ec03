"""Policies as plain values: parameter counts, the vector, what is refused, their file, and where they start."""

import json
from ast import literal_eval
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import load_file

from erlbench.errors import UsageError
from erlbench.policy import PolicySpec, initial_policy, layer_slices, load_policy, parameter_count, serialise_policy
from tests.tables import cells


def make(sizes, **more):
    return PolicySpec(tuple(sizes), "tanh", (-1.0,) * sizes[-1], (1.0,) * sizes[-1], **more)


# GoodAI's lunar lander and partially observable pendulum; CEM-RL's HalfCheetah and Walker2d.
SIZES = """
(8, 2)            | {"squashing": "linear"}                    | 18
(3, 16, 1)        | {"network": "lstm", "squashing": "linear"} | 1361
(17, 400, 300, 6) | {}                                         | 129306
(8, 2)            | {"bias": False}                            | 16
(8, 2)            | {"stochastic": True}                       | 36
(8, 2)            | {"actions": "bins", "bins": 10}            | 180
"""


@pytest.mark.parametrize("row", cells(SIZES))
def test_sizes_of_policies(row):
    sizes, more, count = map(literal_eval, row)
    spec = make(sizes, **more)
    assert spec.size == spec.learnt_size == count
    assert make(sizes, **more, normalisation=True).size == count + 2 * sizes[0]
    assert make(sizes, **more, normalisation=True).learnt_size == count
    if not more:
        assert parameter_count(sizes) == layer_slices(sizes)[-1][1].stop == count


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"network": "gru"}, "'gru' is none of mlp, lstm"),
        ({"squashing": "relu"}, "'relu' is none of tanh, linear, clip, floor"),
    ],
)
def test_what_makes_no_sense_is_refused(more, message):
    with pytest.raises(ValueError, match=message):
        make((2, 1), **more)


def test_a_saved_policy_holds_named_tensors(tmp_path):
    spec = make((2, 3), normalisation=True)
    (tmp_path / "p.safetensors").write_bytes(serialise_policy(np.arange(13, dtype=np.float32), spec))
    tensors = {name: tensor.tolist() for name, tensor in load_file(tmp_path / "p.safetensors").items()}
    assert tensors == {
        "layer.0.weight": [[0, 1], [2, 3], [4, 5]], "layer.0.bias": [6, 7, 8], "observation.mean": [9, 10],
        "observation.std": [11, 12],
    }  # fmt: skip
    with safe_open(tmp_path / "p.safetensors", "numpy") as file:
        assert json.loads(file.metadata()["policy"])["normalisation"] is True


@pytest.mark.parametrize(
    "spec",
    [
        PolicySpec((3, 4, 2), "tanh", (-1.0, 0.0), (1.0, 2.0), normalisation=True),
        PolicySpec((3, 4, 2), "relu", (), (), actions="discrete", squashing="linear", bias=False),
        PolicySpec((2, 3, 1), "tanh", (-1.0,), (1.0,), network="lstm", actions="bins", bins=5),
    ],
)
def test_a_policy_is_read_as_it_was_written(spec, tmp_path):
    parameters = np.random.default_rng(0).normal(size=spec.size).astype(np.float32)
    (tmp_path / "policy.safetensors").write_bytes(serialise_policy(parameters, spec))
    policy = load_policy(tmp_path / "policy.safetensors")
    assert policy.spec == spec
    assert np.array_equal(policy.parameters, parameters)


@pytest.mark.parametrize("data", [b"", b"nothing", b"\x02\0\0\0\0\0\0\0{}", None])
def test_a_file_that_is_no_policy(data, tmp_path):
    if data is not None:
        (tmp_path / "policy.safetensors").write_bytes(data)
    with pytest.raises(UsageError, match="when it is done" if data is None else "is no policy"):
        load_policy(tmp_path)


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
