"""What holds for every pool."""

from __future__ import annotations

import numpy as np
import pytest

from erlbench.errors import CellError, NumericalError, TaskError, UsageError
from erlbench.pool import local_pool
from erlbench.work.tasks import Priority

from .helpers import results, task


@pytest.fixture(params=[0, 1, 2])
def pool(request):
    with local_pool(request.param) as pool:
        yield pool


def test_tasks_give_the_same_numbers_everywhere(pool):
    pool.submit([task(2), task(1)])
    first = results(pool, 2)
    inputs = {"a": first[1].arrays["array"], "b": first[2].arrays["array"]}
    pool.submit([task(3, inputs=inputs)])
    found = results(pool, 1)[3]

    def draw(task_id, *added):
        key = np.random.SeedSequence((7, task_id))
        array = np.random.Generator(np.random.Philox(key)).standard_normal(5).astype(np.float32)
        for value in added:
            array = array + value
        return array

    three = draw(3, draw(1).sum(), draw(2).sum())
    np.testing.assert_array_equal(pool.store.get(found.arrays["array"]), three)
    assert found.values["sum"] == float(three.sum())


@pytest.mark.parametrize("timeout", [None, 0.2])
def test_waiting_for_a_result_that_nothing_can_bring_is_an_error(pool, timeout):
    """It was None at once, so that a mistake in the loop of a run turned on the spot."""
    with pytest.raises(RuntimeError, match="no task"):
        pool.next_result(timeout)
    pool.submit([task(1)])
    results(pool, 1)
    with pytest.raises(RuntimeError, match="no task"):
        pool.next_result(timeout)


def test_an_id_cannot_be_used_twice_at_a_time(pool):
    pool.submit([task(1, "sleep", {"seconds": 0.2})])
    with pytest.raises(ValueError, match="task 1"):
        pool.submit([task(1)])


@pytest.mark.parametrize(
    ("error", "cls", "message"),
    [
        ("numerical", NumericalError, r"^task 1 \(test\): the reward of step 3 is nan$"),
        ("task", TaskError, r"^task 1 \(test\): the environment raised an error$"),
        ("memory", TaskError, r"^task 1 \(test\): out of memory"),
        ("full", CellError, r"^task 1 \(test\): shared memory is full"),
        ("division", TaskError, r"^task 1 \(test\) raised ZeroDivisionError: division by zero$"),
        ("exit", TaskError, r"^task 1 \(test\) raised SystemExit: 4$"),
    ],
)
def test_errors_name_the_task_and_keep_their_class(pool, error, cls, message):
    pool.submit([task(1, "wrong", {"error": error}), task(2)])
    with pytest.raises(cls, match=message) as caught:
        results(pool, 2)
    assert caught.value.task == 1
    if isinstance(caught.value, TaskError):
        assert "functions.py" in caught.value.details
    pool.reset()
    pool.submit([task(1)])
    assert results(pool, 1)[1].process == 0 or pool.processes > 1
    assert not list(pool.store.folder.glob("*.part*"))


def test_a_device_that_is_not_there_is_an_error_of_the_user():
    with local_pool(1, device="cuda:99") as pool:
        pool.submit([task(1, gradient=True)])
        with pytest.raises(UsageError, match=r"device 'cuda:99' is not available.*cpu"):
            pool.next_result(30)
        with pytest.raises(UsageError):
            pool.next_result(30)


def test_reset_forgets_tasks_and_allows_their_ids_again(pool):
    seconds = {"seconds": 0.0 if pool.processes == 0 else 30.0}
    pool.submit([task(1, "sleep", seconds), task(2), task(3)])
    pool.reset()
    assert dict(pool.running()) == {}
    pool.submit([task(1), task(2)])
    assert set(results(pool, 2)) == {1, 2}


def test_priorities_decide_what_starts_first():
    for processes in (0, 1):
        with local_pool(processes) as pool:
            pool.submit([task(1, priority=Priority.ACTOR)])  # keeps the only worker busy while the others come in
            pool.submit([
                task(2, priority=Priority.EVALUATION), task(3, priority=Priority.ACTOR), task(5), task(4),
            ])  # fmt: skip
            order = list(results(pool, 5))
            assert order == ([1, 4, 5, 3, 2] if processes else [4, 5, 1, 3, 2])


def test_a_negative_number_of_processes_is_refused():
    with pytest.raises(UsageError, match="-1"):
        local_pool(-1)
