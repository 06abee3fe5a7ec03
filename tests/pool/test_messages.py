"""What goes between driver and worker: nothing twice, whole, and no more for a larger network."""

from __future__ import annotations

import os
import threading

import pytest

from erlbench.algorithms.base import Context
from erlbench.algorithms.cem import CEM, CEMSettings
from erlbench.envs.registry import problem
from erlbench.pool.failures import Failure
from erlbench.pool.messages import TaskReader, TaskWriter, read_answers, receive, send, tasks_in, write_answers
from erlbench.pool.worker import perform
from erlbench.settings import resolve
from erlbench.work.replay import Replay
from erlbench.work.store import Store
from erlbench.work.tasks import Counts, Output, Priority, Result, Task
from erlbench.work.workspace import Workspace


@pytest.fixture
def generation(tmp_path):
    """Makes the first generation of CEM on HalfCheetah with a network of `hidden` units."""
    store, task = Store.create(), problem("HalfCheetah-v5")
    replay = Replay(tmp_path / "replay", task.observation_size, task.action_size)

    def make(hidden):
        settings = resolve(CEMSettings, "HalfCheetah-v5", {}, {"population": 100, "hidden": hidden})
        return CEM(
            settings, Context(problem=task, seed=0, total_timesteps=1000, workers=100, store=store, replay=replay)
        ).ask()

    yield make
    replay.close()
    store.close()


def test_an_es_task_and_its_result_are_small_whatever_the_network(generation):
    sizes = []
    for hidden in ((64, 64), (400, 300)):
        writer, tasks = TaskWriter(), generation(hidden)
        first, *messages = [len(writer.write(task)) for task in tasks]
        values = {"returns": [-123.45678901234567], "lengths": [1000]}
        results = [len(write_answers([Result(task.id, values, {}, 12345.678, 12346.789, 0)])) for task in tasks]
        assert max(messages) < 300 < first
        assert max(results) < 128
        sizes.append((messages, results))
    (small, small_results), (large, large_results) = sizes
    assert small_results == large_results
    # the shapes of two arrays, (5702,) and (129306,), are two bytes longer as pickled numbers
    assert {b - a for a, b in zip(small, large, strict=True)} == {4}


def test_a_task_arrives_as_it_was_written(generation):
    writer, reader = TaskWriter(), TaskReader()
    for task in (*generation((8,)), *generation((9,))):
        assert reader.read(writer.write(task)) == [task]
    other = Task(7, "actor", "m:f", (1, 2), {"updates": 5}, {"a": Output(3, "b")}, Priority.ACTOR, gradient=True)
    counted = Task(8, "es", "erlbench.work.rollout:rollout", (1,), {}, counts=Counts.FITNESS, individual=4)
    for task in (other, counted, other):
        assert reader.read(writer.write(task)) == [task]


def test_tasks_in_one_message_share_what_they_have_in_common(generation):
    writer, reader, tasks = TaskWriter(), TaskReader(), generation((64, 64))
    assert reader.read(writer.write(*tasks)) == tasks
    alone, together = sum(len(writer.write(task)) for task in tasks), len(writer.write(*tasks))
    assert together < alone / 3
    assert together < 70 * len(tasks)


def test_settings_are_sent_when_they_are_new_to_the_worker():
    writer, reader = TaskWriter(), TaskReader()
    one, two = ({"text": text * 500} for text in "ab")

    def length(settings):
        message = writer.write(Task(1, "es", "m:f", (1,), settings))
        assert reader.read(message)[0].settings == settings
        return len(message) > 500

    assert [length(settings) for settings in (one, dict(one), two, two, one)] == [True, False, True, False, True]
    writer.forget()
    assert [length(settings) for settings in (one, one)] == [True, False]


def test_what_cannot_be_written_is_not_remembered():
    writer, reader = TaskWriter(), TaskReader()
    wrong = Task(1, "es", "m:f", (1,), {"function": lambda: None})
    for _ in range(2):
        with pytest.raises(Exception, match="lambda"):
            writer.write(wrong)
    right = Task(2, "es", "m:f", (1,), {"a": 1})
    assert reader.read(writer.write(right)) == [right]


def test_a_result_arrives_as_it_was_written():
    result = Result(7, {"returns": [1.5], "lengths": [3]}, {}, 0.25, 0.5, 3, 0.125)
    assert read_answers(write_answers([result, "ready", result]), 3) == [result, "ready", result]


def test_a_result_that_cannot_be_written_leaves_the_others_whole():
    good, wrong = Result(7, {"returns": [1.5]}, {}, 0.25, 0.5, 3), Result(8, {"a": lambda: None}, {}, 0.5, 1.0, 3)
    first, second, third = read_answers(write_answers([good, wrong, good]), 3)
    assert first == third == good
    assert isinstance(second, Failure)
    assert "lambda" in second.message


class Unreadable:
    """It can be written and cannot be read."""

    def __reduce__(self):
        return divmod, (1, 0)


def test_a_message_that_cannot_be_read_gives_one_failure_for_each_task(tmp_path):
    tasks = [Task(index, "es", "m:f", (1,), Unreadable()) for index in range(3)]
    message = TaskWriter().write(*tasks)
    assert tasks_in(message) == 3
    failures = list(perform(Workspace(Store(tmp_path)), TaskReader(), message))
    assert len(failures) == 3
    assert all(isinstance(found, Failure) and "ZeroDivisionError" in found.message for found in failures)


def test_messages_arrive_whole_however_they_were_sent():
    reading, writing = os.pipe()
    messages = [b"", b"a" * 10, b"b" * 300_000, b"c"]
    thread = threading.Thread(target=lambda: (send(writing, messages), send(writing, [b"d"]), os.close(writing)))
    thread.start()
    found = []
    while len(found) < 5:
        found += receive(reading)
    with pytest.raises(EOFError):
        receive(reading)
    thread.join()
    os.close(reading)
    assert found == [*messages, b"d"]


def test_half_a_message_is_the_end():
    reading, writing = os.pipe()
    os.write(writing, b"\x05\0\0\0\0\0\0\0abc")
    os.close(writing)
    with pytest.raises(EOFError):
        receive(reading)
    os.close(reading)
