"""The preset `paper` against Gymnasium's own: v5 with its keyword arguments, and v4, which paid as the papers did."""

import gymnasium
import numpy as np
import pytest

from erlbench.envs.catalogue import LISTED
from erlbench.envs.registry import build, problem

PAPER = [row.id for row in LISTED.values() if "paper" in row.presets]
HEALTHY = {"Hopper": 1, "Walker2d": 1, "Ant": 1, "Humanoid": 5, "InvertedPendulum": 1, "InvertedDoublePendulum": 10}
KWARGS = {
    "Walker2d-v5": {"xml_file": "walker2d.xml"},
    "Ant-v5": {"include_cfrc_ext_in_observation": False, "contact_cost_weight": 0},
    "Humanoid-v5": {"include_cfrc_ext_in_observation": False, "contact_cost_weight": 0},
}


def steps(first, second, count=600):
    """Steps of two environments with the same seeds and random actions: (observation, reward, over) of each."""
    rng = np.random.default_rng(1)
    over = True
    for index in range(count):
        if over:
            observations = [env.reset(seed=index)[0] for env in (first, second)]
            yield [(observation, 0.0, False) for observation in observations]
        action = rng.uniform(first.action_space.low, first.action_space.high).astype(np.float32)
        results = [env.step(action)[:3] for env in (first, second)]
        over = results[0][2]
        yield results


@pytest.mark.parametrize("env_id", PAPER)
def test_paper_is_version_5_with_the_terminal_reward_bit_by_bit(env_id):
    ours = build(problem(f"{env_id}@paper").env)
    theirs = gymnasium.make(env_id, **KWARGS.get(env_id, {})).unwrapped
    bonus, ends = HEALTHY.get(env_id.partition("-")[0], 0), 0
    for (observation, reward, over), (expected, expected_reward, expected_over) in steps(ours, theirs):
        assert observation.tobytes() == expected.tobytes()
        assert reward == expected_reward + (bonus if expected_over else 0)
        assert over == expected_over
        ends += over
    assert (ends > 0) == (bonus > 0)


@pytest.mark.parametrize("env_id", [name for name in PAPER if name != "Humanoid-v5"])
def test_paper_is_version_4(env_id):
    ours = build(problem(f"{env_id}@paper").env)
    theirs = gymnasium.make(env_id.replace("v5", "v4")).unwrapped
    for (observation, reward, over), (expected, expected_reward, expected_over) in steps(ours, theirs):
        np.testing.assert_allclose(observation, expected[: len(observation)], rtol=0, atol=1e-12)
        assert not expected[len(observation) :].any()  # what version 5 left out was always zero
        assert reward == pytest.approx(expected_reward, rel=1e-12, abs=1e-6)  # costs of actions are float32
        assert over == expected_over


def test_the_humanoid_of_the_paper_pays_as_version_4():
    ours = build(problem("Humanoid-v5@paper").env)
    theirs = gymnasium.make("Humanoid-v4").unwrapped
    for (_, reward, over), (_, expected_reward, expected_over) in steps(ours, theirs):
        assert reward == pytest.approx(expected_reward, rel=1e-9)
        assert over == expected_over


def test_the_terminal_reward_follows_the_healthy_reward():
    assert problem("Humanoid-v5@paper").env.terminal_reward == 5
    assert problem("Humanoid-v5@paper", {"healthy_reward": "2.5"}).env.terminal_reward == 2.5
    assert problem("Humanoid-v5", {"healthy_reward": 2.5}).env.terminal_reward == 0


def test_nothing_is_wrapped_where_nothing_changes():
    for name in ("Walker2d-v5", "HalfCheetah-v5@paper", "Pendulum-v1", "erlbench/CyclicMDP-v0"):
        env = build(problem(name).env)
        assert env is env.unwrapped
