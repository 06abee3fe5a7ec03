"""What is said while cells run: time left, lines that fit, and readers that go away."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest
from rich.console import Console

from erlbench.running.progress import Bars, overall, reading_words, short, sparkline
from erlbench.running.remaining import Reading, Remaining, Workload

WORKLOADS = [Workload(f"cem, seed {seed}", ("cem", "Hopper-v5"), 1000) for seed in range(3)]


def reading(steps: int, total: int = 1000, score: float | None = None) -> Reading:
    return Reading(steps, total, score, 2, 2)


def test_the_time_left_follows_the_recent_rate():
    """100 steps take 500 s of warm-up; what counts is the last minute."""
    remaining = Remaining(WORKLOADS)
    assert remaining.all() is None
    for second, steps in [(0, 0), (500, 100), (560, 100), (570, 200), (580, 300), (590, 400), (600, 500), (620, 600)]:
        remaining.update("cem, seed 0", reading(steps), float(second))
    rate, left = remaining.of("cem, seed 0")
    assert rate == pytest.approx(500 / 60)
    assert left == pytest.approx(400 / rate)
    assert remaining.all() == pytest.approx(2400 / rate)  # the two that wait are of its kind


def test_a_run_that_ends_by_its_generations_is_as_far_as_these_are():
    """600 of 60,000 steps, but half of its generations, in ten seconds: ten are left."""
    remaining = Remaining([Workload("es, seed 0", ("es", "L"), 60_000), Workload("es, seed 1", ("es", "L"), 60_000)])
    for second, steps, generation in [(0, 0, 0), (10, 600, 50)]:
        remaining.update("es, seed 0", Reading(steps, 60_000, None, 1, 1, generation, 100), float(second))
    rate, left = remaining.of("es, seed 0")
    assert rate == pytest.approx(60)
    assert left == pytest.approx(10)
    assert remaining.all() == pytest.approx(10 + 20)
    assert reading_words(Reading(600, 60_000, None, 1, 1, 50, 100), rate, left)[0] == "600 steps, generation 50/100"


def test_cells_that_wait_take_the_rate_of_their_kind():
    workloads = [
        *WORKLOADS,
        Workload("td3, seed 0", ("td3", "Hopper-v5"), 1000),
        Workload("td3, seed 1", ("td3", "Hopper-v5"), 1000),
    ]
    remaining = Remaining(workloads, at_once=2)
    for time, fast, slow in [(0.0, 0, 0), (10.0, 500, 10)]:
        remaining.update("cem, seed 0", reading(fast), time)
        remaining.update("td3, seed 0", reading(slow), time)
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
    for time, steps in [(0.0, 0), (10.0, 100)]:
        remaining.update("cem, 0", reading(steps), time)
    assert remaining.all() == pytest.approx(90 + 2 * 20)


def test_no_line_is_wider_than_the_terminal():
    label = "cem@no-extra-division on LunarLanderContinuous-v3 with a very long name, seed 10"
    screen = Console(file=io.StringIO(), width=80, force_terminal=True)
    bars = Bars(screen, Remaining([Workload(label, ("cem", "L"), 10**9)]))
    bars.close()
    for step in range(1, 20):
        bars.update(label, Reading(10**8 * step // 20, 10**9, -123456.7 * step, 16, 16))
    shown = Console(file=io.StringIO(), width=80)
    shown.print(bars._picture())
    lines = shown.file.getvalue().splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80
    assert "cell 1 of 1" in lines[2]
    assert "▁" in lines[1]


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
