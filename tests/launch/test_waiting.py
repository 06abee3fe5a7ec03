"""Waiting for jobs: signals stop those that run, once; the exit code says how they ended."""

from __future__ import annotations

import os
import signal

import pytest

from erlbench.experiment.cells import RunOptions
from erlbench.launch import ray_tasks
from erlbench.launch.ray_tasks import exit_code, wait


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(ray_tasks, "LOOK", 0.0)


def test_jobs_that_end_are_not_stopped(capsys):
    looks = iter([True, False, True])
    assert not wait(["a", "b"], lambda job: next(looks), lambda job: pytest.fail("stopped"))
    assert capsys.readouterr().err == "ended: 1 of 2 jobs\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_jobs_that_run(number):
    looks, stopped = [], []

    def done(job):
        looks.append(job)
        if len(looks) == 2:  # "a" has ended, "b" runs
            os.kill(os.getpid(), number)
        return job == "a" or len(looks) > 4

    before = signal.signal(number, signal.default_int_handler)  # not ignored, however pytest was started
    try:
        assert wait(["a", "b"], done, stopped.append)
        assert signal.getsignal(number) == signal.default_int_handler
    finally:
        signal.signal(number, before)
    assert looks == ["a", "b", "b", "b", "b"]
    assert stopped == ["b"]


def test_one_exit_code_for_all_jobs(capsys):
    options = RunOptions(1, command_line=("erlbench", "run", "--env", "a b"))
    assert [exit_code(codes, False, options) for codes in ([0, 0], [0, 1], [2, 0])] == [0, 1, 1]
    assert capsys.readouterr().err == ""
    assert exit_code([0, 130], False, options) == exit_code([0], True, options) == 130
    assert capsys.readouterr().err.endswith("To go on: erlbench run --env 'a b'\n")
