"""Leases: one holder at a time, on one machine and on several."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from erlbench.errors import UsageError
from erlbench.running import folder as lease
from erlbench.running.folder import Lease, LostLease, lease_holder
from tests.processes import wait_for

FAR = {"host": "far", "pid": 7, "started": "1", "boot": "b", "namespace": "pid:[1]"}


def write(folder: Path, number: int, owner: dict, age: float = 0.0) -> Path:
    path = folder / f"lease-{number:06d}"
    path.write_text(json.dumps(owner))
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_one_holder_at_a_time(tmp_path):
    assert lease_holder(tmp_path) == ""
    first = Lease(tmp_path)
    assert lease_holder(tmp_path) == f"process {os.getpid()} on {lease.platform.node()}"
    with pytest.raises(UsageError, match=re.escape(lease_holder(tmp_path))):
        Lease(tmp_path)
    first.release()
    assert lease_holder(tmp_path) == ""
    second = Lease(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["lease-000002"]
    second.release()


def test_a_lease_of_a_process_that_is_gone_is_over_at_once(tmp_path):
    code = "import sys, os; from pathlib import Path; from erlbench.running.folder import Lease; " + (
        "Lease(Path(sys.argv[1])); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)]).returncode == 9
    assert lease_holder(tmp_path) == ""
    Lease(tmp_path).release()


def test_another_machines_lease_holds_while_its_time_moves(tmp_path):
    path = write(tmp_path, 3, FAR, age=90)
    with pytest.raises(UsageError, match=re.escape(lease_holder(tmp_path))):
        Lease(tmp_path)
    os.utime(path, (time.time() - 121,) * 2)
    mine = Lease(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["lease-000004"]
    mine.release()


def test_a_lease_that_is_being_written_holds(tmp_path):
    (tmp_path / "lease-000001").touch()
    with pytest.raises(UsageError):
        Lease(tmp_path)
    assert [path.name for path in _files(tmp_path)] == ["lease-000001"]
    assert lease_holder(tmp_path)


def test_of_two_that_break_the_same_lease_one_gets_it(tmp_path, monkeypatch):
    """The second one has read the folder before the first one took the lease."""
    write(tmp_path, 1, {})
    first = Lease(tmp_path)
    newest = lease._newest
    answers = iter([1])
    monkeypatch.setattr(lease, "_newest", lambda folder: next(answers, None) or newest(folder))
    with pytest.raises(UsageError):
        Lease(tmp_path)
    assert lease_holder(tmp_path)
    first.check()


def test_who_read_the_folder_long_ago_gets_no_lease(tmp_path, monkeypatch):
    """Lease 2 was taken, released and removed meanwhile; lease 3 is held."""
    held = write(tmp_path, 3, FAR)
    newest = lease._newest
    answers = iter([1])
    monkeypatch.setattr(lease, "_newest", lambda folder: next(answers, None) or newest(folder))
    with pytest.raises(UsageError):
        Lease(tmp_path)
    assert list(tmp_path.iterdir()) == [held]


def test_a_holder_gives_signs_of_life_until_it_lets_go(tmp_path, monkeypatch):
    """The time of its file, which is all that a driver on another machine can see of it."""
    monkeypatch.setattr(lease, "HEARTBEAT", 0.01)
    mine = Lease(tmp_path)
    (path,) = tmp_path.iterdir()
    for _ in range(2):
        os.utime(path, (0, 0))
        wait_for(lambda: path.stat().st_mtime > 0)
    mine.release()
    os.utime(path, (0, 0))
    time.sleep(0.1)
    assert path.stat().st_mtime == 0


def test_a_holder_that_was_replaced_is_told(tmp_path):
    mine = Lease(tmp_path)
    mine.check()
    theirs = write(tmp_path, 2, FAR)
    with pytest.raises(LostLease):
        mine.check()
    mine.release()
    assert json.loads(theirs.read_text()) == FAR


def test_many_starts_at_once_never_both_run(tmp_path):
    """Each that gets the directory writes a file that must not be there, and removes it."""
    code = """
import os, random, sys, time
from pathlib import Path
from erlbench.errors import UsageError
from erlbench.running.folder import RunFolder
folder, got, end = Path(sys.argv[1]), 0, time.monotonic() + 3
while time.monotonic() < end:
    directory = RunFolder(folder / "seed-000")
    try:
        directory.hold()
    except UsageError:
        continue
    os.close(os.open(folder / "inside", os.O_CREAT | os.O_EXCL))  # raises if another is inside
    time.sleep(random.random() / 200)
    os.unlink(folder / "inside")
    directory.release()
    got += 1
print(got)
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    counts = [int(process.communicate(timeout=60)[0] or -1) for process in processes]
    assert min(counts) >= 0, "two were inside at once"
    assert sum(counts) > 10


def _files(folder):
    return list(folder.glob("lease-*"))
