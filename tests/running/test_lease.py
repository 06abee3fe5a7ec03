"""Leases: one holder at a time, on one machine and on several; and what else a run's folder holds."""

import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from erlbench.errors import CellError, UsageError
from erlbench.running import folder as lease
from erlbench.running.folder import Lease, RunFolder, lease_holder
from tests.calls import python
from tests.processes import wait_for

FAR = {"host": "far", "pid": 7, "started": "1", "boot": "b", "namespace": "pid:[1]"}


def write(folder, number, owner, age=0.0):
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
    owner = json.loads((tmp_path / "lease-000001").read_text())
    first.release()
    write(tmp_path, 1, {**owner, "pid": 1})  # which began at another time
    assert lease_holder(tmp_path) == ""
    second = Lease(tmp_path)
    assert os.listdir(tmp_path) == ["lease-000002"]
    second.release()


def test_a_copy_of_a_folder_that_is_held_is_free_without_a_sign_of_life(tmp_path):
    (tmp_path / "held").mkdir()
    first = Lease(tmp_path / "held")
    copy = shutil.copytree(tmp_path / "held", tmp_path / "copy")
    assert lease_holder(copy) != ""  # a network's file may have another inode each time
    os.utime(copy / "lease-000001", (0, 0))
    assert lease_holder(copy) == ""
    Lease(copy).release()
    (tmp_path / "held").rename(tmp_path / "moved")
    assert lease_holder(tmp_path / "moved") != ""
    first.release()


def test_a_lease_of_a_process_that_is_gone_is_over_at_once(tmp_path):
    code = "import sys, os; from pathlib import Path; from erlbench.running.folder import Lease; " + (
        "Lease(Path(sys.argv[1])); os._exit(9)"
    )
    assert python("-c", code, tmp_path).returncode == 9
    assert lease_holder(tmp_path) == ""
    Lease(tmp_path).release()


def test_another_machines_lease_holds_while_its_time_moves(tmp_path):
    path = write(tmp_path, 3, FAR, age=90)
    with pytest.raises(UsageError, match=re.escape(lease_holder(tmp_path))):
        Lease(tmp_path)
    os.utime(path, (time.time() - 121,) * 2)
    mine = Lease(tmp_path)
    assert os.listdir(tmp_path) == ["lease-000004"]
    mine.release()


def test_a_lease_that_is_being_written_holds(tmp_path):
    (tmp_path / "lease-000001").touch()
    with pytest.raises(UsageError):
        Lease(tmp_path)
    assert os.listdir(tmp_path) == ["lease-000001"]


@pytest.mark.parametrize("number", [1, 3])
def test_who_read_the_folder_before_another_took_the_lease_gets_none(tmp_path, monkeypatch, number):
    """Of two that break lease 1 one gets it; and lease 2 may have been taken, released and removed meanwhile."""
    write(tmp_path, number, {} if number == 1 else FAR)
    first = Lease(tmp_path) if number == 1 else None
    newest, answers = lease._newest, iter([1])
    monkeypatch.setattr(lease, "_newest", lambda folder: next(answers, None) or newest(folder))
    before = [*tmp_path.iterdir()]
    with pytest.raises(UsageError):
        Lease(tmp_path)
    assert [*tmp_path.iterdir()] == before
    if first:
        first.check()


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
    with pytest.raises(CellError, match="another driver has taken"):
        mine.check()
    mine.release()
    assert json.loads(theirs.read_text()) == FAR


def test_many_starts_at_once_never_both_run(tmp_path):
    """Each that gets the directory writes a file that must not be there, and removes it."""
    code = """
import os, random, sys, time
from pathlib import Path
from erlbench.errors import CellError, UsageError
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


def test_a_folder_that_cannot_be_made_is_a_usage_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is not a folder"):
        RunFolder(tmp_path / "file" / "a" / "b").check_parent()
    with pytest.raises(UsageError, match=r"cannot be written: (?!\[Errno)"):
        RunFolder(tmp_path / "file" / "a").hold()
    if os.geteuid():  # root may write everywhere
        (tmp_path / "closed").mkdir(mode=0o500)
        with pytest.raises(UsageError, match="is not writable"):
            RunFolder(tmp_path / "closed" / "a").check_parent()


def test_a_configuration_that_is_no_toml_is_named(tmp_path):
    directory = RunFolder(tmp_path)
    (tmp_path / "checkpoint" / "000001.bak").mkdir(parents=True)  # a renamed checkpoint is none
    assert not directory.has_checkpoint()
    assert directory.saved_config() is None
    (tmp_path / "config.toml").write_text("run = [")
    with pytest.raises(UsageError, match=r"config\.toml cannot be read"):
        directory.saved_config()


def test_what_is_found_out_after_a_start_is_in_meta(tmp_path):
    directory = RunFolder(tmp_path)
    for number in range(2):
        directory.add_start({"cpu": number}, {"started": number})
    directory.amend_meta(device="cpu")
    assert [start.get("device") for start in directory.meta()["starts"]] == [None, "cpu"]
