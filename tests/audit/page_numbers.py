"""Where stored runs lie, and the mean of a learning curve."""

from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "results/reference"


def mean_of(rows, start, end):
    """The mean of a run's curve from one step to another, linear between evaluations."""
    x = np.array([start, *rows.timesteps[(rows.timesteps > start) & (rows.timesteps < end)], end])
    y = np.interp(x, rows.timesteps, rows.return_mean)
    return float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum() / (end - start))
