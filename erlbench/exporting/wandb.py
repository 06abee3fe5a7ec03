"""Weights & Biases: one offline run each, which `wandb sync` sends; nothing is sent from here."""

from __future__ import annotations

from pathlib import Path

import wandb

from erlbench.api import Results
from erlbench.exporting.runs import exported
from erlbench.exporting.scalars import rows

PROJECT = "erlbench"


def export(results: Results, out: Path) -> list[Path]:
    """One folder `wandb/offline-run-...` a run; the runs of an environment and name are a group."""
    folders = []
    for run in exported(results):
        settings = wandb.Settings(console="off", silent=True, x_disable_stats=True, x_disable_meta=True)
        started = wandb.init(
            project=PROJECT, name=run.label, group=f"{run.name} on {run.env}", dir=str(out), mode="offline",
            config={key: str(value) if isinstance(value, tuple) else value for key, value in run.config.items()},
            settings=settings, reinit="finish_previous",
        )  # fmt: skip
        started.define_metric("*", step_metric="timesteps")
        for steps, seconds, values in rows(run):
            started.log({"timesteps": steps, "train_time_s": seconds, **values})
        folders.append(Path(started.dir).parent)
        started.finish()
    return folders
