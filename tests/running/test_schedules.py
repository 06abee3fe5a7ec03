"""Simulated time is exact: its schedules are those of other code, and no float's last place changes them."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace
from importlib.resources import files

import pytest
import tomli_w

from erlbench.experiment.cells import OWN, SHARED
from erlbench.experiment.costs import BUILT_IN, built_in_costs, load_costs
from tests.running.schedules import schedule, simulated
from tests.runs import make_cell

COSTS = replace(built_in_costs(), spread=0.0)
LENGTHS = [1000, 37, 412, 412, 5, 1000, 733, 64, 201]
LARGE = {"start_timesteps": 10_000, "critic_block": 1000}


def cell_of(algo, folder, workers, steps, **changes):
    settings = LARGE | changes.pop("settings", {})
    cell = make_cell(algo, folder, steps=steps, settings=settings, **changes)
    return replace(cell, workers=cell.workers and workers)


@pytest.mark.parametrize("critic", [OWN, SHARED])
@pytest.mark.parametrize("workers", [1, 2, 5, 9])
def test_the_schedule_of_aes_rl_is_that_of_other_code(workers, critic, tmp_path):
    log = schedule(cell_of("aes-rl", tmp_path, workers, 60_000), COSTS, workers, LENGTHS, critic)
    assert len({task.priority for _, tasks in log.submitted for task in tasks}) == 3
    assert log.ended == simulated(log, COSTS, workers, critic == SHARED)
    assert len(log.ended) > 100


@pytest.mark.parametrize("barriers", [False, True])
@pytest.mark.parametrize("workers", [1, 5])
def test_the_schedule_of_p_cem_rl_is_that_of_other_code(barriers, workers, tmp_path):
    cell = cell_of("p-cem-rl", tmp_path, workers, 60_000, settings={"barriers": barriers})
    log = schedule(cell, COSTS, workers, LENGTHS, OWN)
    assert log.ended == simulated(log, COSTS, workers, shared=False)
    assert len(log.ended) > 100


@pytest.mark.parametrize("preset", ["default", "fixed-ratio"])
def test_the_last_place_of_a_cost_changes_no_schedule(preset, tmp_path):
    """Where all episodes are full, equal sums of costs are frequent, and rounding decided which task came first."""
    table = tomllib.loads((files("erlbench.experiment") / BUILT_IN).read_text())["costs"] | {"spread": 0.0}
    cell = cell_of("aes-rl", tmp_path, 5, 100_000, env="HalfCheetah-v5", preset=preset)

    def ended(values):
        (tmp_path / "costs.toml").write_text(tomli_w.dumps({"costs": values}))
        return schedule(cell, load_costs(tmp_path / "costs.toml"), 5, [1000], OWN).ended

    expected = ended(table)
    for name in ("timestep", "critic_update", "actor_update", "overhead", "gradient_overhead", "crowding", "update"):
        for towards in (0.0, math.inf):
            assert ended(table | {name: math.nextafter(table[name], towards)}) == expected, (name, towards)
