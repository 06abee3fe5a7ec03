"""Observations of any shape, the actions' dtype, and repeated actions, against Gymnasium's own functions."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Dict
from gymnasium.spaces.utils import flatten

from erlbench.envs.chain import check_repeats
from erlbench.envs.registry import build, describe_problem, problem
from erlbench.errors import UsageError
from tests.faults import Goal


def test_parts_are_gymnasiums_flattening_in_the_order_of_the_space_and_the_text_is_left_out():
    found = describe_problem("tests.faults:Goal-v0")
    assert found.layout == ("goal (2)", "mode (3)", "more.0 (2)", "more.1 (1)", "state (2)")
    assert "mission" in found.remarks[0]
    env, plain = build(found.problem.env), Goal()
    observation, expected = env.reset(seed=3)[0], plain.reset(seed=3)[0]
    kept = Dict({key: space for key, space in Goal.observation_space.items() if key != "mission"})
    np.testing.assert_array_equal(observation, flatten(kept, expected).astype(np.float32))
    assert (observation.dtype, env.observation_space.shape) == (np.float32, (found.problem.observation_size,))
    assert env.observation_space.contains(observation)
    assert observation[2:5].tolist() == [0, 1, 0]  # the mode 2 of 1 to 3


@pytest.mark.parametrize(("name", "size"), [("Blackjack-v1", 45), ("Taxi-v4", 500)])
def test_gymnasiums_discrete_observations_are_one_hot(name, size):
    found = problem(name, {"max_episode_steps": 20})
    assert found.observation_size == size
    assert build(found.env).reset(seed=0)[0].sum() == (3 if name.startswith("Black") else 1)


@pytest.mark.parametrize(
    ("name", "words"), [("Image", "27,648 numbers.*ResizeObservation"), ("FromOne", "numbered from 0")]
)
def test_a_space_that_no_policy_reads_is_refused(name, words):
    with pytest.raises(UsageError, match=words):
        problem(f"tests.faults:{name}-v0")


def test_actions_have_the_dtype_of_their_space_and_stay_within_its_bounds():
    env = build(problem("tests.faults:Exact-v0").env)  # it asserts that
    env.reset(seed=0)
    for action in (-0.1, 0.1, 0.05):
        env.step(np.array([action], np.float32))


def test_a_setting_that_repeats_actions_is_named():
    for name in ("frameskip", "action_repeat", "n_substeps", "skip"):
        with pytest.raises(UsageError, match=f"--env-set {name}=N"):
            check_repeats("x", ["g", name])
    check_repeats("x", ["g"])
    gymnasium.register("Skips-v0", lambda skip=4: gymnasium.make("Pendulum-v1").unwrapped, max_episode_steps=20)
    with pytest.raises(UsageError, match="--env-set skip=N"):
        problem("Skips-v0", {"frame_skip": 2})
