"""Weights & Biases: one offline run each, which `wandb sync` sends; nothing is sent from here."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import wandb

from erlbench.api import Results
from erlbench.errors import UsageError
from erlbench.exporting.runs import ExportedRun, exported
from erlbench.exporting.scalars import rows
from erlbench.records.run import RunFiles, starts

PROJECT = "erlbench"


def export(results: Results, out: Path) -> list[Path]:
    """One folder `wandb/offline-run-...` a run; the runs of an environment and name are a group.

    A `UsageError` where `out` has a run already, as W&B takes two folders of one run for its parts.
    """
    runs = {_identity(run): run for run in exported(results)}
    for name, run in runs.items():
        for folder in out.glob(f"wandb/offline-run-*-{name}*"):
            raise UsageError(
                f"{folder} is {run.label} already, and `wandb sync` would send each point twice; remove the folder or "
                "choose another by --out"
            )
    folders = []
    for name, run in runs.items():
        settings = wandb.Settings(console="off", silent=True, x_disable_stats=True, x_disable_meta=True)
        started = wandb.init(
            id=name, project=PROJECT, name=run.label, group=f"{run.name} on {run.env}", dir=str(out), mode="offline",
            config={key: str(value) if isinstance(value, tuple) else value for key, value in run.config.items()},
            settings=settings, reinit="finish_previous",
        )  # fmt: skip
        started.define_metric("*", step_metric="timesteps")
        for steps, seconds, values in rows(run):
            started.log({"timesteps": steps, "train_time_s": seconds, **values})
        folders.append(Path(started.dir).parent)
        started.finish()
    return folders


def _identity(run: ExportedRun) -> str:
    """The id that W&B knows the run by: the same in every export, another one for a run that was begun anew."""
    first = starts(RunFiles(run.source).meta())[:1]
    text = json.dumps([run.env, run.name, run.seed, first], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
