"""Runs of other programs as runs of this suite: each format in a module, one reader of all, one writer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.importing import cleanrl, sb3
from erlbench.importing.run import ImportedRun, Said, run_of
from erlbench.importing.source import ForeignRun
from erlbench.importing.table import read_table
from erlbench.importing.write import check_free, write_run
from erlbench.records.run import folders

__all__ = ["ImportedRun", "Said", "read_runs", "write_runs"]

EVENTS = ".tfevents."  # in the name of an event file
WHAT = (
    "evaluations.npz, monitor.csv, TensorBoard's event files, or a CSV with the columns env, algo, seed, step, return"
)
PART = re.compile(r"\\\{(env|algo|seed)\\\}|\\\{\w*\\\}")


def read_runs(paths: Sequence[Path], said: Said, layout: str = "") -> list[ImportedRun]:
    """The runs in files, and in folders and all folders below them.

    `UsageError` for a file that cannot be read, and for a run that nobody names.
    `layout` says where environment, algorithm and seed stand in a path: "{algo}/{env}_{seed}".
    """
    if said.name:
        _check_name(said.name)
    units = [unit for path in dict.fromkeys(paths) for unit in _units(path)]
    runs = [run_of([_named(source, layout) for source in unit], said) for unit in units]
    seen: dict[Path, ImportedRun] = {}
    for run in runs:
        if (other := seen.setdefault(run.folder, run)) is not run:
            raise UsageError(
                f"{other.paths[0]} and {run.paths[0]} are both {run.name} on {run.env}, seed {run.seed}; give them one "
                "by one with another --seed or --name"
            )
    return runs


def write_runs(runs: Sequence[ImportedRun], out: Path) -> list[Path]:
    """Write runs below `out`; their folders. Nothing is written where one of them is there already."""
    for run in runs:
        check_free(out, run)
    return [write_run(out, run) for run in runs]


def _units(path: Path) -> Iterator[list[ForeignRun]]:
    """The sources of each run in a file, or below a folder."""
    if path.is_dir():
        units = [unit for folder in folders(path) if (unit := _in_folder(folder))]
        if not units:
            raise UsageError(f"{path} holds nothing to import; there may be {WHAT}, which is named as a file")
        yield from units
    elif not path.exists():
        raise UsageError(f"{path} does not exist")
    elif path.suffix == ".npz":
        yield [sb3.read_evaluations(path)]
    elif path.name.endswith(sb3.MONITOR):
        yield [sb3.read_monitors([path])]
    elif EVENTS in path.name:
        yield [cleanrl.read_events([path])]
    elif path.suffix == ".csv":
        yield from ([source] for source in read_table(path))
    else:
        raise UsageError(f"{path} is nothing that can be imported; give {WHAT}")


def _in_folder(folder: Path) -> list[ForeignRun]:
    """The sources of the one run that a folder holds."""
    names = sorted(path for path in folder.iterdir() if path.is_file() or path.is_symlink())
    found = [sb3.read_evaluations(path) for path in names if path.name == sb3.EVALUATIONS]
    if monitors := [path for path in names if path.name.endswith(sb3.MONITOR)]:
        found.append(sb3.read_monitors(monitors))
    events = [path for path in names if EVENTS in path.name]
    return [*found, cleanrl.read_events(events)] if events and not found else found


def _named(source: ForeignRun, layout: str) -> ForeignRun:
    """The source with what its path says by `layout`, where the file itself does not say it."""
    if not layout or (source.env and source.algo and source.seed is not None):
        return source
    if (found := _pattern(layout).search(source.path.resolve().parent.as_posix())) is None:
        raise UsageError(f"{source.path} does not lie as --layout {layout!r} says")
    parts = found.groupdict()
    seed = int(parts["seed"]) if "seed" in parts else source.seed
    return replace(source, env=source.env or parts.get("env", ""), algo=source.algo or parts.get("algo", ""), seed=seed)


def _pattern(layout: str) -> re.Pattern[str]:
    """The end of a path that a layout describes; {word} stands for any part of a name."""
    kinds = {"seed": r"\d{1,9}", "env": "[^/]+", "algo": "[^/]+"}
    text = PART.sub(
        lambda found: f"(?P<{found[1]}>{kinds[found[1]]})" if found[1] else "[^/]+", re.escape(layout.strip("/"))
    )
    try:
        return re.compile(f"(?:^|/){text}$")
    except re.error:
        raise UsageError(f"--layout {layout!r} names one of its parts twice") from None


def _check_name(name: str) -> None:
    if name.partition("@")[0] in registry.names():
        raise UsageError(f"--name {name} is an algorithm of this suite, and the runs are not; give another, sb3-{name}")
