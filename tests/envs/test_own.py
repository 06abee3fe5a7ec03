"""The suite's own environments: Gymnasium's checker, and what each is defined by."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import erlbench.envs.own  # noqa: F401  registers them
from erlbench.envs.registry import build, problem

IDS = ("erlbench/CyclicMDP-v0", "erlbench/PartiallyObservablePendulum-v0")


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.filterwarnings(
    "ignore:.*For Box action spaces:UserWarning", "ignore:.*A Box observation space:UserWarning"
)
def test_gymnasiums_checker(env_id):
    check_env(gymnasium.make(env_id).unwrapped, skip_render_check=True)


def test_clockwise_goes_round_for_2000_steps():
    env = gymnasium.make("erlbench/CyclicMDP-v0")
    observation, _ = env.reset(seed=0)
    total, truncated, states = 0.0, False, [observation.argmax()]
    while not truncated:
        observation, reward, terminated, truncated, _ = env.step(1)
        assert (observation.sum(), observation.max(), terminated) == (1, 1, False)
        states.append(observation.argmax())
        total += reward
    assert total == 2000
    assert states[:7] == [0, 1, 2, 0, 1, 2, 0]


def test_any_other_action_costs_1_and_ends_the_episode():
    env = build(problem("erlbench/CyclicMDP-v0").env)
    for action in (0, 2):
        env.reset(seed=0)
        env.step(1)
        observation, reward, terminated, truncated, _ = env.step(action)
        assert (observation.tolist(), reward, terminated, truncated) == ([0, 1, 0], -1.0, True, False)


def test_the_pendulum_is_gymnasiums_without_its_speed_to_the_last_bit():
    ours = build(problem("erlbench/PartiallyObservablePendulum-v0", {"g": 9.81}).env)
    theirs = gymnasium.make("Pendulum-v1", g=9.81).unwrapped
    actions = np.random.default_rng(0).normal(scale=2, size=(200, 1)).astype(np.float32)
    for seed in range(30):
        np.testing.assert_array_equal(ours.reset(seed=seed)[0], [*theirs.reset(seed=seed)[0][:2], 0])
        for torque in actions:
            observation, reward, *_ = ours.step(torque)
            expected, expected_reward, *_ = theirs.step(torque)
            np.testing.assert_array_equal(observation, [*expected[:2], 0])
            assert reward == expected_reward
