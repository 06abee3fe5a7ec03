"""rliable: final scores as arrays (runs, environments), the input of `rliable.library.get_interval_estimates`."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from erlbench.api import Results
from erlbench.errors import UsageError
from erlbench.exporting.runs import exported

FILE = "scores.npz"
ENVIRONMENTS = "environments"


def export(results: Results, out: Path) -> list[Path]:
    """`scores.npz`: algorithm -> float64 (seeds, environments), and `environments`, their names in the same order.

    A `UsageError` for a run without a final score, and for an algorithm and seed without a run on one of the
    environments: rliable takes full matrices only.
    """
    runs = list(exported(results))
    scores = {(run.name, run.seed, run.env): run.config["score"] for run in runs if "score" in run.config}
    envs, names = sorted({run.env for run in runs}), sorted({run.name for run in runs})
    seeds = {name: sorted({run.seed for run in runs if run.name == name}) for name in names}
    wanted = [(name, seed, env) for name in names for seed in seeds[name] for env in envs]
    if missing := [f"{name} on {env}, seed {seed}" for name, seed, env in wanted if (name, seed, env) not in scores]:
        raise UsageError(
            f"--to rliable needs a final score on each environment; missing for {'; '.join(missing)}. Export a folder "
            "with the same seeds of all algorithms on all environments, all done"
        )
    arrays = {
        name: np.array([[scores[name, seed, env] for env in envs] for seed in seeds[name]], np.float64)
        for name in names
    }  # fmt: skip
    path = out / FILE
    if ENVIRONMENTS in arrays:
        raise UsageError(f"--to rliable names its list of environments '{ENVIRONMENTS}'; no runs can have this name")
    with zipfile.ZipFile(path, "w") as file:  # as np.savez, whose arguments cannot be called `file`
        for name, array in {ENVIRONMENTS: np.array(envs), **arrays}.items():
            with file.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array)
    return [path]
