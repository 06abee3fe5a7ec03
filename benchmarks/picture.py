"""The picture of the OpenAI-ES blog: two parameters, the points of a generation, and where the mean goes.

python -m benchmarks.picture --env function:rastrigin --algo openai-es --out /tmp/es.png
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from erlbench.envs.functions import FUNCTIONS, PREFIX
from erlbench.envs.registry import build, problem
from erlbench.errors import UsageError
from erlbench.reporting.figures import style
from erlbench.reporting.figures.model import Sheet
from erlbench.running.in_process import SearchHere
from erlbench.work.store import Store
from erlbench.work.tasks import Task

SEARCHES = ("openai-es", "cem")
GRID = 160  # points of the picture's function on each axis
SHOWN = 8  # levels of its colours


@dataclass(frozen=True)
class Look:
    """A generation: the mean before, the points that were evaluated, the mean after; in the function's units."""

    generation: int  # from 1
    mean: np.ndarray  # (2,)
    points: np.ndarray  # (population, 2)
    after: np.ndarray  # (2,)

    @property
    def move(self) -> np.ndarray:
        """The update of the mean, (2,)."""
        return self.after - self.mean


def looks(
    algo: str, env: str, generations: Sequence[int], overrides: Mapping[str, Any] | None = None, seed: int = 0
) -> list[Look]:
    """The generations of these numbers, of a search on a function of two parameters."""
    if algo not in SEARCHES or not env.startswith(PREFIX):
        raise UsageError(f"a picture is of {' or '.join(SEARCHES)} on a function:NAME, not of {algo} on {env}")
    task, points = problem(env, {"dimension": 2}), []

    def note(store: Store, task: Task) -> None:
        if task.kind == "es":
            points.append(np.array(store.load(task.inputs["parameters"])))

    quiet = {"action_noise": 0.0} if algo == "openai-es" else {}  # else other points are evaluated than are sampled
    found = []
    with SearchHere(algo, env, task, {**quiet, **(overrides or {})}, seed, note=note) as search:
        mean = search.parameters()
        for generation in search.generations():
            if generation in generations:
                found.append(Look(generation, mean, np.array(points), search.parameters()))
            mean = search.parameters()
            points.clear()
            if generation >= max(generations):
                break
    return found


def surface(env: str, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Axes `(GRID,)`, two of them, and rewards `(GRID, GRID)` of a function between two corners."""
    played = build(problem(env, {"dimension": 2}).env)
    x, y = np.linspace(low, high, GRID).T
    return x, y, np.array([[played.step(np.array([one, two]))[1] for one in x] for two in y])


def window(found: Sequence[Look], half: float) -> tuple[np.ndarray, np.ndarray]:
    """The corners of the square around all that is shown, `half` of the domain's width at most."""
    shown = np.concatenate([one.points for one in found] + [np.stack([one.mean, one.after]) for one in found])
    middle = (shown.min(axis=0) + shown.max(axis=0)) / 2
    reach = min(1.25 * float(np.abs(shown - middle).max()), 2 * half)
    return middle - reach, middle + reach


def draw(found: Sequence[Look], algo: str, env: str, path: Path) -> None:
    """A panel for each generation: rewards as colours, points in black, mean and update in white."""
    low, high = window(found, FUNCTIONS[env.removeprefix(PREFIX)][1])
    x, y, rewards = surface(env, low, high)
    with style.new_figure(3.1, Sheet()) as figure:
        panels = figure.subplots(1, len(found), sharex=True, sharey=True, squeeze=False)[0]
        for panel, look in zip(panels, found, strict=True):
            panel.contourf(x, y, rewards, np.quantile(rewards, np.linspace(0, 1, 4 * SHOWN + 1)), cmap="RdYlBu_r")
            panel.plot(*look.points.T, ".", color="black", markersize=4, label="points that were evaluated")
            panel.plot(*look.mean, "o", color="white", markeredgecolor="black", label="mean, and its update")
            panel.annotate(
                "", look.after, look.mean, arrowprops={"arrowstyle": "-|>", "color": "white", "lw": 2, "shrinkA": 0,
                                                       "shrinkB": 0},
            )  # fmt: skip
            panel.set(title=f"generation {look.generation}", aspect="equal", xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
            panel.set_xlabel("first parameter")
            panel.grid(visible=False)
        panels[0].set_ylabel("second parameter")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, facecolor="0.8")
        figure.suptitle(f"{algo} on {env}", fontsize=10)
        style.save(figure, path.with_suffix(""), ["png"])


@click.command()
@click.option("--algo", default="openai-es", show_default=True, type=click.Choice(SEARCHES))
@click.option("--env", default="function:rastrigin", show_default=True)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="a setting of the algorithm")
@click.option("--generations", default="1,5,20", show_default=True, help="which are drawn, up to four")
@click.option("--seed", default=0, show_default=True)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="a file .png")
def main(algo: str, env: str, settings: tuple[str, ...], generations: str, seed: int, out: Path) -> None:
    """Draw generations of a search on a function of two parameters."""
    numbers = [int(one) for one in generations.split(",")]
    overrides = dict(one.partition("=")[::2] for one in settings)
    found = looks(algo, env, numbers, overrides, seed)
    draw(found, algo, env, out)
    for look in found:
        click.echo(f"generation {look.generation}: mean {look.mean}, update {look.move}")


if __name__ == "__main__":
    main()
