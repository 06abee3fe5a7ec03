"""Damage to run directories: nothing is lost and nothing is silent, and every message names what is wrong."""

import os
import shutil
from dataclasses import replace

import pytest

from erlbench.errors import UsageError
from erlbench.running.checkpoint import checkpoints
from erlbench.running.folder import RunFolder
from erlbench.running.loop import Run
from tests.runs import all_rows, at_result, interrupt, make_cell, rows, run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished CEM cell, to be copied."""
    cell = make_cell("cem", tmp_path_factory.mktemp("finished"), steps=300)
    assert run(cell) == 0
    return cell


@pytest.fixture(scope="module")
def learning(tmp_path_factory):
    """A TD3 cell that was interrupted twice, to be copied: both of its checkpoints have a replay."""
    return interrupt(make_cell("td3", tmp_path_factory.mktemp("learning"), steps=800), 30, 10)


def copied(cell, out):
    """The same cell with a copy of its directory."""
    shutil.copytree(cell.out, out, dirs_exist_ok=True)
    return replace(cell, out=out)


def contents(folder):
    """All files and their bytes, but for the lease."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("lease-"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


# -- folders that go away under a run ---------------------------------------------------------------------------------


def test_a_folder_that_is_moved_away_fails_the_run_and_is_not_made_again(tmp_path, monkeypatch, capsys):
    cell, aside = make_cell("cem", tmp_path / "results", steps=600), tmp_path / "aside"
    with monkeypatch.context() as patch:
        at_result(patch, 20, lambda training: cell.directory.rename(aside))
        assert run(cell, checkpoint_every=0.1) == 1
    assert not cell.directory.exists()
    assert f"{cell.directory} was moved" in capsys.readouterr().err
    aside.rename(cell.directory)
    assert run(cell) == 0
    whole = make_cell("cem", tmp_path / "whole", steps=600)
    assert run(whole) == 0
    assert all_rows(cell.directory) == all_rows(whole.directory)


@pytest.mark.parametrize("every", [0.0, 1000.0])  # noticed by a checkpoint, and at the end
def test_a_folder_that_is_removed_fails_the_run_and_the_next_start_begins_anew(tmp_path, monkeypatch, capsys, every):
    cell = make_cell("cem", tmp_path, steps=600)
    with monkeypatch.context() as patch:
        at_result(patch, 20, lambda training: shutil.rmtree(cell.directory))
        assert run(cell, checkpoint_every=every) == 1
    assert not cell.directory.exists()
    assert str(cell.directory) in capsys.readouterr().err
    assert run(cell) == 0
    assert "already done" not in capsys.readouterr().err


def test_a_folder_that_somebody_else_has_made_meanwhile_is_left_alone(tmp_path, monkeypatch):
    cell = make_cell("cem", tmp_path, steps=600)

    def take_over(training):
        shutil.rmtree(cell.directory)
        cell.directory.mkdir()
        (cell.directory / "eval.csv").write_text("somebody else's")

    at_result(monkeypatch, 20, take_over)
    assert run(cell) == 1
    assert contents(cell.directory) == {"eval.csv": b"somebody else's"}


def test_a_driver_that_lost_its_lease_writes_nothing_more(tmp_path, monkeypatch, capsys):
    cell, seen = make_cell("cem", tmp_path, steps=600), []

    def lose(training):
        assert training.files.counted["episodes"]._lines  # there are rows to be lost
        (cell.directory / "lease-000002").write_text("{}\n")
        seen.append({name: data for name, data in contents(cell.directory).items() if name.endswith(".csv")})

    at_result(monkeypatch, 20, lose)
    assert run(cell, checkpoint_every=1000.0) == 1
    assert str(cell.directory) in capsys.readouterr().err
    after = contents(cell.directory)
    assert {name: after[name] for name in seen[0]} == seen[0]


@pytest.mark.parametrize("name", ["lease-000001", "eval.csv", "episodes.csv"])
def test_a_file_that_is_removed_under_a_run_is_named(tmp_path, monkeypatch, capsys, name):
    cell = make_cell("cem", tmp_path, steps=600)
    at_result(monkeypatch, 20, lambda training: (cell.directory / name).unlink())
    assert run(cell) == 1
    path = cell.directory if name.startswith("lease") else cell.directory / name
    assert f"{path} was moved" in capsys.readouterr().err


# -- rows without what belongs to them --------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [b"", b"{", b"[]", b"\xff\xfe", None])
def test_a_finished_run_without_a_readable_status_is_not_computed_over(tmp_path, capsys, finished, status):
    cell = copied(finished, tmp_path)
    path = cell.directory / "status.json"
    path.unlink()
    if status is not None:
        path.write_bytes(status)
    before = contents(cell.directory)
    assert run(cell) == 1
    assert contents(cell.directory) == before
    assert f"{cell.directory} holds rows" in capsys.readouterr().err


def test_a_run_has_a_checkpoint_before_it_has_rows(tmp_path, monkeypatch):
    cell = make_cell("cem", tmp_path, steps=300)

    class Killed(BaseException):
        pass

    def kill(training):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Run, "train", kill)
        with pytest.raises(Killed):
            run(cell, checkpoint_every=1000.0)
    assert RunFolder(cell.directory).has_checkpoint()
    assert not RunFolder(cell.directory).has_rows()
    assert run(cell) == 0


@pytest.mark.parametrize(("text", "state"), [("", "empty"), ("# nothing\n", "empty"), (None, "missing")])
@pytest.mark.parametrize("done", [True, False])
def test_rows_without_a_configuration_are_refused(tmp_path, finished, text, state, done):
    cell = copied(finished, tmp_path) if done else interrupt(make_cell("cem", tmp_path), 20)
    path = cell.directory / "config.toml"
    path.unlink()
    if text is not None:
        path.write_text(text)
    before = contents(cell.directory)
    with pytest.raises(UsageError, match=rf"config\.toml is {state}"):
        run(make_cell("cem", tmp_path, steps=300, settings={"tau_cem": 0.5}))
    assert contents(cell.directory) == before


# -- bytes that change ------------------------------------------------------------------------------------------------


def flip(data):
    data[len(data) // 3] ^= 4


def zero(data):
    data[8:24] = bytes(16)


def shorten(data):
    del data[len(data) // 2 :]


@pytest.mark.parametrize("name", ["observations.f32", "transitions.f32", "rows.i32"])
@pytest.mark.parametrize("damage", [flip, zero, shorten])
def test_damage_to_the_replay_is_named_before_anything_is_learnt(tmp_path, capsys, learning, name, damage):
    cell = copied(learning, tmp_path)
    path = cell.directory / "replay" / name
    data = bytearray(path.read_bytes())
    damage(data)
    path.write_bytes(data)
    before = (cell.directory / "episodes.csv").read_bytes()
    assert run(cell) == 1
    message = capsys.readouterr().err
    assert (str(path) in message, "truncated" in message) == (True, damage is shorten)
    assert "--force" in message
    assert (cell.directory / "episodes.csv").read_bytes() == before


def test_damage_behind_an_older_checkpoint_only_costs_the_newest(tmp_path, learning):
    cell = copied(learning, tmp_path / "parts")
    path = cell.directory / "replay" / "observations.f32"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    newest = checkpoints(cell.directory / "checkpoint")[0].name
    assert run(cell) == 0
    (discarded,) = (row for row in rows(cell.directory, "events.csv") if row["event"] == "discarded")
    assert newest in discarded["message"]
    whole = make_cell("td3", tmp_path / "whole", steps=800)
    assert run(whole) == 0
    assert all_rows(cell.directory) == all_rows(whole.directory)


@pytest.mark.parametrize("name", ["eval.csv", "episodes.csv", "tasks.csv", "train.csv", "policy.safetensors"])
@pytest.mark.parametrize("damage", [flip, shorten, None])
def test_a_damaged_file_of_a_finished_run_is_named(tmp_path, capsys, finished, name, damage):
    cell = copied(finished, tmp_path)
    path = cell.directory / name
    data = bytearray(path.read_bytes())
    path.unlink()
    if damage is not None:
        damage(data)
        path.write_bytes(data)
    before = contents(cell.directory)
    assert run(cell) == 1
    reason = "edited or truncated" if damage else "No such file or directory"
    assert f"damaged: {name} ({reason})" in capsys.readouterr().err
    assert contents(cell.directory) == before


# -- locks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["eval.csv", "status.json", "config.toml", "replay/rows.i32", "checkpoint"])
def test_a_fifo_in_place_of_a_file_is_named_and_not_waited_for(tmp_path, capsys, learning, name):
    cell = copied(learning, tmp_path)
    path = cell.directory / name
    if name == "checkpoint":
        path = checkpoints(path)[0] / "arrays.safetensors"
    path.unlink()
    os.mkfifo(path)
    try:
        code = run(cell)
    except UsageError as error:
        code = error.exit_code
    if name == "status.json":
        assert code == 0  # the checkpoint says where to go on
    elif name == "checkpoint":
        assert code == 0
        assert "discarded" in [row["event"] for row in rows(cell.directory, "events.csv")]
    else:
        assert code in (1, 2)
        assert code == 2 or str(path) in capsys.readouterr().err
