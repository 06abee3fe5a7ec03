"""Damage to run directories: nothing is lost and nothing is silent, and every message names what is wrong."""

import os
import shutil
from dataclasses import replace

import pytest

from erlbench.errors import TaskError, UsageError
from erlbench.running.checkpoint import checkpoints, load_checkpoint
from tests.files import contents, cut, edit_json, flip
from tests.runs import all_rows, at_result, check_same_as_whole, complete, interrupt, make_cell, run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished CEM cell, to be copied."""
    return complete(make_cell("cem", tmp_path_factory.mktemp("finished"), steps=300))


@pytest.fixture(scope="module")
def learning(tmp_path_factory):
    """A TD3 cell that was interrupted twice, to be copied: both of its checkpoints have a replay."""
    return interrupt(make_cell("td3", tmp_path_factory.mktemp("learning"), steps=800), 30, 10)


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """The rows of the same cell without interruptions."""
    return all_rows(complete(make_cell("td3", tmp_path_factory.mktemp("learnt"), steps=800)).directory)


# -- folders that go away under a run ---------------------------------------------------------------------------------


def take_over(folder):
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "eval.csv").write_text("somebody else's")


@pytest.mark.parametrize("every", [0.0, 1000.0])  # noticed by a checkpoint, and at the end
@pytest.mark.parametrize("act", [lambda folder: folder.rename(folder.parents[3] / "aside"), shutil.rmtree, take_over])
def test_a_folder_that_goes_away_fails_the_run_and_is_not_made_again(tmp_path, monkeypatch, capsys, every, act):
    cell = make_cell("cem", tmp_path / "results", steps=600)
    with monkeypatch.context() as patch:
        at_result(patch, 20, lambda training: act(cell.directory))
        assert run(cell, checkpoint_every=every) == 1
    assert str(cell.directory) in capsys.readouterr().err
    if act is take_over:
        assert contents(cell.directory) == {"eval.csv": b"somebody else's"}
        return
    assert not cell.directory.exists()
    if act is not shutil.rmtree:
        (tmp_path / "aside").rename(cell.directory)
    check_same_as_whole(complete(cell))


def rows_of(files):
    return {name: data for name, data in files.items() if name.endswith(".csv")}


def test_a_driver_that_lost_its_lease_writes_nothing_more(tmp_path, monkeypatch, capsys):
    cell, seen = make_cell("cem", tmp_path, steps=600), []

    def lose(training):
        assert training.files.counted["episodes"]._lines  # there are rows to be lost
        (cell.directory / "lease-000002").write_text("{}\n")
        seen.append(rows_of(contents(cell.directory)))

    at_result(monkeypatch, 20, lose)
    assert run(cell, checkpoint_every=1000.0) == 1
    assert str(cell.directory) in capsys.readouterr().err
    assert seen[0].items() <= contents(cell.directory).items()


@pytest.mark.parametrize("name", ["lease-000001", "episodes.csv"])
def test_a_file_that_is_removed_under_a_run_is_named(tmp_path, monkeypatch, capsys, name):
    cell = make_cell("cem", tmp_path, steps=600)
    at_result(monkeypatch, 20, lambda training: (cell.directory / name).unlink())
    assert run(cell) == 1
    path = cell.directory if name.startswith("lease") else cell.directory / name
    assert f"{path} was moved" in capsys.readouterr().err


# -- files that change ------------------------------------------------------------------------------------------------


def end(path):
    """The last byte, which only the newest checkpoint has."""
    flip(path, -1)


def fifo(path):
    """Who reads it, waits."""
    path.unlink()
    os.mkfifo(path)


REPLAY = ("replay/observations.f32", "replay/transitions.f32", "replay/rows.i32")
HASHED = ("eval.csv", "episodes.csv", "tasks.csv", "train.csv", "policy.safetensors")
ARRAYS = "checkpoint/*/arrays.safetensors"
CASES = [  # of a finished or an interrupted run: files, their content or what is done to them, and what is said
    *(("finished", "status.json", content, "holds rows") for content in (b"", b"[]", b"\xff\xfe", None)),
    ("finished", "config.toml", b"# nothing\n", "config.toml is empty"),
    ("finished", "config.toml", None, "config.toml is missing"),
    *(("finished", name, flip, f"damaged: {name} (edited or truncated)") for name in HASHED),
    *(("finished", name, None, f"damaged: {name} (No such file or directory)") for name in HASHED),
    *(("learning", name, flip, name) for name in REPLAY),
    *(("learning", name, cut, "truncated") for name in REPLAY),
    ("learning", "checkpoint/*/state.json", cut, "cannot be used"),
    ("learning", "episodes.csv", cut, "episodes.csv was"),
    *(("learning", name, fifo, name) for name in ("eval.csv", "config.toml", "replay/rows.i32")),
    ("learning", "config.toml", lambda path: path.write_text(f"{path.read_text()}#"), "edited"),
    ("learning", "meta.json", b"[", "cannot be read"),
    ("learning", "meta.json", None, ""),
    ("learning", "status.json", fifo, ""),  # the checkpoint says where to go on
    *(("learning", name, end, "discarded") for name in (REPLAY[0], ARRAYS)),  # and the one before it
    ("learning", ARRAYS, fifo, "discarded"),
]


@pytest.mark.parametrize(("kind", "pattern", "change", "words"), CASES)
def test_damage_is_named_before_anything_is_computed(
    tmp_path, capsys, finished, learning, learnt, kind, pattern, change, words
):
    source = {"finished": finished, "learning": learning}[kind]
    cell = replace(source, out=shutil.copytree(source.out, tmp_path, dirs_exist_ok=True))
    paths = sorted(cell.directory.glob(pattern))
    for path in paths if change is cut else paths[-1:]:  # every checkpoint, or the newest
        if callable(change):
            change(path)
        elif change is None:
            path.unlink()
        else:
            path.write_bytes(change)
    before = contents(cell.directory)
    try:
        code, said = run(cell), capsys.readouterr().err
    except UsageError as error:
        code, said = error.exit_code, str(error)
    if words in ("", "discarded"):
        assert code == 0, said
        assert all_rows(cell.directory) == learnt
        assert words in (cell.directory / "events.csv").read_text()
    else:
        assert code in (1, 2)
        assert words in said
        assert rows_of(before).items() <= contents(cell.directory).items()


def test_a_finished_run_whose_budget_is_damaged_keeps_its_rows(tmp_path, capsys, finished):
    """It was begun anew where nothing was kept to extend it, as of runs that learn from a replay."""
    cell = replace(finished, out=tmp_path)
    shutil.copytree(finished.out, tmp_path, dirs_exist_ok=True)
    shutil.rmtree(cell.directory / "training-end")
    edit_json(cell.directory / "status.json", total_timesteps=200)
    before = contents(cell.directory)
    assert run(cell) == 1
    assert "holds rows" in capsys.readouterr().err
    assert contents(cell.directory) == before


def test_a_run_whose_task_fails_is_saved_first(tmp_path, monkeypatch):
    """The state is whole, and the cause may be gone at the next start."""
    cell = make_cell("cem", tmp_path, steps=600)

    def fail(*arguments):
        raise TaskError("task 99 broke")

    with monkeypatch.context() as patch:
        at_result(patch, 20, lambda training: patch.setattr(training.pool, "next_result", fail))
        assert run(cell, checkpoint_every=1000.0) == 1
    saved, _ = load_checkpoint(checkpoints(cell.directory / "checkpoint")[0])
    assert saved["algorithm"]["counters"]["timesteps"] > 0
    check_same_as_whole(complete(cell))
