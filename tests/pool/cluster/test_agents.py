"""The driver and the agents of a cluster, which threads stand for; `test_rows.py` and others have real nodes."""

import threading
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from erlbench.errors import CellError, Interrupted, TaskError, UsageError
from erlbench.experiment.cells import RunOptions
from erlbench.pool import ray_nodes, ray_pool
from erlbench.pool.ray_pool import RayPool
from erlbench.work.tasks import Perturbed
from tests.pool.helpers import one, results, task
from tests.processes import wait_for
from tests.runs import at_result, check_same_as_whole, complete, csv_rows, make_cell

DIES = {"seconds": 100.0}


@pytest.fixture
def start(monkeypatch):
    """Starts nodes with so many free cores."""
    from tests.pool.actors import Actors  # which imports Ray, and that takes a second

    made = []

    def started(*cores):
        made.append(Actors(monkeypatch, *cores))
        return made[-1]

    yield started
    for actors in made:
        actors.close()


def open_pool(**options):
    return closing(RayPool(RunOptions(0, device="cpu", **options)))


def test_tasks_have_slots_of_all_nodes_and_times_of_the_driver(start):
    actors = start(2, 0, 3, 1)
    actors.nodes[3]["Alive"] = False
    before = time.monotonic()
    with open_pool(per_node=2) as pool:
        assert pool.processes == 4
        for workers, counts in ((1, [1, 1]), (3, [2, 2]), (9, [2, 2])):
            pool.prepare(task(-1, "surroundings"), workers)
            assert [actor.given("prepare")[-1][1] for actor in actors.made] == counts
        pool.submit(task(number, "sleep", {"seconds": 0.3}) for number in range(9))
        assert {slot: running.id for slot, running in pool.running().items()} == {0: 0, 1: 2, 2: 1, 3: 3}
        done = results(pool, 9)
        assert {result.process for result in done.values()} == {0, 1, 2, 3}
        assert all(before < result.start < result.end - 0.299 < time.monotonic() for result in done.values())
    agents = [actor.made.result() for actor in actors.made]
    assert not any(agent._replay.exists() or agent._pool.store.folder.exists() for agent in agents)
    assert [(actor.dead, actor.given("close")) for actor in actors.made] == [(True, [()])] * 2
    assert (pool.store.gone, pool.processes) == (True, 0)


def test_no_task_waits_for_a_long_one(start, monkeypatch):
    monkeypatch.setattr(ray_pool, "WAIT", 100.0)
    start(2)
    with open_pool() as pool:
        pool.submit([task(1, "sleep", DIES)])
        assert one(pool, task(2)).task == 2  # a process is idle
        pool.submit([task(3, "sleep", DIES), task(4)])
        assert dict(pool.running()).keys() == {0, 1}
        pool.reset()
        pool.submit([task(5, "sleep", DIES), task(6)])
        assert results(pool, 1).keys() == {6}  # none is


def test_an_array_goes_to_a_node_once_and_is_freed_there(start):
    actors = start(1)
    with open_pool() as pool:
        (actor,) = actors.made
        own = one(pool, task(1)).arrays["array"]
        centre, scale = (pool.store.put(name, np.ones(5, np.float32)) for name in "cs")
        inputs = {"a": own, "b": Perturbed(centre, scale, (1, 2))}
        sums = [one(pool, task(2, inputs=inputs)).values["sum"] for _ in range(2)]
        pool.store.free(["c", "s"])
        assert one(pool, task(3)).task == 3
        sent = [(sorted(arrays), sorted(unneeded)) for _, arrays, _, unneeded, _ in actor.given("exchange")]
        assert [pair for pair in sent if any(pair)] == [(["c", "s"], []), ([], ["c", "s"])]
        assert sums[0] == sums[1]
        there = actor.made.result()._pool.store.folder
        assert {path.name for path in there.iterdir() if path.is_file()} == {"1.array", "2.array", "3.array"}
        pool.reset()
        assert one(pool, task(4)).task == 4
        assert {path.name for path in there.iterdir() if path.is_file()} == {"4.array"}


def test_errors_come_from_a_node_and_the_pool_goes_on(start, tmp_path):
    start(1)
    with open_pool() as pool:
        assert [event.event for event in pool.events()] == ["node joined"]
        for wrong in (task(1, "wrong", {"error": "division"}), task(2, settings={"function": lambda: None})):
            with pytest.raises(TaskError, match=rf"^task {wrong.id} \(test\) ") as caught:
                one(pool, wrong)
            assert caught.value.task == wrong.id
        with pytest.raises(TaskError, match=r"^node host-0 .*: task -1 \(test\) raised ZeroDivisionError"):
            pool.prepare(task(-1, "wrong", {"error": "division"}), 1)
        (stop := threading.Event()).set()
        with pytest.raises(Interrupted):
            pool.prepare(task(-1, "surroundings"), 1, stop)
        pool.reset()
        pool.submit([task(3, "sleep", DIES)])
        pool.reset()
        assert one(pool, task(4, "die", {"log": str(tmp_path / "log"), "times": 1, "how": 9})).task == 4
        (event,) = pool.events()
        assert (event.event, event.message.partition(" ")[0]) == ("worker died", "host-0")


def test_nodes_that_cannot_be_used_are_named(start, monkeypatch):
    """Agents are told by their number of processes: one ends at its start, one starts too late, two are not alike."""
    make, here, late = ray_nodes.Agent.__init__, ray_nodes.facts(), threading.Event()
    facts = {3: replace(here, erlbench="9.9.9"), 4: replace(here, arithmetic="none")}

    def made(agent, processes, options):
        if processes == 1:
            raise OSError("no space left")
        if processes == 2:
            late.wait(60)
        make(agent, processes, options)

    monkeypatch.setattr(ray_nodes.Agent, "__init__", made)
    monkeypatch.setattr(ray_nodes.Agent, "facts", lambda agent: facts.get(agent._pool.processes, here))
    monkeypatch.setattr(ray_pool, "START", 2.0)
    actors = start(1, 2, 3, 4, 5)
    with open_pool() as pool:
        refused = [event.message for event in pool.events() if event.event == "node refused"]
        assert pool.processes == 5
    late.set()
    assert len(refused) == 4
    assert all(actor.dead for actor in actors.made)
    for message, reason in zip(
        refused, ("no space left", "has not started", "it has erlbench 9.9.9", "it computes by")
    ):
        assert reason in message
    for cores, reason, seconds in ((3, "it has erlbench 9.9.9", 9.0), (0, "it has no free cores", 0.1)):
        monkeypatch.setattr(ray_pool, "START", seconds)
        start(cores)
        with pytest.raises(UsageError, match=reason):
            open_pool()


def test_a_task_that_ends_three_nodes_fails_and_the_pool_goes_on(start):
    """Its agent is killed wherever the task runs, which is what the driver notices of a node's end."""
    start(1, 1, 1, 1)

    def kill_the_one_that_runs_it():
        assert pool.next_result(0.1) is None
        for node in pool._nodes:
            if node.sent and not node.agent.dead:
                node.agent.die()

    with open_pool() as pool:
        pool.submit([task(1, "sleep", DIES)])
        with pytest.raises(TaskError, match=r"^task 1 \(test\) has ended 3 nodes$") as caught:
            wait_for(kill_the_one_that_runs_it)
        assert len(caught.value.details.splitlines()) == 3
        assert [event.event for event in pool.events()].count("node lost") == 3
        pool.reset()
        assert one(pool, task(2)).task == 2
        pool._nodes[0].agent.die()
        pool.submit([task(3, "sleep", DIES)])
        with pytest.raises(CellError, match="all nodes of the cluster are gone"):
            wait_for(lambda: pool.next_result(0.2), 60)


def test_a_node_that_dies_changes_no_row(start, tmp_path, monkeypatch):
    cell, actors = make_cell("cem-rl", tmp_path, steps=300, settings={"start_timesteps": 100}), start(1, 1)
    at_result(monkeypatch, 20, lambda run: actors.made[1].die())
    check_same_as_whole(complete(cell, pool="ray"))
    events = [row["event"] for row in csv_rows(cell.directory / "events.csv")]
    assert (events.count("node joined"), events.count("node lost")) == (2, 1)
