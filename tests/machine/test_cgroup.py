"""Limits of containers and jobs, read from trees of control groups as Docker, and Kubernetes make them."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from erlbench.algorithms.search.pycma import check_memory
from erlbench.errors import ErlbenchError
from erlbench.machine import process
from erlbench.machine.process import cpu_quota, memory_left

GIB = 2**30


def tree(folder: Path, cgroups: str, files: dict[str, str]) -> Path:
    """A root folder with /proc/self and /sys/fs/cgroup."""
    own = {"proc/self/cgroup": cgroups}
    for name, text in {**own, **{f"sys/fs/cgroup/{name}": text for name, text in files.items()}}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_container_of_its_own(tmp_path):
    root = tree(tmp_path, "0::/\n", {
        "memory.max": f"{4 * GIB}\n", "memory.current": f"{3 * GIB}\n",
        "memory.stat": f"anon {2 * GIB}\ninactive_file {GIB}\nactive_file 5\n", "cpu.max": "150000 100000\n",
    })  # fmt: skip
    assert memory_left(root) == 2 * GIB
    assert cpu_quota(root) == 1.5


def test_the_smallest_limit_of_all_groups_above_counts(tmp_path):
    root = tree(tmp_path, "0::/kubepods/pod1/box\n", {
        "kubepods/pod1/box/memory.max": "max\n", "kubepods/pod1/box/cpu.max": "max 100000\n",
        "kubepods/pod1/memory.max": f"{8 * GIB}\n", "kubepods/pod1/cpu.max": "400000 100000\n",
        "kubepods/memory.max": f"{6 * GIB}\n", "kubepods/memory.current": f"{GIB}\n",
        "kubepods/cpu.max": "max 100000\n",
        "other/memory.max": "1\n", "other/cpu.max": "1 100000\n",
    })  # fmt: skip
    assert memory_left(root) == 5 * GIB
    assert cpu_quota(root) == 4.0


@pytest.mark.parametrize("path", ["/docker/ab", "/../x"])
def test_a_container_that_sees_its_own_group_only(tmp_path, path):
    """Its group is at the top, and named by the host's path."""
    root = tree(tmp_path, f"0::{path}\n", {"memory.max": f"{GIB}\n", "cpu.max": "50000 100000\n"})
    assert memory_left(root) == GIB
    assert cpu_quota(root) == 0.5


@pytest.mark.parametrize(
    ("groups", "files"),
    [
        ("", {}),
        ("0::/\n", {"memory.max": "max\n", "cpu.max": "max 100000\n"}),
        ("0::/\n", {"memory.max": "", "cpu.max": "nonsense", "memory.stat": "a b c\n"}),
        ("garbage", {"memory.max": "1"}),
    ],
)
def test_without_limits_there_are_none(tmp_path, groups, files):
    root = tree(tmp_path, groups, files)
    assert (memory_left(root), cpu_quota(root)) == (inf, inf)


def test_limits_bound_processes_and_memory(tmp_path, monkeypatch):
    root = tree(tmp_path, "0::/\n", {"memory.max": f"{GIB // 2}\n", "cpu.max": "150000 100000\n"})
    monkeypatch.setattr(process, "memory_left", lambda: memory_left(root))
    monkeypatch.setattr(process, "cpu_quota", lambda: cpu_quota(root))
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    assert process.cores() == 1
    assert process.available_memory() == GIB // 2
    check_memory(1000, "")
    with pytest.raises(ErlbenchError):
        check_memory(20_000, "")


def test_a_quota_below_one_core_leaves_one(monkeypatch):
    monkeypatch.setattr(process, "cpu_quota", lambda: 0.2)
    assert process.cores() == 1


def test_this_machine_can_be_read():
    assert memory_left() > 0
    assert cpu_quota(process.ROOT) > 0
