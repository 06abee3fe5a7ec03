"""Where the time of a run goes: python -m benchmarks.programs.profile_run [ALGORITHM]...

Short runs of HalfCheetah with the papers' settings on two processes, by the tasks' times in tasks.csv: from when both
processes have loaded torch until the last task starts. Shares are of both processes' time.
"""

from __future__ import annotations

from erlbench.resources import limit_threads

limit_threads()

import os  # noqa: E402
import tempfile  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402

import click  # noqa: E402
import numpy as np  # noqa: E402

from benchmarks.cells import PROCESSES, Tasks, column, rows, train  # noqa: E402
from benchmarks.harness import checked_by, cpu_seconds, wall_seconds  # noqa: E402
from erlbench.algorithms import registry  # noqa: E402
from erlbench.running import machine  # noqa: E402

ALGORITHMS = ("cem-rl", "aes-rl")
STEPS, WARM_UP = 4000, 900
KINDS = {
    "critic": "critic updates",
    "actor": "actors' training",
    "rl": "episodes of trained individuals",
    "es": "episodes of the others",
    "random": "episodes of random actions",
    "mean": "episodes of the mean",
}


@dataclass(frozen=True)
class Work:
    """What the tasks of a run did, arrays (tasks,)."""

    kind: np.ndarray
    timesteps: np.ndarray
    critic_updates: np.ndarray
    actor_updates: np.ndarray


@click.command()
@click.argument("names", nargs=-1, metavar="[ALGORITHM]...", callback=checked_by(registry.find))
def main(names: tuple[str, ...]) -> None:
    """Print a Markdown table with a column for each algorithm: where the time of its run goes."""
    names, load = names or ALGORITHMS, os.getloadavg()[0]
    columns = [profile(name) for name in names]
    print(f"{machine.cpu_model()}, commit {machine.commit()}, load {load:.1f} when it began\n")
    print(f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for label in columns[0]:
        print(f"| {label} | {' | '.join(own[label] for own in columns)} |")


def profile(algo: str) -> dict[str, str]:
    """The lines of one run."""
    registry.find(algo)  # imported before the clocks start
    found: list[Tasks] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cpu = 0.0

        def run() -> None:
            nonlocal cpu
            cpu = cpu_seconds(lambda: found.append(train(folder, algo, STEPS, start_timesteps=WARM_UP)))

        wall = wall_seconds(run)
        recorded = [row for row in rows(folder / "tasks.csv") if row["kind"] != "evaluation"]
    counts = (column(recorded, key) for key in ("timesteps", "critic_updates", "actor_updates"))
    lines = summary(found[0], Work(np.array([row["kind"] for row in recorded]), *counts))
    return {**lines, "driver: processor time / time that passes": f"{cpu / wall:.2%}"}


def summary(tasks: Tasks, work: Work) -> dict[str, str]:
    """Shares by kind of task, idle time, and what one of each thing costs."""
    first, last = tasks.warm, float(tasks.start.max())
    seconds = (tasks.end.clip(first, last) - tasks.start.clip(first, last)).clip(0)
    total = PROCESSES * (last - first)
    lines = {label: f"{seconds[work.kind == kind].sum() / total:.1%}" for kind, label in KINDS.items()}
    lines["nothing to do"] = f"{1 - seconds.sum() / total:.1%}"
    whole, length = tasks.start >= first, tasks.end - tasks.start
    for label, unit, scale, counted in (
        ("a critic update", "ms", 1e3, work.critic_updates),
        ("an actor update", "ms", 1e3, work.actor_updates),
        ("a step of the environment", "µs", 1e6, work.timesteps),
    ):
        chosen = whole & (counted > 0)
        lines[label] = "–"
        if chosen.any():
            lines[label] = f"{scale * length[chosen].sum() / counted[chosen].sum():.3g} {unit}"
    lines["a training step of the run"] = f"{1e3 * tasks.seconds_per_step:.3g} ms"
    return lines


if __name__ == "__main__":
    main()
