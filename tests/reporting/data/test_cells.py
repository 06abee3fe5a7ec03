"""One rule of which runs are of one cell, and which of a seed's runs count, whatever folders are named."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from erlbench.algorithms import registry
from erlbench.records import older
from erlbench.reporting.cells import LEFT_OUT, REPEATED, fold
from erlbench.reporting.page_cells import everything, score_page
from erlbench.reporting.runs import find_runs
from erlbench.reporting.score import FINAL, Moment, cut_runs
from tests.reporting.make_runs import make_run


def edited(run: Path, *, started: int = 2, settings: str = "", **recorded: object) -> Path:
    """The run with other records of its start, on a day of January 2025, and with more settings."""
    meta = json.loads((run / "meta.json").read_text())
    start = {**meta["starts"][0], "started": f"2025-01-0{started}T03:04:05+00:00", **recorded}
    (run / "meta.json").write_text(json.dumps({**meta, **start, "starts": [start]}))
    with (run / "config.toml").open("a") as file:
        file.write(settings)
    return run


def cem(folder: Path, seed: int, score: float, *, status: str = "done", **start: object) -> Path:
    return edited(make_run(folder, "Ant-v5", "cem", seed, [0, score], status=status), **start)


def cells(*folders: Path, at: int = 0) -> tuple[dict[str, list[float]], list[bool]]:
    said: list[str] = []
    runs = find_runs(folders, said.append)
    if at:
        runs = cut_runs(runs, Moment(at), said.append)
    scores = {row.name: row.scores.tolist() for row in score_page(everything(runs), FINAL).rows}
    return scores, [REPEATED in warning for warning in said]


def test_of_a_repeated_seed_the_first_finished_run_counts(tmp_path):
    for folder, score, status, day in (("a", 7, "done", 9), ("b", 5, "done", 8), ("c", 3, "failed", 7)):
        cem(tmp_path / folder, 0, score, status=status, started=day, arithmetic="blas 1, Haswell")
    for order in itertools.permutations("abc"):
        assert cells(*(tmp_path / name for name in order)) == ({"cem": [5]}, [True] * 2)


def test_a_seed_on_two_kernels_counts_once_by_its_mean(tmp_path):
    for seed in range(2):
        for kernel, score in (("Haswell", 10 + seed), ("SkylakeX", 20 + seed)):
            cem(tmp_path / kernel, seed, score, arithmetic=kernel)
    cem(tmp_path / "Haswell", 2, 12, arithmetic="Haswell")
    assert cells(tmp_path) == ({"cem": [15, 16, 12]}, [])


def test_other_settings_and_other_problems_are_other_cells(tmp_path):
    for seed in range(3):
        cem(tmp_path / "a", seed, seed, settings="sigma = 0.1\n")
    cem(tmp_path / "b", 0, 50, settings="sigma = 0.2\n")
    cem(tmp_path / "c", 4, 60)  # an older version: unknown
    make_run(tmp_path / "d", "Ant-v5", "cem", 5, [0, 70], workers=9)
    assert cells(tmp_path) == ({"cem": [0, 1, 2, 60], "cem (sigma=0.2)": [50], "cem (workers=9)": [70]}, [])


@pytest.mark.parametrize("part", ["model", "modules", "files"])
def test_another_problem_is_never_pooled_and_another_package_is(tmp_path, part):
    identity = {"versions": {"numpy": "2"}, "modules": {"own": "a"}, "files": {"own": "a"}, "model": "a"}
    for seed in range(2):
        cem(tmp_path / "a", seed, seed, identity=identity)
    cem(tmp_path / "b", 0, 9, identity={**identity, part: "b" if part == "model" else {"own": "b"}})
    cem(tmp_path / "c", 1, 5, identity={**identity, "versions": {"numpy": "3"}})
    assert cells(tmp_path)[0] == {"cem": [0, 3], f"cem (another problem's {part})": [9]}


def test_runs_of_two_budgets_are_one_cell_at_a_step_unless_the_algorithm_knows_its_budget(tmp_path):
    for name in ("cem", "ppo"):
        edited(make_run(tmp_path, "Ant-v5", name, 0, [0, 1, 2]), arithmetic="Haswell")
        edited(make_run(tmp_path / "long", "Ant-v5", name, 0, [0, 1, 6, 9]), arithmetic="SkylakeX")
    assert cells(tmp_path, at=2000)[0] == {"cem": [4], "ppo": [2], "ppo (total_timesteps=3000)": [6]}


def test_a_cell_does_not_depend_on_the_folders_that_are_named(tmp_path):
    rng = np.random.default_rng(0)
    for seed, kernel, folder in itertools.product(range(3), "ab", "xy"):
        place = tmp_path / folder / kernel
        cem(place, seed, float(rng.normal()), arithmetic=kernel, started=int(rng.integers(1, 9)))
    parts = [tmp_path / folder / kernel for folder, kernel in itertools.product("xy", "ab")]
    for order in itertools.permutations(parts):
        assert cells(*order)[0] == cells(tmp_path)[0]


def test_what_readers_hold_of_the_suites_algorithms_is_what_these_are():
    """A report runs no algorithm's code, so it has a table of them."""
    algorithms = {name: registry.find(name) for name in registry.ALGORITHMS}
    assert set(older.ALGORITHMS) == set(algorithms)
    assert set(older.LEARNERS) == {name for name, algorithm in algorithms.items() if algorithm.critic_updates > 0}
    assert set(older.WITH_BUDGET) == {name for name, algorithm in algorithms.items() if algorithm.knows_budget}


def test_warnings_that_differ_in_their_paths_are_one_line_but_for_folders_that_are_left_out():
    files, repeated, left_out = (
        [f"results/{name}{words}" for name in "ab"]
        for words in ("/train.csv: cannot be read", f"{REPEATED}1 of results/x; listed only", f"{LEFT_OUT}unreadable")
    )
    others = ["Ant-v5: 3 of 10", "Ant-v5: 4"]
    more = " (and 1 more like this)"
    assert fold([*files, *repeated, *left_out, *others]) == [files[0] + more, repeated[0] + more, *left_out, *others]
