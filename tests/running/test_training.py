"""A training: checkpoints that are damaged, files that were edited, evaluations afterwards."""

from pathlib import Path

import pytest

from erlbench.running.checkpoint import checkpoints
from erlbench.running.loop import Run
from tests.runs import all_rows, interrupt, make_cell, rows, run, stop


@pytest.fixture
def interrupted(tmp_path):
    """A CEM-RL cell stopped twice, so that there are two checkpoints."""
    cell = interrupt(make_cell("cem-rl", tmp_path / "parts", steps=800), 20, 20)
    assert len(checkpoints(cell.directory / "checkpoint")) == 2
    return cell


def events(cell):
    return (cell.directory / "events.csv").read_text()


def test_a_damaged_checkpoint_gives_way_to_the_one_before(interrupted, tmp_path):
    newest = checkpoints(interrupted.directory / "checkpoint")[0]
    data = bytearray((newest / "arrays.safetensors").read_bytes())
    data[-10] ^= 1
    (newest / "arrays.safetensors").write_bytes(data)
    assert run(interrupted) == 0
    assert f"discarded,checkpoint {newest.name} " in events(interrupted)
    whole = make_cell("cem-rl", tmp_path / "whole", steps=800)
    assert run(whole) == 0
    assert all_rows(interrupted.directory) == all_rows(whole.directory)


def test_damage_to_every_checkpoint_fails_the_cell_and_loses_nothing(interrupted, capsys):
    for path in checkpoints(interrupted.directory / "checkpoint"):
        (path / "state.json").write_text("{}")
    before = (interrupted.directory / "episodes.csv").read_bytes()
    assert run(interrupted) == 1
    status = (interrupted.directory / "status.json").read_text()
    assert "cannot be used" in status
    assert "--force" in status
    assert (interrupted.directory / "episodes.csv").read_bytes() == before


def test_an_edited_csv_file_is_named(interrupted):
    path = interrupted.directory / "episodes.csv"
    path.write_bytes(path.read_bytes()[:60])
    assert run(interrupted) == 1
    assert "episodes.csv was" in (interrupted.directory / "status.json").read_text()


def test_evaluating_afterwards_gives_the_same_scores(tmp_path):
    cells = [make_cell("cem-rl", tmp_path / when, evaluate=when) for when in ("during", "after")]
    assert run(*cells) == 0
    during, after = (rows(cell.directory, "eval.csv") for cell in cells)
    assert during == after
    assert len(during) >= 4


def test_interrupted_while_evaluating_afterwards(tmp_path, monkeypatch):
    whole = make_cell("cem", tmp_path / "whole", evaluate="after")
    assert run(whole) == 0
    parts = make_cell("cem", tmp_path / "parts", evaluate="after")
    play = Run.play_evaluations

    def stop_first(training):
        stop(training)
        play(training)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "play_evaluations", stop_first)
        assert run(parts) == 130
    assert run(parts) == 0
    assert all_rows(parts.directory) == all_rows(whole.directory)


def test_a_finished_cell_is_left_alone(tmp_path):
    cell = make_cell("cem", tmp_path, steps=200)
    assert run(cell) == 0
    before = modified(cell.directory)
    assert run(cell) == 0
    assert before == modified(cell.directory)
    assert not (cell.directory / "replay").exists()
    assert (cell.directory / "policy.safetensors").exists()


def modified(folder: Path) -> dict[str, int]:
    """When each file was last written, those apart that say who holds the folder."""
    return {
        path.name: path.stat().st_mtime_ns for path in folder.iterdir() if not path.name.startswith(("lock", "lease"))
    }
