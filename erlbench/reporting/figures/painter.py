"""Draws the figures of a report, many of them by processes of their own."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from erlbench.reporting.figures.draw import draw_plot
from erlbench.reporting.figures.model import Plot
from erlbench.resources import cores

FEW = 6  # figures that are drawn at once here, because processes would cost more than they save
MOST_PROCESSES = 4


class Painter:
    """Collects figures and draws them. All are there when its context ends; the first error is raised there."""

    def __init__(self) -> None:
        self._few: list[tuple[Plot, Path, tuple[str, ...]]] = []
        self._pool: ProcessPoolExecutor | None = None
        self._drawn: list[Future[None]] = []

    def draw(self, plot: Plot, path: Path, formats: tuple[str, ...]) -> None:
        """Draw the panels that a plot has on paper, as `draw_plot` does, now or later."""
        paper = replace(plot, panels={name: plot.panels[name] for name in plot.paper})
        self._few.append((paper, path, formats))
        if self._pool is None and len(self._few) <= FEW:
            return
        if self._pool is None:
            processes = min(cores(), MOST_PROCESSES)
            self._pool = ProcessPoolExecutor(processes, multiprocessing.get_context("fork"))
        self._drawn += [self._pool.submit(draw_plot, *one) for one in self._few]
        self._few.clear()

    def __enter__(self) -> Painter:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=kind is not None)
        if kind is None:
            for one in self._few:
                draw_plot(*one)
            for drawn in self._drawn:
                drawn.result()
