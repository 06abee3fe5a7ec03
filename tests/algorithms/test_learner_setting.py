"""Settings that several algorithms share: learners, policies, start states."""

import numpy as np
import pytest

from erlbench.algorithms import registry
from erlbench.algorithms.cem import CEMSettings
from erlbench.algorithms.cem_rl import CEMRLSettings
from erlbench.algorithms.cma_es import CMAESSettings
from erlbench.algorithms.policy_settings import make_policy_spec
from erlbench.algorithms.td3 import TD3Settings
from erlbench.envs.catalogue import LISTED, installed
from erlbench.envs.registry import problem
from erlbench.errors import UsageError
from erlbench.policy import PolicySpec
from erlbench.settings import resolve

DISCRETE = problem("CartPole-v1")
OF_GYMNASIUM = [row for row in LISTED.values() if not row.discrete and "/" not in row.id and ":" not in row.id]
BOUNDED = [row.id for row in OF_GYMNASIUM if not row.extra or installed(row.extra)]


@pytest.mark.parametrize("env", BOUNDED)
def test_the_noise_on_target_actions_is_the_codes_whatever_the_bound_of_the_action(env):
    """0.2 within +-0.5, in units of the action: the public codes do not scale it by the bound."""
    bound = np.unique(problem(env).action_high)
    for name in ("cem-rl", "p-cem-rl", "aes-rl", "multi-actor-td3"):
        settings = resolve(registry.find(name).settings_type, env)
        assert settings.target_noise * bound == pytest.approx(0.2, rel=1e-3)
        assert settings.noise_clip * bound == pytest.approx(0.5, rel=1e-3)
    assert settings.exploration_noise * bound == pytest.approx(0.1, rel=1e-3)


TYPO = """
from erlbench.algorithms.training.learners import Learner
typo = Learner(actor_function="my_typos:trian")
"""


def test_a_learner_s_name_and_its_functions_are_looked_up_before_a_run(write_module):
    write_module("my_typos", TYPO)
    for name, named in (("typo", "my_typos:trian"), ("Learner", "class")):
        with pytest.raises(UsageError, match=named):
            CEMRLSettings(learner=f"my_typos:{name}").check_learner()


def test_a_searched_policy_is_what_its_settings_say():
    pendulum = problem("Pendulum-v1")
    policy = make_policy_spec(pendulum, CMAESSettings(network="lstm", hidden=(16,), squashing="linear"))
    assert (policy.size, policy.bounded) == (1361, False)
    policy = make_policy_spec(pendulum, CEMSettings(hidden=(), bins=5, bias=False))
    assert (policy.size, policy.actions) == (15, "bins")


def test_discrete_actions_are_the_argmax_of_outputs_squashed_for_gradients_only():
    assert make_policy_spec(DISCRETE, CMAESSettings(stochastic=True)) == PolicySpec(
        (4, 64, 64, 2), "tanh", (), (), squashing="linear", actions="discrete", stochastic=True
    )
    assert make_policy_spec(DISCRETE, TD3Settings()).squashing == "tanh"
    assert make_policy_spec(DISCRETE, CEMRLSettings(learner="ddpg")).actions == "discrete"
    for settings, named in ((CEMRLSettings(learner="sac"), "learner=sac"), (CMAESSettings(bins=5), "bins=5")):
        with pytest.raises(UsageError, match=f"{named} .*CartPole-v1 .*discrete"):
            make_policy_spec(DISCRETE, settings)
