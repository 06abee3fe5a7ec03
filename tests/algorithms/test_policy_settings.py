"""Policies on continuous and discrete problems."""

import pytest

from erlbench.algorithms.cem import CEMSettings
from erlbench.algorithms.cma_es import CMAESSettings
from erlbench.algorithms.policy_settings import policy_of
from erlbench.algorithms.td3 import TD3Settings
from erlbench.envs.registry import EnvSpec, Problem
from erlbench.errors import UsageError
from erlbench.policy import PolicySpec
from erlbench.settings import resolve

CONTINUOUS = Problem(EnvSpec("Pendulum-v1", 200), 3, 1, (-2.0,), (2.0,))
DISCRETE = Problem(EnvSpec("CartPole-v1", 500), 4, 2, (), (), discrete=True)


def test_a_searched_policy_is_what_its_settings_say():
    overrides = {"network": "lstm", "hidden": "16", "squashing": "linear"}
    policy = policy_of(CONTINUOUS, resolve(CMAESSettings, "Pendulum-v1", overrides=overrides))
    assert (policy.size, policy.bounded) == (1361, False)
    policy = policy_of(
        CONTINUOUS, resolve(CEMSettings, "Pendulum-v1", overrides={"hidden": (), "bins": 5, "bias": False})
    )
    assert (policy.size, policy.actions) == (15, "bins")


def test_discrete_actions_are_the_argmax_of_outputs_squashed_for_gradients_only():
    assert policy_of(DISCRETE, CMAESSettings(stochastic=True)) == PolicySpec(
        (4, 64, 64, 2), "tanh", (), (), squashing="linear", actions="discrete", stochastic=True
    )
    assert policy_of(DISCRETE, TD3Settings()).squashing == "tanh"
    with pytest.raises(UsageError, match=r"bins=5 .*CartPole-v1 .*discrete"):
        policy_of(DISCRETE, CMAESSettings(bins=5))
