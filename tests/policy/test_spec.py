"""Policies as plain values: parameter counts, the layout of the vector, what is refused, and their file."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from erlbench.errors import UsageError
from erlbench.policy import PolicySpec, layer_slices, load_policy, parameter_count, serialise_policy


def make(sizes, **more):
    return PolicySpec(tuple(sizes), "tanh", (-1.0,) * sizes[-1], (1.0,) * sizes[-1], **more)


@pytest.mark.parametrize(
    ("sizes", "more", "count"),
    [
        ((8, 2), {"squashing": "linear"}, 18),  # GoodAI: lunar lander
        ((28, 64, 64, 8), {"squashing": "floor"}, 6536),  # ant
        ((3, 16, 1), {"network": "lstm", "squashing": "linear"}, 1361),  # partially observable pendulum
        ((17, 400, 300, 6), {}, 129306),  # CEM-RL: HalfCheetah, Walker2d
        ((11, 400, 300, 3), {}, 126003),
        ((8, 2), {"bias": False}, 16),
        ((8, 2), {"stochastic": True}, 36),
        ((8, 2), {"actions": "bins", "bins": 10}, 180),
    ],
)
def test_sizes_of_policies(sizes, more, count):
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
        ({"actions": "bins", "bins": 1}, "two bins at least"),
        ({"actions": "discrete", "stochastic": True}, "needs linear outputs"),
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
