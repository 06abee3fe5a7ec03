"""Running a finished run again from its start, and comparing the digests of its states and its rows."""

from __future__ import annotations

import tempfile
from pathlib import Path

from erlbench.algorithms import registry
from erlbench.envs.catalogue import module_of
from erlbench.errors import UsageError
from erlbench.experiment.arguments import arguments
from erlbench.experiment.cells import RunOptions
from erlbench.experiment.command import requested_cells
from erlbench.pool.apart import NoEnd, apart
from erlbench.records.run import CONFIG
from erlbench.records.schema import EpisodeRow, EvaluationRow
from erlbench.running.admission import UNTRIED, problem_finder
from erlbench.running.command import run_cells
from erlbench.verification.files import Check, Files, Findings, Unverifiable, load_files, make_check
from erlbench.verification.same import compare_rows, unlike_digests
from erlbench.verification.software import compare_software

LONGEST = 6 * 3600.0  # seconds of a second run


def run_again(path: Path, number: int, trusted: bool = False) -> Check:
    """Run the run in `path` again up to evaluation `number`, and compare the digests and rows up to there.

    Raises `UsageError` for an evaluation that is not there. A module that the folder names is only imported where it
    is `trusted`. The second run has a process of its own, which is ended when it takes too long.
    """
    return make_check("again", _run_and_compare, load_files(path), number, trusted)


def _run_and_compare(run: Files, number: int, trusted: bool) -> Findings:
    rows = run.evaluations
    if not any(rows["digest"]):
        raise Unverifiable("eval.csv has no digests: an early version made the run")
    if not 0 <= number < len(rows):
        raise UsageError(f"{run.path} has the evaluations 0 to {len(rows) - 1}, not {number}")
    for name in (run.env, run.algo):
        if (module := module_of(name)) and not trusted:
            raise Unverifiable(f"{name} is in the module {module}, which runs code; --import allows that")
    until = None if rows["final"].iloc[number] == 1 else number
    options = RunOptions(0, verbosity=-1, until=until, admission=False)
    with tempfile.TemporaryDirectory(prefix="erlbench-again-") as folder:
        try:
            second = apart(_run, run.path, folder, options, seconds=LONGEST)
        except NoEnd as error:
            raise Unverifiable(f"the second run has no end within {LONGEST:,.0f} s") from error
        if second is None:
            raise Unverifiable("results arrived by the clock, which no second run repeats")
        return _compare(run, load_files(second), number)


def _run(path: Path, out: str, options: RunOptions) -> Path | None:
    """Run the run in `path` again below the folder `out`: its own folder; None where no run can repeat it."""
    (cell,) = requested_cells(arguments({"config": str(path / CONFIG), "out": out}), problem_finder(UNTRIED))
    if not (cell.simulated_time or registry.find(cell.algo).is_synchronous(cell.settings)):
        return None
    run_cells([cell], options)
    return cell.directory


def _compare(run: Files, again: Files, number: int) -> Findings:
    """All cells of the evaluations and training episodes up to evaluation `number` that no clock measured."""
    ours, theirs = (files.evaluations.head(number + 1) for files in (run, again))
    if len(theirs) <= number:
        reason = again.status.get("message") or "it stopped before"
        return [f"the second run did not come to evaluation {number}: {reason}"], ""
    unlike = unlike_digests(run, again)
    wrong = [*compare_rows(EvaluationRow, ours, theirs, unlike)[0]]
    if EpisodeRow in run.rows and EpisodeRow in again.rows:
        first, second = (
            rows[rows["timesteps"] <= ours["timesteps"].iloc[-1]].reset_index(drop=True)
            for rows in (run.rows[EpisodeRow], again.rows[EpisodeRow])
        )
        length = min(len(first), len(second))
        wrong += compare_rows(EpisodeRow, first.head(length), second.head(length))[0]
    if wrong:
        compare_software(run)  # `Unverifiable` where other software made the run, so that bits may differ
    what = f"rows ({unlike})" if unlike else "digests and rows"
    return wrong, f"the {what} of evaluations 0 to {number} are those of a second run"
