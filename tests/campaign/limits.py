"""Limits of the machine: told with what to do, and the run goes on when they are gone."""

from __future__ import annotations

import resource

from tests.campaign.trials import Trial, check, finish, start, write_config
from tests.runs import check_same_as_whole, make_cell


def trial(trial: Trial) -> None:
    """A run that meets a limit of its shell: a message, exit code 1 or 2, and the same rows once the limit is gone."""
    draw = trial.random
    kind, low, high, words = draw.choice((
        (resource.RLIMIT_FSIZE, 200, 60_000, ("larger than this shell allows",)),
        (resource.RLIMIT_NOFILE, 12, 60, ("too many open files", "Too many open files")),
    ))  # fmt: skip
    value, algo = draw.randrange(low, high), draw.choice(("cem", "td3"))
    what = f"{algo} with {'files of' if kind == resource.RLIMIT_FSIZE else 'open files'} {value}"
    cell = make_cell(algo, trial.folder / "results", steps=400, workers=10 if algo == "cem" else 0)
    config = write_config(cell, trial.folder / "config.toml", checkpoint_every=0.3)
    options = ("--config", config, "--out", cell.out, "--processes", 1)
    process = start(*options, limit=lambda: resource.setrlimit(kind, (value, value)))
    output = finish(process)
    trial.counts[f"starts that end with {process.returncode}"] += 1
    check(process.returncode in (0, 1, 2), f"{what}: exit code {process.returncode}: {output[-800:]}")
    check("Traceback" not in output, f"{what}: {output[-1500:]}")
    check(process.returncode == 0 or any(word in output for word in words), f"{what}: {output[-800:]}")
    process = start(*options)
    output = finish(process)
    check(process.returncode == 0, f"{what}, then without: {output[-800:]}")
    check_same_as_whole(cell)
