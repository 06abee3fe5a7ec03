"""Traces and behaviour: motions that are known, MuJoCo's own numbers, and distances that can be computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import signal, spatial

from erlbench.envs.registry import build, problem
from erlbench.errors import UsageError
from erlbench.playing import behaviour
from erlbench.playing.traces import Motion, MotionNoted, trace_of
from erlbench.policy import NumpyPolicy, PolicySpec, initial_policy

STEPS = 500


def motion(place=None, joints=None, contacts=None, seconds=0.05):
    still = np.zeros((STEPS + 1, 2))
    joints = still if joints is None else joints
    contacts = np.zeros((STEPS + 1, 1), bool) if contacts is None else contacts
    return Motion(seconds, still if place is None else place, joints, contacts, ("a", "b"), ("foot",))


def line(metres):
    return np.linspace([0.0, 0.0], [metres, 0.0], STEPS + 1)


def policy_on(env_id):
    task = problem(env_id)
    spec = PolicySpec((task.observation_size, 8, task.action_size), "tanh", task.action_low, task.action_high)
    return build(task.env), NumpyPolicy(spec, initial_policy(spec, (1, 2)))


def test_a_robot_on_a_line_and_one_on_a_circle():
    straight = motion(line(-10.0))
    assert behaviour.distance_travelled(straight) == pytest.approx(10)
    assert behaviour.speed(straight) == pytest.approx(-10 / (STEPS * 0.05))
    assert behaviour.straightness(straight) == pytest.approx(1)
    turns = np.linspace(0, 2 * math.pi, STEPS + 1)
    circle = motion(np.stack([np.cos(turns), np.sin(turns)], axis=1))
    assert behaviour.distance_travelled(circle) == pytest.approx(0, abs=1e-9)
    assert behaviour.path_length(circle) == pytest.approx(2 * math.pi, rel=1e-3)
    assert behaviour.straightness(motion()) == 0


@pytest.mark.parametrize("hertz", [0.8, 2.0, 3.6])
def test_the_gait_is_the_strongest_oscillation_of_the_joint_that_moves_most(hertz):
    t, random = np.arange(STEPS + 1) * 0.05, np.random.default_rng(0)
    moves = np.sin(2 * math.pi * hertz * t) + 0.3 * random.normal(size=len(t))
    found = behaviour.gait_frequency(motion(joints=np.stack([0.2 * np.sin(2 * math.pi * 5 * t), moves], axis=1)))
    frequencies, power = signal.periodogram(moves, 1 / 0.05, "hann")
    assert found == pytest.approx(frequencies[power.argmax()], rel=1e-6)
    assert found == pytest.approx(hertz, abs=1 / 25)
    assert behaviour.gait_frequency(motion()) == 0


def test_ranges_and_contacts_are_shares_of_the_episode():
    joints = np.stack([np.linspace(0, 1, STEPS + 1), np.full(STEPS + 1, 3.0)], axis=1)
    contacts = (np.arange(STEPS + 1) < 100)[:, None]
    found = behaviour.descriptors([motion(joints=joints, contacts=contacts)])
    np.testing.assert_allclose(found["joints"], [0.9, 0.0], atol=1e-9)
    assert found["contacts"] == pytest.approx(100 / (STEPS + 1))


def test_distances_weigh_kinds_the_same_and_equal_scipys():
    random = np.random.default_rng(0)
    policies = [{"speed": random.normal(size=1), "joints": random.normal(size=6)} for _ in range(7)]
    blocks = [np.array([one[kind] for one in policies]) for kind in ("speed", "joints")]
    scaled = np.hstack([block / block.std(axis=0) / math.sqrt(2 * block.shape[1]) for block in blocks])
    np.testing.assert_allclose(behaviour.distances(policies), spatial.distance.cdist(scaled, scaled), atol=1e-7)


def test_a_number_that_all_policies_have_counts_for_nothing():
    policies = [{"speed": np.array([value]), "contacts": np.array([0.5])} for value in (1.0, 2.0, 4.0)]
    alone = [{"speed": one["speed"]} for one in policies]
    np.testing.assert_array_equal(behaviour.distances(policies), behaviour.distances(alone))
    assert not behaviour.distances(policies[:1] * 3).any()


def test_a_group_that_lies_wider_is_more_diverse():
    random = np.random.default_rng(1)
    policies = [{"speed": random.normal(scale=scale, size=3)} for scale in [4.0] * 10 + [1.0] * 10]
    apart = behaviour.distances(policies)
    gap, (low, high) = behaviour.diversity_difference(apart, range(10), range(10, 20))
    expected = [np.mean(apart[chosen, chosen][np.triu_indices(10, 1)]) for chosen in (slice(10), slice(10, 20))]
    assert gap == pytest.approx(expected[0] - expected[1])
    assert 0 < low < gap < high
    back, interval = behaviour.diversity_difference(apart, range(10, 20), range(10))
    assert back == pytest.approx(-gap)
    assert interval[1] < 0
    assert math.isnan(behaviour.diversity_difference(apart, [0], range(10, 20))[1][0])


def test_equal_groups_are_seldom_found_to_differ():
    random, found = np.random.default_rng(2), []
    for seed in range(40):
        apart = behaviour.distances([{"speed": random.normal(size=3)} for _ in range(12)])
        low, high = behaviour.diversity_difference(apart, range(6), range(6, 12), seed=seed)[1]
        found.append(low > 0 or high < 0)
    assert sum(found) <= 4


def test_a_trace_has_mujocos_numbers():
    env, policy = policy_on("HalfCheetah-v5")
    trace = trace_of(env, policy, 50, seed=3)
    data, model = env.unwrapped.data, env.unwrapped.model
    assert trace.place.shape == (51, 2)
    assert trace.hinges == ("rooty", "bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot")
    np.testing.assert_array_equal(trace.joints[-1], data.qpos[2:])
    np.testing.assert_array_equal(trace.place[-1], data.body("torso").xpos[:2])
    down = {model.body(model.geom_bodyid[geom]).name for pair in data.contact.geom for geom in pair} - {"world"}
    assert {name for name, on in zip(trace.bodies, trace.contacts[-1], strict=True) if on} == down
    assert trace.contacts.any()
    assert trace.seconds == env.unwrapped.dt


def test_noise_on_actions_changes_the_trace_and_repeats():
    env, policy = policy_on("HalfCheetah-v5")
    plain, noisy, again = (trace_of(env, policy, 20, 3, sigma).joints for sigma in (0.0, 0.5, 0.5))
    assert (plain[0] == noisy[0]).all()
    assert (plain[-1] != noisy[-1]).any()
    np.testing.assert_array_equal(noisy, again)


def test_an_environment_without_mujoco_is_refused():
    with pytest.raises(UsageError, match="MuJoCo alone"):
        MotionNoted(build(problem("Pendulum-v1").env))
