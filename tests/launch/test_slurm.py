"""What Slurm is asked for, recorded by a program in place of sbatch; and a job, in submitit's local executor."""

import os
import re
import signal

import pytest
import submitit

from erlbench.errors import UsageError
from erlbench.experiment.cells import RunOptions
from erlbench.launch.job import SlurmJob, preempted
from erlbench.launch.slurm import read_minutes, submitit_parameters
from tests.calls import call
from tests.processes import command as command_line
from tests.processes import lines, processes_below, wait_for
from tests.runs import check_same_as_whole, csv_rows, make_cell
from tests.tables import cells

SBATCH = 'cat "$1" > {record}\necho Submitted batch job 4711'
REFUSES = "echo 'sbatch: error: invalid partition specified: nowhere' >&2; exit 1"  # what Slurm 22.05 says
CEM = ("--algo", "cem", "--env", "InvertedPendulum-v5")


@pytest.fixture
def command(tmp_path, monkeypatch):
    """`erlbench run` where sbatch is a shell script; its result, and the options of the file that sbatch gets."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def run(*words, sbatch=SBATCH, commands="sbatch srun"):
        for name in commands.split():
            (tmp_path / name).write_text("#!/bin/sh\n" + sbatch.format(record=tmp_path / "submitted"))
            (tmp_path / name).chmod(0o755)
        result = call("run", *words, "--out", tmp_path / "my out")
        submitted = tmp_path / "submitted"
        return result, set(re.findall(r"#SBATCH --(\S+)", submitted.read_text() if submitted.exists() else ""))

    return run


def test_an_array_has_one_job_for_each_cell_that_is_not_done(tmp_path, command):
    few = (*CEM, "--total-timesteps", "50")
    assert command(*few, "--seeds", "1,", "-q", "--processes", "0")[0].exit_code == 0
    given = ("comment=test", "partition=long", "time=1-00:30:00", "cpus=4", "account=lab", "nice=10")
    slurm = [word for option in given for word in ("--slurm", option)]
    result, options = command(*few, "--seeds", "3", "--jobs", "2", *slurm)
    assert result.exit_code == 0, result.output
    assert "2 jobs in array 4711" in result.stdout
    assert f" erlbench show '{tmp_path / 'my out'}'\n" in result.stdout
    assert " scancel 4711\n" in result.stdout
    expected = {"array=0-1%2", "partition=long", "time=1470", "cpus-per-task=4", "account=lab", "nice=10"}
    assert expected | {"signal=USR2@120"} <= options
    assert len(list((tmp_path / "my out").rglob("eval.csv"))) == 1


def test_the_cores_of_a_job_are_those_that_the_study_names(command):
    words = ("--study", "esac-figure-2-center", "--algo", "es-n10-p8", "--slurm", "time=60", "--seeds", "2")
    assert {"cpus-per-task=8", "array=0-1%2"} <= command(*words)[1]


# What is asked for, on a machine with some commands.
REFUSED = """
time=60                           |             | no command sbatch
time=60                           | sbatch      | no command srun
partition=nowhere --slurm time=60 | sbatch srun | Slurm did not take the jobs: invalid partition
comment=x --processes 8           | sbatch srun | --slurm cpus=
partition=cpu                     | sbatch srun | --slurm time=
time=1 --dry-run                  |             | --slurm time must be
array=0-9 --slurm time=60         | sbatch srun | --slurm array
"""


@pytest.mark.parametrize(("words", "commands", "message"), cells(REFUSED))
def test_what_cannot_be_submitted_is_refused(words, commands, message, command):
    result, _ = command(*CEM, "--slurm", *words.split(), sbatch=REFUSES, commands=commands)
    assert (result.exit_code, message in result.stderr) == (2, True), result.output


@pytest.mark.parametrize(("state", "expected"), [("RUNNING", True), ("COMPLETING", False), ("CANCELLED", False)])
def test_a_job_that_slurm_stops_was_preempted_unless_it_was_cancelled(state, expected, tmp_path, monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert not preempted(), "no job of Slurm's"
    (tmp_path / "squeue").write_text(f'#!/bin/sh\ntest "$3" = --jobs=17 && echo {state}\n')
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert preempted() == expected


def test_options_become_those_of_submitit():
    minutes = {"90": 90, "90:00": 90, "1:30": 2, "1:30:00": 90, "2-12": 3600, "2-12:00:00": 3600, "0:00:30": 1}
    assert {text: read_minutes(text) for text in minutes} == minutes
    parameters = submitit_parameters({"mem": "8G", "mail-user": "a@b.c", "job-name": "mine", "time": "10"}, jobs=1)
    assert parameters["additional_parameters"] == {"mem": "8G", "mail_user": "a@b.c", "job_name": "mine"}
    assert [parameters[name] for name in ("time", "cpus_per_task", "array_parallelism")] == [10, 1, 1]
    further = submitit_parameters({"time": "10", "cpus-per-task": "4"}, jobs=None)
    assert [further["array_parallelism"], further["cpus_per_task"]] == [1000, 4]


@pytest.mark.parametrize("given", ["time=0", "time=x", "time=1:2:3", "time=-5", "time=1h", "time=9", "cpus=abc"])
def test_a_value_that_cannot_be_is_named(given):
    option, text = given.split("=")
    with pytest.raises(UsageError, match=rf"{option}.*{text}"):
        submitit_parameters({option: text}, jobs=1)


def test_a_refused_cell_is_told_in_the_jobs_log(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    cell = make_cell("cem", tmp_path / "file", steps=50)
    assert SlurmJob((cell,), RunOptions(0, verbosity=-1), os.getcwd()).run() == 2
    said = capsys.readouterr().err
    assert str(cell.directory) in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_preempted_job_saves_and_goes_on_in_the_next(tmp_path):
    cell = make_cell("cem-rl", tmp_path / "results", steps=5000)
    executor = submitit.LocalExecutor(tmp_path / "logs")
    executor.update_parameters(timeout_min=60)
    options = RunOptions(1, device="cpu", command_line=("erlbench", "run"))
    job = executor.submit(SlurmJob((cell,), options, os.getcwd()))
    wait_for(lambda: lines(cell.directory / "tasks.csv") > 30, 120)
    number = next(pid for pid in processes_below(os.getpid()) if "submitit.core._submit" in command_line(pid))
    for pid in (*processes_below(number), number):
        os.kill(pid, signal.SIGUSR2)  # Slurm sends it to all processes of a job
    assert job.result() == 0
    assert [row["event"] for row in csv_rows(cell.directory / "events.csv")] == ["resumed"]
    check_same_as_whole(cell)
