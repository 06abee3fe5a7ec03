"""What every registered algorithm must do; a new one is run here by its line in the registry."""

import functools
import json
import threading

import numpy as np
import pytest

from erlbench.algorithms import registry
from erlbench.algorithms.base import Context
from erlbench.envs.registry import problem
from erlbench.experiment.cells import RunOptions
from erlbench.pool import local_pool
from erlbench.records.schema import TaskRow
from erlbench.running import progress
from erlbench.running.checkpoint import load_checkpoint, save_checkpoint
from erlbench.running.encoding import dataclass_named, encode, references
from erlbench.running.jobs import Runner
from erlbench.running.loop import WHOLE, Loop
from erlbench.running.vocabulary import Vocabulary
from erlbench.settings import setting_rows
from erlbench.work.replay import Replay
from tests.checkpoints import known, types_in
from tests.runs import (
    all_rows,
    check_counts,
    interrupt,
    interrupt_after,
    listen,
    make_cell,
    replayed,
    returns,
    rows,
    run,
    synchronous,
)

ALGORITHMS = list(registry.ALGORITHMS)
SYNCHRONOUS = synchronous()
ASYNCHRONOUS = [(name, {}) for name in ALGORITHMS if name not in SYNCHRONOUS] + [
    ("p-cem-rl", {"parallel_critic": True})
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished run of an algorithm, without worker processes and interruptions; made once."""

    @functools.cache
    def finished(algo):
        cell = make_cell(algo, tmp_path_factory.mktemp(algo))
        assert run(cell) == 0
        return cell

    return finished


@pytest.fixture(scope="module")
def runners():
    """Runners by their number of processes, whose workers go from algorithm to algorithm: they import PyTorch once."""
    made = {
        processes: Runner(RunOptions(processes, verbosity=-1, device="cpu"), progress.create(-1), threading.Event())
        for processes in (1, 3)
    }
    yield made
    for runner in made.values():
        runner.close()


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_it_learns_to_the_end_of_its_budget_and_counts_every_step_once(algo, whole):
    check_counts(whole(algo))


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_the_reported_score_is_that_of_the_saved_policy(algo, whole):
    *others, last = rows(whole(algo).directory, "eval.csv")
    assert {row["final"] for row in others} == {"0"}
    assert (last["final"], returns(last)) == ("1", replayed(whole(algo)))


@pytest.mark.parametrize("algo", SYNCHRONOUS)
def test_a_resumed_run_equals_an_uninterrupted_one(algo, whole, tmp_path, monkeypatch):
    expected = all_rows(whole(algo).directory)  # before drivers are made to stop
    parts = make_cell(algo, tmp_path)
    interrupts = 0
    for results in (3, 17, 40):
        with monkeypatch.context() as patch:
            interrupt_after(patch, results)
            code = run(parts)
        assert code in (0, 130)
        interrupts += code == 130
    assert run(parts) == 0
    assert interrupts >= 2
    assert all_rows(parts.directory) == expected


@pytest.mark.parametrize(("processes", "stops"), [(0, (13, 38, 45, 51)), (2, (38,))])  # a start with processes is long
def test_barriers_change_no_row_and_can_be_interrupted(processes, stops, whole, tmp_path):
    """All columns but those of time and the critic's lag; a resumed run waits for no task that was finished before."""
    cell, uninterrupted = (make_cell("p-cem-rl", tmp_path / name, settings={"barriers": True}) for name in "ab")
    assert run(uninterrupted, processes=processes) == 0
    expected = all_rows(uninterrupted.directory)
    assert without_lag(expected) == without_lag(all_rows(whole("p-cem-rl").directory))
    interrupt(cell, *stops, processes=processes)
    assert run(cell, processes=processes) == 0
    assert all_rows(cell.directory) == expected
    lag = {row["critic_lag"] for row in expected["tasks.csv"] if row["kind"] in ("actor", "rl", "es")}
    assert lag == {"0"}  # the critic is done before these begin


def without_lag(found):
    """Rows without the columns of the critic's lag, which overlapping phases have."""
    return {
        file: [{column: row[column] for column in row if not column.startswith("critic_lag")} for row in rows]
        for file, rows in found.items()
    }


@pytest.mark.parametrize(("algo", "settings"), ASYNCHRONOUS)
@pytest.mark.parametrize("simulated", [False, True])
def test_an_interrupted_asynchronous_run_goes_on(algo, settings, simulated, tmp_path):
    parts = make_cell(algo, tmp_path / "parts", simulated_time=simulated, settings=settings)
    assert not registry.find(algo).is_synchronous(parts.settings)
    interrupt(parts, 5, 30, 60)
    assert run(parts) == 0
    check_counts(parts)
    if simulated:
        whole = make_cell(algo, tmp_path / "whole", simulated_time=True, settings=settings)
        assert run(whole) == 0
        assert all_rows(parts.directory) == all_rows(whole.directory)


@pytest.mark.parametrize("algo", SYNCHRONOUS)
def test_the_number_of_processes_changes_no_digit(algo, whole, runners, tmp_path):
    expected = all_rows(whole(algo).directory)
    for processes, runner in runners.items():
        cell = make_cell(algo, tmp_path / str(processes))
        assert runner.run(cell) == "done"
        assert all_rows(cell.directory) == expected, f"{processes} processes"


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_seeds_differ(algo, tmp_path):
    cells = [make_cell(algo, tmp_path, steps=300, seed=seed) for seed in (0, 1)]
    assert run(*cells) == 0
    first, second = (rows(cell.directory, "episodes.csv") for cell in cells)
    assert [row["r"] for row in first] != [row["r"] for row in second]


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_its_state_goes_through_a_checkpoint(algo, tmp_path):
    cell = make_cell(algo, tmp_path)
    task = problem(cell.env)
    with local_pool(0) as pool:
        replay = Replay(tmp_path / "replay", task.observation_size, task.action_size)
        context = Context(
            problem=task, seed=0, total_timesteps=1000, workers=cell.workers, store=pool.store, replay=replay
        )
        algorithm = registry.find(algo)(cell.settings, context)
        tasks = algorithm.ask()
        assert tasks
        assert [t.id for t in tasks] == sorted({t.id for t in tasks})
        path = save_checkpoint(tmp_path / "checkpoint", {"a": algorithm.snapshot(), "tasks": tasks}, {})
        payload, _ = load_checkpoint(path, Vocabulary(algorithm).find)
        assert payload["tasks"] == tasks
        assert list(references(payload["a"])) == list(references(algorithm.snapshot()))
        assert list(references(algorithm.policy()))
        parameters = pool.store.load(algorithm.policy())
        assert parameters.shape == (algorithm.policy_spec.size,)
        assert np.isfinite(parameters).all()
        replay.close()


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_every_checkpoint_of_a_run_comes_back_as_it_was(algo, tmp_path, monkeypatch):
    saved, types, seen = [], {}, []

    def save(training, record):
        if record is WHOLE and training.files.counted[TaskRow].state()["length"] // 256 > len(saved):
            seen.append(Vocabulary(training.loop.algorithm))
            training.save()

    def checked(folder, payload, arrays, keep, number):
        path = save_checkpoint(folder, payload, arrays, keep, number)
        collected, again = dict(arrays), dict(arrays)
        text = encode(payload, collected)
        types.update(types_in(text))
        vocabulary = seen[-1] if seen else None
        found, loaded = load_checkpoint(path, vocabulary.find if vocabulary else dataclass_named)
        if vocabulary:
            vocabulary.check(found, loaded)
        assert json.dumps(encode(found, again)) == json.dumps(text)  # as texts: NaN is NaN
        for name, array in (collected | again).items():
            np.testing.assert_array_equal(loaded[name], array, strict=True)
        saved.append(path)
        return path

    monkeypatch.setattr("erlbench.running.listeners.checkpoints.save_checkpoint", checked)
    listen(monkeypatch, save)
    assert run(make_cell(algo, tmp_path, steps=400)) == 0
    assert len(saved) >= 2
    missing = {name: sorted(fields) for name, fields in types.items() if not fields <= set(known().get(name, ()))}
    assert not missing, f"add them to tests/checkpoints.json: {json.dumps(missing)}"


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_shared_memory_does_not_grow_with_the_run(algo, tmp_path, monkeypatch):
    counts = []
    sweep = Loop._sweep

    def counted(loop):
        sweep(loop)
        counts.append(len(list(loop.pool.store.folder.iterdir())))

    monkeypatch.setattr(Loop, "_sweep", counted)
    assert run(make_cell(algo, tmp_path, steps=2500)) == 0
    assert max(counts) < 150


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_every_setting_is_documented(algo):
    for row in setting_rows(registry.find(algo).settings_type):
        assert row.help, row.name
        assert row.source, row.name


def test_a_stop_before_the_first_task_is_an_interruption(tmp_path):
    stop = threading.Event()
    stop.set()
    runner = Runner(RunOptions(0), progress.create(-1), stop)
    assert runner.run(make_cell("cem", tmp_path)) == "interrupted"
    runner.close()
