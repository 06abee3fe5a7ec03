"""Limits of containers and jobs, read from trees of control groups as Docker, Kubernetes and Slurm make them."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from erlbench.algorithms.search.pycma import check_memory
from erlbench.errors import ErlbenchError
from erlbench.machine import cgroup, resources
from erlbench.machine.cgroup import cpu_quota, memory_left

GIB = 2**30
V2 = "30 23 0:26 {root} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
V1 = (
    "33 31 0:30 {root} /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 {root} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


def tree(folder: Path, cgroups: str, mounts: str, files: dict[str, str]) -> Path:
    """A root folder with /proc/self and /sys/fs/cgroup."""
    own = {"proc/self/cgroup": cgroups, "proc/self/mountinfo": mounts}
    for name, text in {**own, **{f"sys/fs/cgroup/{name}": text for name, text in files.items()}}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_version_2_in_a_container_of_its_own(tmp_path):
    root = tree(tmp_path, "0::/\n", V2.format(root="/"), {
        "memory.max": f"{4 * GIB}\n", "memory.current": f"{3 * GIB}\n",
        "memory.stat": f"anon {2 * GIB}\ninactive_file {GIB}\nactive_file 5\n", "cpu.max": "150000 100000\n",
    })  # fmt: skip
    assert memory_left(root) == 2 * GIB
    assert cpu_quota(root) == 1.5


def test_the_smallest_limit_of_all_groups_above_counts(tmp_path):
    root = tree(tmp_path, "0::/kubepods/pod1/box\n", V2.format(root="/"), {
        "kubepods/pod1/box/memory.max": "max\n", "kubepods/pod1/box/cpu.max": "max 100000\n",
        "kubepods/pod1/memory.max": f"{8 * GIB}\n", "kubepods/pod1/cpu.max": "400000 100000\n",
        "kubepods/memory.max": f"{6 * GIB}\n", "kubepods/memory.current": f"{GIB}\n",
        "kubepods/cpu.max": "max 100000\n",
        "other/memory.max": "1\n", "other/cpu.max": "1 100000\n",
    })  # fmt: skip
    assert memory_left(root) == 5 * GIB
    assert cpu_quota(root) == 4.0


def test_version_1_whose_controllers_have_hierarchies_of_their_own(tmp_path):
    groups = "9:memory:/slurm/job_7/step_0\n4:cpu,cpuacct:/slurm/job_7\n1:name=systemd:/x\n"
    root = tree(tmp_path, groups, V1.format(root="/"), {
        "memory/slurm/job_7/memory.limit_in_bytes": f"{2 * GIB}\n",
        "memory/slurm/job_7/memory.usage_in_bytes": f"{GIB}\n",
        "memory/slurm/job_7/memory.stat": f"inactive_file 3\ntotal_inactive_file {GIB // 2}\n",
        "memory/slurm/job_7/step_0/memory.limit_in_bytes": "9223372036854771712\n",
        "cpu,cpuacct/slurm/job_7/cpu.cfs_quota_us": "200000\n", "cpu,cpuacct/slurm/job_7/cpu.cfs_period_us": "100000\n",
        "cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
    })  # fmt: skip
    assert memory_left(root) == 1.5 * GIB
    assert cpu_quota(root) == 2.0


@pytest.mark.parametrize(
    ("path", "mounted"), [("/docker/ab", "/docker/ab"), ("/docker/ab", "/docker/cd"), ("/../x", "/")]
)
def test_a_container_that_sees_its_own_group_only(tmp_path, path, mounted):
    """Docker with version 1 mounts the container's group at the top, and names it by the host's path."""
    root = tree(tmp_path, f"9:memory:{path}\n4:cpu,cpuacct:{path}\n", V1.format(root=mounted), {
        "memory/memory.limit_in_bytes": f"{GIB}\n", "memory/memory.usage_in_bytes": "0\n",
        "cpu,cpuacct/cpu.cfs_quota_us": "50000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
    })  # fmt: skip
    assert memory_left(root) == GIB
    assert cpu_quota(root) == 0.5


@pytest.mark.parametrize(
    ("groups", "mounts", "files"),
    [
        ("", "", {}),
        ("0::/\n", V2.format(root="/"), {"memory.max": "max\n", "cpu.max": "max 100000\n"}),
        ("0::/\n", V2.format(root="/"), {"memory.max": "", "cpu.max": "nonsense", "memory.stat": "a b c\n"}),
        ("garbage", "33 31 0:30\n - \nx - cgroup2\n", {"memory.max": "1"}),
        ("9:memory:/\n4:cpu,cpuacct:/\n", V1.format(root="/"), {"cpu,cpuacct/cpu.cfs_quota_us": "-1\n"}),
    ],
)
def test_without_limits_there_are_none(tmp_path, groups, mounts, files):
    root = tree(tmp_path, groups, mounts, files)
    assert (memory_left(root), cpu_quota(root)) == (inf, inf)


def test_blanks_in_mount_points(tmp_path):
    root = tree(tmp_path, "0::/\n", V2.format(root="/").replace("/sys/fs/cgroup", r"/sys/fs/c\040group"), {})
    (root / "sys/fs/c group").mkdir(parents=True)
    (root / "sys/fs/c group/memory.max").write_text("123")
    assert memory_left(root) == 123


def test_limits_bound_processes_and_memory(tmp_path, monkeypatch):
    root = tree(tmp_path, "0::/\n", V2.format(root="/"), {"memory.max": f"{GIB // 2}\n", "cpu.max": "150000 100000\n"})
    monkeypatch.setattr(resources, "memory_left", lambda: memory_left(root))
    monkeypatch.setattr(resources, "cpu_quota", lambda: cpu_quota(root))
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    assert resources.cores() == 1
    assert resources.available_memory() == GIB // 2
    check_memory(1000, "")
    with pytest.raises(ErlbenchError):
        check_memory(20_000, "")


def test_a_quota_below_one_core_leaves_one(monkeypatch):
    monkeypatch.setattr(resources, "cpu_quota", lambda: 0.2)
    assert resources.cores() == 1


def test_this_machine_can_be_read():
    assert memory_left() > 0
    assert cpu_quota(cgroup.ROOT) > 0
