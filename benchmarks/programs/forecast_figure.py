"""The figure of forecasts: minutes against workers, and OpenAI-ES's published minutes on Humanoid as a check.

python -m benchmarks.programs.forecast_figure    # docs/figures/forecast.png from the package's costs; a minute or two
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import numpy as np
from matplotlib.ticker import LogLocator, StrMethodFormatter

from benchmarks.programs.forecast import cell_of
from erlbench.experiment.cells import with_workers
from erlbench.experiment.costs import Costs, built_in_costs
from erlbench.forecasting.forecast import forecast
from erlbench.reporting.figures import style

WORKERS = (1, 2, 4, 8, 16, 32, 64)
STEPS, MORE = 40_000, 5_000  # and so many for each worker
SCHEMES = {  # algorithm, settings
    "CEM-RL: serial": ("cem-rl", {}),
    "P-CEM-RL: synchronous": ("p-cem-rl", {}),
    "AES-RL: asynchronous": ("aes-rl", {}),
    "AES-RL: asynchronous, one critic update a step": ("aes-rl", {"critic_ratio": 1.0}),
}
# Salimans et al. 2017, "Evolution strategies as a scalable alternative to reinforcement learning", figure 1: minutes
# until 3D Humanoid has a score of 6,000, by cores. Its public code plays 10,000 episodes a generation.
PUBLISHED = {18: 657.0, 1440: 10.0}
EPISODES, LONGEST, TENTH = 10_000, 1000, 10
STEP = 1e-3  # seconds; only ratios count


def schemes(costs: Costs, workers: Sequence[int]) -> dict[str, list[float]]:
    """Minutes per million steps after the warm-up on HalfCheetah, by scheme and number of workers."""
    found: dict[str, list[float]] = {}
    for label, (algo, settings) in SCHEMES.items():
        for count in workers:
            used = 1 if algo == "cem-rl" else count
            cell = cell_of(algo, "HalfCheetah-v5", Path("nowhere"), STEPS + MORE * used, settings, {})
            result = forecast(with_workers(cell, used), costs, used, [LONGEST])
            found.setdefault(label, []).append(result.minutes_after)
    return found


def humanoid(cores: Sequence[int], lengths: list[int]) -> Mapping[int, float]:
    """Minutes on so many cores (multiples of ten), given the published 657 on 18, which are all busy.

    A generation is simulated at a tenth: as many episodes for each core, so as much waiting at its end.
    """
    population = EPISODES // TENTH
    cell = cell_of("openai-es", "Humanoid-v5", Path("nowhere"), 1, {"population": population, "hidden": (8,)}, {})
    work = PUBLISHED[18] * 18
    return {
        count: work / count / forecast(with_workers(cell, count // TENTH), Costs(STEP, 0, 0, STEP), count // TENTH,
                                       lengths).busy
        for count in cores
    }  # fmt: skip


def uniform_lengths() -> list[int]:
    """Episodes that end anywhere: a Humanoid that falls."""
    return [int(length) for length in np.random.default_rng(0).integers(1, LONGEST + 1, 10_007)]


@click.command()
@click.option("--out", default="docs/figures/forecast.png", show_default=True, type=click.Path(path_type=Path))
def main(out: Path) -> None:
    """Draw both panels and print their numbers."""
    costs, cores = built_in_costs(), (180, 360, 720, 1440)
    minutes = schemes(costs, WORKERS)
    with style.new_figure(style.WIDTH, 2.9) as figure:
        left, right = figure.subplots(1, 2)
        for index, (label, values) in enumerate(minutes.items()):
            left.plot(WORKERS, values, label=label, **style.line_style(index))
            click.echo(f"{label}: " + ", ".join(f"{value:,.1f}" for value in values))
        left.set(xlabel="Workers, one process each", ylabel="Minutes per million steps", title="HalfCheetah")
        left.set(xscale="log", yscale="log", xticks=WORKERS, xticklabels=WORKERS)
        for index, (label, lengths) in enumerate((("full length", [LONGEST]), ("any length", uniform_lengths()))):
            known = {18: PUBLISHED[18], **humanoid(cores, lengths)}
            right.plot(
                list(known), list(known.values()), label=f"forecast, episodes of {label}", **style.line_style(index)
            )
            click.echo(f"Humanoid, {label}: " + ", ".join(f"{value:,.1f} on {count}" for count, value in known.items()))
        right.plot(list(PUBLISHED), list(PUBLISHED.values()), "o", color=style.GREY, label="published")
        right.set(xlabel="Cores", ylabel="Minutes to a score of 6,000", title="OpenAI-ES on Humanoid")
        right.set(xscale="log", yscale="log", xticks=list(known), xticklabels=list(known))
        right.margins(x=0.08)
        for axes in (left, right):
            axes.minorticks_off()
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axes.legend(fontsize=7, loc="lower left")
        style.save(figure, out.with_suffix(""), (out.suffix[1:],))


if __name__ == "__main__":
    main()
