"""Links in a run's folder: no command follows one, be it to read, to write or to look for runs."""

import os

import pytest

from erlbench.errors import UsageError
from erlbench.files import Unusable, new_file, open_file, read_bytes
from erlbench.records.run import run_folders
from erlbench.running.folder import RunFolder
from tests.reporting.make_runs import make_run


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])


def test_a_file_is_opened_below_its_folder(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "x").write_text("x")
    (tmp_path / "above").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "link").symlink_to(inner)
    (inner / "y").symlink_to(inner / "x")
    for path, inside in ((inner / "x", 3), (tmp_path / "above" / "b" / "x", 2), (inner / "y", 0)):
        os.close(open_file(path, os.O_RDONLY, inside))
    for path, inside in ((inner / "y", 1), (tmp_path / "a" / "link" / "x", 2), (tmp_path / "above" / "b" / "x", 3)):
        with pytest.raises(Unusable, match="a link"):
            open_file(path, os.O_RDONLY, inside)
    with pytest.raises(FileNotFoundError):
        open_file(inner / "z", os.O_RDONLY, 2)


def test_a_folder_in_place_of_a_file_is_named_and_not_kept_open(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(IsADirectoryError) as refusal:
        read_bytes(tmp_path)
    assert (refusal.value.filename, len(os.listdir("/proc/self/fd"))) == (str(tmp_path), before)


def test_a_new_file_takes_the_place_of_a_link(tmp_path):
    (tmp_path / "target").write_text("kept")
    (tmp_path / "part").symlink_to(tmp_path / "target")
    os.link(tmp_path / "target", tmp_path / "hard")
    for name in ("part", "hard"):
        os.close(new_file(tmp_path / name))
        assert (tmp_path / name).read_text() == ""
        assert not (tmp_path / name).is_symlink()
    assert (tmp_path / "target").read_text() == "kept"


@pytest.mark.parametrize("name", ["status.json", "status.json.part", "lock", "checkpoint", "deep/x"])
def test_a_run_does_not_start_among_links(run, tmp_path, name):
    target = tmp_path / "target"
    target.mkdir() if name == "checkpoint" else target.write_text("mine")
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(target)
    with pytest.raises(UsageError, match=f"{name} is a link"):
        RunFolder(run).hold()
    assert (list(target.iterdir()) == []) if target.is_dir() else (target.read_text() == "mine")


def test_links_above_a_run_are_followed_and_none_in_it(tmp_path, run):
    run.parent.rename(tmp_path / "scratch")
    run.parent.symlink_to(tmp_path / "scratch")
    RunFolder(run).hold()
    make_run(tmp_path / "others", "Hopper-v5", "td3", 1, [1.0])
    (run / "more").symlink_to(tmp_path / "others")
    assert run_folders(tmp_path / "results") == [run]
