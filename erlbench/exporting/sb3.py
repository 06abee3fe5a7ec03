"""Stable-Baselines3: `evaluations.npz` as its EvalCallback writes it, which rl-baselines3-zoo's plots read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from erlbench.api import Results
from erlbench.exporting.runs import exported

EPISODES = ["returns", "lengths"]  # columns with a number for each episode


def export(results: Results, out: Path) -> list[Path]:
    """One file a run: `timesteps` (e,), `results` (e, episodes) and `ep_lengths` (e, episodes).

    All evaluations are cut to the number of episodes of the one that has fewest; the final one may have another number.
    Evaluations whose episodes are not known are left out.
    """
    paths = []
    for run in exported(results):
        rows = run.rows("evaluations")
        rows = rows if rows.empty else rows[rows[EPISODES].map(len).min(axis=1) > 0]
        if rows.empty:
            continue
        episodes = rows[EPISODES].map(len).to_numpy().min()
        path = out / run.folder / "evaluations.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(
            path,
            timesteps=rows["timesteps"].to_numpy(),
            results=np.array([values[:episodes] for values in rows["returns"]]),
            ep_lengths=np.array([values[:episodes] for values in rows["lengths"]]),
        )
        paths.append(path)
    return paths
