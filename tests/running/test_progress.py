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
from rich.live import Live

from erlbench.experiment.cells import RunOptions
from erlbench.running import progress
from erlbench.running.progress import Bars
from erlbench.running.readings import overall, reading_words, short, sparkline
from erlbench.running.remaining import Reading, Remaining, Workload
from erlbench.running.runner import run_cells
from tests.runs import make_cell, rows

WORKLOADS = [Workload(f"cem, seed {seed}", ("cem", "Hopper-v5"), 1000) for seed in range(3)]


def reading(steps: int, total: int = 1000, score: float | None = None) -> Reading:
    return Reading(timesteps=steps, total_timesteps=total, last_return=score, busy=2, processes=2)


def test_the_time_left_follows_the_recent_rate():
    """100 steps take 500 s of warm-up; what counts is the last minute."""
    remaining = Remaining(WORKLOADS)
    assert remaining.all() is None
    for second, steps in [(0, 0), (500, 100), (510, 200), (525, 300), (540, 400), (550, 500), (560, 600)]:
        remaining.update("cem, seed 0", reading(steps), float(second))
    rate, left = remaining.of("cem, seed 0")
    assert rate == pytest.approx(500 / 60)
    assert left == pytest.approx(400 / rate)
    assert remaining.all() == pytest.approx(2400 / rate)  # the two that wait are of its kind


def test_generations_that_take_longer_than_the_window_have_a_rate():
    """A generation of 100 steps every 150 seconds, looked at in between: the line said 0 steps a second."""
    remaining = Remaining(WORKLOADS)
    found = []
    for second in range(0, 401, 10):
        remaining.update("cem, seed 0", reading(100 * (second // 150)), float(second))
        found.append(remaining.of("cem, seed 0"))
    assert found[14] == (0.0, None)
    assert reading_words(reading(0), *found[14])[1:3] == ["-/s", "-:--:-- left"]
    rates, left = zip(*found[15:])
    assert rates == pytest.approx([100 / 150] * 26)
    assert left == pytest.approx([1350 - 10 * number for number in range(26)])  # it counts down


def test_gains_that_come_in_together_are_no_pace():
    """Five individuals end within a second, every 400 seconds: the time left was the pace within that second."""
    remaining = Remaining(WORKLOADS)
    for second, steps in [(0, 0), *((400 + i / 4, 20 * i) for i in range(1, 6))]:
        remaining.update("cem, seed 0", reading(steps), second)
    for second in range(402, 500):
        remaining.update("cem, seed 0", reading(100), float(second))
    rate, left = remaining.of("cem, seed 0")
    assert rate == pytest.approx(100 / 401.25)
    assert left == pytest.approx(900 / rate - (499 - 401.25))


def test_a_cell_that_stands_still_slows_down():
    remaining = Remaining(WORKLOADS)
    for second, steps in [(0, 0), (10, 100), (20, 200), (220, 200)]:
        remaining.update("cem, seed 0", reading(steps), float(second))
    rate, left = remaining.of("cem, seed 0")
    assert rate == pytest.approx(200 / 200)
    assert left == pytest.approx(800 / rate - 200)


def test_evaluations_after_the_training_slow_down_no_cell_that_waits():
    """Nothing is gained in them: the others seemed to need more and more hours."""
    remaining = Remaining(WORKLOADS)
    for second, steps in [(0, 0), (10, 500), (20, 1000)]:
        remaining.update("cem, seed 0", reading(steps), float(second))
    for second in (100, 500):
        remaining.update(
            "cem, seed 0",
            Reading(
                timesteps=1000, total_timesteps=1000, last_return=None, busy=1, processes=1, evaluations=9, evaluated=3
            ),
            float(second),
        )
    assert remaining.all() == pytest.approx(2 * 20)
    remaining.end("cem, seed 0")
    remaining.update(
        "cem, seed 1",
        Reading(timesteps=1000, total_timesteps=1000, last_return=None, busy=1, processes=1, evaluations=9),
        600.0,
    )  # it was interrupted there
    assert remaining.all() == pytest.approx(20)


def test_the_time_left_after_the_training_is_that_of_the_evaluations():
    """The line said that no time was left, for half an hour."""
    remaining = Remaining(WORKLOADS[:1])
    for second, played in [(0, 3), (10, 5), (20, 7)]:
        remaining.update(
            "cem, seed 0",
            Reading(
                timesteps=1000,
                total_timesteps=1000,
                last_return=None,
                busy=1,
                processes=1,
                evaluations=9,
                evaluated=played,
            ),
            float(second),
        )
    assert remaining.of("cem, seed 0")[1] == pytest.approx(10)
    assert remaining.all() == pytest.approx(10)


def test_a_run_that_ends_by_its_generations_is_as_far_as_these_are():
    """600 of 60,000 steps, but half of its generations, in ten seconds: ten are left."""
    remaining = Remaining([Workload("es, seed 0", ("es", "L"), 60_000), Workload("es, seed 1", ("es", "L"), 60_000)])
    for second, steps, generation in [(0, 0, 0), (10, 600, 50)]:
        remaining.update(
            "es, seed 0",
            Reading(
                timesteps=steps,
                total_timesteps=60_000,
                last_return=None,
                busy=1,
                processes=1,
                generation=generation,
                total_generations=100,
            ),
            float(second),
        )
    rate, left = remaining.of("es, seed 0")
    assert rate == pytest.approx(60)
    assert left == pytest.approx(10)
    assert remaining.all() == pytest.approx(10 + 20)
    assert (
        reading_words(
            Reading(
                timesteps=600,
                total_timesteps=60_000,
                last_return=None,
                busy=1,
                processes=1,
                generation=50,
                total_generations=100,
            ),
            rate,
            left,
        )[0]
        == "600 steps, generation 50/100"
    )


def test_cells_that_wait_take_the_rate_of_their_kind():
    workloads = [
        *WORKLOADS,
        Workload("td3, seed 0", ("td3", "Hopper-v5"), 1000),
        Workload("td3, seed 1", ("td3", "Hopper-v5"), 1000),
    ]
    remaining = Remaining(workloads, at_once=2)
    for second, fast, slow in [(0.0, 0, 0), (10.0, 500, 10)]:
        remaining.update("cem, seed 0", reading(fast), second)
        remaining.update("td3, seed 0", reading(slow), second)
    assert overall(remaining).startswith("cell 2 of 5")
    assert remaining.all() == pytest.approx(max((10 + 990 + 20 + 20 + 1000) / 2, 1000))
    remaining.end("td3, seed 0")
    assert remaining.number == 2
    assert remaining.all() == pytest.approx(max((10 + 20 + 20 + 1000) / 2, 1000))


def test_a_kind_that_has_not_run_takes_its_estimate_as_far_as_estimates_hold():
    """What ran took twice its estimate, so the other will; its budget in steps says nothing."""
    remaining = Remaining(
        [Workload("cem, 0", ("cem", "H"), 1000, 50.0), Workload("esac, 0", ("esac", "H"), 300_000, 20.0)]
    )
    for second, steps in [(0.0, 0), (10.0, 100)]:
        remaining.update("cem, 0", reading(steps), second)
    assert remaining.all() == pytest.approx(90 + 2 * 20)


def test_no_line_is_wider_than_the_terminal():
    label = "cem@no-extra-division on LunarLanderContinuous-v3 with a very long name, seed 10"
    screen = Console(file=io.StringIO(), width=80, force_terminal=True)
    bars = Bars(screen, Remaining([Workload(label, ("cem", "L"), 10**9)]))
    bars.close()
    for step in range(1, 20):
        bars.update(
            label,
            Reading(
                timesteps=10**8 * step // 20, total_timesteps=10**9, last_return=-123456.7 * step, busy=16, processes=16
            ),
        )
    shown = Console(file=io.StringIO(), width=80)
    shown.print(bars._picture())
    lines = shown.file.getvalue().splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80
    assert "cell 1 of 1" in lines[2]
    assert "▁" in lines[1]


def test_after_the_training_the_evaluations_are_counted(tmp_path, monkeypatch, capsys):
    """They may take minutes, in which the line said that no time was left."""
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)
    monkeypatch.setattr("erlbench.running.shown.REFRESH", 0.0)
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


def test_nothing_of_the_bars_is_left_between_the_lines_that_stay(monkeypatch):
    """Two cells at once. A thread of `Live` drew while lines were printed: some were lost, parts of bars stayed."""
    monkeypatch.setattr(progress, "REDRAW", 0.0)
    monkeypatch.setattr(progress, "Live", lambda **given: Live(**given | {"refresh_per_second": 1000}))  # if it does
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=True)
    bars = Bars(console, Remaining([Workload(f"cell {i}", ("cem", "L"), 1000) for i in range(400)]))

    def train(numbers: range) -> None:
        for number in numbers:
            for steps in (0, 500, 1000):
                bars.update(f"cell {number}", reading(steps))
                time.sleep(1e-4)
            bars.finished(f"cell {number}", "done")

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
    bars.close()
    assert sorted(screen(console.file.getvalue())) == sorted(f"cell {number}: done" for number in range(400))


def test_a_finished_cell_has_no_bar_while_the_next_one_starts():
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=True)
    bars = Bars(console, Remaining([Workload(f"cell {i}", ("cem", "L"), 1000) for i in range(2)]))
    bars.update("cell 0", reading(500))
    bars.finished("cell 0", "done")
    shown = [line for line in screen(console.file.getvalue()) if "steps" in line or "done" in line]
    bars.close()
    assert shown == ["cell 0: done"]


def test_numbers_and_curves():
    assert [short(value) for value in (0, 950, 12_340, 1e6, 12.5e6)] == ["0", "950", "12.3k", "1M", "12.5M"]
    assert sparkline([1.0, 2.0, 8.0]) == "▁▂█"
    assert sparkline([3.0, 3.0]) == "▁▁"
    assert sparkline([3.0]) == ""


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
