"""What cells can use of a machine, and that running them at once changes no result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from erlbench.experiment.arguments import arguments
from erlbench.experiment.cells import RunOptions
from erlbench.experiment.command import requested_cells, run_options
from erlbench.running.command import schedule_cells
from erlbench.running.folder import RunFolder
from tests.runs import FILES, interrupt_after, make_cell, rows, run

HOUR = 3600.0


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """No GPU, and much memory."""
    monkeypatch.setattr("erlbench.running.command.gpus", list)
    monkeypatch.setattr("erlbench.running.command.available_memory", lambda: 256e9)


def by_machine(cores: int, **options) -> RunOptions:
    return RunOptions(cores, jobs=None, device="cpu", **options)


def test_a_command_without_numbers_plans_what_the_machine_carries(monkeypatch):
    """Sixty cells of a million steps on 64 cores: 123 hours one by one, about 260 hours of one core."""
    monkeypatch.setattr("erlbench.experiment.command.cores", lambda: 64)
    algos, envs = ("td3", "cem-rl", "aes-rl"), ("Walker2d-v5", "Hopper-v5")
    given = arguments({"algo": algos, "env": envs, "seeds": "10"})
    cells, options = requested_cells(given), run_options(given, ())
    schedule = schedule_cells(cells, options)
    one_by_one = schedule_cells(cells, replace(options, jobs=1)).forecast()
    assert (one_by_one.at_once, round(one_by_one.seconds / HOUR)) == (1, 123)
    forecast = schedule.forecast()
    least = sum(share.core_seconds for share in schedule.shares) / 64
    assert forecast.at_once >= 30
    assert least <= forecast.seconds < 5.2 * HOUR < 1.3 * least
    for cell, share in zip(cells, schedule.shares, strict=True):
        assert share.exclusive is (cell.algo == "aes-rl")


@pytest.mark.parametrize(
    ("given", "jobs", "processes"),
    [
        ({}, None, 8),
        ({"jobs": "2"}, 2, 8),
        ({"processes": "4"}, 1, 4),
        ({"processes": "0"}, 1, 0),
        ({"jobs": "2", "processes": "4"}, 2, 4),
        ({"pool": "ray"}, 1, 8),
        ({"slurm": ("mem=8G",)}, 1, 1),
    ],
)
def test_numbers_that_are_given_count(monkeypatch, given, jobs, processes):
    monkeypatch.setattr("erlbench.experiment.command.cores", lambda: 8)
    options = run_options(arguments({"algo": ("cem",), "env": ("Hopper-v5",), **given}), ())
    assert (options.jobs, options.processes) == (jobs, processes)


@pytest.mark.parametrize(
    ("algo", "changes", "options", "processes", "exclusive", "at_once"),
    [
        ("cem", {}, {}, 1, False, 8),
        ("td3", {}, {}, 1, False, 8),
        ("aes-rl", {"env": "HalfCheetah-v5"}, {}, 3, True, 2),  # its critic takes a third of all its work
        ("aes-rl", {"env": "MountainCarContinuous-v0"}, {}, 6, True, 1),  # nobody knows how long a step takes
        ("aes-rl", {"simulated_time": True}, {}, 1, False, 8),
        ("cem-rl", {"one_core": True}, {}, 8, True, 1),
        ("cem-rl", {}, {"one_core": True}, 8, True, 1),
        ("aes-rl", {"one_core": True}, {}, 6, True, 1),
        ("cem-rl", {"processes": 4}, {}, 4, True, 1),  # four, and the main process
        ("cem-rl", {"processes": 3}, {}, 3, True, 2),
        ("cem-rl", {"processes": 16}, {}, 10, True, 1),
    ],
)
def test_a_cell_on_the_clock_has_all_the_cores_that_it_can_use(
    tmp_path, algo, changes, options, processes, exclusive, at_once
):
    workers = {"aes-rl": 5}.get(algo, 10)
    made = {"steps": 1_000_000, "evaluate": "after", "settings": {"hidden": (256, 256), "batch_size": 256}} | changes
    if algo == "cem":
        made["settings"] = {}
    cells = [make_cell(algo, tmp_path, seed=seed, workers=workers, **made) for seed in range(200)]
    schedule = schedule_cells(cells, by_machine(8, **options))
    assert {(share.processes, share.exclusive) for share in schedule.shares} == {(processes, exclusive)}
    assert schedule.forecast().at_once == at_once


def test_a_gpu_is_shared_by_no_two_cells(tmp_path, monkeypatch):
    monkeypatch.setattr("erlbench.running.command.gpus", lambda: ["a GPU"])
    cells = [make_cell("td3", tmp_path, seed=seed) for seed in range(3)]
    assert schedule_cells(cells, RunOptions(8, jobs=None)).forecast().at_once == 1
    assert schedule_cells(cells, by_machine(8)).forecast().at_once == 3


SMALL = {"population": 4, "elites": 2, "episodes": 1}


def test_cells_at_once_have_the_rows_of_cells_one_by_one(tmp_path):
    """Synchronous algorithms, and an asynchronous one in simulated time."""
    alone, at_once = (
        [
            make_cell("cem", out, steps=300, settings=SMALL),
            make_cell("td3", out, steps=500),
            make_cell("aes-rl", out, steps=400, simulated_time=True),
        ]
        for out in (tmp_path / "alone", tmp_path / "at-once")
    )
    assert run(*alone, processes=1) == 0
    assert run(*at_once, processes=3, jobs=None) == 0
    for one, other in zip(alone, at_once, strict=True):
        for name in FILES:
            assert rows(one.directory, name) == rows(other.directory, name), (one.label, name)
        (start,) = RunFolder(other.directory).meta()["starts"]
        assert (start["cells_at_once"], start["exclusive"], start["processes"]) == (3, False, 1)
        (start,) = RunFolder(one.directory).meta()["starts"]
        assert (start["cells_at_once"], start["exclusive"]) == (1, True)


def test_cells_at_once_are_interrupted_together_and_go_on(tmp_path, monkeypatch):
    """Two of three cells run on two cores; the third waits for the second call."""
    cells = [make_cell("cem", tmp_path / "cut", steps=300, seed=seed, settings=SMALL) for seed in range(3)]
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3)
        assert run(*cells, processes=2, jobs=None, checkpoint_every=0.0) == 130
    assert [cell.directory.exists() for cell in cells] == [True, True, False]
    assert run(*cells, processes=2, jobs=None) == 0
    for cell in cells:
        whole = replace(cell, out=tmp_path / "whole")
        assert run(whole, processes=1) == 0
        assert rows(whole.directory, "eval.csv") == rows(cell.directory, "eval.csv")
