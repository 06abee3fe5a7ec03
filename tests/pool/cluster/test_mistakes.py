"""No cluster, no free cores, nodes that cannot be used, and nothing left behind."""

import os
import re
import signal
from contextlib import closing

import pytest

from erlbench.errors import CellError, TaskError, UsageError
from erlbench.experiment.cells import RunOptions
from erlbench.pool import ray_nodes
from erlbench.pool.ray_pool import RayPool
from tests.calls import python
from tests.campaign.trials import start
from tests.pool.helpers import one, task
from tests.processes import lines, wait_for

CEM = "--algo", "cem", "--env", "InvertedPendulum-v5"


def test_no_cluster_at_the_address(tmp_path):
    done = python("-m", "erlbench", "run", *CEM, "--out", tmp_path / "out", "--pool", "ray://127.0.0.1:1")
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert re.fullmatch(r"erlbench: there is no Ray cluster at 127\.0\.0\.1:1 \(.*\); start one by .*", last)
    assert not list(tmp_path.rglob("eval.csv"))


def test_a_cluster_that_was_here_and_is_gone(monkeypatch, ray):
    """Ray remembers the last address, and would try it for a minute and then end the process."""
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(UsageError, match=r"there is no Ray cluster on this machine \(.*refused\); start one by"):
        ray_nodes.connect("auto").__enter__()


@pytest.mark.slow
def test_nodes_with_another_version_are_named(nodes, monkeypatch):
    monkeypatch.setattr("erlbench.__version__", "9.9.9")  # of the driver
    with pytest.raises(UsageError, match=r"node .* is not used: it has erlbench .*, the driver 9\.9\.9"):
        RayPool(RunOptions(1, device="cpu"))


@pytest.mark.slow
def test_a_task_that_ends_three_nodes_fails_and_the_pool_goes_on(nodes, ray):
    """Its agent is killed wherever the task runs, which is what the driver notices of a node's end."""
    killed = []

    def kill_the_one_that_runs_it():
        assert pool.next_result(0.2) is None
        for node in pool._nodes:
            if node.sent and node not in killed:
                ray.kill(node.agent)
                killed.append(node)

    nodes.settle()
    added = [nodes.add() for _ in range(2)]
    with closing(RayPool(RunOptions(1, device="cpu"))) as pool:
        pool.submit([task(1, "sleep", {"seconds": 100.0})])
        with pytest.raises(TaskError, match=r"^task 1 \(test\) has ended 3 nodes$") as caught:
            wait_for(kill_the_one_that_runs_it)
        assert len(killed) == 3
        assert len(caught.value.details.splitlines()) == 3
        assert [event.event for event in pool.events()].count("node lost") == 3
        pool.reset()
        assert one(pool, task(2)).task == 2
        ray.kill(pool._nodes[0].agent)
        pool.submit([task(3, "sleep", {"seconds": 100.0})])
        with pytest.raises(CellError, match="all nodes of the cluster are gone"):
            wait_for(lambda: pool.next_result(0.2), 60)
    for node in added:
        nodes.kill(node)


@pytest.mark.slow
def test_an_interrupted_run_leaves_no_actor_behind_and_goes_on(nodes, tmp_path, ray):
    words = ("--out", tmp_path, "--pool", nodes.kind, "--total-timesteps", 300_000, "--eval-freq", 100_000)
    process = start(*CEM, *words)
    folder = tmp_path / "InvertedPendulum-v5" / "cem" / "seed-000"
    wait_for(lambda: lines(folder / "tasks.csv") > 30, 90)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "To go on:\nerlbench run" in errors
    assert list((folder / "checkpoint").iterdir())
    cores = ray.cluster_resources()["CPU"]
    wait_for(lambda: ray.available_resources().get("CPU", 0) >= cores, 30, "an actor holds a core")
