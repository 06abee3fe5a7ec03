"""The preset `paper` against Gymnasium's own: v5 with its keyword arguments, and v4, which paid as the papers did."""

import gymnasium
import numpy as np
import pytest

from erlbench.envs.catalogue import LISTED
from erlbench.envs.registry import build, problem
from erlbench.errors import UsageError

PAPER = [row.id for row in LISTED.values() if "paper" in row.presets and "MuJoCo" in row.source]
OLD = [(name, preset) for name in PAPER for preset in LISTED[name].presets if preset != "v5"]
HEALTHY = {"Hopper": 1, "Walker2d": 1, "Ant": 1, "Humanoid": 5, "InvertedPendulum": 1, "InvertedDoublePendulum": 10}
NO_FORCES = {"include_cfrc_ext_in_observation": False}
KWARGS = {
    "Walker2d-v5@paper": {"xml_file": "walker2d.xml"},
    "Ant-v5@paper": {**NO_FORCES, "contact_cost_weight": 0},
    "Humanoid-v5@paper": {**NO_FORCES, "contact_cost_weight": 0},
    "HumanoidStandup-v5@paper": {**NO_FORCES, "impact_cost_weight": 0},
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


@pytest.mark.parametrize(("env_id", "preset"), OLD)
def test_paper_is_version_5_with_the_terminal_reward_and_zeros(env_id, preset):
    """The observation bit by bit without the zeros; Reacher and Pusher pay one step later: test below."""
    ours = build(problem(f"{env_id}@{preset}").env)
    theirs = gymnasium.make(env_id, **KWARGS.get(f"{env_id}@{preset}", {})).unwrapped
    places = [index for index, count in LISTED[env_id].presets[preset].zeros.items() for _ in range(count)]
    bonus, ends = HEALTHY.get(env_id.partition("-")[0], 0), 0
    for (observation, reward, over), (expected, expected_reward, expected_over) in steps(ours, theirs):
        assert observation.tobytes() == np.insert(expected, places, 0).tobytes()
        if env_id not in ("Reacher-v5", "Pusher-v5"):
            assert reward == expected_reward + (bonus if expected_over else 0)
        assert over == expected_over
        ends += over
    assert (ends > 0) == (bonus > 0)


@pytest.mark.parametrize("env_id", [name for name in PAPER if not name.startswith(("Humanoid", "Pusher"))])
def test_paper_is_version_4(env_id):
    """Version 4 without contact forces; MuJoCo 2.0 observed 84 zeros of Ant's, which version 4 leaves out."""
    ours = build(problem(f"{env_id}@paper").env)
    theirs = gymnasium.make(env_id.replace("v5", "v4")).unwrapped
    for (observation, reward, over), (expected, expected_reward, expected_over) in steps(ours, theirs):
        np.testing.assert_allclose(observation[: len(expected)], expected, rtol=0, atol=1e-12)
        assert not observation[len(expected) :].any()
        assert len(observation) == (111 if env_id == "Ant-v5" else len(expected))
        assert reward == pytest.approx(expected_reward, rel=1e-12, abs=1e-6)  # costs of actions are float32
        assert over == expected_over


def test_ant_of_mujoco_150_is_version_4_with_contact_forces():
    ours = build(problem("Ant-v5@paper-mujoco-1.50").env)
    theirs = gymnasium.make("Ant-v4", use_contact_forces=True).unwrapped
    felt = 0
    for (observation, reward, over), (expected, expected_reward, expected_over) in steps(ours, theirs):
        np.testing.assert_allclose(observation, expected, rtol=0, atol=1e-12)
        assert reward == pytest.approx(expected_reward, rel=1e-12, abs=1e-6)
        assert over == expected_over
        felt += observation[27:].any()
    assert felt > 10


@pytest.mark.parametrize("name", ["Humanoid", "HumanoidStandup"])
@pytest.mark.parametrize("preset", ["paper", "paper-mujoco-1.50"])
def test_the_humanoids_observe_what_version_4_did(name, preset):
    """Version 4 observed contact forces; MuJoCo 2.0 had zeros there and paid nothing for them."""
    ours = build(problem(f"{name}-v5@{preset}").env)
    theirs = gymnasium.make(f"{name}-v4").unwrapped
    for (observation, reward, over), (expected, expected_reward, expected_over) in steps(ours, theirs):
        np.testing.assert_allclose(observation[:292], expected[:292], rtol=0, atol=1e-12)
        assert observation.shape == expected.shape == (376,)
        np.testing.assert_array_equal(observation[292:], 0 if preset == "paper" else expected[292:])
        cost = min(0.5e-6 * np.square(theirs.data.cfrc_ext).sum(), 10)
        if name == "HumanoidStandup" and preset == "paper" and observation.any() and reward:
            expected_reward += cost
        if name == "Humanoid" and preset != "paper" and reward:
            expected_reward -= cost  # version 4 had lost its contact cost
        assert reward == pytest.approx(expected_reward, rel=1e-6)
        assert over == expected_over


def test_pusher_of_the_paper_pays_for_the_state_before_the_step():
    ours, theirs = build(problem("Pusher-v5@paper").env), gymnasium.make("Pusher-v5").unwrapped
    ours.reset(seed=1), theirs.reset(seed=1)
    before, after = zip(*([env.step(np.full(7, 0.5, np.float32))[1] for env in (ours, theirs)] for _ in range(20)))
    assert before[1:] == after[:-1]


def test_the_terminal_reward_follows_the_healthy_reward():
    assert problem("Humanoid-v5@paper").env.terminal_reward == 5
    assert problem("Humanoid-v5@paper", {"healthy_reward": "2.5"}).env.terminal_reward == 2.5
    assert problem("Humanoid-v5", {"healthy_reward": 2.5}).env.terminal_reward == 0
    with pytest.raises(UsageError, match="need 'Ant-v5' without a preset"):
        problem("Ant-v5@paper", {"include_cfrc_ext_in_observation": True})
