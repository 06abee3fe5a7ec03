"""Small cells for the tests, and what their CSV files hold apart from times."""

from __future__ import annotations

import csv
import itertools
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from erlbench.algorithms import registry
from erlbench.envs.registry import Problem, build, problem
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.policy import NumpyPolicy, PolicySpec, initial_parameters, load_policy
from erlbench.records.schema import Row
from erlbench.running.cell import CellRunner, CommandContext, Listener
from erlbench.running.command import run_cells
from erlbench.running.evaluation import evaluation_seeds
from erlbench.running.loop import Run
from erlbench.running.progress import Display
from erlbench.settings import resolve
from erlbench.verification import Check, verify_all
from erlbench.verification.comparison import MEASURED
from erlbench.work.rollout import play
from tests.files import read_json

SMALL = {
    "hidden": (16, 16), "batch_size": 16, "start_timesteps": 300, "critic_block": 50, "replay_size": 5000,
    "rollout_steps": 50,
}  # fmt: skip
SMALL_OF = {
    "ga": {"population": 6, "parents": 2}, "pgpe": {"population": 6},
    "pderl": {"population": 5, "memory": 200, "distillation_batch": 16},
    "evorainbow-exp": {"validation_every": 3, "validation_episodes": 1},
    "esac": {
        "critic_hidden": (16, 16), "population": 10, "gradient_interval": 2, "sac_episodes": 2, "validation_every": 2,
        "validation_episodes": 2,
    },
}  # fmt: skip
FILES = ("eval.csv", "episodes.csv", "train.csv", "tasks.csv")
# By default; all others take results in the order of their tasks. The conformance test compares it with the algorithms,
# whose settings import whole libraries when they are made: too long for those who only collect tests.
ASYNCHRONOUS = ("aes-rl",)
SYNCHRONOUS = tuple(name for name in registry.ALGORITHMS if name not in ASYNCHRONOUS)
FITNESS_KINDS = ("mean", "validation")  # of episodes that fitness_timesteps counts


def four_first(names: Iterable[str]) -> list[Any]:
    """Parameters: a gradient learner, a mixed search, an evolution strategy, an asynchronous one; others are slow."""
    four = ("td3", "cem-rl", "openai-es", "aes-rl")
    return [name if name in four else pytest.param(name, marks=pytest.mark.slow) for name in names]


def make_cell(algo: str, out: Path, env: str = "InvertedPendulum-v5", steps: int = 1000, **changes) -> Cell:
    """A cell with networks of 16-16; `settings` in `changes` overrides hyper-parameters."""
    algorithm = registry.find(algo)
    names = algorithm.settings_type.__dataclass_fields__
    overrides = {name: value for name, value in SMALL.items() if name in names}
    overrides |= SMALL_OF.get(algo, {}) | changes.pop("settings", {})
    preset = changes.pop("preset", "default")
    settings = resolve(algorithm.settings_type, env, registry.preset(algo, preset), overrides)
    values = {
        "name": algo, "seed": 0, "workers": algorithm.default_workers or 10, "eval_freq": 250, "eval_episodes": 2,
        "final_episodes": 3, "evaluate": "during",
    }  # fmt: skip
    return Cell(
        algo=algo, preset=preset, env=env, total_timesteps=steps, settings=settings, out=out, **(values | changes)
    )


def write_options(path: Path, **options: Any) -> str:
    """Write a --config file; its path."""
    path.write_text(tomli_w.dumps(options), encoding="utf-8")
    return str(path)


def run(*cells: Cell, processes: int = 0, **options) -> int:
    """Run cells quietly; the exit code."""
    options = {"verbosity": -1, "device": "cpu", "command_line": ("erlbench", "run")} | options
    return run_cells(cells, RunOptions(processes, **options))


def complete(*cells: Cell, **options) -> Cell:
    """Run cells to their ends; the last one."""
    assert run(*cells, **options) == 0
    return cells[-1]


@contextmanager
def cell_runner(processes: int, *listeners: Listener, **options: Any) -> Iterator[CellRunner]:
    """What runs cells one after another on one pool; `listeners` hear their rows."""
    given = RunOptions(processes, verbosity=-1, device="cpu", **options)
    context = CommandContext(options=given, display=Display(-1), stop=threading.Event(), listeners=listeners)
    with closing(context.pauses), closing(CellRunner(context)) as runner:
        yield runner


def status(cell: Cell) -> dict[str, Any]:
    """The values of a run's status.json."""
    return read_json(cell.directory / "status.json")


def meta(cell: Cell) -> dict[str, Any]:
    """The values of a run's meta.json."""
    return read_json(cell.directory / "meta.json")


def csv_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a whole file, as text by column."""
    with open(path, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def listen(monkeypatch: pytest.MonkeyPatch, listener: Callable[[Run, Row], None]) -> None:
    """Have every run call `listener` with each row, after the row was written."""
    write = Run.write

    def written(run, *rows):
        for row in rows:
            write(run, row)
            listener(run, row)

    monkeypatch.setattr(Run, "write", written)


def at_result(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[Run], None]) -> None:
    """Have `act` happen after step `number` of all runs, before they look whether they are to be saved or to stop."""
    between, steps = Run._between_steps, itertools.count(1)

    def counted(run):
        if next(steps) == number:
            act(run)
        between(run)

    monkeypatch.setattr(Run, "_between_steps", counted)


def interrupt_after(monkeypatch: pytest.MonkeyPatch, results: int) -> None:
    """Have a run stop when `results` results have been taken in."""
    at_result(monkeypatch, results, stop)


def stop(run: Run) -> None:
    """Ask a run to stop."""
    run.stop.set()


def interrupt(cell: Cell, *results: int, **options) -> Cell:
    """Start a cell once for each number, and interrupt it when it has taken so many results in; the cell."""
    for number in results:
        with pytest.MonkeyPatch.context() as patch:
            interrupt_after(patch, number)
            assert run(cell, **options) == 130
    return cell


def heed_interrupts() -> None:
    """For subprocess's `preexec_fn`: Ctrl-C acts, even where the tests run in the background and ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    """The rows of one CSV file without its time columns; tasks.csv in the order of ids."""
    found = csv_rows(folder / name)
    for row in found:
        for column in MEASURED & row.keys():
            del row[column]
    return sorted(found, key=lambda row: int(row["task"])) if name == "tasks.csv" else found


def all_rows(folder: Path) -> dict[str, list[dict[str, str]]]:
    """All CSV files that a resumed run must repeat."""
    return {name: rows(folder, name) for name in FILES}


def check_same_as_whole(cell: Cell, **options) -> Cell:
    """A run of the cell that nothing interrupts, by default without processes, has the same rows; its cell."""
    whole = complete(replace(cell, out=cell.out.with_name(f"{cell.out.name}-whole")), **options)
    assert all_rows(cell.directory) == all_rows(whole.directory)
    return whole


def new_policy(task: Problem, *hidden: int) -> NumpyPolicy:
    """A policy with tanh and random parameters."""
    sizes = (task.observation_size, *hidden, task.action_size)
    spec = PolicySpec(sizes, "tanh", task.action_low, task.action_high)
    return NumpyPolicy(spec, initial_parameters(sizes, (0, 1)))


def returns(row: dict[str, str]) -> list[float]:
    """The returns of a row of eval.csv."""
    return [float(value) for value in row["returns"].split()]


def replayed(cell: Cell) -> list[float]:
    """The returns of the saved policy from the start states of the final evaluation."""
    task = problem(cell.env).env
    env, policy = build(task), load_policy(cell.directory)
    seeds = evaluation_seeds(cell.seed, None, cell.final_episodes)
    return [play(env, policy, task.max_episode_steps, seed, mode=True).total for seed in seeds]


def check_counts(cell: Cell) -> None:
    """All files agree on what was counted."""
    episodes, evaluations = rows(cell.directory, "episodes.csv"), rows(cell.directory, "eval.csv")
    last, by_kind = evaluations[-1], Counter[str]()
    for row in episodes:
        by_kind[row["kind"]] += int(row["l"])
    fitness = sum(by_kind.pop(kind, 0) for kind in FITNESS_KINDS)
    assert int(last["timesteps"]) == sum(by_kind.values()) >= 1000
    assert int(last["fitness_timesteps"]) == fitness
    assert int(last["episodes"]) == sum(row["kind"] not in FITNESS_KINDS for row in episodes)
    played = sum(int(length) for row in evaluations for length in row["lengths"].split())
    assert int(last["evaluation_timesteps"]) == played
    assert [int(row["evaluation"]) for row in evaluations] == list(range(len(evaluations)))
    assert int(evaluations[0]["timesteps"]) == 0
    tasks = rows(cell.directory, "tasks.csv")
    assert sum(int(row["timesteps"]) for row in tasks) == sum(by_kind.values()) + fitness + played
    for updates in ("critic_updates", "actor_updates"):
        assert sum(int(row[updates]) for row in tasks) == int(last[updates])


def verify(folder: Path, trusted: bool = False) -> list[Check]:
    """All checks of one run."""
    return verify_all([folder], trusted)[folder]
