"""What a driver's processor does for a task and for a call of Ray's, and how many workers it serves.

python -m benchmarks.programs.cluster_model docs/figures/cluster.png    # about three minutes

The nodes only keep the time of sleeping tasks, so that thousands of workers fit on one machine. The driver's processor
time is fitted by  tasks * a + calls * b + seconds * c  over runs with few and many workers, on one, two and four nodes.
"""

from __future__ import annotations

from erlbench.resources import limit_threads

limit_threads()

from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402

import click  # noqa: E402
import numpy as np  # noqa: E402

from benchmarks.claims.cluster import Raylets, Slept, sleep, undisturbed  # noqa: E402
from benchmarks.claims.tasks_and_workers import MEAN, walker_lengths  # noqa: E402
from benchmarks.timekeeping import Timekeeper  # noqa: E402
from erlbench.cli.tables import print_table  # noqa: E402
from erlbench.pool.cluster.agent import PATIENCE  # noqa: E402
from erlbench.reporting.figures import style  # noqa: E402

NODES, WORKERS = (1, 2, 4), (8, 32, 96, 360)  # on each node
CORES = 96  # of a node in the forecast
EPISODES = (0.1, 1.0, 10.0)  # seconds


@dataclass(frozen=True)
class Costs:
    """Seconds of the driver's processor."""

    task: float
    call: float  # of Ray's
    second: float  # Ray's threads in the driver, whatever it does

    def share(self, workers: np.ndarray, seconds: float) -> np.ndarray:
        """The share of one core that `workers` need whose tasks take `seconds`, on nodes of `CORES` each."""
        tasks, nodes = workers / seconds, np.ceil(workers / CORES)
        calls = np.minimum(nodes / PATIENCE, tasks)  # a node answers so often; the same call brings its next tasks
        return np.asarray(tasks * self.task + calls * self.call + self.second)

    def of(self, run: Slept) -> float:
        """Seconds of the driver's processor for `run`."""
        return run.tasks * self.task + run.calls * self.call + run.seconds * self.second


def fit(runs: list[Slept]) -> Costs:
    """Least squares of the relative errors."""
    counts = np.array([(run.tasks, run.calls, run.seconds) for run in runs], float)
    cpu = np.array([run.cpu for run in runs])
    found, *_ = np.linalg.lstsq(counts / cpu[:, None], np.ones(len(cpu)), rcond=None)
    return Costs(*map(float, found))


@click.command()
@click.argument("figure", required=False, type=click.Path(path_type=Path))
def main(figure: Path | None) -> None:
    """Print the three costs and where one core of the driver ends; draw it into the file FIGURE."""
    lengths, found = walker_lengths(), list[tuple[int, int, Slept]]()
    with Raylets() as raylets:
        for nodes in NODES:
            raylets.grow(nodes)
            for workers in (nodes * each for each in WORKERS):
                one = undisturbed(sleep(raylets, workers, lengths, Timekeeper, attempts=3))
                found.append((nodes, workers, one))
                click.echo(f"{nodes} nodes, {workers} workers: {one}", err=True)
    costs = fit([one for *_, one in found])
    error = max(abs(costs.of(one) / one.cpu - 1) for *_, one in found)
    click.echo(
        f"a task {1e6 * costs.task:.0f} µs, a call {1e6 * costs.call:.0f} µs, a second {1e3 * costs.second:.0f} ms; "
        f"error at most {100 * error:.0f} %"
    )
    rows = [
        (nodes, workers, f"{one.busy:.3f}", f"{one.tasks / one.seconds:,.0f}", f"{one.cpu / one.seconds:.2f}",
         f"{100 * one.stolen:.0f} %")
        for nodes, workers, one in found
    ]  # fmt: skip
    columns = ("nodes", "workers", "busy", "tasks a second", "driver's share of a core", "taken by the host")
    print_table("", columns, rows)
    grid = np.unique(np.logspace(np.log10(5), 6, 400).astype(int))
    limits = [grid[costs.share(grid, seconds) < 1].max() for seconds in EPISODES]
    print_table("", ("an episode", "workers"), [(f"{s:g} s", f"{n:,}") for s, n in zip(EPISODES, limits)])
    if figure:
        _draw(figure, grid, costs, found)


def _draw(path: Path, grid: np.ndarray, costs: Costs, found: list[tuple[int, int, Slept]]) -> None:
    from matplotlib.ticker import FuncFormatter

    with style.new_figure(style.WIDTH, 3.0) as drawing:
        axes = drawing.subplots()
        for index, seconds in enumerate(EPISODES):
            look = style.line_style(index)
            axes.plot(grid, costs.share(grid, seconds), label=f"episodes of {seconds:g} s", **look)
        for nodes, marker in zip(NODES, "ovs"):
            points = [(workers, one.cpu / one.seconds) for number, workers, one in found if number == nodes]
            axes.plot(
                *zip(*points),
                marker,
                color=style.GREY,
                markersize=4,
                label=f"{MEAN:g} s on {nodes} node{'s' * (nodes > 1)}, measured",
            )
        axes.axhline(1.0, color=style.GREY, linestyle="--", linewidth=1.0)
        axes.set(xscale="log", yscale="log", xlabel=f"workers ({CORES} a node)", ylabel="driver: share of one core")
        axes.set(ylim=(1e-2, 10), xlim=(5, 1e5))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.15g}"))
        axes.legend(fontsize=7)
        style.save(drawing, path.with_suffix(""), (path.suffix[1:],))


if __name__ == "__main__":
    main()
