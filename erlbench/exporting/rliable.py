"""rliable: final scores as arrays (runs, environments), the input of `rliable.library.get_interval_estimates`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from erlbench.api import Results
from erlbench.errors import UsageError

FILE = "scores.npz"


def export(results: Results, out: Path) -> list[Path]:
    """`scores.npz`: algorithm -> float64 (seeds, environments), and `environments`, their names in the same order.

    A `UsageError` for an algorithm without a final score on one of the environments and seeds: rliable takes full
    matrices only.
    """
    cells = results.cells
    done = cells[cells["status"] == "done"]
    table = done.pivot_table(index=["name", "seed"], columns="env", values="score", aggfunc="first")
    if table.isna().any().any() or table.empty:
        missing = [f"{name}, seed {seed}" for name, seed in table.index[table.isna().any(axis=1)]] or ["any run"]
        raise UsageError(
            f"--to rliable needs a final score on each environment; missing for {'; '.join(missing)}. Export a folder "
            "with the same seeds of all algorithms on all environments"
        )
    arrays = {str(name): np.asarray(rows, np.float64) for name, rows in table.groupby(level="name")}
    path = out / FILE
    np.savez(path, environments=np.array([str(env) for env in table.columns]), **arrays)  # type: ignore[arg-type]
    return [path]
