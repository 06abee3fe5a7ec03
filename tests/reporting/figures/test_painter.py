"""Figures that several processes draw."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from erlbench.reporting.figures.draw import draw_plot
from erlbench.reporting.figures.model import Panel, Plot, Series
from erlbench.reporting.figures.painter import FEW, painter
from tests.processes import alive, kill, wait_for

ROOT = Path(__file__).parents[3]

LINE = Series(label="a", group="a", x=np.arange(3.0), y=np.arange(3.0), colour=0)
PLOT = Plot(kind="curves", title="t", panels={"x": Panel(x="x", y="y", series=[LINE])}, paper=["x"])


def drawn(folder, count):
    with painter() as paint:
        for number in range(count):
            paint(PLOT, folder / f"{number}", ("png",))
    return {(folder / f"{number}.png").read_bytes() for number in range(count)}


@pytest.mark.parametrize("count", [1, FEW + 3])
def test_processes_draw_the_same_figures(tmp_path, count):
    draw_plot(PLOT, tmp_path / "expected", ("png",))
    assert drawn(tmp_path, count) == {(tmp_path / "expected.png").read_bytes()}


@pytest.mark.parametrize("count", [1, FEW + 3])
def test_a_figure_that_cannot_be_written_is_an_error(tmp_path, count):
    with pytest.raises(FileNotFoundError):
        drawn(tmp_path / "none", count)


def test_processes_that_draw_end_with_a_report_that_is_killed(tmp_path):
    script = f"""if True:
        import os, time
        from pathlib import Path
        from tests.processes import children
        from tests.reporting.figures.test_painter import FEW, PLOT, painter
        with painter() as paint:
            for number in range(FEW + 3):
                paint(PLOT, Path({str(tmp_path)!r}, str(number)), ("png",))
            print(*children(os.getpid()), flush=True)
            time.sleep(60)
    """
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert alive(pids)
        process.kill()
        try:
            wait_for(lambda: not alive(pids), 60)
        finally:
            for pid in pids:
                kill(pid)
