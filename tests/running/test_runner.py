"""Running cells: what goes wrong in one leaves the others alone, and every message says what to do."""

import errno
import json
import os
import re
import shutil
import signal
import threading
import time

import pytest

from erlbench.algorithms import registry
from erlbench.errors import UsageError, explain
from erlbench.experiment.cells import RunOptions
from erlbench.records.run import POLICY
from erlbench.records.write import RowFile
from erlbench.running import command
from erlbench.running.folder import RunFolder
from tests.processes import wait_for
from tests.reporting.compare import find_rows
from tests.runs import make_cell, rows, run


def status(cell):
    return json.loads((cell.directory / "status.json").read_text())


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("reward", r"(es): the reward of step 5 is nan"),
        ("observation", "(es): the observation before step 6 has a NaN"),
        ("raise", "(es): the environment raised RuntimeError at step 5"),
        ("observation-1e39", "(es): the observation before step 6 has a NaN, infinite or too large value for float32"),
        ("reward-1e308", "the reward of step 1 is 1e+308, which float32 cannot hold"),
        ("shape", "the environment's observation of step 1 is a ndarray of shape (1,) and dtype float64"),
        ("matrix", "the environment's observation of step 1 is a ndarray of shape (1, 2) and dtype float64"),
        ("complex", "the environment's observation of step 1 is a ndarray of shape (2,) and dtype complex128"),
        ("list", "the environment's observation of step 1 is a list of 2 values"),
    ],
)
def test_a_cell_fails_with_the_step_and_the_task_and_others_go_on(tmp_path, how, message):
    bad = make_cell("cem", tmp_path, env=f"tests.environments:Broken-{how}-v0", steps=500)
    good = make_cell("cem", tmp_path, steps=200)
    assert run(bad, good, processes=1, admission=False) == 1
    assert status(good)["status"] == "done"
    assert status(bad)["status"] == "failed"
    assert message in status(bad)["message"]


def test_a_start_records_its_command_and_the_studies(tmp_path):
    cell = make_cell("cem", tmp_path, steps=50)
    assert run(cell, processes=1, studies={"mine": "a1", "yours": "b2"}, one_core=True) == 0
    (found,) = find_rows([tmp_path], pytest.fail)
    assert found.studies == ("mine", "yours")
    assert found.command == "erlbench run"
    assert (found.processes, found.jobs, found.threads, found.device) == ("1", "1", "1", "cpu")
    start = RunFolder(cell.directory).meta()["starts"][0]
    assert (start["one_core"], start["pool"]) == (True, "process")


def test_a_failed_cell_goes_on_when_the_cause_is_gone(tmp_path, monkeypatch):
    append, full = RowFile._append, [True]

    def no_space(file, data):
        if full[0] and file.path.name == "episodes.csv" and file._length > 300:
            raise OSError(errno.ENOSPC, "No space left on device", str(file.path))
        append(file, data)

    monkeypatch.setattr(RowFile, "_append", no_space)
    cell = make_cell("cem", tmp_path, steps=600)
    assert run(cell, checkpoint_every=0.0) == 1
    full_disk = OSError(errno.ENOSPC, "", str(cell.directory / "episodes.csv"))
    assert status(cell)["message"] == explain(full_disk)
    full[0] = False
    assert run(cell) == 0
    fresh = make_cell("cem", tmp_path / "fresh", steps=600)
    assert run(fresh) == 0
    assert rows(cell.directory, "episodes.csv") == rows(fresh.directory, "episodes.csv")


def test_other_settings_in_the_directory_are_named_and_force_moves_the_old_run_aside(tmp_path):
    assert run(make_cell("cem", tmp_path, steps=200)) == 0
    other = make_cell("cem", tmp_path, steps=200, settings={"tau_cem": 0.9})
    with pytest.raises(UsageError, match=r"settings\.tau_cem: 0\.95 .*0\.9"):
        run(other)
    assert run(other, force=True) == 0
    assert status(other)["status"] == "done"
    assert (other.directory.parent / "seed-000.old-1" / "eval.csv").exists()


def test_a_held_directory_is_refused_before_anything_starts(tmp_path):
    held, free = make_cell("cem", tmp_path, seed=1), make_cell("cem", tmp_path, seed=0)
    directory = RunFolder(held.directory)
    directory.hold()
    with pytest.raises(UsageError, match=re.escape(str(held.directory))):
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
    assert command.processes_for(cell, RunOptions(8)) == expected
    assert command.processes_for(cell, RunOptions(8, jobs=4)) == 2
    assert command.processes_for(cell, RunOptions(0)) == 0


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = threading.Event()
    try:
        with command.catch_signals(stop):
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop.is_set()
            assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_traceback_of_a_failure_is_kept_in_a_file(tmp_path):
    """Where there is one worth reading: not for a NaN, of which the message says all."""
    raises, is_nan = (
        make_cell("cem", tmp_path, env=f"tests.environments:Broken-{how}-v0", steps=500) for how in ("raise", "reward")
    )
    assert run(raises, is_nan, admission=False) == 1
    path = raises.directory / "error.txt"
    assert "RuntimeError: the motor" in path.read_text()
    assert status(raises)["message"].endswith(f"(traceback in {path})")
    assert not (is_nan.directory / "error.txt").exists()


def test_a_run_can_end_after_so_many_generations(tmp_path):
    cell = make_cell("cem", tmp_path, steps=100_000, total_generations=3)
    assert run(cell) == 0
    generations = [int(row["generation"]) for row in rows(cell.directory, "train.csv")]
    assert generations == [1, 2, 3]
    assert int(rows(cell.directory, "eval.csv")[-1]["generation"]) == 3
    assert cell.config()["run"]["total_generations"] == 3


@pytest.mark.parametrize("algo", ["td3", "ppo"])
def test_learners_check_observations_too(tmp_path, algo):
    cell = make_cell(algo, tmp_path, env="tests.environments:Broken-matrix-v0", steps=100)
    assert run(cell, admission=False) == 1
    assert "observation of step 1" in status(cell)["message"]


@pytest.mark.parametrize(("processes", "number"), [(0, signal.SIGTERM), (0, signal.SIGINT), (1, signal.SIGTERM)])
def test_a_signal_in_the_middle_of_a_long_task_is_answered_at_once(tmp_path, processes, number):
    before = signal.signal(number, signal.default_int_handler)  # a shell's background job ignores SIGINT
    cell = make_cell("cem", tmp_path, env="tests.environments:Broken-endless-v0", steps=2_000_000)
    asked = []

    def ask():
        wait_for(RunFolder(cell.directory).has_checkpoint)  # then it prepares its worker, and trains
        time.sleep(3.0 if processes else 1.0)
        asked.append(time.monotonic())
        os.kill(os.getpid(), number)

    threading.Thread(target=ask).start()
    try:
        assert run(cell, processes=processes) == 130
    finally:
        signal.signal(number, before)
    assert time.monotonic() - asked[0] < 10.0  # an episode would take 1000 seconds
    assert status(cell)["status"] == "interrupted"


@pytest.mark.slow
def test_a_leaking_environment_meets_its_worker_s_limit(tmp_path):
    cell = make_cell("cem", tmp_path, env="tests.environments:Leaking-v0", steps=2000)
    assert run(cell, processes=1, worker_memory=500 << 20) == 0
    events = (cell.directory / "events.csv").read_text()
    assert events.count("using more memory than 'worker_memory' allows") >= 4  # 4 GiB in steps of at most 0.5
    whole = make_cell("cem", tmp_path / "whole", env="tests.environments:Broken-none-v0", steps=2000)
    assert run(whole) == 0
    assert rows(cell.directory, "episodes.csv") == rows(whole.directory, "episodes.csv")


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "the disk is full ({}); free some space and run the same command again"),
        (errno.EMFILE, "this process has too many open files ({}); raise the limit (ulimit -n 4096) or lower --jobs"),
        (errno.EFBIG, "a file would become larger than this shell allows ({}); raise the limit (ulimit -f unlimited)"),
        (errno.EROFS, "the file system is read-only ({}); choose another folder by --out"),
    ],
)
def test_what_fails_while_the_policy_is_saved_is_explained(tmp_path, monkeypatch, number, message):
    write, broken = RunFolder.write, [True]

    def fail(directory, name, data):
        if name == POLICY and broken[0]:
            raise OSError(number, os.strerror(number), str(directory.path / name))
        write(directory, name, data)

    monkeypatch.setattr(RunFolder, "write", fail)
    cell = make_cell("cem", tmp_path, steps=200)
    assert run(cell) == 1
    assert message.format(cell.directory / POLICY) in status(cell)["message"]
    broken[0] = False
    assert run(cell) == 0


def test_a_store_that_another_program_removes_costs_its_cell_alone_and_no_rows(tmp_path, monkeypatch):
    algorithm = registry.find("cem")
    tell, left = algorithm._tell, [15]

    def remove(self, task, result):
        left[0] -= 1
        if not left[0]:
            shutil.rmtree(self.context.store.folder)
        tell(self, task, result)

    monkeypatch.setattr(algorithm, "_tell", remove)
    cells = [make_cell("cem", tmp_path / "hit", steps=2000, seed=seed) for seed in range(2)]
    assert run(*cells) == 1
    assert [status(cell)["status"] for cell in cells] == ["failed", "done"]
    assert "another program removed" in status(cells[0])["message"]
    assert run(*cells) == 0
    whole = make_cell("cem", tmp_path / "whole", steps=2000)
    assert run(whole) == 0
    assert rows(cells[0].directory, "episodes.csv") == rows(whole.directory, "episodes.csv")


@pytest.mark.parametrize("name", ["eval.csv", "policy.safetensors", "checkpoint", "replay"])
def test_a_folder_in_place_of_a_file_and_the_reverse_are_explained(tmp_path, capsys, name):
    cell = make_cell("cem", tmp_path, steps=200)
    cell.directory.mkdir(parents=True)
    path = cell.directory / name
    path.mkdir() if path.suffix else path.write_text("")
    assert run(cell) == 1
    error = capsys.readouterr().err
    assert str(path) in error
    assert "stands where a" in error or "move it away" in error
    assert "Traceback" not in error
