"""Every default that depends on the task has its tuning budget on record, and reports print it."""

from dataclasses import fields

import pytest

from erlbench.algorithms import registry
from erlbench.experiment.fairness import read_budgets
from erlbench.reporting.agreement import fairness_table, tuning_table
from tests.reporting.compare import page_of
from tests.reporting.make_runs import make_run


@pytest.mark.parametrize("algo", list(registry.ALGORITHMS))
def test_every_setting_with_values_by_task_has_a_row(algo):
    rows = [row["settings"] for row in read_budgets() if row["algorithm"] == algo]
    named = {name for row in rows if not row.startswith("all") for name in row.split(", ")}
    known = {field.name: field.metadata for field in fields(registry.find(algo).settings_type)}
    assert rows, f"add a row for {algo} to erlbench/experiment/tuning_budgets.csv"
    assert named <= known.keys(), f"tuning_budgets.csv names settings that {algo} does not have"
    by_task = {name for name, metadata in known.items() if metadata.get("by_env")}
    assert by_task <= named, f"add rows for the settings of {algo} with values by task to tuning_budgets.csv"


def test_the_report_prints_the_rows_of_its_algorithms_and_what_differs_between_them(tmp_path):
    """TD3 beside td3, and a run named What, once ended the report."""
    for name, workers in (("aes-rl", 1), ("td3", 1), ("TD3", 2), ("What", 3)):
        run = make_run(tmp_path, "Hopper-v5", name, 0, [0, 1])
        with (run / "config.toml").open("a") as file:
            file.write(f"hidden = [{workers}]\n")
    page = page_of(tmp_path)
    printed = [[cell.text for cell in row] for row in tuning_table(page).cells]
    assert {row[0] for row in printed} == {"aes-rl", "td3"}
    assert ["aes-rl", "p_desired", "Swimmer", "AES-RL's authors (public code)", "not published"] in printed
    assert sorted(fairness_table(page).header) == ["TD3", "What", "What (algorithm)", "aes-rl", "td3"]
