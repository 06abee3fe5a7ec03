"""How cost grows with population, workers and dimensions: python -m benchmarks.programs.scaling [--out FILE].

No claims: tables of what was measured beside the growth that the cost model expects, and a figure of them. Minutes on
two cores that have nothing else to do.
"""

from __future__ import annotations

from erlbench.resources import limit_threads

limit_threads()

import os  # noqa: E402
import tempfile  # noqa: E402
from collections.abc import Iterator, Sequence  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import click  # noqa: E402
import numpy as np  # noqa: E402

from benchmarks.cells import ENVIRONMENT, LIMIT, train  # noqa: E402
from benchmarks.claims.populations import Ours  # noqa: E402
from benchmarks.claims.rollouts import Bench as Rollouts  # noqa: E402
from benchmarks.claims.tasks_and_workers import efficiency, walker_lengths  # noqa: E402
from benchmarks.claims.updates import Bench as Updates  # noqa: E402
from benchmarks.claims.updates import random_replay  # noqa: E402
from benchmarks.harness import median, take_turns  # noqa: E402
from benchmarks.peers.floors import Floors  # noqa: E402
from benchmarks.programs.scaling_figure import Curve, Panel, draw  # noqa: E402
from erlbench.envs.registry import problem  # noqa: E402
from erlbench.reporting.figures.style import FORMATS  # noqa: E402
from erlbench.resources import cores  # noqa: E402
from erlbench.running import machine  # noqa: E402
from erlbench.work.store import Store  # noqa: E402
from erlbench.work.workspace import Workspace  # noqa: E402

SMALL, MIDDLE, BATCH = (64, 64), (256, 256), 256
POPULATIONS = (8, 16, 32, 64, 128, 256, 512)
EPISODES = 512  # of a population's timed generations, at least
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128)
WIDTHS = (64, 128, 256, 512)
PROCESSES = (1, 2, 4, 8, 16)
LEARNING: tuple[tuple[str, str, int, dict[str, Any]], ...] = (  # label, algorithm, steps, settings
    ("P-CEM-RL", "p-cem-rl", 4000, {"start_timesteps": 900}),
    ("AES-RL", "aes-rl", 3000, {"start_timesteps": 900}),
    ("CEM", "cem", 100_000, {"population": 20, "elites": 10}),
)
ENVIRONMENTS = ("HalfCheetah-v5", "Ant-v5", "Humanoid-v5")
REPEATS = 3


@click.command()
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), default=Path("results/bench/scaling.png"),
              show_default=True, help="the figure: a .png, .svg or .pdf")  # fmt: skip
def main(out: Path) -> None:
    """Measure how cost grows with population, workers and dimensions; print tables and draw a figure."""
    if out.suffix[1:] not in FORMATS:
        raise click.BadParameter(f"'{out}' must end in one of: .{', .'.join(FORMATS)}", param_hint="--out")
    import torch

    torch.set_num_threads(1)
    load = os.getloadavg()[0]
    panels = []
    for panel in measure():
        panels.append(panel)
        click.echo("\n".join(table(panel)) + "\n")
    out.parent.mkdir(parents=True, exist_ok=True)
    draw(panels, out)
    click.echo(f"{out}: {machine.cpu_model()}, {cores()} cores, load {load:.1f} when it began")


def measure() -> Iterator[Panel]:
    """The panels, each when it is measured."""
    yield population()
    yield workers()
    yield processes()
    store = Store.create()
    workspace = Workspace(store)
    try:
        labels = [f"{width}-{width}" for width in WIDTHS]
        shapes = [(ENVIRONMENT, (width, width)) for width in WIDTHS]
        yield dimensions(f"Hidden layers, {_name(ENVIRONMENT)}", "hidden widths", WIDTHS, labels, shapes, workspace)
        sizes = [problem(env_id).observation_size for env_id in ENVIRONMENTS]
        labels = [f"{_name(env_id)} {size}" for env_id, size in zip(ENVIRONMENTS, sizes)]
        shapes = [(env_id, MIDDLE) for env_id in ENVIRONMENTS]
        yield dimensions("Observation, 256-256", "environment, observation", sizes, labels, shapes, workspace)
    finally:
        workspace.close()
        store.close()


def population() -> Panel:
    """Seconds per generation of CEM on two processes, beside growth in proportion to the largest population."""
    seconds = np.array([_generation(size) for size in POPULATIONS])
    curve = Curve("CEM", seconds, seconds[-1] * np.array(POPULATIONS) / POPULATIONS[-1])
    return Panel("Population", "population", "seconds per generation", POPULATIONS, (curve,), "in proportion")


def _generation(size: int) -> float:
    """The median of the generations after the first."""
    steps = size * LIMIT * (1 + max(3, EPISODES // size))
    with tempfile.TemporaryDirectory() as folder:
        tasks = train(Path(folder), "cem", steps, population=size, elites=size // 2, hidden=SMALL)
    return median(np.diff(tasks.times))


def workers() -> Panel:
    """Busy processes: with episodes that sleep, and steps per second with HalfCheetah's on as many cores as there are.

    Sleeping episodes need no core, so they show what pool and driver lose, whatever the machine.
    """
    lengths = walker_lengths()
    sleeping = np.array([processes * efficiency(processes, lengths) for processes in WORKERS])
    real = [processes for processes in WORKERS if processes <= cores()]
    seconds = take_turns({str(processes): Ours("cem", processes) for processes in real}, REPEATS)
    speedup = [median(seconds["1"] / seconds[str(processes)]) for processes in real]
    ideal = np.array(WORKERS, dtype=float)
    curves = (
        Curve("sleeping episodes", sleeping, ideal),
        Curve("HalfCheetah, a core each", np.array(speedup + [np.nan] * (len(WORKERS) - len(real))), ideal),
    )
    return Panel("Workers", "processes", "busy processes", WORKERS, curves, "all busy")


def processes() -> Panel:
    """Training steps per second over those of one process, on as many processes as there are cores and fewer.

    Nothing but processes differs: no update has a second core, so one process has one core.
    """
    counts = [count for count in PROCESSES if count <= cores()]
    curves = []
    for label, algo, steps, overrides in LEARNING:
        seconds = []
        for count in counts:
            with tempfile.TemporaryDirectory() as folder:
                seconds.append(train(Path(folder), algo, steps, count, one_core=True, **overrides).seconds_per_step)
        curves.append(Curve(label, seconds[0] / np.array(seconds), np.array(counts, dtype=float)))
    unit = "speed over one process's"
    return Panel("Processes, HalfCheetah", "processes", unit, counts, tuple(curves), "in proportion")


def dimensions(
    title: str, axis: str, sizes: Sequence[int], labels: Sequence[str],
    shapes: Sequence[tuple[str, tuple[int, int]]], workspace: Workspace,
) -> Panel:  # fmt: skip
    """One thread's milliseconds for a rollout's step and TD3's updates, with their floors; shapes: (env, hidden)."""
    rows = [_costs(env_id, hidden, workspace) for env_id, hidden in shapes]
    names = ("a rollout's step", "critic update", "actor update")
    curves = tuple(
        Curve(name, *(1e3 * np.array([row[part][index] for row in rows]) for part in range(2)))
        for index, name in enumerate(names)
    )
    return Panel(title, axis, "milliseconds", sizes, curves, "floor", labels)


def _costs(env_id: str, hidden: tuple[int, int], workspace: Workspace) -> tuple[list[float], list[float]]:
    """Seconds of a step, a critic and an actor update; and of their floors."""
    task, rollouts = problem(env_id), Rollouts(env_id, hidden, workspace)
    shape = task.observation_size, task.action_size
    with tempfile.TemporaryDirectory() as folder:
        replay = random_replay(Path(folder), *shape)
        updates = Updates(*shape, hidden, BATCH, replay, workspace)
        floors = Floors(*shape, hidden, BATCH)
        turns = take_turns(
            {"step": rollouts.ours, "critic": updates.critic, "actor": updates.actor,
             "step_floor": lambda: rollouts.physics() + rollouts.products(),
             "critic_floor": floors.critic, "actor_floor": floors.actor}, REPEATS)  # fmt: skip
        medians = [median(seconds) for seconds in turns.values()]
    return medians[:3], medians[3:]


def table(panel: Panel) -> list[str]:
    """A Markdown table: a column for each size, a row for each curve and each bound."""
    rows = [f"| {panel.axis}: {panel.unit} | {' | '.join(panel.ticks)} |", f"|---|{'---|' * len(panel.sizes)}"]
    for label, values in [(curve.label, curve.measured) for curve in panel.curves] + panel.bounds:
        cells = ("–" if np.isnan(value) else f"{value:.3g}" for value in values)
        rows.append(f"| {label} | {' | '.join(cells)} |")
    return rows


def _name(env_id: str) -> str:
    return env_id.partition("-")[0]


if __name__ == "__main__":
    main()
