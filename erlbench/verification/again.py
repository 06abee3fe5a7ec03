"""Running a finished run again, from its start or from a kept checkpoint, and comparing the digests of its states."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

from erlbench.algorithms import registry
from erlbench.envs.catalogue import module_of
from erlbench.errors import UsageError
from erlbench.experiment.arguments import arguments
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.command import requested_cells
from erlbench.files import refuse_links
from erlbench.pool.apart import NoEnd, apart
from erlbench.records.run import CHECKPOINTS, CONFIG, KEPT, REPLAY, ROWS
from erlbench.records.schema import EpisodeRow
from erlbench.running.admission import problems
from erlbench.running.identity import UNTRIED
from erlbench.running.runner import run_cells
from erlbench.verification.budget import seconds_again
from erlbench.verification.check import AGREES, DIFFERS, UNKNOWN, Check, Files, load_files
from erlbench.verification.same import MEASURED
from erlbench.verification.software import check_software

NAME = "again"


def run_again(
    path: Path, number: int, start: int | None = None, processes: int = 0, trusted: bool = False,
    seconds: float | None = None,
) -> Check:  # fmt: skip
    """Run the run in `path` again up to evaluation `number`, and compare the digests up to there.

    It begins at the start, or at the kept checkpoint of evaluation `start`. Raises `UsageError` for an evaluation or
    a checkpoint that is not there. A module that the folder names is only imported where it is `trusted`. The second
    run has a process of its own and `seconds`, by default those of `seconds_again`.
    """
    refuse_links(path)  # its files are copied
    run = load_files(path)
    rows = run.evaluations
    if not any(rows["digest"]):
        return Check(NAME, UNKNOWN, "eval.csv has no digests: an older version made the run")
    last = int(run.last["evaluation"])
    first = -1 if start is None else start
    if not first < number <= last:
        raise UsageError(f"{path} has the evaluations {first + 1} to {last}, not {number}")
    for named in (str(run.run.get("env")), str(run.run.get("algo"))):
        if (module := module_of(named)) and not trusted:
            return Check(NAME, UNKNOWN, f"{named} is in the module {module}, which runs code; --import allows that")
    evaluations = rows.to_dict("records")
    if seconds is None:
        seconds = seconds_again(evaluations[number], None if start is None else evaluations[start])
    until = None if rows["final"][number] == 1 else number
    options = RunOptions(processes, verbosity=-1, until=until, admission=False)
    with tempfile.TemporaryDirectory(prefix="erlbench-again-") as folder:
        try:
            second = apart(_second, path, folder, start, options, seconds=seconds)
        except NoEnd as error:
            return Check(NAME, UNKNOWN, str(error))
        if second is None:
            return Check(NAME, UNKNOWN, "results arrived by the clock, which no second run repeats")
        return _compare(run, load_files(second), number, first + 1)


def _second(path: Path, out: str, start: int | None, options: RunOptions) -> Path | None:
    """Run the run in `path` again below the folder `out`: its own folder; None where no run can repeat it."""
    (cell,) = requested_cells(arguments({"config": str(path / CONFIG), "out": out}), problems(UNTRIED))
    if not (cell.simulated_time or registry.find(cell.algo).is_synchronous(cell.settings)):
        return None
    if start is not None:
        _place(path, start, cell)
    run_cells([cell], options)
    return cell.directory


def _place(path: Path, start: int, cell: Cell) -> None:
    """Put the run's files and its checkpoint of evaluation `start` where `cell` goes on from them."""
    kept = path / KEPT / f"{start + 1:06d}"
    if not kept.is_dir():
        raise UsageError(f"there is no {kept}; a run keeps them with --keep-checkpoints")
    cell.directory.mkdir(parents=True)
    for name in (CONFIG, *ROWS):
        shutil.copyfile(path / name, cell.directory / name)
    shutil.copytree(kept, cell.directory / CHECKPOINTS / kept.name)
    if (path / REPLAY).is_dir():
        shutil.copytree(path / REPLAY, cell.directory / REPLAY)


def _compare(run: Files, again: Files, number: int, first: int) -> Check:
    """Digests, then all cells of the evaluations and training episodes that no clock measured."""
    ours, theirs = (files.evaluations[first : number + 1].to_dict("records") for files in (run, again))
    if len(theirs) < number - first + 1:
        reason = str(again.status.get("message") or "it stopped before")
        return Check(NAME, DIFFERS, f"the second run did not come to evaluation {number}: {reason}")
    outcome = DIFFERS if check_software(run).outcome == AGREES else UNKNOWN
    pairs = list(enumerate(zip(ours, theirs, strict=True), first))
    for column in ("digest", *(name for name in ours[0].keys() & theirs[0].keys() - MEASURED if name != "digest")):
        wrong = [
            index
            for index, (row, other) in pairs
            if row[column] != other[column] and not _both_empty(row, other, column)
        ]
        if wrong:
            later = f" and {len(wrong) - 1} later ones" if len(wrong) > 1 else ""
            return Check(NAME, outcome, f"{column} of evaluation {wrong[0]}{later}: another one in the second run")
    if number_of := _other_episodes(run, again, ours[-1]["timesteps"]):
        return Check(NAME, outcome, f"episode {number_of} of episodes.csv: another one in the second run")
    return Check(NAME, AGREES, f"the digests and rows of evaluations {first} to {number} are those of a second run")


def _both_empty(row: Mapping[Hashable, Any], other: Mapping[Hashable, Any], column: Hashable) -> bool:
    return bool(row[column] != row[column] and other[column] != other[column])


def _other_episodes(run: Files, again: Files, timesteps: int) -> int:
    """The first training episode up to `timesteps` that differs, counted from 1; 0 for none, or without the rows."""
    ours, theirs = (files.rows.get(EpisodeRow) for files in (run, again))
    if ours is None or theirs is None:
        return 0
    pairs = zip(*(rows[rows["timesteps"] <= timesteps][["r", "l"]].to_numpy() for rows in (ours, theirs)))
    return next((index for index, (one, other) in enumerate(pairs, 1) if (one != other).any()), 0)
