"""What is said while cells run: time left, lines that fit, and readers that go away."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import threading
import time

import pytest
from rich.console import Console

from erlbench.experiment.cells import RunOptions
from erlbench.running import progress
from erlbench.running.command import run_cells
from erlbench.running.progress import Display, Reading
from tests.runs import make_cell, rows


def reading(steps: int, total: int = 1000, score: float | None = None, **more) -> Reading:
    return Reading(timesteps=steps, total_timesteps=total, last_return=score, busy=2, processes=2, **more)


def terminal() -> Console:
    return Console(file=io.StringIO(), width=80, height=24, force_terminal=True)


@pytest.fixture
def seconds(monkeypatch):
    """The clock of the rates, to be moved."""
    moment = [0.0]
    monkeypatch.setattr(progress.Display.__init__, "__kwdefaults__", None)
    monkeypatch.setattr(progress, "clock", lambda: moment[0])
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)
    return moment


def lines_of(display_readings, seconds, cells=1) -> list[str]:
    """The lines of a cell at (second, reading)."""
    console = Console(file=io.StringIO(), width=500)
    display = Display(cells=cells, console=console)
    for second, place in display_readings:
        seconds[0] = second
        display.update("cem, seed 0", place)
    display.close()
    return console.file.getvalue().splitlines()


def test_the_time_left_follows_the_rate(seconds):
    *_, last = lines_of([(10.0 * step, reading(100 * step)) for step in range(6)], seconds, cells=2)
    assert last.startswith("cem, seed 0: 500/1,000 steps  score -  busy 2/2  10/s  0:00:50 left  [cell 1 of 2, 0:02:")


def test_the_time_left_after_the_training_is_that_of_the_evaluations(seconds):
    """The line said that no time was left, for half an hour."""
    after = [(20.0 + 10 * played, reading(1000, evaluations=9, evaluated=played)) for played in range(5)]
    *_, last = lines_of([(0.0, reading(0)), (10.0, reading(1000)), *after], seconds)
    assert "evaluation 5 of 9" in last
    assert "0:00:50 left  " in last


def screen(written: str) -> list[str]:
    """The lines that a terminal shows after `written`: text, line ends, cursor up, and lines erased."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", written):
        if part == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif part == "\r":
            column = 0
        elif part.startswith("\x1b["):
            count, what = part[2:-1], part[-1]
            row -= int(count or 1) if what == "A" else 0
            lines[row] = "" if (count, what) == ("2", "K") else lines[row]
        else:
            lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + len(part) :]
            column += len(part)
    return [line.rstrip() for line in lines if line.strip()]


def test_no_line_is_wider_than_the_terminal(monkeypatch):
    monkeypatch.setattr(progress, "REDRAW", 0.0)
    label, console = "cem@no-extra-division on LunarLanderContinuous-v3 with a very long name, seed 10", terminal()
    display = Display(console=console)
    for step in range(1, 20):
        display.update(label, reading(10**8 * step // 20, 10**9, -123456.7 * step))
        lines = screen(console.file.getvalue())
        assert len(lines) == 2
        assert max(map(len, lines)) <= 80
        assert lines[0].startswith("cell 1 of 1")
    display.close()
    assert screen(console.file.getvalue()) == []


def test_nothing_of_the_bars_is_left_between_the_lines_that_stay(monkeypatch):
    """Two cells at once. A thread that drew while lines were printed lost some, and left parts of bars."""
    monkeypatch.setattr(progress, "REDRAW", 0.0)
    console = terminal()
    display = Display(cells=400, console=console)

    def train(numbers: range) -> None:
        for number in numbers:
            for steps in (0, 500, 1000):
                display.update(f"cell {number}", reading(steps))
                time.sleep(1e-4)
            display.finished(f"cell {number}", "done")

    threads = [threading.Thread(target=train, args=(range(first, 400, 2),)) for first in (0, 1)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    display.close()
    assert sorted(screen(console.file.getvalue())) == sorted(f"cell {number}: done" for number in range(400))


def test_after_the_training_the_evaluations_are_counted(tmp_path, monkeypatch, capsys):
    """They may take minutes, in which the line said that no time was left."""
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)
    monkeypatch.setattr("erlbench.running.progress.REFRESH", 0.0)
    cell = make_cell("cem", tmp_path, steps=400, eval_freq=50, evaluate="after")
    assert run_cells([cell], RunOptions(processes=0, device="cpu", command_line=("erlbench", "run"))) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "seed 0: " in line and "done" not in line]
    count = len(rows(cell.directory, "eval.csv"))
    assert count > 2
    after = [line for line in lines if "evaluation" in line]
    assert lines[-len(after) :] == after
    assert [line.split(" steps  ")[1].split("  ")[0] for line in after] == [
        f"evaluation {min(number + 1, count)} of {count}" for number in range(1, count + 1)
    ]
    assert all(" left  " in line for line in lines[: -len(after)])


@pytest.mark.parametrize("quiet", [False, True])
def test_a_closed_pipe_fails_no_training(tmp_path, quiet):
    reader, writer = os.pipe()
    os.close(reader)
    words = ["run", "--algo", "cem", "--env", "Pendulum-v1", "--seeds", "2", "--total-timesteps", "400", "--set"]
    words += ["hidden=8", "--processes", "0", "--out", str(tmp_path), *(["-q"] if quiet else ["--verbose"])]
    done = subprocess.run([sys.executable, "-m", "erlbench", *words], stderr=writer, stdout=writer, timeout=120)
    os.close(writer)
    assert done.returncode == 0
    for seed in (0, 1):
        assert '"done"' in (tmp_path / "Pendulum-v1" / "cem" / f"seed-00{seed}" / "status.json").read_text()
