"""Parts of the cluster's pool that need no cluster."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from erlbench.errors import UsageError
from erlbench.experiment.arguments import arguments
from erlbench.pool.cluster.agent import Facts
from erlbench.pool.cluster.connection import is_private_address, objection, warn_of_open_network
from erlbench.pool.cluster.placement import Placement
from erlbench.work.replay import Replay, ReplayReader
from erlbench.work.replica import Extent, read_block, write_block
from erlbench.work.tasks import Task

HERE = Facts("driver", "0.1.0", "3.11.7", "openblas Haswell", 2**30)


def append(replay: Replay, random: np.random.Generator, lengths: list[int]) -> None:
    steps = sum(lengths)
    replay.append(
        random.normal(size=(steps + len(lengths), 3)),
        random.uniform(-1, 1, (steps, 2)),
        random.normal(size=steps),
        np.ones(steps),
        lengths,
    )


def test_a_copy_of_a_replay_grows_block_by_block(tmp_path):
    random, replay = np.random.default_rng(1), Replay(tmp_path / "replay", 3, 2)
    extent = Extent()
    for lengths in ([4, 2], [1], [3, 3, 5]):
        append(replay, random, lengths)
        block, extent = read_block(replay.view(), replay.folder, extent)
        assert len(block.transitions) == 4 * 4 * sum(lengths)
        write_block(tmp_path / "copy", block)
    assert extent == Extent(replay.length, replay.rows)
    for name in ("observations.f32", "transitions.f32", "rows.i32"):
        assert (tmp_path / "copy" / name).read_bytes() == (tmp_path / "replay" / name).read_bytes()
    original, copy = (ReplayReader(replay.view(), tmp_path / name) for name in ("replay", "copy"))
    np.testing.assert_array_equal(original.transitions, copy.transitions)
    replay.close()


def test_an_older_view_needs_no_more_than_its_own_rows(tmp_path):
    random, replay = np.random.default_rng(1), Replay(tmp_path / "replay", 3, 2)
    append(replay, random, [4, 2])
    view = replay.view()
    append(replay, random, [7])
    block, extent = read_block(view, replay.folder, Extent())
    assert extent == Extent(6, 8)
    assert len(block.observations) == 4 * 3 * 8
    replay.close()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"host": "other", "python": "3.11.2", "shared_memory": 2**40}, ""),
        ({"erlbench": "0.2.0"}, "it has erlbench 0.2.0, the driver 0.1.0; install the same there"),
        ({"python": "3.12.1"}, "it has Python 3.12, the driver 3.11"),
        ({"shared_memory": 64 * 2**20}, "its shared memory has 64 MiB, and 256 are needed"),
        ({"arithmetic": "openblas SkylakeX"}, "it computes by openblas SkylakeX, the driver by openblas Haswell"),
    ],
)
def test_why_a_node_is_refused(change, words):
    found = objection(HERE, replace(HERE, **change), anyway=False)
    assert (words in found) if words else found == ""


def test_other_kernels_are_accepted_when_asked_for():
    assert objection(HERE, replace(HERE, arithmetic="mkl"), anyway=True) == ""


def test_kinds_of_pools():
    kinds = ["process", "ray", "ray://host:6379"]
    assert [arguments({"pool": kind}).pool for kind in kinds] == kinds


@pytest.mark.parametrize("kind", ["rya", "ray://", "ray://host", "process://a:1"])
def test_other_kinds_are_refused(kind):
    with pytest.raises(UsageError, match=r"--pool .*process, ray or ray://HOST:PORT"):
        arguments({"pool": kind})


class Machine:
    """A node of `slots` processes with `load` tasks, which lacks `missing` bytes of what any task needs."""

    def __init__(self, first_slot: int, slots: int, load: int = 0, missing: int = 0) -> None:
        self.first_slot, self.slots, self.sent = first_slot, slots, range(load)
        self.missing = lambda task: missing
        self.limit = lambda seconds: 2 * slots


def place(nodes: list[Machine], seconds: float, tasks: int, gradient: bool = False) -> list[int]:
    """How many of so many tasks each node gets."""
    placement = Placement(nodes)
    for number in range(tasks):
        placement.place(Task(number, "es", "m:f", (0,), gradient=gradient), seconds)
    return [len(placement.chosen.get(node, ())) for node in nodes]


def test_rollouts_go_where_least_is_to_be_done_per_process():
    nodes = [Machine(0, 4, load=4), Machine(4, 4), Machine(8, 8)]
    assert place(nodes, 0.1, 12) == [0, 4, 8]
    assert place(nodes, 0.1, 20) == [2, 6, 12]
    assert place(nodes, 0.1, 100) == [4, 8, 16]  # as many as the limit
    assert place(nodes, inf, 100) == [0, 4, 8]  # how long they take is not known: none waits there


def test_gradient_tasks_go_where_least_must_be_sent():
    nodes = [Machine(0, 2, missing=10**6), Machine(2, 2, missing=10)]
    assert place(nodes, 0.1, 2, gradient=True) == [0, 2]
    assert place(nodes, 0.1, 3, gradient=True) == [1, 2]


@pytest.mark.parametrize(
    ("address", "private"),
    [
        ("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("10.0.0.1", True), ("10.255.255.255", True),
        ("172.16.0.1", True), ("172.31.255.255", True), ("192.168.7.7", True), ("169.254.1.1", True),
        ("fe80::1", True), ("fc00::1", True), ("fdff::1", True), ("::ffff:10.0.0.1", True), ("::ffff:127.0.0.1", True),
        ("11.0.0.1", False), ("172.15.255.255", False), ("172.32.0.1", False), ("192.167.255.255", False),
        ("8.8.8.8", False), ("100.64.0.1", False), ("2001:4860:4860::8888", False), ("::ffff:8.8.8.8", False),
        ("0.0.0.0", False), ("192.0.2.2", False),
    ],
)  # fmt: skip
def test_private_addresses_are_those_that_the_internet_does_not_reach(address, private):
    assert is_private_address(address) is private


@pytest.mark.parametrize(
    ("address", "mode", "warned"),
    [
        ("8.8.8.8:6379", "", True), ("8.8.8.8:6379", "disabled", True), ("8.8.8.8:6379", "token", False),
        ("[2001:4860:4860::8888]:6379", "", True), ("127.0.0.1:6379", "", False), ("localhost:6379", "", False),
        ("192.168.1.1:6379", "", False), ("[::1]:6379", "", False),
    ],
)  # fmt: skip
def test_a_public_address_of_a_cluster_is_warned_of(monkeypatch, capsys, address, mode, warned):
    monkeypatch.setenv("RAY_AUTH_MODE", mode)
    warn_of_open_network(address)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == warned
    assert all(address in line for line in lines)
