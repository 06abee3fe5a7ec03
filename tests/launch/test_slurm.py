"""What Slurm is asked for; a program in place of sbatch records it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from erlbench.errors import UsageError
from erlbench.experiment.cells import RunOptions
from erlbench.launch.job import SlurmJob, preempted
from erlbench.launch.slurm import read_minutes, submitit_parameters
from tests.runs import make_cell

SBATCH = """#!/bin/sh
cat "$1" > {record}
echo Submitted batch job 4711
"""
RUN = [sys.executable, "-m", "erlbench", "run", "--algo", "cem", "--env", "InvertedPendulum-v5"]


def fake_slurm(folder: Path, sbatch: str) -> str:
    """A PATH on which there is a Slurm, whose sbatch is the given shell script."""
    for name, text in (("sbatch", sbatch), ("srun", "#!/bin/sh\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def run(out: Path, *words: str, path: str) -> subprocess.CompletedProcess[str]:
    command = [*RUN, "--slurm", "comment=test", "--out", str(out), *words]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=120)


def test_an_array_with_one_job_for_each_cell(tmp_path):
    record = tmp_path / "submitted"
    path = fake_slurm(tmp_path, SBATCH.format(record=record))
    words = ["--seeds", "3", "--slurm", "partition=long", "--slurm", "time=1-00:30:00", "--slurm", "cpus=4"]
    words += ["--slurm", "account=lab", "--slurm", "nice=10", "--jobs", "2"]
    done = run(tmp_path / "out", *words, path=path)
    assert done.returncode == 0, done.stderr
    assert f" erlbench show {tmp_path / 'out'}\n" in done.stdout
    assert " scancel 4711\n" in done.stdout
    lines = set(re.findall(r"#SBATCH --(\S+)", record.read_text()))
    expected = {"array=0-2%2", "partition=long", "time=1470", "cpus-per-task=4", "account=lab", "nice=10"}
    assert expected <= lines
    assert "signal=USR2@120" in lines
    assert not list((tmp_path / "out").rglob("eval.csv"))


@pytest.mark.parametrize(("state", "expected"), [("RUNNING", True), ("COMPLETING", False), ("CANCELLED", False)])
def test_a_job_that_slurm_stops_was_preempted_unless_it_was_cancelled(state, expected, tmp_path, monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert not preempted(), "no job of Slurm's"
    (tmp_path / "squeue").write_text(f'#!/bin/sh\ntest "$4" = --jobs=17 && echo {state}\n')
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert preempted() == expected


def test_no_slurm_here(tmp_path):
    (tmp_path / "bin").mkdir()
    done = run(tmp_path / "out", path=str(tmp_path / "bin"))
    assert (done.returncode, done.stderr.splitlines(keepends=True)[-1]) == (
        2,
        "erlbench: there is no Slurm here (no command sbatch); give this command on a login node\n",
    )


def test_a_slurm_that_refuses(tmp_path):
    """What Slurm 22.05 says."""
    lines = ("invalid partition specified: nowhere", "Batch job submission failed: Invalid partition name specified")
    refusal = "#!/bin/sh\n" + "".join(f"echo 'sbatch: error: {line}' >&2\n" for line in lines) + "exit 1\n"
    done = run(tmp_path / "out", "--slurm", "partition=nowhere", path=fake_slurm(tmp_path, refusal))
    assert done.returncode == 2
    assert done.stderr.splitlines(keepends=True)[-1] == f"erlbench: Slurm did not take the jobs: {'; '.join(lines)}\n"


@pytest.mark.parametrize(
    ("text", "expected"), [("90", 90), ("1:30:00", 90), ("1:30", 90), ("2-12:00:00", 3600), ("0:00:30", 1)]
)
def test_slurms_times_are_minutes(text, expected):
    assert read_minutes(text) == expected


@pytest.mark.parametrize("text", ["0", "x", "1:2:3", "-5", "1h"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(UsageError, match="--slurm time"):
        read_minutes(text)


def test_a_time_in_which_a_job_could_do_little_but_save_is_refused():
    assert submitit_parameters({"time": "10"}, jobs=1)["time"] == 10
    with pytest.raises(UsageError, match=r"--slurm time .*\b10\b.*\b9\b"):
        submitit_parameters({"time": "9"}, jobs=1)
    with pytest.raises(UsageError, match=r"cpus.*abc"):
        submitit_parameters({"cpus": "abc"}, jobs=1)


def test_unknown_options_go_to_sbatch_as_they_are():
    found = submitit_parameters({"mem": "8G", "mail_user": "a@b.c"}, jobs=1)
    assert found["additional_parameters"] == {"mem": "8G", "mail-user": "a@b.c"}
    assert found["cpus_per_task"] == 1


def test_the_cores_of_a_job_are_those_that_the_study_names(tmp_path):
    record = tmp_path / "submitted"
    path = fake_slurm(tmp_path, SBATCH.format(record=record))
    words = ["--study", "esac-figure-2-center", "--algo", "es-n10-p8", "--slurm", "mem=8G", "--seeds", "1"]
    command = [sys.executable, "-m", "erlbench", "run", *words, "--out", str(tmp_path / "out")]
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "#SBATCH --cpus-per-task=8\n" in record.read_text()


def test_processes_are_not_slurms(tmp_path):
    done = run(tmp_path / "out", "--processes", "8", path=fake_slurm(tmp_path, SBATCH.format(record=tmp_path / "x")))
    assert (done.returncode, "--slurm cpus=" in done.stderr) == (2, True)


def test_one_job_at_once_is_one():
    assert submitit_parameters({}, jobs=1)["array_parallelism"] == 1
    assert submitit_parameters({}, jobs=None)["array_parallelism"] == 1000


def test_only_what_is_not_done_is_submitted(tmp_path):
    record, words = tmp_path / "submitted", ["--out", str(tmp_path / "out"), "--total-timesteps", "50"]
    subprocess.run([*RUN, *words, "--seeds", "1,", "-q"], check=True, timeout=120)
    path = fake_slurm(tmp_path, SBATCH.format(record=record))
    done = run(tmp_path / "out", *words, "--seeds", "3", path=path)
    assert "2 jobs in array 4711" in done.stdout, done.stderr
    assert "#SBATCH --array=0-1%" in record.read_text()


def test_a_refused_cell_is_told_in_the_jobs_log(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    cell = make_cell("cem", tmp_path / "file", steps=50)
    assert SlurmJob((cell,), RunOptions(0, verbosity=-1), os.getcwd()).run() == 2
    said = capsys.readouterr().err
    assert str(cell.directory) in said
    assert "Traceback" not in said
