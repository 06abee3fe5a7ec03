"""The preset `paper` against version 4 of Gymnasium's, which paid as the papers did."""

import gymnasium
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from erlbench.envs.catalogue import LISTED
from erlbench.envs.registry import build, problem
from erlbench.errors import UsageError

PAPER = [row.id for row in LISTED.values() if "paper" in row.presets and "MuJoCo" in row.source]


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


@pytest.mark.parametrize(
    ("env_id", "preset", "more"),
    [
        *((name, "paper", {}) for name in PAPER if not name.startswith(("Humanoid", "Pusher"))),
        ("Ant-v5", "paper-mujoco-1.50", {"use_contact_forces": True}),
    ],
)
def test_paper_is_version_4(env_id, preset, more):
    """MuJoCo 2.0 observed 84 zeros of Ant's in place of contact forces, which version 4 leaves out."""
    ours = build(problem(f"{env_id}@{preset}").env)
    theirs = gymnasium.make(env_id.replace("v5", "v4"), **more).unwrapped
    for (observation, reward, over), (expected, expected_reward, expected_over) in steps(ours, theirs):
        assert_allclose(observation[: len(expected)], expected, rtol=0, atol=1e-12)
        assert not observation[len(expected) :].any()
        assert len(observation) == (111 if env_id == "Ant-v5" else len(expected))
        assert reward == pytest.approx(expected_reward, rel=1e-12, abs=1e-6)  # costs of actions are float32
        assert over == expected_over


@pytest.mark.parametrize("name", ["Humanoid", "HumanoidStandup"])
@pytest.mark.parametrize("preset", ["paper", "paper-mujoco-1.50"])
def test_the_humanoids_observe_what_version_4_did(name, preset):
    """Version 4 observed contact forces; MuJoCo 2.0 had zeros there and paid nothing for them."""
    ours = build(problem(f"{name}-v5@{preset}").env)
    theirs = gymnasium.make(f"{name}-v4").unwrapped
    for (observation, reward, over), (expected, expected_reward, expected_over) in steps(ours, theirs):
        assert_allclose(observation[:292], expected[:292], rtol=0, atol=1e-12)
        assert observation.shape == expected.shape == (376,)
        assert_array_equal(observation[292:], 0 if preset == "paper" else expected[292:])
        cost = min(0.5e-6 * np.square(theirs.data.cfrc_ext).sum(), 10)
        if name == "HumanoidStandup" and preset == "paper" and observation.any() and reward:
            expected_reward += cost
        if name == "Humanoid" and preset != "paper" and reward:
            expected_reward -= cost  # version 4 had lost its contact cost
        assert reward == pytest.approx(expected_reward, rel=1e-6)
        assert over == expected_over


def test_pusher_of_the_paper_pays_for_the_state_before_the_step():
    """And observes what version 5 does; version 4 does not work with today's MuJoCo."""
    ours, theirs = build(problem("Pusher-v5@paper").env), gymnasium.make("Pusher-v5").unwrapped
    ours.reset(seed=1), theirs.reset(seed=1)
    action = np.full(7, 0.5, np.float32)
    mine, others = zip(*([env.step(action)[:2] for env in (ours, theirs)] for _ in range(20)))
    assert_array_equal([step[0] for step in mine], [step[0] for step in others])
    assert [reward for _, reward in mine[1:]] == [reward for _, reward in others[:-1]]


def test_the_terminal_reward_follows_the_healthy_reward():
    assert problem("Humanoid-v5@paper").env.terminal_reward == 5
    assert problem("Humanoid-v5@paper", {"healthy_reward": "2.5"}).env.terminal_reward == 2.5
    assert problem("Humanoid-v5", {"healthy_reward": 2.5}).env.terminal_reward == 0
    with pytest.raises(UsageError, match="need 'Ant-v5' without a preset"):
        problem("Ant-v5@paper", {"include_cfrc_ext_in_observation": True})
