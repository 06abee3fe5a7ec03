"""dm_control's tasks as the suite sees them, against Shimmy and Gymnasium's flattening."""

import gymnasium
import numpy as np
import pytest

from erlbench.envs.registry import build, problem
from erlbench.errors import UsageError
from erlbench.work.rollout import play
from tests.calls import python
from tests.programs import needed_module
from tests.runs import new_policy

needed_module("shimmy")
needed_module("dm_control")


@pytest.mark.parametrize("task", ["humanoid-walk", "cartpole-swingup", "quadruped-run", "fish-upright"])
def test_observations_are_gymnasiums_flattening_as_float32(task):
    env_id = f"dm_control/{task}-v0"
    ours = build(problem(env_id).env)
    theirs = gymnasium.wrappers.FlattenObservation(gymnasium.make(env_id, disable_env_checker=True))
    assert ours.observation_space.dtype == np.float32
    rng = np.random.default_rng(0)
    pairs = [(ours.reset(seed=4)[0], theirs.reset(seed=4)[0])]
    for _ in range(20):
        action = rng.uniform(ours.action_space.low, ours.action_space.high)
        (observation, reward, *_), expected = ours.step(action), theirs.step(action)
        assert reward == expected[1]
        pairs.append((observation, expected[0]))
    for observation, expected in pairs:
        assert observation.dtype == np.float32
        np.testing.assert_array_equal(observation, expected.astype(np.float32))


def test_an_episode_has_the_frames_of_its_task_and_never_terminates():
    for settings, steps in (({}, 1000), ({"frame_skip": 4}, 250), ({"max_episode_steps": 1000}, 1000)):
        task = problem("dm_control/cartpole-swingup-v0", settings)
        episode = play(build(task.env), new_policy(task), task.env.max_episode_steps, 0)
        assert (episode.length, episode.terminated) == (steps, False)
    with pytest.raises(UsageError, match=r"1000 frames; max_episode_steps .*1001"):
        problem("dm_control/walker-run-v0", {"max_episode_steps": 1001})
    with pytest.raises(UsageError, match="--env-set max_episode_steps=N"):
        problem("dm_control/hopper-hop-v0")


def test_nothing_is_printed_and_no_display_is_needed():
    code = "from erlbench.envs.registry import problem; problem('dm_control/cheetah-run-v0')"
    code += "; problem('LunarLanderContinuous-v3'); problem('Hopper-v4')"
    done = python("-c", code, check=True)
    assert done.stdout + done.stderr == ""
