"""One rule of which runs are of one cell, which of a seed's runs count, and what is said where they disagree."""

import itertools
import math
import shutil
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from erlbench.algorithms import registry
from erlbench.experiment.fairness import read_budgets
from erlbench.records import older
from erlbench.reporting.agreement import change_between, fairness_table, find_disagreements, tuning_table
from erlbench.reporting.cells import LEFT_OUT, fold, single_run_std
from erlbench.reporting.options import PaperStyle
from erlbench.reporting.score import FINAL, Moment
from tests.files import edit_json
from tests.reporting.compare import curves_of, load_run, means_of, page_of, read, run_report, write_report
from tests.reporting.make_runs import make_run


def cem(folder, seed, score, *, day=2, status="done", settings="", **start):
    """A run that was started on this day of January 2025."""
    start["started"] = f"2025-01-0{day}T03:04:05+00:00"
    make_run(folder, "Ant-v5", "cem", seed, [0, score], status=status, settings=settings, starts=[start])


def cells(*folders, at=None):
    """The scores of each cell, and of each warning whether it is of a repeated seed."""
    said = []
    page = page_of(*folders, warn=said.append, at=at, metric=FINAL)
    return {row.name: row.scores.tolist() for row in page.rows}, [": repeats seed " in warning for warning in said]


def test_of_a_repeated_seed_the_first_finished_run_counts(tmp_path):
    for folder, score, status, day in (("a", 7, "done", 9), ("b", 5, "done", 8), ("c", 3, "failed", 7)):
        cem(tmp_path / folder, 0, score, status=status, day=day, arithmetic="blas 1, Haswell")
    for order in itertools.permutations("abc"):
        assert cells(*(tmp_path / name for name in order)) == ({"cem": [5]}, [True] * 2)


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
    alike = {"cem": [0, 3], f"cem (another problem's {part})": [9]}
    assert cells(tmp_path)[0] == alike
    cem(tmp_path / "d", 0, 7, day=3, identity={**identity, part: "c" if part == "model" else {"own": "c"}})
    assert cells(tmp_path)[0] == alike | {f"cem (another problem's {part}, variant 2)": [7]}


def test_runs_of_two_budgets_are_one_cell_at_a_step_unless_the_algorithm_knows_its_budget(tmp_path):
    for name in ("cem", "ppo"):
        make_run(tmp_path, "Ant-v5", name, 0, [0, 1, 2], starts=[{"arithmetic": "Haswell"}])
        make_run(tmp_path / "long", "Ant-v5", name, 0, [0, 1, 6, 9], starts=[{"arithmetic": "SkylakeX"}])
    assert cells(tmp_path, at=Moment(2000))[0] == {"cem": [4], "ppo": [2], "ppo (total_timesteps=3000)": [6]}


def test_what_readers_hold_of_the_suites_algorithms_is_what_these_are():
    """A report runs no algorithm's code, so it has a table of them."""
    algorithms = {name: registry.find(name) for name in registry.ALGORITHMS}
    assert set(older.ALGORITHMS) == set(algorithms)
    assert set(older.LEARNERS) == {name for name, algorithm in algorithms.items() if algorithm.critic_updates > 0}
    assert set(older.WITH_BUDGET) == {name for name, algorithm in algorithms.items() if algorithm.knows_budget}


def test_warnings_that_differ_in_their_paths_are_one_line_but_for_folders_that_are_left_out():
    files, repeated, left_out = (
        [f"results/{name}{words}" for name in "ab"]
        for words in ("/train.csv: cannot be read", ": repeats seed 1 of results/x", f"{LEFT_OUT}unreadable")
    )
    others = ["Ant-v5: 3 of 10", "Ant-v5: 4"]
    more = " (and 1 more like this)"
    assert fold([*files, *repeated, *left_out, *others]) == [files[0] + more, repeated[0] + more, *left_out, *others]


RETURNS = {"cem-rl": [(10.0, 30.0), (20.0, 60.0), (40.0, 20.0)], "td3": [(18.0,), (25.0,), (22.0,)]}  # by seed, kernel


@pytest.fixture
def raw(tmp_path):
    for name, seeds in RETURNS.items():
        for seed, scores in enumerate(seeds):
            for kernel, score in zip("ab", scores, strict=False):
                returns, starts = [0, score / 2, score], [{"arithmetic": kernel}]
                make_run(tmp_path / "runs" / kernel, "Ant-v5", name, seed, returns, starts=starts)
    return tmp_path / "runs"


def test_the_standard_deviation_is_that_of_a_single_run_whether_or_not_runs_of_a_seed_are_alike():
    """Its square is right on average for any share of the variance between seeds, and for unequal numbers of runs."""
    rng = np.random.default_rng(3)
    for between, within in ((0.0, 4.0), (4.0, 0.0), (1.0, 3.0)):
        squares = [
            single_run_std([rng.normal(rng.normal(0, between**0.5), within**0.5, size=n) for n in (1, 2, 2, 5)]) ** 2
            for _ in range(4000)
        ]
        assert np.mean(squares) == pytest.approx(4.0, rel=0.08)
    assert math.isnan(single_run_std([np.array([1.0, 5.0])]))  # nothing is known between seeds


def test_tables_have_the_counts_and_the_spread_of_single_runs(raw):
    report = write_report(raw, metric="final", paper=PaperStyle()) / "all-runs"
    tables = {
        "scores": ["mean", "std", "n", "runs"],
        "metrics": ["final_mean", "final_std", "n", "runs"],
        "paper-table": [f"Ant-v5_{column}" for column in ("value", "std", "n", "runs")],
    }
    for table, columns in tables.items():
        rows = pd.read_csv(report / f"{table}.csv")
        rows = rows.set_index("name" if "name" in rows else rows.columns[0])
        for name, seeds in RETURNS.items():
            means, variances = [np.mean(values) for values in seeds], [np.var(values) for values in seeds]
            expected = [np.mean(means), math.sqrt(np.var(means, ddof=1) + np.mean(variances)), 3, sum(map(len, seeds))]
            assert rows.loc[name, columns].tolist() == pytest.approx(expected), table


def test_legends_count_both_and_the_band_holds_all_runs(raw):
    """The band is said to reach from the lowest to the highest run, so no thin line leaves it."""
    means = means_of(curves_of(page_of(raw, metric="final")))
    assert [*means] == ["cem-rl (3 seeds, 6 runs)", "td3 (3 runs)"]
    mean = means["cem-rl (3 seeds, 6 runs)"]
    ends = [y[-1] for _, _, y in mean.runs]
    assert len(ends) == 6
    assert mean.y[-1] == pytest.approx(30)
    assert (mean.low[-1], mean.high[-1]) == (min(ends), max(ends)) == (10, 60)


FIRST = {"versions": {"mujoco": "3.1.0", "numpy": "2.0.0"}, "modules": {}, "files": {}, "model": "a"}
LATER = {**FIRST, "versions": {"mujoco": "3.2.0", "numpy": "2.0.0"}, "model": "b"}
MODULE = {**FIRST, "modules": {"mine": "c"}}
CHANGE = "package mujoco 3.1.0 -> 3.2.0"


def made(out, seed, *identities, kernel="k"):
    """A finished run whose starts have these identities; with none of them, one start without."""
    starts = [{"arithmetic": kernel, "identity": known} for known in identities] or [{"arithmetic": kernel}]
    return make_run(out, "Ant-v5", "td3", seed, [0, 10 + seed], starts=starts)


def moved_aside(run, number, score):
    """A copy of the run beside it, which `--force` moved aside, with this score."""
    aside = run.with_name(f"{run.name}.old-{number}")
    shutil.copytree(run, aside)
    edit_json(aside / "status.json", return_mean=score)
    started = f"2024-01-0{number}T03:04:05+00:00"
    edit_json(aside / "meta.json", lambda meta: [part.update(started=started) for part in (meta, *meta["starts"])])


def loaded(*folders):
    return [load_run(folder, pytest.fail) for folder in folders]


def test_mixtures_and_repetitions_name_seeds_and_what_differs(tmp_path):
    runs = loaded(made(tmp_path, 0, FIRST), made(tmp_path, 1, LATER), made(tmp_path, 2, MODULE), made(tmp_path, 3))
    equal = loaded(made(tmp_path, 4, FIRST, FIRST))
    assert [*find_disagreements([("TD3", [*runs[:1], *equal, *runs[3:]]), ("CEM", runs[3:])])] == []
    (remark,) = find_disagreements([("TD3 on Ant", runs), ("CEM", runs[:1])])
    assert all(words in remark for words in (CHANGE, "module mine", "seed 3"))
    assert "CEM" not in remark
    (remark,) = find_disagreements([("TD3", loaded(made(tmp_path, 5, FIRST, LATER, LATER)))])
    assert CHANGE in remark
    repeated = made(tmp_path, 6, FIRST)
    moved_aside(repeated, 1, -1455.0)
    (remark,) = find_disagreements([("TD3", [*loaded(repeated), *equal])])
    assert all(words in remark for words in ("seed 6", "-1,455"))
    assert "seed 4" not in remark


def test_changes_between_two_folders(tmp_path):
    known = {"1-a": [FIRST], "2-a": [FIRST], "3-a": [LATER], "4-b": [FIRST], "5-a": []}
    sides = [
        loaded(*(made(tmp_path / name, seed, *identities, kernel=name[-1]) for seed in range(2)))
        for name, identities in known.items()
    ]
    changes = [change_between(sides[0], side) for side in sides[1:]]
    assert changes == ["same", f"{CHANGE}; compiled MuJoCo model changed", "kernel", "unknown"]
    assert change_between(sides[2], sides[0]).startswith("package mujoco 3.2.0 -> 3.1.0")
    assert change_between(sides[0], [*sides[2], *sides[0]]) == "mixed"


def test_reports_name_mixtures_and_repetitions(tmp_path):
    made(tmp_path / "a", 0, FIRST)
    made(tmp_path / "b", 0, LATER)
    moved_aside(made(tmp_path / "b", 1, FIRST), 1, 99.0)
    compared = run_report(tmp_path / "a", tmp_path / "b", "--side-by-side", "--out", tmp_path / "sides")
    assert all(words in compared for words in ("package mujoco", "seed 1"))
    page = read(write_report(tmp_path / "b") / "all-runs/index.md")
    assert all(words in page for words in ("another problem's model", "REPEATED"))


@pytest.mark.parametrize("algo", list(registry.ALGORITHMS))
def test_every_setting_with_values_by_task_has_a_row(algo):
    rows = [row["settings"] for row in read_budgets() if row["algorithm"] == algo]
    named = {name for row in rows if not row.startswith("all") for name in row.split(", ")}
    known = {field.name: field.metadata for field in fields(registry.find(algo).settings_type)}
    assert rows, "tuning_budgets.csv lacks the algorithm"
    by_task = {name for name, metadata in known.items() if metadata.get("by_env")}
    assert by_task <= named <= known.keys(), "tuning_budgets.csv"


def test_names_of_runs_that_read_alike_have_columns_of_their_own(tmp_path):
    """TD3 beside td3, and a run named What, once ended the report."""
    for name, workers in (("td3", 1), ("TD3", 2), ("What", 3)):
        make_run(tmp_path, "Hopper-v5", name, 0, [0, 1], settings=f"hidden = [{workers}]\n")
    page = page_of(tmp_path)
    assert sorted(fairness_table(page).header) == ["TD3", "What", "What (algorithm)", "td3"]
    assert {row[0].text for row in tuning_table(page).cells} == {"td3"}
