"""Splitting a plan among machines."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import pytest

from erlbench.errors import UsageError
from erlbench.experiment.shards import Shard, check_version, configuration_hash, parse_shard, split
from tests.runs import make_cell

COSTS = {"cem": 1.0, "td3": 7.0, "aes-rl": 10.0}


def cells(seeds: int, out: Path = Path("out")) -> list:
    return [make_cell(algo, out / algo, seed=seed) for algo, seed in itertools.product(COSTS, range(seeds))]


def cost(cell) -> float:
    return COSTS[cell.algo]


def test_every_cell_is_in_one_shard_and_the_shards_cost_about_the_same():
    plan = cells(8)
    parts = split(plan, 3, cost)
    assert sorted(cell.directory for part in parts for cell in part) == sorted(cell.directory for cell in plan)
    loads = [sum(map(cost, part)) for part in parts]
    assert max(loads) - min(loads) <= max(COSTS.values())


def test_more_seeds_leave_the_cells_of_the_first_ones_where_they_were():
    few, many = split(cells(3), 4, cost), split(cells(7), 4, cost)
    for before, after in zip(few, many):
        assert {cell.directory for cell in before} == {cell.directory for cell in after if cell.seed < 3}


def test_the_split_does_not_depend_on_the_order_of_the_cells():
    plan = cells(4)
    for part, other in zip(split(plan, 3, cost), split(plan[::-1], 3, cost)):
        assert {cell.directory for cell in part} == {cell.directory for cell in other}


def test_more_shards_than_cells_leave_some_empty():
    assert sorted(map(len, split(cells(1), 5, cost))) == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(("text", "shard"), [("1/4", Shard(1, 4)), (" 4 / 4 ", Shard(4, 4)), ("1/1", Shard(1, 1))])
def test_a_shard_is_read(text, shard):
    assert parse_shard(text) == shard


@pytest.mark.parametrize("text", ["0/4", "5/4", "1/0", "1", "a/b", "-1/4", "1/4/2", ""])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(UsageError, match="--shard"):
        parse_shard(text)


def test_the_version_knows_settings_and_budget_but_not_seeds_and_folders():
    plan = cells(2)
    assert configuration_hash(plan) == configuration_hash(cells(5, Path("elsewhere")))
    longer = [dataclasses.replace(cell, total_timesteps=cell.total_timesteps + 1) for cell in plan]
    assert configuration_hash(plan) != configuration_hash(longer)


def test_shards_of_different_plans_do_not_mix():
    plan = cells(1)
    found = {plan[1].directory: {"shard": "2/2", "plan": "abc"}}
    check_version(plan, Shard(1, 2), "abc", lambda path: found.get(path, {}))
    with pytest.raises(UsageError, match=r"shard 2/2 .*abc; .*def"):
        check_version(plan, Shard(1, 2), "def", lambda path: found.get(path, {}))


def test_a_larger_budget_is_of_the_same_plan_where_it_does_not_count():
    short, longer = (make_cell("cem", Path("x"), steps=steps) for steps in (100, 200))
    assert configuration_hash([short], budget=False) == configuration_hash([longer], budget=False)
    assert configuration_hash([short]) != configuration_hash([longer])
