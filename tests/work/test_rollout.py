"""Rollouts: bit-identical to Gymnasium's own environments, time limits, counting, and errors."""

import itertools

import gymnasium
import mujoco
import numpy as np
import pytest

from erlbench.envs.catalogue import preset_of
from erlbench.envs.registry import MUJOCO, make, problem
from erlbench.errors import NumericalError
from erlbench.policy import NumpyPolicy, PolicySpec, initial_parameters, initial_policy
from erlbench.work.rollout import ExplorationNoise, RolloutSettings, play, rollout, transitions
from erlbench.work.seeding import environment_seed, generator


def small_policy(task, key=(0, 1)):
    sizes = (task.observation_size, 16, task.action_size)
    spec = PolicySpec(sizes, "tanh", task.action_low, task.action_high)
    return spec, initial_parameters(sizes, key)


def settings(task, spec, **changes):
    return RolloutSettings(task.env, spec, **changes)


@pytest.mark.parametrize("env_id", MUJOCO)
def test_episodes_equal_gymnasiums_bit_by_bit(env_id, workspace):
    task = problem(env_id)
    spec, parameters = small_policy(task)
    policy = NumpyPolicy(spec, parameters)
    env = gymnasium.make(env_id)
    steps = 0
    for seed in range(3):
        ours = play(workspace.environment(task.env), policy, 300, seed)
        observation, _ = env.reset(seed=seed)
        for step in range(ours.length):
            np.testing.assert_array_equal(ours.observations[step], observation)
            action = policy.denormalise(ours.actions[step])
            observation, reward, terminated, _, _ = env.step(action)
            assert reward == ours.rewards[step]
            assert terminated == (ours.terminated and step == ours.length - 1)
        np.testing.assert_array_equal(ours.observations[ours.length], observation)
        steps += ours.length
    assert steps > 20
    env.close()


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [(env_id, {}) for env_id in MUJOCO]
    + [("Ant-v5", {"main_body": "front_left_leg", "contact_force_range": (-0.1, 0.2), "healthy_z_range": (0.4, 1.0)}),
       ("Ant-v5", {"include_cfrc_ext_in_observation": False, "contact_cost_weight": 1.0,
                   "exclude_current_positions_from_observation": False}),
       ("Ant-v5", dict(preset_of("Ant-v5@paper").kwargs)),
       ("Ant-v5", {"contact_cost_weight": 0.0}),
       ("Humanoid-v5", dict(preset_of("Humanoid-v5@paper").kwargs)),
       ("Humanoid-v5", {"contact_cost_weight": 0.0, "contact_cost_range": (0.2, 0.5)}),
       ("Humanoid-v5", {"contact_cost_weight": 1e-3, "contact_cost_range": (0.2, 0.5), "frame_skip": 3}),
       ("Humanoid-v5", {"include_cfrc_ext_in_observation": False, "include_cinert_in_observation": False,
                        "exclude_current_positions_from_observation": False, "terminate_when_unhealthy": False}),
       ("HalfCheetah-v5", {"exclude_current_positions_from_observation": False, "ctrl_cost_weight": 0.3}),
       ("Hopper-v5", {"healthy_reward": 0.3, "healthy_angle_range": (-0.1, 0.1), "frame_skip": 2}),
       ("Hopper-v5", {"terminate_when_unhealthy": False, "healthy_state_range": (-1.0, 1.0)}),
       ("Swimmer-v5", {"forward_reward_weight": 2.0, "exclude_current_positions_from_observation": False}),
       ("Walker2d-v5", {"terminate_when_unhealthy": False, "ctrl_cost_weight": 0.1})],
)  # fmt: skip
def test_steps_with_random_actions_equal_gymnasiums_bit_by_bit(env_id, kwargs):
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
        assert observation.dtype == expected[0].dtype
        assert observation.tobytes() == expected[0].tobytes()
        assert np.float64(reward).tobytes() == np.float64(expected[1]).tobytes()
        assert over == expected[2]
        ends += over
    may_end = env_id not in ("HalfCheetah-v5", "HumanoidStandup-v5", "Pusher-v5", "Reacher-v5", "Swimmer-v5")
    assert (ends > 0) == (may_end and kwargs.get("terminate_when_unhealthy", True))


def test_only_gymnasiums_own_classes_are_stepped_in_the_fast_way():
    def is_fast(*arguments, **kwargs):
        return "step" in vars(make(*arguments, **kwargs)[0])

    assert is_fast("Walker2d-v5")
    assert not is_fast("Walker2d-v5", render_mode="rgb_array")
    assert not is_fast("Walker2d-v4")


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


def test_a_termination_is_stored_as_terminal(workspace):
    task = problem("Hopper-v5")
    spec, parameters = small_policy(task)
    episode = play(workspace.environment(task.env), NumpyPolicy(spec, parameters), 1000, 0)
    assert episode.terminated
    continues = transitions([episode, episode])["continues"]
    assert np.flatnonzero(continues == 0).tolist() == [episode.length - 1, 2 * episode.length - 1]


def test_a_rollout_is_a_pure_function_of_its_key(workspace):
    task = problem("Hopper-v5")
    spec, parameters = small_policy(task)
    arguments = settings(task, spec, episodes=3, record=True), {"parameters": parameters}
    first = rollout(*arguments, (1, 3, 5), workspace)
    rollout(*arguments, (1, 3, 6), workspace)
    again = rollout(*arguments, (1, 3, 5), workspace)
    assert first.values == again.values
    assert len(first.values["returns"]) == 3
    assert sum(first.values["lengths"]) == len(first.arrays["rewards"]) == len(first.arrays["observations"]) - 3
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])
    alone = play(workspace.environment(task.env), NumpyPolicy(spec, parameters), 1000, environment_seed(1, 3, 5, 1))
    assert alone.total == first.values["returns"][1]


def test_random_actions_are_uniform_and_noise_is_clipped(workspace):
    task = problem("HalfCheetah-v5")
    spec, parameters = small_policy(task)
    env, policy = workspace.environment(task.env), NumpyPolicy(spec, parameters)
    uniform = play(env, policy, 1000, 0, generator(1), random_actions=True).actions
    assert abs(uniform.mean()) < 0.03
    assert abs(uniform.std() - 1 / np.sqrt(3)) < 0.01
    noisy = play(env, policy, 1000, 0, generator(1), noise=ExplorationNoise(6, 1.0, 0.1))
    deterministic = np.array([policy.normalised(o).copy() for o in noisy.observations[:1000]])
    inside = np.abs(noisy.actions) < 1
    assert np.abs(noisy.actions).max() <= 1
    assert abs((noisy.actions - deterministic)[inside].std() - 0.1) < 0.01


def test_noise_of_a_linear_policy_is_in_the_environments_units_and_not_clipped(workspace):
    task = problem("Pendulum-v1")
    spec = PolicySpec((3, 1), "tanh", task.action_low, task.action_high, squashing="linear", bias=False)
    policy = NumpyPolicy(spec, np.zeros(3, np.float32))
    noisy = play(workspace.environment(task.env), policy, 200, 0, generator(1), noise=ExplorationNoise(1, 1.0, 5.0))
    assert 4 < noisy.actions.std() < 6


def test_a_limit_shortens_episodes_as_a_truncation(workspace):
    task = problem("HalfCheetah-v5")
    spec, parameters = small_policy(task)
    outcome = rollout(settings(task, spec, limit=7, record=True), {"parameters": parameters}, (0,), workspace)
    assert outcome.values["lengths"] == [7]
    assert outcome.arrays["continues"].tolist() == [1] * 7
    longer = rollout(settings(task, spec, limit=5000), {"parameters": parameters}, (0,), workspace)
    assert longer.values["lengths"] == [1000]


def test_episodes_that_are_not_recorded_are_the_same(workspace):
    task = problem("Hopper-v5")
    spec, parameters = small_policy(task)
    arguments = {"parameters": parameters}, (0,), workspace
    recorded, not_recorded = (rollout(settings(task, spec, episodes=5, record=r), *arguments) for r in (True, False))
    assert recorded.values == not_recorded.values
    assert len(set(recorded.values["lengths"])) > 1
    assert not_recorded.arrays == {}


def test_some_episodes_contribute_their_observations(workspace):
    task = problem("Hopper-v5")
    spec, parameters = small_policy(task)
    arguments = {"parameters": parameters}, (0,), workspace
    recorded = rollout(settings(task, spec, episodes=3, record=True), *arguments)
    observed = rollout(settings(task, spec, episodes=3, observe=1.0), *arguments)
    assert observed.values["returns"] == recorded.values["returns"]
    acted_on = np.delete(recorded.arrays["observations"], np.cumsum(np.array(recorded.values["lengths"]) + 1) - 1, 0)
    assert observed.values["observed"] == len(acted_on) == sum(recorded.values["lengths"])
    expected = [acted_on.sum(axis=0, dtype=np.float64), np.square(acted_on.astype(np.float64)).sum(axis=0)]
    np.testing.assert_allclose(observed.arrays["observed"], expected, rtol=1e-5, atol=1e-3)
    assert (observed.arrays["observed"].dtype, list(observed.arrays)) == (np.float64, ["observed"])
    assert "observed" not in recorded.values
    some = rollout(settings(task, spec, episodes=40, observe=0.3), *arguments)
    share = some.values["observed"] / sum(some.values["lengths"])
    assert 0.1 < share < 0.5
    none = rollout(settings(task, spec, observe=1e-9), *arguments)
    assert (none.values["observed"], none.arrays) == (0, {})


def test_every_episode_of_a_recurrent_policy_begins_without_memory(workspace):
    task = problem("Pendulum-v1")
    spec = PolicySpec((3, 16, 1), "tanh", task.action_low, task.action_high, network="lstm", squashing="linear")
    arguments = {"parameters": initial_policy(spec, (0,))}, (0,), workspace
    first, second = rollout(settings(task, spec, episodes=2, seeds=(3, 3)), *arguments).values["returns"]
    assert first == second


def test_a_stochastic_policy_draws_in_training_and_acts_its_mode_where_told(workspace):
    task = problem("Pendulum-v1")
    spec = PolicySpec((3, 8, 1), "tanh", task.action_low, task.action_high, stochastic=True)
    inputs = {"parameters": initial_policy(spec, (0,))}
    returns = [
        rollout(settings(task, spec, seeds=(3,), mode=mode), inputs, (key,), workspace).values["returns"]
        for mode in (False, True)
        for key in (0, 0, 1)
    ]
    assert returns[0] == returns[1] != returns[2]
    assert returns[3] == returns[4] == returns[5]


def test_parameters_that_are_not_finite_are_refused(workspace):
    task = problem("Swimmer-v5")
    spec, parameters = small_policy(task)
    parameters[3] = np.nan
    with pytest.raises(NumericalError, match="parameters"):
        rollout(settings(task, spec), {"parameters": parameters}, (0,), workspace)
