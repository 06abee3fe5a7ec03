"""Inference by numpy against torch's own modules, and what actions mean."""

from ast import literal_eval

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch.distributions import Categorical

from erlbench.policy import ACTIVATIONS, SQUASHINGS, NumpyPolicy, PolicySpec, initial_policy
from erlbench.work.seeding import generator
from tests.tables import cells

TORCH = {"tanh": torch.tanh, "relu": torch.relu, "leaky-relu": torch.nn.functional.leaky_relu}
OBSERVATION, ACTION = 5, 3
SQUASH = {
    "tanh": torch.tanh,
    "linear": lambda x: x,
    "clip": lambda x: x,
    "floor": lambda x: torch.floor(6 * torch.tanh(x)) / 6,
}


def make(hidden=(32, 16), activation="tanh", low=-1.0, high=1.0, scale=1.0, **more):
    """A policy with scaled initial parameters, and random ones of its normalisation."""
    count = 0 if more.get("actions") == "discrete" else ACTION
    spec = PolicySpec((OBSERVATION, *hidden, ACTION), activation, (low,) * count, (high,) * count, **more)
    parameters = scale * initial_policy(spec, (0,))
    parameters[spec.learnt_size :] = np.random.default_rng(1).uniform(0.1, 2, spec.size - spec.learnt_size)
    return NumpyPolicy(spec, parameters)


def torchs(policy, observations):
    """What torch's modules give for an episode's observations, before squashing `(T, outputs)`."""
    spec, vector = policy.spec, torch.tensor(policy.parameters)
    pairs, is_lstm = [*zip(spec.widths, spec.widths[1:])], spec.network == "lstm"
    kinds = [torch.nn.LSTM if is_lstm else torch.nn.Linear] * (len(pairs) - 1) + [torch.nn.Linear]
    layers = torch.nn.ModuleList(kind(*sizes, bias=spec.bias) for kind, sizes in zip(kinds, pairs, strict=True))
    x = torch.tensor(observations, dtype=torch.float32)
    assert sum(p.numel() for p in layers.parameters()) == spec.learnt_size
    torch.nn.utils.vector_to_parameters(vector[: spec.learnt_size], layers.parameters())
    if spec.normalisation:
        mean, std = vector[spec.learnt_size :].view(2, -1)
        x = ((x - mean) / std).clip(-spec.observation_clip, spec.observation_clip)
    with torch.no_grad():
        for layer in layers[:-1]:
            x = layer(x)[0] if is_lstm else TORCH[spec.activation](layer(x))
        return layers[-1](x)


def played(policy, observations, random=None):
    """The normalised actions of an episode `(T, action)`."""
    policy.reset(random)
    return np.array([policy.normalised(observation).copy() for observation in observations])


OBSERVATIONS = np.random.default_rng(0).normal(size=(40, OBSERVATION))


@pytest.mark.parametrize("squashing", SQUASHINGS)
@pytest.mark.parametrize("more", [{}, {"bias": False}, {"normalisation": True, "observation_clip": 1.0}])
@pytest.mark.parametrize(
    "network", [{"activation": name} for name in ACTIVATIONS]
    + [{"network": "lstm"}, {"network": "lstm", "hidden": (16,)}, {"hidden": ()}]
)  # fmt: skip
def test_actions_equal_torchs(network, more, squashing):
    policy = make(**network, **more, squashing=squashing)
    outputs = torchs(policy, OBSERVATIONS)
    for _ in range(2):  # the second episode begins as the first
        actions = played(policy, OBSERVATIONS)
        if squashing == "floor":  # on the edge between two levels, the last bit decides
            inside = (6 * torch.tanh(outputs) % 1 - 0.5).abs().numpy() < 0.499
            actions, expected = actions[inside], SQUASH[squashing](outputs).numpy()[inside]
            assert len(actions) > 100
        else:
            expected = SQUASH[squashing](outputs).numpy()
        assert_allclose(actions, expected, atol=1e-6)


# Outputs of -1 to 3 and 0 to 9; `floor` has twelve levels, and never the top.
SCALED = """
tanh   | -50, 50 | [-1, 0], [3, 9]
floor  | -50, 8  | [-1, 0], [2.6666667, 8.25]
clip   | -5, 50  | [-1, 0], [3, 9]
linear | -5, 50  | [-5, -5], [50, 50]
"""


@pytest.mark.parametrize("row", cells(SCALED))
def test_actions_are_scaled_to_their_interval(row):
    squashing, (inputs, expected) = row[0], map(literal_eval, row[1:])
    spec = PolicySpec((1, 2), "tanh", (-1.0, 0.0), (3.0, 9.0), squashing=squashing, bias=False)
    policy = NumpyPolicy(spec, np.ones(2, np.float32))
    assert_allclose([policy.act(np.array([x])) for x in inputs], expected, atol=1e-6)
    centred = NumpyPolicy(PolicySpec((1, 1), "tanh", (-2.0,), (2.0,)), np.array([0, 50], np.float32))
    assert_allclose(centred.act(np.zeros(1)), [2])
    with pytest.raises(ValueError, match=r"2 parameters of float32, not .* of float64"):
        NumpyPolicy(spec, np.ones(2))


def test_bins_are_equally_spaced_and_the_largest_logit_chooses():
    spec = PolicySpec((OBSERVATION, 16, 2), "tanh", (-1.0, 0.0), (1.0, 3.0), actions="bins", bins=10)
    assert spec.widths[-1] == 20
    policy = NumpyPolicy(spec, initial_policy(spec, (0,)))
    chosen = torchs(policy, OBSERVATIONS).view(-1, 2, 10).argmax(dim=2).numpy()
    values = np.stack([np.linspace(-1, 1, 10)[chosen[:, 0]], np.linspace(0, 3, 10)[chosen[:, 1]]], axis=1)
    actions = [policy.act(observation) for observation in OBSERVATIONS]
    assert_allclose(actions, values, atol=1e-6)
    assert len(np.unique(actions)) > 4


def test_discrete_actions_are_the_argmax():
    policy = make(actions="discrete")
    actions = [policy.act(observation) for observation in OBSERVATIONS]
    assert actions == torchs(policy, OBSERVATIONS).argmax(dim=1).tolist()
    assert type(actions[0]) is int


@pytest.mark.parametrize("squashing", ["tanh", "linear"])
def test_a_stochastic_policy_samples_its_normal_distribution(squashing):
    policy = make(stochastic=True, squashing=squashing)
    mean, log_std = torchs(policy, OBSERVATIONS[:1])[0].chunk(2)
    assert_allclose(played(policy, OBSERVATIONS[:1])[0], SQUASH[squashing](mean), atol=1e-6)  # its mode
    drawn = played(policy, OBSERVATIONS[:1].repeat(20_000, axis=0), generator(1)).astype(np.float64)
    normal = np.arctanh(drawn) if squashing == "tanh" else drawn
    assert_allclose(normal.mean(axis=0), mean, atol=0.04)
    assert_allclose(normal.std(axis=0), log_std.exp(), rtol=0.03)
    again = played(policy, OBSERVATIONS[:1].repeat(3, axis=0), generator(1))
    assert_array_equal(again, drawn[:3].astype(np.float32))


def test_a_stochastic_policy_of_discrete_actions_samples_its_softmax():
    policy = make(scale=3.0, stochastic=True, squashing="linear", actions="discrete")
    expected = Categorical(logits=torchs(policy, OBSERVATIONS[:1])[0]).probs
    drawn = played(policy, OBSERVATIONS[:1].repeat(20_000, axis=0), generator(1)).argmax(axis=1)
    assert_allclose(np.bincount(drawn, minlength=ACTION) / len(drawn), expected, atol=0.015)


def test_a_random_action_is_uniform_in_the_environments_units():
    def drawn(**more):
        policy, random = make(high=3.0, **more), generator(0)
        return np.array([policy.denormalise(policy.spec.random_action(random)) for _ in range(3000)])

    for squashing in {*SQUASHINGS} - {"floor"}:
        actions = drawn(squashing=squashing)
        assert (actions.min(), actions.max()) == pytest.approx((-1, 3), abs=0.01)
        assert actions.mean() == pytest.approx(1, abs=0.05)
    assert_allclose(np.bincount(drawn(actions="discrete")) / 3000, 1 / 3, atol=0.03)
