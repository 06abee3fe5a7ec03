"""The border between an environment and the suite: what is checked in every step, and whose error an exception is."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from erlbench.envs.registry import build, problem
from erlbench.envs.wrappers import RepeatAction
from erlbench.errors import TaskError
from erlbench.work.contract import Infos, advance, checked_step, info_values, reset
from erlbench.work.rollout import play
from erlbench.work.tasks import Outcome, Task
from tests.pool.helpers import local_pool
from tests.runs import new_policy


def player(name, **settings):
    task = problem(f"tests.faults:{name}-v0", settings)
    return build(task.env), new_policy(task)


@pytest.mark.parametrize("how", ["vector reward", "array of one", "no reward", "text as reward", "complex reward",
                                 "four values", "nan as end", "text as end", "none as cut", "masked", "texts",
                                 "one number", "list as info"])  # fmt: skip
def test_a_later_step_is_checked_as_the_first_ones(how):
    env, policy = player("Answers", how=how, early=False)
    with pytest.raises(TaskError, match="step 4") as one:
        play(env, policy, 20, 0)
    reset(env, 0)
    for step in (1, 2, 3):
        advance(env, np.zeros(1, np.float32), step, 0, Infos())
    with pytest.raises(TaskError, match="step 4") as other:
        advance(env, np.zeros(1, np.float32), 4, 0, Infos())
    assert str(one.value) == str(other.value)
    assert "raised" not in str(one.value)  # it is no exception of the environment


@pytest.mark.parametrize("how", ["vector reward", "array of one", "four values", "text as end", "list as info"])
@pytest.mark.parametrize("repeat", [3, 8])  # the first of an action's frames, and one in their middle
def test_a_frame_of_a_repeated_action_is_checked_as_a_step(how, repeat):
    """The fourth frame is in the second action, or in the first."""
    alone, policy = player("Answers", how=how, early=False)
    env, _ = player("Answers", how=how, early=False, frame_skip=repeat)
    with pytest.raises(TaskError) as expected:
        play(alone, policy, 20, 0)
    with pytest.raises(TaskError) as found:
        play(env, policy, 20, 0)
    assert str(found.value).replace(f"step {1 + 3 // repeat}", "step 4") == str(expected.value)


def test_a_reward_that_is_no_number_stays_so_in_a_sum():
    env = RepeatAction(player("Line")[0], 2)
    env.reset(seed=0)
    plain = env.env.step
    env.env.step = lambda action: (*plain(action)[:1], float("nan"), False, False, {})
    assert np.isnan(env.step(np.zeros(1, np.float32))[1])


@pytest.mark.parametrize("keys", [(), ("steps",)])
@pytest.mark.parametrize("repeat", [3, 6, 20])
def test_a_success_in_any_frame_counts(repeat, keys):
    """The fourth frame alone has one, and the numbers are those of the last frame."""
    env, policy = player("Goal", frame_skip=repeat)
    infos = play(env, policy, 2, 0, keys=keys).infos
    assert (infos.success, infos.ever) == (False, True)
    assert infos.values() == (2 * repeat - 1,) * len(keys)


def test_the_last_frame_that_says_so_decides_the_last_success():
    env, asked = RepeatAction(player("Line")[0], 3), iter([{"success": 1}, {}, {"d": 2}, {}, {"success": 0}, {}])
    env.reset(seed=0)
    plain = env.env.step
    env.env.step = lambda action: (*plain(action)[:4], next(asked))
    infos = Infos(("d",))
    for expected in ((True, True), (False, True)):
        infos.update(env.step(np.zeros(1, np.float32))[4])
        assert (infos.success, infos.ever) == expected
    assert infos.values() == (2.0,)


@pytest.mark.parametrize("how", ["usual", "numpy's", "whole numbers"])
def test_scalars_of_all_kinds_give_the_returns_of_floats(how):
    found = play(*player("Answers", how=how, early=False), 20, 0)
    plain = play(*player("Line"), 20, 0)
    assert found.length == plain.length == 20
    np.testing.assert_array_equal(found.observations, plain.observations)
    expected = plain.rewards.copy()
    expected[3] = {"whole numbers": 1, "numpy's": np.float32(expected[3])}.get(how, expected[3])
    np.testing.assert_array_equal(found.rewards, expected)


def test_whose_error_an_exception_is():
    env, policy = player("Line")
    policy.denormalise = lambda action: 1 / 0
    with pytest.raises(ZeroDivisionError):
        play(env, policy, 20, 0)
    with pytest.raises(TaskError, match="observation_space") as raised:
        play(*player("Missing"), 20, 0)
    assert "raised" not in str(raised.value)


def test_the_last_info_and_any_info_count():
    infos = Infos(("d",))
    for info in ({"success": np.bool_(True), "d": np.array([1.5])}, {"success": 0.0, "d": 2}, {"d": "no"}):
        infos.update(info)
    assert (infos.success, infos.ever) == (False, True)
    assert np.isnan(infos.values()[0])
    expected = {"success": [0, np.nan], "success_ever": [1, np.nan], "info": [(np.nan,), ()]}
    np.testing.assert_equal(info_values([infos, Infos()]), expected)
    assert info_values([Infos()]) == {}
    (never := Infos()).update({"success": False})
    assert info_values([never]) == {"success": [0], "success_ever": [0]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array([True]), True), (np.array(False), False), (1, True), (np.int8(0), False), (np.bool_(1), True),
        (2, None), (np.array([1]), None), (np.array([True, True]), None), (1.0, None), ("", None),
    ],
)  # fmt: skip
def test_what_is_a_truth_value(value, expected):
    for name, place in (("terminated", 2), ("truncated", 3)):
        step = [np.zeros(1), 1, False, False, {}]
        step[place] = value
        if expected is None:
            with pytest.raises(TaskError, match=f"{name} of step 6"):
                checked_step(tuple(step), (1,), 6)
        else:
            assert checked_step(tuple(step), (1,), 6)[2:4] == (expected and place == 2, expected)


@pytest.mark.parametrize("outcome", [np.zeros(1), (np.zeros(1), {}, 0), [np.zeros(1), {}], (np.zeros(2), {}), None])
def test_a_reset_gives_an_observation_and_an_info(outcome):
    env = SimpleNamespace(observation_space=SimpleNamespace(shape=(1,)), reset=lambda seed: outcome)
    with pytest.raises(TaskError, match=r"reset\(seed=4\)"):
        reset(env, 4)


SECONDS = 0.5


def works(settings, inputs, key, workspace):
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        pass
    return Outcome({})


def sleeps(settings, inputs, key, workspace):
    time.sleep(SECONDS)
    return Outcome({})


@pytest.mark.parametrize("processes", [0, 1])
@pytest.mark.parametrize(("function", "expected"), [("works", SECONDS), ("sleeps", 0.0)])
def test_a_task_has_the_processor_time_that_it_used(processes, function, expected):
    """Without worker processes the driver's other threads do not count."""
    done = threading.Event()

    def busy():
        while not done.is_set():
            pass

    with ThreadPoolExecutor(1) as other, local_pool(processes) as pool:
        other.submit(busy)
        for number in range(2):  # the first one imports this module
            pool.submit([Task(number, "test", f"tests.work.test_contract:{function}", ())])
            result = pool.next_result(30)
        done.set()
    assert result.cpu == pytest.approx(expected, abs=0.2)
    assert result.end - result.start >= SECONDS
