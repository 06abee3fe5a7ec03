"""Draws the figures of a report, many of them by processes of their own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from erlbench.machine.parent import end_with_parent
from erlbench.machine.resources import cores
from erlbench.reporting.figures.draw import draw_plot
from erlbench.reporting.figures.model import Plot

FEW = 6  # figures that are drawn at once here, because processes would cost more than they save
MOST_PROCESSES = 4
FORK = "fork"

Paint = Callable[[Plot, Path, Sequence[str]], None]


@contextmanager
def painter() -> Iterator[Paint]:
    """A function that draws as `draw_plot`, now or later. All figures are there at the end; it raises the first error.

    After an error inside, figures that no process has begun are left out.
    """
    waiting: list[tuple[Plot, Path, Sequence[str]]] = []
    drawn: list[Future[None]] = []
    pool: ProcessPoolExecutor | None = None

    def paint(plot: Plot, path: Path, formats: Sequence[str]) -> None:
        nonlocal pool
        waiting.append((replace(plot, panels={name: plot.panels[name] for name in plot.paper}), path, formats))
        if pool or (len(waiting) > FEW and FORK in multiprocessing.get_all_start_methods()):
            pool = pool or ProcessPoolExecutor(
                min(cores(), MOST_PROCESSES), multiprocessing.get_context(FORK), end_with_parent
            )
            drawn.extend(pool.submit(draw_plot, *one) for one in waiting)
            waiting.clear()

    try:
        yield paint
        for one in waiting:
            draw_plot(*one)
        for figure in drawn:
            figure.result()
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)
