"""What cells can use of a machine, and that running them at once changes no result."""

from ast import literal_eval
from dataclasses import replace

import pytest

from erlbench.experiment.cells import RunOptions
from erlbench.running.cell import processes_for
from erlbench.running.command import schedule_cells
from tests.runs import check_same_as_whole, complete, interrupt_after, make_cell, meta, run
from tests.tables import cells


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """No GPU, and much memory."""
    monkeypatch.setattr("erlbench.running.command.gpus", list)
    monkeypatch.setattr("erlbench.running.command.available_memory", lambda: 256e9)


# Processes, whether exclusive, cells at once. A third of AES-RL's work is its critic's; nobody has timed a step of the
# mountain car; CEM-RL's four processes have the main process beside them.
CORES = """
cem    | {}                                  | 1, False, 8
aes-rl | {"env": "HalfCheetah-v5"}           | 3, True, 2
aes-rl | {"env": "MountainCarContinuous-v0"} | 6, True, 1
aes-rl | {"simulated_time": True}            | 1, False, 8
aes-rl | {"simulated_time": True, "one_core": True} | 1, False, 8
aes-rl | {"one_core": True}                  | 6, True, 1
cem-rl | {"one_core": True, "workers": 3}    | 3, True, 2
cem-rl | {"one_core": True}                  | 8, True, 1
openai-es | {"one_core": True, "workers": 4} | 8, True, 1
cem-rl | {"processes": 16}                   | 10, True, 1
cem-rl | {"processes": 4}                    | 4, True, 1
"""


# Of a cell by itself, with the options of the command.
PROCESSES = """
cem       | {}               | 8, jobs=1                   | 8
cem       | {}               | 8, jobs=3                   | 2
cem       | {}               | 8, jobs=None                | 8
cem       | {}               | 2, jobs=3                   | 1
cem       | {}               | 0                           | 0
cem       | {"workers": 3}   | 8                           | 3
td3       | {"workers": 0}   | 8                           | 8
openai-es | {"workers": 3}   | 8                           | 8
aes-rl    | {"workers": 3}   | 8                           | 8
cem       | {"processes": 5} | 8, jobs=2                   | 5
cem       | {"processes": 5} | 0                           | 5
cem       | {}               | 8, pool="ray", per_node=3   | 3
"""


@pytest.mark.parametrize(("algo", "changes", "options", "expected"), cells(PROCESSES))
def test_a_cell_has_its_jobs_share_and_no_more_processes_than_it_has_work_for(
    tmp_path, algo, changes, options, expected
):
    given = eval(f"RunOptions({options})", {"RunOptions": RunOptions})
    assert processes_for(make_cell(algo, tmp_path, **literal_eval(changes)), given) == int(expected)


@pytest.mark.parametrize(("jobs", "most", "share"), [(1, 8, 8), (2, 9, 4), (None, 8, None)])
def test_open_files_and_shares_are_those_of_the_cells_at_once(tmp_path, monkeypatch, jobs, most, share):
    """A finished cell is only looked at, and its checkpoints go, unless it is to begin anew."""
    done, *others = (make_cell("cem", tmp_path, steps=50, seed=seed) for seed in range(3))
    checkpoints, asked = complete(done).directory / "checkpoint", []
    checkpoints.mkdir()
    monkeypatch.setattr("erlbench.running.command.allow_workers", asked.append)
    three = replace(done, processes=5), *others
    complete(three[0], processes=8, jobs=jobs)
    assert not checkpoints.exists()
    shares = schedule_cells(three, RunOptions(8, jobs=jobs)).shares
    assert shares[0].done
    assert share in (None, shares[1].processes)
    assert not schedule_cells(three, RunOptions(8, jobs=jobs, force=True)).shares[0].done
    monkeypatch.setattr("erlbench.running.command.run_all", lambda *_: ["done"])
    complete(*three, processes=8, jobs=jobs)
    assert asked == [5 if jobs else 8, most]


@pytest.mark.parametrize(("algo", "changed", "expected"), cells(CORES))
def test_a_cell_on_the_clock_has_all_the_cores_that_it_can_use(tmp_path, algo, changed, expected):
    changes, (processes, exclusive, at_once) = literal_eval(changed), literal_eval(expected)
    settings = {} if algo in ("cem", "openai-es") else {"hidden": (256, 256), "batch_size": 256}
    made = {"steps": 1_000_000, "evaluate": "after", "settings": settings, "workers": 5 if algo == "aes-rl" else 10}
    many = [make_cell(algo, tmp_path, seed=seed, **made | changes) for seed in range(200)]
    schedule = schedule_cells(many, RunOptions(8, jobs=None, device="cpu"))
    assert {(share.processes, share.exclusive) for share in schedule.shares} == {(processes, exclusive)}
    assert schedule.forecast().at_once == at_once


def test_a_gpu_is_shared_by_no_two_cells(tmp_path, monkeypatch):
    monkeypatch.setattr("erlbench.running.command.gpus", lambda: ["a GPU"])
    three = [make_cell("td3", tmp_path, seed=seed) for seed in range(3)]
    options = RunOptions(8, jobs=None), RunOptions(8, jobs=None, device="cpu")
    assert {(share.cores, share.exclusive) for share in schedule_cells(three, options[0]).shares} == {(8, True)}
    assert [schedule_cells(three, each).forecast().at_once for each in options] == [1, 3]


@pytest.mark.parametrize(("taken", "at_once"), [(0.85, 2), (0.95, 1)])
def test_cells_at_once_leave_a_tenth_of_the_free_memory(tmp_path, monkeypatch, taken, at_once):
    two, options = [make_cell("cem", tmp_path, seed=seed, processes=3) for seed in range(2)], RunOptions(8, jobs=None)
    memory = sum(share.memory for share in schedule_cells(two, options).shares)
    monkeypatch.setattr("erlbench.running.command.available_memory", lambda: memory / taken)
    assert schedule_cells(two, options).forecast().at_once == at_once


SMALL = {"population": 4, "elites": 2, "episodes": 1}


def test_cells_at_once_are_interrupted_together_and_go_on(tmp_path, monkeypatch):
    """Two of three cells run on two cores; the third waits for the second call."""
    three = [
        make_cell("aes-rl", tmp_path / "cut", steps=400, simulated_time=True),
        *(make_cell("cem", tmp_path / "cut", steps=300, seed=seed, settings=SMALL) for seed in range(2)),
    ]
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3)
        assert run(*three, processes=2, jobs=None, checkpoint_every=0.0) == 130
    assert [cell.directory.exists() for cell in three] == [True, True, False]
    complete(*three, processes=2, jobs=None)
    for cell in three:
        start, alone = (meta(each)["starts"][-1] for each in (cell, check_same_as_whole(cell, processes=1)))
        assert (start["cells_at_once"], start["exclusive"], start["processes"]) == (2, False, 1)
        assert (alone["cells_at_once"], alone["exclusive"]) == (1, True)
