"""Rollouts: bit-identical to Gymnasium's own environments, counting, errors, and episodes that go on together."""

import itertools
from ast import literal_eval

import gymnasium
import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from erlbench.envs.catalogue import LISTED, find_preset
from erlbench.envs.registry import make, problem
from erlbench.errors import NumericalError
from erlbench.policy import NumpyPolicy
from erlbench.work.rollout import ExplorationNoise, RolloutSettings, play, rollout, transitions
from erlbench.work.seeding import environment_seed, generator
from tests.runs import new_policy
from tests.tables import cells


@pytest.mark.parametrize("env_id", ["Hopper-v5", "Reacher-v5"])
def test_episodes_equal_gymnasiums_bit_by_bit(env_id, workspace):
    task = problem(env_id)
    policy, env = new_policy(task, 16), gymnasium.make(env_id)
    for seed in range(3):
        ours = play(workspace.environment(task.env), policy, 300, seed)
        observation, _ = env.reset(seed=seed)
        for step in range(ours.length):
            assert_array_equal(ours.observations[step], observation)
            observation, reward, terminated, _, _ = env.step(policy.denormalise(ours.actions[step]))
            assert reward == ours.rewards[step]
            assert terminated == (ours.terminated and step == ours.length - 1)
        assert_array_equal(ours.observations[ours.length], observation)
        assert ours.terminated == (env_id == "Hopper-v5")
    continues = transitions([ours, ours])["continues"]
    ends = [ours.length - 1, 2 * ours.length - 1] if ours.terminated else []
    assert np.flatnonzero(continues == 0).tolist() == ends
    env.close()


CHANGED = """
Ant-v5         | {"main_body": "front_left_leg", "contact_force_range": (-0.1, 0.2), "healthy_z_range": (0.4, 1.0)}
Ant-v5         | {"include_cfrc_ext_in_observation": False, "contact_cost_weight": 1.0}
Ant-v5         | {"contact_cost_weight": 0.0, "exclude_current_positions_from_observation": False}
Humanoid-v5    | {"contact_cost_weight": 1e-3, "contact_cost_range": (0.2, 0.5), "frame_skip": 3}
Humanoid-v5    | {"contact_cost_weight": 0.0, "contact_cost_range": (0.2, 0.5)}
Humanoid-v5    | {"include_cfrc_ext_in_observation": False, "include_cinert_in_observation": False}
Humanoid-v5    | {"exclude_current_positions_from_observation": False, "terminate_when_unhealthy": False}
HalfCheetah-v5 | {"exclude_current_positions_from_observation": False, "ctrl_cost_weight": 0.3}
Hopper-v5      | {"healthy_reward": 0.3, "healthy_angle_range": (-0.1, 0.1), "frame_skip": 2}
Hopper-v5      | {"terminate_when_unhealthy": False, "healthy_state_range": (-1.0, 1.0)}
Swimmer-v5     | {"forward_reward_weight": 2.0, "exclude_current_positions_from_observation": False}
Walker2d-v5    | {"terminate_when_unhealthy": False, "ctrl_cost_weight": 0.1}
"""
PAPERS = [(env_id, repr(dict(find_preset(f"{env_id}@paper").kwargs))) for env_id in ("Ant-v5", "Humanoid-v5")]
USUAL = [(name, "{}") for name, row in LISTED.items() if row.source == "Gymnasium, MuJoCo" and "-v5" in name]


@pytest.mark.parametrize(("env_id", "changed"), [*USUAL, *cells(CHANGED), *PAPERS])
def test_steps_with_random_actions_equal_gymnasiums_bit_by_bit(env_id, changed):
    kwargs = literal_eval(changed)
    ours, gymnasiums = make(env_id, **kwargs)[0], gymnasium.make(env_id, **kwargs).unwrapped
    rng = np.random.default_rng(0)
    over, ends = True, 0
    for step in range(1000):
        if over:
            observations = [env.reset(seed=step)[0] for env in (ours, gymnasiums)]
            assert observations[0].tobytes() == observations[1].tobytes()
        if step % 100 == 50:  # somebody sets the state
            for env in (ours, gymnasiums):
                env.set_state(env.init_qpos + 0.01, env.init_qvel - 0.02)
        action = rng.uniform(ours.action_space.low, ours.action_space.high).astype(np.float32)
        (observation, reward, over, _, _), expected = ours.step(action), gymnasiums.step(action)
        assert observation.tobytes() == expected[0].tobytes()
        assert np.float64(reward).tobytes() == np.float64(expected[1]).tobytes()
        assert over == expected[2]
        ends += over
    may_end = env_id not in ("HalfCheetah-v5", "HumanoidStandup-v5", "Pusher-v5", "Reacher-v5", "Swimmer-v5")
    assert (ends > 0) == (may_end and kwargs.get("terminate_when_unhealthy", True))


def test_only_gymnasiums_own_classes_are_stepped_in_the_fast_way():
    envs = (make("Walker2d-v5"), make("Walker2d-v5", render_mode="rgb_array"), make("Walker2d-v4"))
    assert ["step" in vars(env) for env, *_ in envs] == [True, False, False]


@pytest.mark.parametrize("env_id", ["Ant-v5", "Hopper-v5", "Humanoid-v5", "Walker2d-v5"])
def test_a_blown_up_state_ends_the_episode_as_in_gymnasium(env_id, monkeypatch):
    monkeypatch.setattr(mujoco, "mj_step", lambda *arguments, **more: None)  # it would reset such a state
    ours, gymnasiums = make(env_id)[0], gymnasium.make(env_id).unwrapped
    action, ends = np.zeros(ours.action_space.shape, np.float32), []
    for part, place, value in itertools.product(("qpos", "qvel"), (2, 3), (np.nan, np.inf, -np.inf, 0.9)):
        for env in (ours, gymnasiums):
            env.reset(seed=0)
            getattr(env.data, part)[place] = value
        over = ours.step(action)[2]
        assert over == gymnasiums.step(action)[2], (part, place, value)
        ends.append(over)
    assert any(ends)
    assert not all(ends)


@pytest.fixture
def hopper(workspace):
    """Rollouts of one policy, with changes to the settings."""
    task = problem("Hopper-v5")
    policy = new_policy(task, 16)

    def rolled(key=(1, 3, 5), **changes):
        settings = RolloutSettings(task.env, policy.spec, **changes)
        return rollout(settings, {"parameters": policy.parameters}, key, workspace)

    return rolled


def test_a_rollout_is_a_pure_function_of_its_key(hopper, workspace):
    first = hopper(episodes=3, record=True)
    hopper((1, 3, 6), episodes=3, record=True)
    again = hopper(episodes=3, record=True)
    assert first.values == again.values
    assert len(set(first.values["returns"])) == 3
    assert sum(first.values["lengths"]) == len(first.arrays["rewards"]) == len(first.arrays["observations"]) - 3
    for name, array in first.arrays.items():
        assert_array_equal(array, again.arrays[name])
    alone = hopper(seeds=(environment_seed(1, 3, 5, 1),))
    assert alone.values["returns"] == first.values["returns"][1:2]
    not_recorded = hopper(episodes=3)
    assert (not_recorded.values, not_recorded.arrays) == (first.values, {})
    cut = hopper(limit=7, record=True)
    assert (cut.values["lengths"], cut.arrays["continues"].tolist()) == ([7], [1] * 7)


def test_some_episodes_contribute_their_observations(hopper):
    recorded, observed = hopper(episodes=3, record=True), hopper(episodes=3, observe=1.0)
    assert observed.values["returns"] == recorded.values["returns"]
    acted_on = np.delete(recorded.arrays["observations"], np.cumsum(np.array(recorded.values["lengths"]) + 1) - 1, 0)
    assert observed.values["observed"] == len(acted_on) == sum(recorded.values["lengths"])
    expected = [acted_on.sum(axis=0, dtype=np.float64), np.square(acted_on.astype(np.float64)).sum(axis=0)]
    assert_allclose(observed.arrays["observed"], expected, rtol=1e-5, atol=1e-3)
    assert (observed.arrays["observed"].dtype, list(observed.arrays)) == (np.float64, ["observed"])
    assert "observed" not in recorded.values
    some = hopper(episodes=40, observe=0.3).values
    assert 0.1 < some["observed"] / sum(some["lengths"]) < 0.5


def test_random_actions_are_uniform_and_noise_is_clipped(workspace):
    task = problem("HalfCheetah-v5")
    env, policy = workspace.environment(task.env), new_policy(task, 16)
    uniform = play(env, policy, 1000, 0, generator(1), random_actions=True).actions
    assert abs(uniform.mean()) < 0.03
    assert abs(uniform.std() - 1 / np.sqrt(3)) < 0.01
    noisy = play(env, policy, 1000, 0, generator(1), noise=ExplorationNoise(6, 1.0, 0.1))
    deterministic = np.array([policy.normalised(o).copy() for o in noisy.observations[:1000]])
    inside = np.abs(noisy.actions) < 1
    assert np.abs(noisy.actions).max() <= 1
    assert abs((noisy.actions - deterministic)[inside].std() - 0.1) < 0.01


def test_exploration_noise_begins_anew_in_each_episode(hopper):
    found = hopper(episodes=2, record=True, action_noise=0.2, noise_decay=0.15)
    policy, random, row = new_policy(problem("Hopper-v5"), 16), generator(1, 3, 5, 5), 0
    for number, length in enumerate(found.values["lengths"]):
        x = np.zeros(3)
        for step in range(row, row := row + length):
            x = 0.85 * x + 0.2 * random.standard_normal(3, dtype=np.float32)
            action = policy.normalised(found.arrays["observations"][step + number].astype(np.float64))
            assert_allclose(found.arrays["actions"][step], np.clip(action + x, -1, 1), atol=1e-4)


def test_parameters_that_are_not_finite_are_refused(workspace):
    task = problem("Swimmer-v5")
    policy = new_policy(task)
    policy.parameters[3] = np.nan
    with pytest.raises(NumericalError, match="parameters"):
        rollout(RolloutSettings(task.env, policy.spec), {"parameters": policy.parameters}, (0,), workspace)


def test_an_action_that_is_not_finite_is_the_policys(workspace, monkeypatch):
    task = problem("Swimmer-v5")
    monkeypatch.setattr(NumpyPolicy, "normalised", lambda self, observation: np.full(2, np.nan, np.float32))
    with pytest.raises(NumericalError, match=r"the policy's action of step.*seed 7\b"):
        play(workspace.environment(task.env), new_policy(task), 5, 7)
