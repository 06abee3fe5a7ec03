"""Running cells: what goes wrong in one leaves the others alone, and every message says what to do."""

import errno
import json
import os
import signal
import threading

import pytest

from erlbench.algorithms import registry
from erlbench.envs.registry import problem
from erlbench.errors import UsageError
from erlbench.experiment.cells import RunOptions
from erlbench.running import runner
from erlbench.running.csv_file import CsvFile
from erlbench.running.results import RunDirectory
from tests.runs import make_cell, rows, run


def status(cell):
    return json.loads((cell.directory / "status.json").read_text())


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("reward", r"(es): the reward of step 5 is nan"),
        ("observation", "(es): the observation before step 6 has a NaN"),
        ("raise", "(es): the environment raised RuntimeError at step 5"),
    ],
)
@pytest.mark.parametrize("processes", [0, 1])
def test_a_cell_fails_with_the_step_and_the_task_and_others_go_on(tmp_path, how, message, processes):
    bad = make_cell("cem", tmp_path, env=f"tests.environments:Broken-{how}-v0", steps=500)
    good = make_cell("cem", tmp_path, steps=200)
    assert run(bad, good, processes=processes) == 1
    assert status(good)["status"] == "done"
    assert status(bad)["status"] == "failed"
    assert message in status(bad)["message"]


def test_a_failed_cell_goes_on_when_the_cause_is_gone(tmp_path, monkeypatch):
    append, full = CsvFile._append, [True]

    def no_space(file, data):
        if full[0] and file.path.name == "episodes.csv" and file._length > 300:
            raise OSError(errno.ENOSPC, "No space left on device", str(file.path))
        append(file, data)

    monkeypatch.setattr(CsvFile, "_append", no_space)
    cell = make_cell("cem", tmp_path, steps=600)
    assert run(cell, checkpoint_every=0.0) == 1
    assert "the disk is full" in status(cell)["message"]
    assert "run the same command again" in status(cell)["message"]
    full[0] = False
    assert run(cell) == 0
    fresh = make_cell("cem", tmp_path / "fresh", steps=600)
    assert run(fresh) == 0
    assert rows(cell.directory, "episodes.csv") == rows(fresh.directory, "episodes.csv")


def test_other_settings_in_the_directory_are_named_and_force_moves_the_old_run_aside(tmp_path):
    assert run(make_cell("cem", tmp_path, steps=200)) == 0
    other = make_cell("cem", tmp_path, steps=200, settings={"tau_cem": 0.9})
    with pytest.raises(UsageError, match=r"settings\.tau_cem: 0\.95 there, 0\.9 now"):
        run(other)
    assert run(other, force=True) == 0
    assert status(other)["status"] == "done"
    assert (other.directory.parent / "seed-000.old-1" / "eval.csv").exists()


def test_a_held_directory_is_refused_before_anything_starts(tmp_path):
    held, free = make_cell("cem", tmp_path, seed=1), make_cell("cem", tmp_path, seed=0)
    directory = RunDirectory(held.directory)
    directory.hold()
    with pytest.raises(UsageError, match="held by another run"):
        run(free, held)
    assert not free.directory.exists()
    directory.release()


@pytest.mark.parametrize(
    ("algo", "settings", "expected"),
    [
        ("p-cem-rl", {}, 5),
        ("p-cem-rl", {"parallel_critic": True}, 8),  # the critic learns beside five individuals
        ("aes-rl", {}, 8),
        ("openai-es", {}, 8),
        ("cem", {}, 8),
    ],
)
def test_only_what_waits_for_its_workers_gets_no_more_processes(algo, settings, expected, tmp_path):
    cell = make_cell(algo, tmp_path, settings=settings, workers=registry.find(algo).default_workers or 0)
    assert runner.processes_for(cell, RunOptions(8)) == expected
    assert runner.processes_for(cell, RunOptions(8, jobs=4)) == 2
    assert runner.processes_for(cell, RunOptions(0)) == 0


def test_cells_run_side_by_side(tmp_path):
    cells = [make_cell("cem", tmp_path, steps=300, seed=seed) for seed in range(3)]
    assert run(*cells, processes=2, jobs=2) == 0
    assert [status(cell)["status"] for cell in cells] == ["done"] * 3
    alone = make_cell("cem", tmp_path / "alone", steps=300, seed=1)
    assert run(alone) == 0
    assert rows(alone.directory, "eval.csv") == rows(cells[1].directory, "eval.csv")


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("tests.environments:DictObservation-v0", "a flat Box is needed"),
        ("tests.environments:Unbounded-v0", "unbounded actions"),
        ("HalfCheeta-v5", r"did you mean 'HalfCheetah-v5'"),
        ("no.such.module:Thing-v0", "cannot be made"),
        ("Taxi-v4", "a flat Box is needed"),
        (":Thing-v0", "cannot be made: ValueError: Empty module name"),
        ("tests.environments:NoAction-v0", "a flat Box or a Discrete is needed"),
        ("tests.environments:Unmakeable-v0", "cannot be made: RuntimeError: no such robot"),
    ],
)
def test_an_environment_that_does_not_fit_is_refused(env, message):
    with pytest.raises(UsageError, match=message):
        problem(env)


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = threading.Event()
    try:
        with runner._signals(stop):
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop.is_set()
            assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_failure_is_told_even_when_quiet(tmp_path, capsys):
    bad = make_cell("cem", tmp_path, env="tests.environments:Broken-raise-v0", steps=500)
    assert run(bad) == 1
    assert "seed 0: failed: task" in capsys.readouterr().err


def test_a_run_can_end_after_so_many_generations(tmp_path):
    cell = make_cell("cem", tmp_path, steps=100_000, total_generations=3)
    assert run(cell) == 0
    generations = [int(row["generation"]) for row in rows(cell.directory, "train.csv")]
    assert generations == [1, 2, 3]
    assert int(rows(cell.directory, "eval.csv")[-1]["generation"]) == 3
    assert cell.config()["run"]["total_generations"] == 3
