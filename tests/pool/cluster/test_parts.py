"""Parts of the cluster's pool that need no cluster."""

from dataclasses import replace

import numpy as np
import pytest

from erlbench.errors import UsageError
from erlbench.experiment.arguments import arguments
from erlbench.pool.ray_nodes import Facts, objection, read_part, write_part
from erlbench.pool.ray_pool import Node, place
from erlbench.work.replay import Replay
from erlbench.work.tasks import Task

HERE = Facts("0.1.0", "openblas Haswell")


def test_a_copy_of_a_replay_grows_part_by_part(tmp_path):
    random, replay = np.random.default_rng(1), Replay(tmp_path / "replay", 3, 2)
    (tmp_path / "copy").mkdir()
    sizes = {}
    for lengths in ([4, 2], [1], [3, 3, 5]):
        steps = sum(lengths)
        shapes = (steps + len(lengths), 3), (steps, 2), steps, steps
        replay.append(*(random.normal(size=shape) for shape in shapes), lengths)
        part = read_part(replay.folder, sizes)
        assert len(part["transitions.f32"][1]) == 4 * 4 * steps
        write_part(tmp_path / "copy", part)
        sizes = {name: begin + len(data) for name, (begin, data) in part.items()}
    for path in (tmp_path / "replay").iterdir():
        assert (tmp_path / "copy" / path.name).read_bytes() == path.read_bytes()
    replay.close()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"erlbench": "0.2.0"}, "it has erlbench 0.2.0, the driver 0.1.0; install the same there"),
        ({"arithmetic": "openblas SkylakeX"}, "it computes by openblas SkylakeX, the driver by openblas Haswell"),
    ],
)
def test_why_a_node_is_refused(change, words):
    said = objection(HERE, replace(HERE, **change), anyway=False)
    assert (words in said) if words else said == ""
    assert ("arithmetic" in change) == (said != objection(HERE, replace(HERE, **change), anyway=True))


def test_kinds_of_pools():
    assert arguments({"pool": "ray://host:6379"}).pool == "ray://host:6379"
    for kind in ("rya", "ray://", "ray://host", "process://a:1"):
        with pytest.raises(UsageError, match=r"--pool .*process, ray or ray://HOST:PORT"):
            arguments({"pool": kind})


class Machine(Node):
    """A node of `slots` processes with `load` tasks."""

    def __init__(self, first_slot, slots, load=0):
        super().__init__(f"node {first_slot}", None, slots)
        self.first_slot = first_slot
        self.sent = {-1 - number: Task(-1 - number, "es", "m:f", (0,)) for number in range(load)}


def given(nodes, tasks, gradient=False):
    """How many of so many tasks each node gets."""
    before = [len(node.sent) for node in nodes]
    for number in range(tasks):
        new = Task(number, "es", "m:f", (0,), gradient=gradient)
        if (node := place(new, nodes)) is not None:
            node.add(new)
    return [len(node.sent) - load for node, load in zip(nodes, before, strict=True)]


def test_rollouts_go_where_least_is_to_be_done_per_process():
    shape = (0, 4, 4), (4, 4), (8, 8)
    assert given([Machine(*node) for node in shape], 12) == [0, 4, 8]
    assert given([Machine(*node) for node in shape], 20) == [2, 6, 12]
    assert given([Machine(*node) for node in shape], 100) == [4, 8, 16]  # as much again as runs


def test_gradient_tasks_go_to_the_first_idle_node():
    for tasks, expected in ((2, [2, 0]), (3, [2, 1]), (5, [3, 2])):
        assert given([Machine(0, 2), Machine(2, 2)], tasks, gradient=True) == expected
