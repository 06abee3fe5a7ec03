"""Folders that a process holds, below one private folder of the user, on a machine that is not ours alone."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from erlbench.work import store as stores
from erlbench.work.held import LOCK, HeldFolder, remove_abandoned
from erlbench.work.noise import HeldTable, NoiseTable
from erlbench.work.private import private_folder
from erlbench.work.scratch_replay import ScratchReplay
from erlbench.work.seeding import generator
from erlbench.work.store import Store
from tests.users import FIRST, SECOND, as_user, everybodys, needs_root

__all__ = ["everybodys"]
TABLE = NoiseTable(5000, 1_000_033)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def abandoned(parent: Path) -> Path:
    """A held folder whose process has ended."""
    script = """if True:
        import os, pathlib, sys
        from erlbench.work.held import HeldFolder
        print(HeldFolder(pathlib.Path(sys.argv[1]), "store").path, flush=True)
        os._exit(9)
    """
    return Path(subprocess.run([sys.executable, "-c", script, parent], capture_output=True, text=True).stdout.strip())


def run_folder(folder: Path) -> Path:
    """Like the folder of a run: it has a file `lock`, which nobody holds."""
    folder.mkdir(parents=True)
    (folder / "lock").touch()
    (folder / "eval.csv").write_text("timesteps,return_mean\n1,2\n")
    return folder


def test_all_that_is_shared_lies_in_one_private_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "shared_memory_folder", lambda: tmp_path)
    store = Store.create()
    store.hold(TABLE)
    replay = ScratchReplay(tmp_path / "home", tmp_path, 3, 2)
    (tmp_path / "home").rmdir()
    home = tmp_path / f"erlbench-{os.geteuid()}"
    assert [*tmp_path.iterdir()] == [home]
    assert mode(home) == 0o700
    assert {path.parent for path in (store.folder, TABLE.folder(home), replay.folder.parent)} == {home}
    store.close()
    replay.close()
    assert [*home.iterdir()] == []


@pytest.mark.parametrize("mask", [0o000, 0o077, 0o777])
def test_the_private_folder_is_private_under_any_mask(tmp_path, mask):
    before = os.umask(mask)
    try:
        assert mode(private_folder(tmp_path)) == 0o700
    finally:
        os.umask(before)


def _file(path: Path) -> None:
    path.touch()


def _link(path: Path) -> None:
    (path.parent / "elsewhere").mkdir(mode=0o700)
    path.symlink_to("elsewhere")


def _dangling_link(path: Path) -> None:
    path.symlink_to("nowhere")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _open(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


@pytest.mark.parametrize("plant", [_file, _link, _dangling_link, _pipe, _open])
def test_what_is_not_private_is_left_alone_and_replaced_by_one_folder(tmp_path, capsys, plant):
    planted = tmp_path / f"erlbench-{os.geteuid()}"
    plant(planted)
    before = planted.lstat()
    first, second = HeldFolder(tmp_path, "store"), HeldFolder(tmp_path, "store")
    home = first.path.parent
    assert home != planted
    assert second.path.parent == home
    assert mode(home) == 0o700
    assert {str(planted) in line and str(home) in line for line in capsys.readouterr().err.splitlines()} == {True}
    after = planted.lstat()
    assert (after.st_mode, after.st_ino, after.st_mtime_ns) == (before.st_mode, before.st_ino, before.st_mtime_ns)
    if plant is _link:
        assert [*(tmp_path / "elsewhere").iterdir()] == []
    left = abandoned(tmp_path)
    assert left.parent == home
    assert remove_abandoned(tmp_path) == [left]
    first.remove()
    second.remove()


@needs_root
def test_a_folder_of_somebody_else_with_our_name_is_not_used(everybodys):
    def plant():
        for name in (f"erlbench-{FIRST}", f"erlbench-{FIRST}-aaaa"):
            (everybodys / name).mkdir(mode=0o700)
            (everybodys / name).chmod(0o777)

    as_user(SECOND, plant)
    home = Path(as_user(FIRST, lambda: str(HeldFolder(everybodys, "store").path.parent)))
    assert home.stat().st_uid == FIRST
    assert mode(home) == 0o700
    assert Path(as_user(FIRST, lambda: str(HeldFolder(everybodys, "store").path.parent))) == home


@needs_root
def test_a_foreign_folder_hurts_nobody_and_is_not_touched(everybodys):
    def plant():
        folder = run_folder(everybodys / "erlbench-x")
        (folder / "lock").chmod(0o666)
        folder.chmod(0o777)

    as_user(SECOND, plant)
    as_user(FIRST, lambda: HeldFolder(everybodys, "store").remove())
    assert {path.name for path in everybodys.iterdir()} == {"erlbench-x", f"erlbench-{FIRST}"}
    assert len([*(everybodys / "erlbench-x").iterdir()]) == 2


@pytest.mark.parametrize("place", ["erlbench-seed0", "erlbench-replay-1", "inside"])
def test_a_copy_of_a_run_is_never_removed(tmp_path, place):
    private_folder(tmp_path)
    parent = private_folder(tmp_path) if place == "inside" else tmp_path
    folder = run_folder(parent / place)
    assert remove_abandoned(tmp_path) == []
    HeldFolder(tmp_path, "replay").remove()
    assert len([*folder.iterdir()]) == 2


def test_only_a_folder_with_our_signature_is_removed(tmp_path):
    """A lock that is a link, a pipe, a folder, empty, or has another text is none of ours."""
    home, signed = private_folder(tmp_path), abandoned(tmp_path)
    text = (signed / LOCK).read_text()
    for name in ("link", "pipe", "folder", "empty", "other"):
        (home / name).mkdir()
    (home / "link" / LOCK).symlink_to(signed / LOCK)
    os.mkfifo(home / "pipe" / LOCK)
    (home / "folder" / LOCK).mkdir()
    (home / "empty" / LOCK).touch()
    (home / "other" / LOCK).write_text(text[:-2])
    (home / "linked").symlink_to(signed)
    (home / "file").touch()
    assert remove_abandoned(tmp_path) == [signed]
    assert len([*home.iterdir()]) == 7


def test_what_links_lead_to_stays_when_a_folder_is_removed(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    held = HeldFolder(tmp_path, "store")
    (held.path / "replays").mkdir()
    (held.path / "replays" / "replay").symlink_to(tmp_path / "precious")
    held.remove()
    left = abandoned(tmp_path)
    (left / "replay").symlink_to(tmp_path / "precious")
    assert remove_abandoned(tmp_path) == [left]
    assert (tmp_path / "precious" / "file").exists()


def test_a_removal_that_is_cut_off_is_finished_by_the_next(tmp_path, monkeypatch):
    """The lock goes last, so that a process that is killed while it removes leaves what the next one finds."""
    left = abandoned(tmp_path)
    for name in ("a", "b", "zz"):
        (left / name).touch()
    unlink, gone = os.unlink, []

    def cut(path, *arguments, **options):
        if len(gone) == 2:
            raise KeyboardInterrupt
        gone.append(path)
        unlink(path, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", cut)
        with pytest.raises(KeyboardInterrupt):
            remove_abandoned(tmp_path)
    assert len(remove_abandoned(tmp_path)) == 1
    assert [*private_folder(tmp_path).iterdir()] == []


def test_a_folder_that_cannot_be_removed_does_not_stop_a_start(tmp_path, monkeypatch):
    left = abandoned(tmp_path)

    def denied(*arguments):
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", denied)
        assert remove_abandoned(tmp_path) == []
    assert remove_abandoned(tmp_path) == [left]


@needs_root
def test_full_shared_memory_is_named_and_nothing_is_left_there(tmp_path):
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        HeldFolder(tmp_path, "store").remove()
        with suppress(OSError), open(tmp_path / "full", "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        with pytest.raises(OSError, match=f"No space.*{tmp_path}"):
            HeldFolder(tmp_path, "store")
        assert [*private_folder(tmp_path).iterdir()] == []
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


@needs_root
def test_a_planted_table_of_noise_is_not_used(everybodys):
    """As another user made it where the table lay before, with the lock held."""

    def plant():
        for name in (f"erlbench-noise-{FIRST}-{TABLE.size}-{TABLE.seed}", f"erlbench-{FIRST}"):
            folder = everybodys / name
            folder.mkdir()
            folder.chmod(0o777)
            table = TABLE.folder(folder) if name == f"erlbench-{FIRST}" else folder
            table.mkdir(exist_ok=True)
            np.zeros(TABLE.size, np.float32).tofile(table / "table")
            (table / LOCK).touch()
            for path in (table, table / "table", table / LOCK):
                path.chmod(0o777)
            fcntl.flock(os.open(table / LOCK, os.O_RDWR), fcntl.LOCK_SH)

    def use():
        store = Store(HeldFolder(everybodys, "store").path)
        store.hold(TABLE)
        return [float(number) for number in store.noise((1,), 20, TABLE)]

    as_user(SECOND, plant)
    expected = generator(TABLE.seed).standard_normal(TABLE.size, dtype=np.float32)
    found = np.array(as_user(FIRST, use), np.float32)
    assert any(np.array_equal(expected[start : start + 20], found) for start in range(TABLE.size - 19))


@pytest.mark.parametrize("change", ["first", "last", "some", "short", "long", "zeros", "link"])
def test_a_table_with_other_numbers_is_made_anew(tmp_path, change):
    expected = generator(TABLE.seed).standard_normal(TABLE.size, dtype=np.float32)
    held = HeldTable(TABLE, tmp_path)
    path = TABLE.folder(tmp_path) / "table"
    numbers = expected.copy()
    if change in ("first", "last", "some"):
        place = {"first": 0, "last": -1, "some": 1234}[change]
        numbers[place] = np.nextafter(numbers[place], np.float32(9))
    path.unlink()
    if change == "link":
        numbers.tofile(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    else:
        changed = {"short": numbers[:-1], "long": np.append(numbers, numbers[:1]), "zeros": 0 * numbers}
        changed.get(change, numbers).tofile(path)
    other = HeldTable(TABLE, tmp_path)
    np.testing.assert_array_equal(TABLE.open(tmp_path), expected)
    assert not path.is_symlink()
    if change == "link":
        assert (tmp_path / "elsewhere").exists()
    other.release()
    held.release()
    assert not TABLE.folder(tmp_path).exists()


def test_folders_of_earlier_versions_stay(tmp_path):
    """Nothing tells them from what somebody else put there."""
    for name in ("erlbench-abcd1234", f"erlbench-noise-{os.geteuid()}-5000-1"):
        run_folder(tmp_path / name)
    HeldFolder(tmp_path, "store").remove()
    assert len([*tmp_path.iterdir()]) == 3
    shutil.rmtree(tmp_path / "erlbench-abcd1234")
