"""What the sentences of the results pages are made of: numbers of runs, and how they are printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

CEM, PRINTED = "cem", "cem@no-extra-division"
PAPER = {"HalfCheetah-v5": (2940, 353), "Walker2d-v5@paper": (928, 50), "Hopper-v5@paper": (1055, 14)}
CURVE = ("timesteps", "return_mean")
UPDATES = ("critic_updates", "actor_updates")
ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "results" / "reference"
MEASUREMENTS = ROOT / "docs" / "measurements"


def runs(folder: str, file: str = "eval.csv") -> list[pd.DataFrame]:
    """A file of all seeds of a folder below results/reference, in their order; `*` stands for any name."""
    found = [pd.read_csv(path, comment="#") for path in sorted(REFERENCE.glob(f"{folder}/seed-*/{file}"))]
    assert found, folder
    return found


def nearest(folder: str, steps: float) -> list[pd.Series]:
    """The evaluation of each run that is nearest to a step, of two equally near ones the later."""
    return [rows.iloc[::-1].loc[(rows.timesteps.iloc[::-1] - steps).abs().idxmin()] for rows in runs(folder)]


def finals(folder: str) -> list[float]:
    """The mean return of each run's final evaluation."""
    return [float(rows.return_mean.iloc[-1]) for rows in runs(folder)]


def smoothed(folder: str, generation: int, window: int = 20) -> list[float]:
    """The mean of the last evaluations of each run at a generation, without the final one."""
    found = [rows.query("final != 1").set_index("generation") for rows in runs(folder)]
    return [float(rows.return_mean.rolling(window).mean().loc[:generation].iloc[-1]) for rows in found]


def minus(text: str) -> str:
    """With the sign of mathematics."""
    return re.sub(r"(?<!\w)-(?=\d)", "−", text)


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Mean and sample standard deviation."""
    return minus(f"{np.mean(values):,.{digits}f} ± {np.std(values, ddof=1):,.{digits}f}")


def table_rows(page: str, header: str) -> Iterator[list[str]]:
    """The cells of the rows below a header of a page of docs/measurements."""
    text = (MEASUREMENTS / f"{page}.md").read_text(encoding="utf-8")
    for line in text.split(f"\n{header}\n")[1].splitlines()[1:]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def cem(env: str, name: str = CEM) -> str:
    return f"cem/{env}/{name}"


def thousands(values: Sequence[float]) -> list[str]:
    return [minus(f"{value:,.0f}") for value in values]


def listed(values: Sequence[float]) -> str:
    *first, last = thousands(values)
    return f"{', '.join(first)} and {last}"


def span(values: Sequence[float], word: str = "to") -> str:
    return f" {word} ".join(thousands([min(values), max(values)]))


def millions(values: Sequence[float], digits: int = 1) -> str:
    *first, last = (f"{value / 1e6:.{digits}f}" for value in values)
    return f"{', '.join(first)} and {last} million"


def first_above(folder: str, score: float) -> list[float]:
    """Steps of the first evaluation at the score or above; NaN where there is none."""
    return [float(one.timesteps[one.return_mean >= score].min()) for one in runs(folder)]


def mean_of(rows: pd.DataFrame, start: float, end: float) -> float:
    """The mean of a run's curve from one step to another, linear between evaluations."""
    x = np.array([start, *rows.timesteps[(rows.timesteps > start) & (rows.timesteps < end)], end])
    y = np.interp(x, rows.timesteps, rows.return_mean)
    return float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum() / (end - start))


def mean_curve(folder: str) -> pd.DataFrame:
    """Of runs whose evaluations are at about the same steps."""
    found = runs(folder)
    columns = {name: np.mean([one[name][: min(map(len, found))] for one in found], axis=0) for name in CURVE}
    return pd.DataFrame(columns)


def variance(folder: str, at: float) -> float:
    rows = [one.loc[(one.timesteps - at).abs().idxmin()] for one in runs(folder, "train.csv")]
    return float(np.median([one.variance_mean for one in rows]))


def beside_the_paper(env: str, name: str) -> float:
    """Welch's p, of our final scores and the published mean and std of ten runs."""
    x = finals(cem(env, name))
    return stats.ttest_ind_from_stats(np.mean(x), np.std(x, ddof=1), 10, *PAPER[env], 10, equal_var=False).pvalue


def per_step(folder: str, at: float) -> list[float]:
    """Critic and actor updates a training step until then."""
    return [float(np.mean([one[name] / one.timesteps for one in nearest(folder, at)])) for name in UPDATES]


def used(folder: str) -> float:
    """Simulator steps, as a multiple of the budget."""
    last = [one.iloc[-1] for one in runs(folder)]
    return float(np.mean([one.timesteps + one.fitness_timesteps for one in last])) / round(last[0].timesteps, -5)


def above_later(folder: str, score: float, seeds: Sequence[int]) -> str:
    found = [one.query("timesteps > 20e6 and final != 1").return_mean for one in runs(folder)]
    return f"{listed([100 * (found[seed] >= score).mean() for seed in seeds])} % are above it"
