"""Results in the formats of other tools: one module each, with a function `export(results, out)`."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from erlbench.errors import UsageError
from erlbench.experiment.cells import folder_name
from erlbench.files import reason, refuse_links

if TYPE_CHECKING:
    from erlbench.api import Results

TARGETS: Mapping[str, str] = MappingProxyType(
    {
        "tensorboard": "event files, one folder a run (tensorboard --logdir)",
        "wandb": "offline runs of Weights & Biases (wandb sync)",
        "rliable": "scores.npz, algorithm -> scores (runs, environments), for rliable's functions",
        "sb3": "evaluations.npz as Stable-Baselines3's EvalCallback writes it, one folder a run",
        "parquet": "cells, evaluations, episodes, tasks and generations, a file each",
        "monitor": "monitor.csv as Stable-Baselines3's Monitor writes it, one folder a run",
    }
)
FILES = (".npz", ".parquet")  # of exports that are not by run
PACKAGES: Mapping[str, str] = MappingProxyType({"tensorboard": "tensorboard", "wandb": "wandb", "parquet": "pyarrow"})


def _refuse_links(results: Results, out: Path) -> None:
    """Raise `UsageError` where a file or a folder of the export is a link already, whose target is none of ours."""
    own = {"wandb", *(folder_name(str(env)) for env in results.cells.get("env", ()))}
    for path in out.iterdir():
        if path.is_symlink() and (path.name in own or path.suffix in FILES):
            raise UsageError(f"{path} is a link, which is neither followed nor replaced; remove it first")
        if path.name in own - {"wandb"}:  # W&B itself makes a link in its folder, which is written once
            refuse_links(path)


def export(results: Results, target: str, out: Path) -> list[Path]:
    """Write `results` for `target`, one of `TARGETS`, below the folder `out`; what was written.

    A `UsageError` names the extra that is missing, or says why nothing can be written to `out`.
    """
    package = PACKAGES.get(target)
    if package is not None and importlib.util.find_spec(package) is None:
        raise UsageError(f"--to {target} needs a package: pip install 'erlbench[exports]'")
    try:
        out.mkdir(parents=True, exist_ok=True)
        _refuse_links(results, out)
        written: list[Path] = importlib.import_module(f"erlbench.exporting.{target}").export(results, out)
    except OSError as error:
        raise UsageError(
            f"the export cannot be written to {out}: {reason(error)}; choose another folder by --out"
        ) from error
    if not written:
        where = os.path.commonpath(results.runs) if results.runs else "the folders"
        raise UsageError(
            f"no run has the rows that --to {target} takes, of those in {where}; look at: erlbench show {where}"
        )
    return written
