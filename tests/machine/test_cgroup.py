"""Limits of containers and jobs, read from trees of control groups as Docker and Kubernetes make them."""

from math import inf

import pytest

from erlbench.algorithms.search.pycma import check_memory
from erlbench.errors import ErlbenchError
from erlbench.machine import process
from erlbench.machine.process import cpu_quota, memory_left

GIB = 2**30
CONTAINER = {
    "memory.max": f"{4 * GIB}\n", "memory.current": f"{3 * GIB}\n",
    "memory.stat": f"anon {2 * GIB}\ninactive_file {GIB}\nactive_file 5\n", "cpu.max": "150000 100000\n",
}  # fmt: skip
KUBERNETES = {
    "kubepods/pod1/box/memory.max": "max\n", "kubepods/pod1/box/cpu.max": "max 100000\n",
    "kubepods/pod1/memory.max": f"{8 * GIB}\n", "kubepods/pod1/cpu.max": "400000 100000\n",
    "kubepods/memory.max": f"{6 * GIB}\n", "kubepods/memory.current": f"{GIB}\n", "kubepods/cpu.max": "max 100000\n",
    "other/memory.max": "1\n", "other/cpu.max": "1 100000\n",
}  # fmt: skip
TOP = {"memory.max": f"{GIB}\n", "cpu.max": "50000 100000\n"}


@pytest.mark.parametrize(
    ("groups", "files", "memory", "quota"),
    [
        ("0::/\n", CONTAINER, 2 * GIB, 1.5),
        ("0::/kubepods/pod1/box\n", KUBERNETES, 5 * GIB, 4.0),
        ("0::/docker/ab\n", TOP, GIB, 0.5),  # a container that sees its own group only, named by the host's path
        ("0::/\n", {"memory.max": "max\n", "cpu.max": "max 100000\n"}, inf, inf),
        ("0::/\n", {"memory.max": "", "cpu.max": "nonsense", "memory.stat": "a b c\n"}, inf, inf),
        ("garbage", {"memory.max": "1"}, inf, inf),
    ],
)
def test_the_smallest_limit_of_all_groups_above_counts(tmp_path, groups, files, memory, quota):
    texts = {"proc/self/cgroup": groups} | {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert (memory_left(tmp_path), cpu_quota(tmp_path)) == (memory, quota)


def test_limits_bound_processes_and_memory(monkeypatch):
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    monkeypatch.setattr(process, "memory_left", lambda: GIB // 2)
    for quota in (1.5, 0.2):
        monkeypatch.setattr(process, "cpu_quota", lambda quota=quota: quota)
        assert process.cores() == 1
    assert process.available_memory() == GIB // 2
    check_memory(1000, "")
    with pytest.raises(ErlbenchError):
        check_memory(20_000, "")
