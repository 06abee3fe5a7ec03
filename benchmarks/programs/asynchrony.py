"""The phase diagram of asynchrony: what AES-RL saves over P-CEM-RL at equal critic updates, by forecast alone.

python -m benchmarks.programs.asynchrony                 # all points, figure and table; about seven minutes on one core
python -m benchmarks.programs.asynchrony --draw          # figure and table of the points that are there
python -m benchmarks.programs.asynchrony --lengths RUNS  # first: take the lengths of the paper's tasks from these runs

It writes docs/figures/asynchrony.csv and .png, and the table of the paper's tasks in docs/asynchrony.md.
"""

from __future__ import annotations

from erlbench.resources import limit_threads

limit_threads()

import csv  # noqa: E402
import re  # noqa: E402
from collections.abc import Iterator, Mapping, Sequence  # noqa: E402
from dataclasses import astuple, dataclass, fields, replace  # noqa: E402
from itertools import chain, product  # noqa: E402
from math import nan  # noqa: E402
from pathlib import Path  # noqa: E402
from statistics import fmean  # noqa: E402
from typing import Any  # noqa: E402

import click  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib import rc_context  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.ticker import NullLocator  # noqa: E402

from benchmarks.programs.forecast import cell_of  # noqa: E402
from erlbench.experiment.cells import OWN, with_workers  # noqa: E402
from erlbench.experiment.costs import Costs, built_in_costs  # noqa: E402
from erlbench.files import read_rows  # noqa: E402
from erlbench.forecasting.environment import DRAWN, Lengths, lengths_in, load_costs_of, of_this_environment  # noqa: E402
from erlbench.forecasting.forecast import forecast  # noqa: E402
from erlbench.reporting.figures import style  # noqa: E402

FIGURE, PAGE = Path("docs/figures/asynchrony"), Path("docs/asynchrony.md")
LENGTHS = Path("results/reference/bench/episode_lengths.csv")
STEPS = 1_000_000
MEAN = 1000  # steps of an episode
SPREADS = (0.0, 0.5, 1.0, 1.5, 2.0)  # standard deviation over mean; 1: as geometric lengths
WORKERS = (2, 5, 9, 16, 64)
RATIOS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)  # a critic update over an environment step
SHOWN = (2, 5, 16, 64)  # workers of the panels
SCHEMES: Mapping[str, tuple[str, Mapping[str, Any]]] = {  # column -> algorithm, settings
    "barriers": ("p-cem-rl", {"batch_size": 256, "barriers": True}),
    "p_cem_rl": ("p-cem-rl", {"batch_size": 256}),
    "aes_rl": ("aes-rl", {"critic_ratio": 1.0}),
    "one_mean_episode": ("aes-rl", {"critic_ratio": 1.0, "mean_episodes": 1}),
}
TASKS = ("HalfCheetah-v5", "Swimmer-v5", "Hopper-v5@paper", "Walker2d-v5@paper", "Ant-v5@paper", "Humanoid-v5@paper")
MARKS: Mapping[str, Mapping[str, Any]] = {
    env: {"marker": marker, "color": "black", "markerfacecolor": "white", "markersize": 5, "linestyle": ""}
    for env, marker in zip(TASKS, "osD^vP", strict=True)
}
PLAYED = 10.0  # seconds in which both steps of a ratio are measured
POPULATION = 10  # episodes of a generation, whose longest is waited for
LEVELS = (0, 10, 20, 30, 40, 50, 60, 70, 80)  # percent saved


@dataclass(frozen=True)
class Point:
    """Minutes per million critic updates after the warm-up, by scheme, and where that is."""

    task: str  # "" for a point of the grid
    spread: float
    workers: int
    ratio: float
    mean: float  # steps of an episode
    barriers: float = nan
    p_cem_rl: float = nan
    aes_rl: float = nan
    one_mean_episode: float = nan

    @property
    def saving(self) -> float:
        """Percent of P-CEM-RL's time that AES-RL saves; negative: it takes longer."""
        return 100 * (1 - self.aes_rl / self.p_cem_rl)


def drawn_lengths(spread: float) -> list[int]:
    """Lengths with that standard deviation over their mean: all equal, or gamma-distributed (1: exponential)."""
    if not spread:
        return [MEAN]
    shape = 1 / spread**2
    return [max(1, round(steps)) for steps in np.random.default_rng(0).gamma(shape, MEAN / shape, DRAWN)]


def measured(point: Point, lengths: Sequence[int], costs: Costs) -> Point:
    """The point with its forecasts; the critic has a processor of its own."""
    found: dict[str, Any] = {}
    for scheme, (algo, settings) in SCHEMES.items():
        cell = with_workers(cell_of(algo, "HalfCheetah-v5", Path("nowhere"), STEPS, settings, {}), point.workers)
        found[scheme] = round(forecast(cell, costs, point.workers, lengths, OWN).minutes_per_updates, 2)
    return replace(point, **found)


def grid() -> Iterator[Point]:
    """All points of the diagram; the costs of updates stay, that of a step changes."""
    costs = built_in_costs()
    for spread, workers, ratio in product(SPREADS, WORKERS, RATIOS):
        own = replace(costs, timestep=costs.critic_update / ratio)
        yield measured(Point("", spread, workers, ratio, MEAN), drawn_lengths(spread), own)


def tasks() -> Iterator[Point]:
    """The paper's tasks: lengths of runs, and the time of a step relative to HalfCheetah's, measured now."""
    costs, measured_on = load_costs_of(None)
    for env, lengths in known_lengths().items():
        cell = cell_of("aes-rl", env, Path("nowhere"), STEPS, {"hidden": (400, 300)}, {})
        _, (own,) = of_this_environment([cell], costs, measured_on, Lengths({"": lengths}, ""), PLAYED)
        ratio = round(own.critic_update / own.timestep, 1)
        for workers in SHOWN:
            yield measured(Point(env, spread_of(lengths), workers, ratio, round(fmean(lengths), 1)), lengths, own)


def known_lengths() -> dict[str, list[int]]:
    """The lengths of the paper's tasks by environment, in the order in which their episodes were played."""
    return {row["env"]: [int(word) for word in row["lengths"].split()] for row in read_rows(LENGTHS)}


def save_lengths(folder: Path) -> None:
    """Write the lengths of all runs below a folder, one run's for each task; one number where all are equal."""
    with LENGTHS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["env", "lengths"])
        for env in TASKS:
            steps = [*chain.from_iterable(lengths_in(folder, env).by_kind.values())]
            writer.writerow([env, " ".join(map(str, steps if len(set(steps)) > 1 else steps[:1]))])


def spread_of(lengths: Sequence[int]) -> float:
    """Standard deviation over mean within a generation: the root of the mean square over all."""
    whole = np.array(lengths[: len(lengths) // POPULATION * POPULATION], float).reshape(-1, POPULATION)
    return round(float(np.sqrt(np.mean((whole.std(axis=1) / whole.mean(axis=1)) ** 2))), 3) if len(whole) else 0.0


def draw(points: Sequence[Point], path: Path) -> None:
    """Panels by workers: the saving over the spread of lengths and the ratio of costs, with the paper's tasks."""
    with style.new_figure(style.WIDTH, 3.0) as figure, rc_context({"hatch.linewidth": 0.4, "hatch.color": "0.45"}):
        panels = figure.subplots(1, len(SHOWN), sharex=True, sharey=True)
        for axes, workers in zip(panels, SHOWN, strict=True):
            _panel(axes, [point for point in points if point.workers == workers])
            axes.set(title=f"{workers} workers")
        panels[0].set(ylabel="Critic update / environment step")
        figure.supxlabel("Spread of episode lengths: standard deviation / mean", fontsize=8.5)
        marks = [Line2D([], [], label=env.partition("-")[0], **MARKS[env]) for env in TASKS]
        figure.legend(handles=marks, loc="outside upper center", ncols=len(marks), handletextpad=0.1)
        style.save(figure, path, ("png",))


def _panel(axes: Axes, points: Sequence[Point]) -> None:
    known = {(point.spread, point.ratio): point.saving for point in points if not point.task}
    saving = np.array([[known[spread, ratio] for spread in SPREADS] for ratio in RATIOS])
    lightness = np.linspace(1.0, 0.45, len(LEVELS))
    axes.contourf(SPREADS, RATIOS, saving, [*LEVELS, 100], colors=[str(value) for value in lightness])
    axes.contourf(SPREADS, RATIOS, saving, [-1e6, 0], colors=["white"], hatches=["////"])
    lines = axes.contour(SPREADS, RATIOS, saving, LEVELS, colors="black", linewidths=[1.6, *[0.6] * (len(LEVELS) - 1)])
    axes.clabel(lines, LEVELS[1:], fmt=lambda value: f"{value:.0f} %", fontsize=7, inline_spacing=2)
    for point in points:
        if point.task:
            axes.plot(point.spread, point.ratio, clip_on=False, zorder=3, **MARKS[point.task])
    axes.set(yscale="log", yticks=[0.1, 1, 10, 100], yticklabels=["0.1", "1", "10", "100"], xticks=[0, 1, 2])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(visible=False)


def save(points: Sequence[Point], path: Path) -> None:
    """Write the points as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([item.name for item in fields(Point)])
        writer.writerows(map(astuple, points))


def load(path: Path) -> list[Point]:
    """The points of a file."""
    kinds: dict[str, Any] = {"task": str, "workers": int}
    return [Point(**{name: kinds.get(name, float)(value) for name, value in row.items()}) for row in read_rows(path)]


def table(points: Sequence[Point]) -> str:
    """The paper's tasks in Markdown."""
    shown = " | ".join(f"{workers} workers" for workers in SHOWN)
    lines = [
        f"| task | mean length | spread | critic update / step | {shown} |",
        "|---|---:|---:|---:|" + "---:|" * len(SHOWN),
    ]
    for env in dict.fromkeys(point.task for point in points if point.task):
        own = {point.workers: point for point in points if point.task == env}
        first = own[SHOWN[0]]
        lines.append(
            f"| {env} | {first.mean:,.0f} | {first.spread:.2f} | {first.ratio:.0f} | "
            + " | ".join(f"{own[workers].saving:.0f} %" for workers in SHOWN) + " |"
        )  # fmt: skip
    return "\n".join([*lines, ""])


@click.command()
@click.option("--lengths", "folder", type=click.Path(path_type=Path), help="Take the tasks' lengths from these runs.")
@click.option("--draw", "only_draw", is_flag=True, help="Forecast nothing.")
def main(folder: Path | None, only_draw: bool) -> None:
    """Forecast all points, draw them, and print what the page says of them."""
    if folder is not None:
        save_lengths(folder)
    path = FIGURE.with_suffix(".csv")
    if not only_draw:
        save([*tasks(), *grid()], path)
    points = load(path)
    draw(points, FIGURE)
    PAGE.write_text(re.sub(r"(<!-- tasks -->\n).*?(?=<!-- end of tasks -->)", lambda found: found[1] + table(points),
                           PAGE.read_text(), flags=re.S))  # fmt: skip
    click.echo(table(points))


if __name__ == "__main__":
    main()
