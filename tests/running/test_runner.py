"""Running cells: what goes wrong in one leaves the others alone, and every message says what to do."""

import errno
import itertools
import os
import re
import shutil
import signal
import threading
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import tomli_w

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.experiment.studies import load_studies
from erlbench.pool.base import make_pool
from erlbench.records.run import POLICY
from erlbench.records.write import RowFile
from erlbench.running import loop
from erlbench.running.command import catch_signals
from erlbench.running.folder import RunFolder
from erlbench.running.loop import Run
from tests.reporting.compare import find_rows
from tests.runs import at_result, check_same_as_whole, complete, interrupt, make_cell, meta, rows, run, status, stop
from tests.tables import cells

BROKEN = """
reward           | (es): the reward of step 5 is nan
observation-1e39 | (es): the observation before step 6 has a NaN, infinite or too large value for float32
raise            | (es): the environment raised RuntimeError at step 5
list             | the environment's observation of step 1 is a list of 2 values
"""


@pytest.mark.parametrize(("how", "message"), cells(BROKEN))
def test_a_cell_fails_with_the_step_and_the_task_and_others_go_on(tmp_path, capsys, how, message):
    bad = make_cell("cem", tmp_path, env=f"tests.environments:Broken-{how}-v0", steps=500)
    good = make_cell("cem", tmp_path, steps=200)
    assert run(bad, good, processes=1, admission=False, verbosity=0) == 1
    said = capsys.readouterr().err
    for word in (
        f"{good.label}: done",
        "1 of 2",
        "1 failed",
        f"erlbench show {tmp_path}",
        f"Results: {tmp_path}",
        f"erlbench report {tmp_path}",
    ):
        assert word in said
    assert status(good)["status"] == "done"
    assert status(bad)["status"] == "failed"
    assert message in status(bad)["message"]
    path = bad.directory / "error.txt"
    if how == "raise":
        assert "RuntimeError: the motor" in path.read_text()
        assert status(bad)["message"].endswith(f"(traceback in {path})")
    elif how == "reward":  # of which the message says all
        assert not path.exists()


def test_a_start_records_its_command_and_the_studies(tmp_path, capsys):
    cell, path = make_cell("cem", tmp_path, steps=50), tmp_path / "study.toml"
    study = {"title": "", "envs": ["A-v0"], "entries": [{"algo": "cem"}], "seeds": 1, "total_timesteps": 9}
    texts = {name: tomli_w.dumps({"studies": {name: study}}) for name in ("mine", "yours")}
    options = {"processes": 1, "studies": {"mine": "a1", "yours": "b2"}, "one_core": True}
    complete(cell, **options, study_texts={path: {"mine": texts["mine"]}})
    assert capsys.readouterr().err == ""
    complete(cell, **options, study_texts={path: texts}, verbosity=0)
    assert f"Results: {cell.directory}\n" in capsys.readouterr().err
    assert [*load_studies(path)] == ["mine", "yours"]
    (made,) = find_rows([tmp_path], pytest.fail)
    assert (made.studies, made.command) == (("mine", "yours"), "erlbench run")
    assert (made.processes, made.jobs, made.threads, made.device) == ("1", "1", "1", "cpu")
    (start,) = meta(cell)["starts"]
    assert (start["one_core"], start["pool"], start["device"]) == (True, "process", "cpu")
    assert (start["exclusive"], start["cells_at_once"]) == (True, 1)


def test_cells_share_a_pool_while_they_need_the_same_and_begin_with_an_empty_one(tmp_path, monkeypatch):
    """One at a time they run in the thread of the command, and leave no thread, no open file and no store."""
    made, found, left, stores, begin = [], [], [], set(), Run._begin

    def make(options):
        made.append(options.processes)
        return make_pool(replace(options, processes=0))

    def note(training):
        assert threading.current_thread() is threading.main_thread()
        assert [thread for thread in threading.enumerate() if not thread.daemon] == [threading.main_thread()]
        stores.add(training.pool.store.folder)
        found.append(len(os.listdir(training.pool.store.folder)))
        begin(training)

    monkeypatch.setattr("erlbench.running.cell.make_pool", make)
    monkeypatch.setattr(Run, "_begin", note)
    for out in ("a", "b"):
        pinned = enumerate((None, None, 2, None))
        complete(*(make_cell("cem", tmp_path / out, steps=50, seed=seed, processes=number) for seed, number in pinned))
        left.append((threading.active_count(), len(os.listdir("/proc/self/fd"))))
    assert made == [0, 2, 0] * 2
    assert found == found[:1] * 8
    assert left[0] == left[1]
    assert not any(map(os.path.exists, stores))


def test_a_run_is_saved_from_time_to_time_and_keeps_two_checkpoints(tmp_path, monkeypatch):
    """A second passes with each look at the clock: at the beginning, after 10 and 20 results, and at the end."""
    monkeypatch.setattr(loop, "time", Mock(monotonic=itertools.count().__next__))
    cell = interrupt(make_cell("cem", tmp_path), 25, checkpoint_every=10)
    assert sorted(os.listdir(cell.directory / "checkpoint")) == ["000003", "000004"]


def test_a_held_directory_is_refused_before_anything_starts(tmp_path):
    held, free = make_cell("cem", tmp_path, seed=1), make_cell("cem", tmp_path, seed=0)
    directory = RunFolder(held.directory)
    directory.hold()
    with pytest.raises(UsageError, match=re.escape(str(held.directory))):
        run(free, held)
    assert not free.directory.exists()
    directory.release()


def test_what_another_command_has_begun_since_the_start_in_a_folder_is_refused(tmp_path, monkeypatch):
    first, waiting = (make_cell("cem", tmp_path, steps=200, seed=seed) for seed in (0, 1))
    hold = RunFolder.hold

    def begin_other(directory):
        if directory.path == first.directory:
            monkeypatch.setattr(RunFolder, "hold", hold)
            with pytest.MonkeyPatch.context() as patch:
                at_result(patch, 5, stop)
                assert run(replace(waiting, eval_freq=100)) == 130
        hold(directory)

    monkeypatch.setattr(RunFolder, "hold", begin_other)
    assert run(first, waiting) == 1
    assert [status(cell)["status"] for cell in (first, waiting)] == ["done", "interrupted"]


def test_the_command_that_goes_on_does_not_start_anew(tmp_path, capsys):
    cell = make_cell("cem", tmp_path)
    interrupt(cell, 5, force=True, command_line=("erlbench", "run", "--force", "--quiet"))
    assert capsys.readouterr().err.endswith("To go on:\nerlbench run --quiet\n")
    interrupt(cell, 5, command_line=())  # of a function
    assert capsys.readouterr().err == ""


def test_a_signal_that_is_ignored_stays_ignored():
    before, stop = signal.signal(signal.SIGHUP, signal.SIG_IGN), threading.Event()
    try:
        with catch_signals(stop):
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop.is_set()
            assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_run_can_end_after_so_many_generations(tmp_path):
    cell = complete(make_cell("cem", tmp_path, steps=100_000, total_generations=3))
    generations = rows(cell.directory, "train.csv")
    assert [int(row["generation"]) for row in generations] == [1, 2, 3]
    assert "nan_fitness" not in generations[0]
    assert int(rows(cell.directory, "eval.csv")[-1]["generation"]) == 3
    assert cell.config()["run"]["total_generations"] == 3


def test_a_run_whose_algorithm_stops_below_its_budget_is_not_done(tmp_path, monkeypatch):
    kind = registry.find("cem")
    ask = kind._ask
    monkeypatch.setattr(kind, "_ask", lambda self: [] if self.counters.generation else ask(self))
    cell = make_cell("cem", tmp_path)
    assert run(cell) == 1
    steps = rows(cell.directory, "train.csv")[-1]["timesteps"]
    assert (status(cell)["status"], int(steps) < 1000) == ("failed", True)
    assert f"cem asked for no task after {steps} steps" in status(cell)["message"]


@pytest.mark.parametrize(
    ("method", "value", "named"),
    [
        ("_ask", None, "_ask of CEM must return a list of tasks, not None"),
        ("_ask", [3], r"not \[3\]"),
        ("metrics", None, "not None"),
        ("metrics", {"a": "x"}, "'a' is 'x'"),
        ("metrics", {"a": np.ones(2)}, "'a' is array"),
        ("metrics", {"timesteps": 1.0}, "'timesteps', as train.csv has"),
    ],
)
def test_what_an_algorithm_may_not_give_is_named(tmp_path, monkeypatch, method, value, named):
    monkeypatch.setattr(registry.find("cem"), method, lambda self: value)
    cell = make_cell("cem", tmp_path)
    assert run(cell) == 1
    assert re.search(named, status(cell)["message"])
    assert not (cell.directory / "error.txt").exists()


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "the disk is full ({}); free some space and run the same command again"),
        (errno.EMFILE, "this process has too many open files ({}); raise the limit (ulimit -n 4096) or lower --jobs"),
        (errno.EFBIG, "a file would become larger than this shell allows ({}); raise the limit (ulimit -f unlimited)"),
        (errno.EROFS, "the file system is read-only ({}); choose another folder by --out"),
    ],
)
def test_what_fails_while_a_file_is_written_is_explained_and_the_run_goes_on_later(
    tmp_path, monkeypatch, number, message
):
    write, append, name = RunFolder.write, RowFile._append, "episodes.csv" if number == errno.ENOSPC else POLICY
    cell = make_cell("cem", tmp_path, steps=600)
    path = cell.directory / name

    def fail():
        raise OSError(number, os.strerror(number), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "write", lambda folder, *args: fail() if name in args else write(folder, *args))
        patch.setattr(
            RowFile, "_append",
            lambda file, data: fail() if file.path == path and file._length > 300 else append(file, data),
        )  # fmt: skip
        assert run(cell, checkpoint_every=0.0) == 1
    assert message.format(path) in status(cell)["message"]
    check_same_as_whole(complete(cell))


def test_a_store_that_another_program_removes_costs_its_cell_alone_and_no_rows(tmp_path, monkeypatch):
    algorithm = registry.find("cem")
    tell, left = algorithm._tell, [15]

    def remove(self, task, result):
        left[0] -= 1
        if not left[0]:
            shutil.rmtree(self.context.store.folder)
        tell(self, task, result)

    monkeypatch.setattr(algorithm, "_tell", remove)
    first, second = (make_cell("cem", tmp_path, steps=2000, seed=seed) for seed in range(2))
    assert run(first, second) == 1
    assert [status(cell)["status"] for cell in (first, second)] == ["failed", "done"]
    assert "another program removed" in status(first)["message"]
    complete(first, second)
    check_same_as_whole(first)


@pytest.mark.parametrize("name", ["eval.csv", "checkpoint"])
def test_a_folder_in_place_of_a_file_and_the_reverse_are_explained(tmp_path, capsys, name):
    cell = make_cell("cem", tmp_path, steps=200)
    cell.directory.mkdir(parents=True)
    path = cell.directory / name
    path.mkdir() if path.suffix else path.write_text("")
    assert run(cell) == 1
    error = capsys.readouterr().err
    assert str(path) in error
    assert "Traceback" not in error
