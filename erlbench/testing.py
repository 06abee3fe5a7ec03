"""What every algorithm must do, as one function for the tests of packages that bring some."""

from __future__ import annotations

import itertools
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from erlbench.algorithms import registry
from erlbench.experiment.arguments import arguments
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.requested_cells import requested_cells
from erlbench.files import Values
from erlbench.records.schema import EpisodeRow, Row, TaskRow
from erlbench.running.cell import CellRunner, CommandContext
from erlbench.running.progress import Display
from erlbench.settings import setting_rows
from erlbench.verification.comparison import compare_runs
from erlbench.verification.files import AGREES, load_files


def check_algorithm(
    name: str, folder: Path, *, env: str = "InvertedPendulum-v5", timesteps: int = 1000,
    settings: Values | None = None,
) -> None:  # fmt: skip
    """Run the algorithm `name` (or `module:Class`) below `folder`, and assert what every algorithm must do.

    It learns to the end of its budget and counts each step once; every setting has a help and a source; other seeds
    give other numbers. If it is synchronous, two worker processes and a run with interruptions give the same numbers,
    to the last digit. If nothing in it depends on the budget, so does a run that is extended to the budget.
    `settings` make the runs small.
    """
    for row in setting_rows(registry.find(name).settings_type):
        assert row.help, f"setting {row.name} has no help"
        assert row.source, f"setting {row.name} has no source"
    cells = {
        case: _cell(name, folder / case, env, timesteps, settings or {}, seed=int(case == "seed"))
        for case in ("whole", "seed", "two", "parts", "longer")
    }
    whole = cells["whole"]
    assert _run(whole, 0) == "done", "a run without worker processes fails"
    files = load_files(whole.directory)
    played, trained = files.rows[EpisodeRow]["l"].sum(), files.last["timesteps"]
    counted = trained + files.last["fitness_timesteps"]
    assert played == counted, f"episodes have {played} steps, eval.csv counts {counted}"
    assert trained >= timesteps, f"the run ended after {trained} of {timesteps} steps"
    assert _run(cells["seed"], 0) == "done", "a run with another seed fails"
    first, second = (load_files(cells[case].directory).rows[EpisodeRow]["r"] for case in ("whole", "seed"))
    assert not first.equals(second), "seeds 0 and 1 give the same episodes"
    if not registry.find(name).is_synchronous(whole.settings):
        return
    assert _run(cells["two"], 2) == "done", "a run with two worker processes fails"
    _same(cells["two"], whole, "two worker processes")
    for results in (3, 17):
        _run(cells["parts"], 0, stop_after=results)
    assert _run(cells["parts"], 0) == "done", "an interrupted run cannot be continued"
    _same(cells["parts"], whole, "an interruption")
    if not registry.find(name).depends_on_budget(whole.settings):
        shorter = replace(cells["longer"], total_timesteps=timesteps // 2)
        assert _run(shorter, 0, save_replay=True) == "done", "a run with half of the budget fails"
        assert _run(cells["longer"], 0) == "done", "a run with half of the budget cannot be extended"
        _same(cells["longer"], whole, "an extension")


def _cell(name: str, out: Path, env: str, timesteps: int, settings: Values, seed: int) -> Cell:
    request = {"algo": (name,), "env": (env,), "seeds": [seed], "total_timesteps": timesteps, "set": settings}
    request |= {"eval_freq": 250, "eval_episodes": 2, "final_episodes": 2, "evaluate": "during", "out": str(out)}
    (cell,) = requested_cells(arguments(request))
    return cell


def _run(cell: Cell, processes: int, stop_after: int = 0, save_replay: bool = False) -> str:
    """Run a cell, and return how it ended; `stop_after` interrupts it after this number of results."""
    stop, results = threading.Event(), itertools.count(1)

    def interrupt(row: Row) -> None:
        if isinstance(row, TaskRow) and next(results) == stop_after:
            stop.set()

    options = RunOptions(processes, verbosity=-1, device="cpu", save_replay=save_replay)
    command = CommandContext(options=options, display=Display(-1), stop=stop, listeners=[interrupt])
    with closing(command.pauses), closing(CellRunner(command)) as job:
        return job.run(cell)


def _same(cell: Cell, whole: Cell, what: str) -> None:
    for check in compare_runs(load_files(cell.directory), load_files(whole.directory)):
        assert check.outcome == AGREES, (
            f"{what} changes {check.name} ({check.text}): results must depend on nothing but seed and settings"
        )
