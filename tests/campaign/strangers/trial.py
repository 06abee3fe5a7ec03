"""The part `strangers` of the campaign: each trial makes one attack of one finding, in turn."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.campaign.strangers import folders, modules
from tests.campaign.strangers.folders import Runs
from tests.campaign.strangers.place import Attack, Place
from tests.campaign.trials import Trial, once
from tests.campaign.warm import IMPORTED
from tests.runs import interrupt, make_cell, run

Make = Callable[[Place, Runs, random.Random], Attack]
FINDINGS: Sequence[Make] = (
    folders.code, folders.manifest, folders.names, modules.beside, folders.links, folders.settings, folders.page,
    folders.scores, folders.others,
)  # fmt: skip
SMALL = {"population": 4, "elites": 2}


def trial(trial: Trial) -> None:
    """One attack."""
    runs = _runs(trial.shared)
    for name in (*IMPORTED, "pandas", "matplotlib.backends.backend_agg", "jinja2", "erlbench.cli.report", "optuna"):
        if name != "torch" and "gradients" not in name:
            importlib.import_module(name)
    place = Place(trial.folder)
    attack = FINDINGS[trial.number % len(FINDINGS)](place, runs, trial.random)
    codes = place.perform(attack)
    trial.counts[f"finding {attack.finding}"] += 1
    for code in codes:
        trial.counts[f"commands that end with {code}"] += 1


def _runs(shared: Path) -> Runs:
    """A finished and a half-done run, to be copied."""
    return Runs(*_cells(once(shared / "strangers", _make)))


def _cells(folder: Path):
    done = make_cell("cem", folder / "done", steps=200, settings=SMALL)
    half = make_cell("cem", folder / "half", steps=400, settings={"population": 10, "elites": 5})
    return done, half


def _make(folder: Path) -> None:
    done, half = _cells(folder)
    assert run(done) == 0
    interrupt(half, 13)
