"""What is said while cells run: time left, lines that fit, and readers that go away."""

import io
import os
import re
import sys

import pytest
from rich.console import Console

from erlbench.running import progress
from erlbench.running.progress import Display
from tests.calls import python


def test_the_time_left_follows_the_rate(monkeypatch):
    """After the training it is that of the evaluations: the line said that no time was left, for half an hour."""
    moment, console = [0.0], Console(file=io.StringIO(), width=500)
    monkeypatch.setattr(progress, "clock", lambda: moment[0])
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)
    display = Display(cells=2, console=console)

    def last_line(places):
        for place in places:
            moment[0] += 10.0
            display.update("cem, seed 0", *place)
        return console.file.getvalue().splitlines()[-1]

    line = last_line((100 * step, 1000, "words") for step in range(6))
    assert line.startswith("cem, seed 0: words  10/s  0:00:50 left  [cell 1 of 2, 0:02:")
    line = last_line([(1000, 1000, "words"), *((played, 9, "words", True) for played in range(5))])
    assert line.startswith("cem, seed 0: words  -/s  0:00:50 left  ")
    display.close()


def test_a_terminal_has_bars_narrower_than_itself_and_keeps_the_lines_that_stay(monkeypatch):
    monkeypatch.setattr(progress, "REDRAW", 0.0)
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=True)
    display = Display(console=console)
    assert console.file.getvalue().endswith("\x1b[?25h")  # the cursor stays, whatever ends or suspends the process
    display.update(f"{'a long name' * 9}, seed 10", 10**8, 10**9, "words " * 20)
    display.finished("cell 1", "done")
    display.close()
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", console.file.getvalue()))
    assert "cell 1: done" in map(str.strip, lines)
    assert max(map(len, lines)) == 80 - len("^C")  # which the terminal writes behind them


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("FORCE_COLOR", "1")])
def test_a_dumb_terminal_and_a_log_have_lines_as_they_are(monkeypatch, capsys, name, value):
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: name == "TERM")
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)
    display = Display()
    display.update("cem, seed 0", 10, 100, "words")
    display.message("code.py:100: no picture of a number")
    display.close()
    bar, line = capsys.readouterr().err.splitlines()
    assert bar.startswith("cem, seed 0: words")
    assert line == "code.py:100: no picture of a number"


def test_the_bar_of_a_cell_that_has_ended_alone_goes():
    display = Display(cells=2, console=(console := Console(file=io.StringIO(), width=500, force_terminal=True)))
    for cell in ("cem", "td3"):
        display.update(cell, 50, 100, "words")
    display.finished("cem", "done")
    assert "td3" in console.file.getvalue().rpartition("cem: done")[2]


@pytest.mark.parametrize("quiet", [False, True])
def test_a_closed_pipe_fails_no_training(tmp_path, quiet):
    reader, writer = os.pipe()
    os.close(reader)
    words = "-m erlbench run --algo cem --env Pendulum-v1 --total-timesteps 400 --set hidden=8 --eval-episodes 1"
    words += f" --processes 0 {'-q' if quiet else '--verbose'} --out"
    done = python(*words.split(), tmp_path, capture_output=False, stderr=writer, stdout=writer)
    os.close(writer)
    assert done.returncode == 0
    assert '"done"' in (tmp_path / "Pendulum-v1" / "cem" / "seed-000" / "status.json").read_text()
