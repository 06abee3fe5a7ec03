"""Settings of environments: frame skip, time limit and keyword arguments, as texts and as values."""

import gymnasium
import numpy as np
import pytest

from erlbench.envs.registry import EnvSpec, build, problem
from erlbench.envs.wrappers import RepeatAction
from erlbench.errors import UsageError
from erlbench.experiment.arguments import arguments
from erlbench.files import plain_values
from tests.tables import cells


def test_the_environments_own_frame_skip_is_used_where_it_has_one():
    found = problem("HalfCheetah-v5", {"frame_skip": "2", "max_episode_steps": "30", "ctrl_cost_weight": "0.3"})
    assert found.env == EnvSpec("HalfCheetah-v5", 30, {"frame_skip": 2, "ctrl_cost_weight": 0.3})
    ours, theirs = build(found.env), gymnasium.make("HalfCheetah-v5", frame_skip=2, ctrl_cost_weight=0.3).unwrapped
    assert ours.reset(seed=1)[0].tobytes() == theirs.reset(seed=1)[0].tobytes()
    for _ in range(20):
        action = np.full(6, 0.4, np.float32)
        assert ours.step(action)[1] == theirs.step(action)[1]


def test_elsewhere_actions_are_repeated_and_rewards_summed():
    found = problem("Pendulum-v1", {"frame_skip": 3, "g": 9.81})
    assert found.env == EnvSpec("Pendulum-v1", 200, {"g": 9.81}, action_repeat=3)
    ours, theirs = build(found.env), gymnasium.make("Pendulum-v1", g=9.81).unwrapped
    assert isinstance(ours, RepeatAction)
    ours.reset(seed=1)
    theirs.reset(seed=1)
    for torque in (0.5, -1.0, 2.0):
        action = np.array([torque], np.float32)
        expected = [theirs.step(action) for _ in range(3)]
        observation, reward, *_ = ours.step(action)
        assert reward == sum(step[1] for step in expected)
        np.testing.assert_array_equal(observation, expected[-1][0])


def test_a_repeated_action_stops_at_the_end_of_the_episode():
    env = build(problem("InvertedPendulum-v5").env)
    repeated = RepeatAction(build(problem("InvertedPendulum-v5").env), 1000)
    action, total, over = np.array([3.0], np.float32), 0.0, False
    env.reset(seed=0)
    repeated.reset(seed=0)
    while not over:
        _, reward, over, *_ = env.step(action)
        total += reward
    assert repeated.step(action)[1:3] == (total, True)


REFUSED = """
helthy_reward            | 1            | did you mean 'healthy_reward'
max_steps                | 1            | did you mean 'max_episode_steps'
healthy_reward           | much         | a number
terminate_when_unhealthy | 3            | true or false
healthy_angle_range      | 1            | a list of 2 items
frame_skip               | 0            | frame_skip .* at least 1
max_episode_steps        | 1.5          | an integer
max_episode_steps        | 1e12         | max_episode_steps .* at most
reset_noise_scale        | nan          | cannot be nan
fresh                    | maybe        | fresh .* not 'maybe'
xml_file                 | /no/such.xml | cannot be made
"""


@pytest.mark.parametrize(("setting", "value", "message"), cells(REFUSED))
def test_what_does_not_fit_is_named_before_anything_is_made(setting, value, message):
    with pytest.raises(UsageError, match=message):
        problem("Hopper-v5", plain_values({setting: value}))


def test_a_text_that_looks_like_a_number_is_a_text():
    asked = arguments({"env_set": ('camera="1"', "body=2", ".5=x")})
    assert asked.env_set == {"camera": "1", "body": 2, ".5": "x"}
    for settings in (asked.env_set, {"camera": "1", "body": 2}):
        settings = {name: value for name, value in settings.items() if name != ".5"}
        assert problem("tests.faults:Typed-v0", settings).env.kwargs == {"camera": "1", "body": 2}
    with pytest.raises(UsageError, match='camera="1"'):
        problem("tests.faults:Typed-v0", {"camera": 1})
