from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from benchmarks.algorithm_facts import collect_facts
from erlbench.algorithms import registry
from erlbench.cli import cli
from erlbench.experiment.arguments import arguments
from erlbench.experiment.command import requested_cells
from erlbench.experiment.fairness import compare_algorithms, overridden, read_facts
from erlbench.reporting.agreement import fairness_table, tuning_table
from tests.reporting.compare import page_of
from tests.runs import make_cell, run

ENV = "HalfCheetah-v5"


@pytest.mark.parametrize("name", registry.ALGORITHMS)
def test_what_reports_know_of_an_algorithm_is_true(name):
    """Else run: python -m benchmarks.algorithm_facts."""
    assert read_facts()[name] == json.loads(json.dumps(collect_facts(name)))


def cells(**given):
    return requested_cells(arguments({"env": ENV, **given}))


def test_the_sheet_has_what_differs_between_td3_and_cem_rl():
    names, found = compare_algorithms(cell.config() for cell in cells(algo="td3,cem-rl,aes-rl"))
    assert names == ("td3", "cem-rl", "aes-rl")
    assert found["hidden layers"] == ("256-256", "400-300", "400-300")
    assert found["minibatch"] == ("256", "100", "256")
    assert found["warm-up steps"] == ("25,000", "10,000", "10,000")
    assert found["steps that only measure, a step"] == ("0", "0", "5")
    assert found["updates a step"] == ("critic 1, actor 0.5", "critic 1, actor 5", "critic 1, actor 5")
    assert found.keys().isdisjoint(("overridden", "discount", "evaluation"))


def test_what_was_typed_is_overridden_and_an_environments_own_default_is_not():
    (cell,) = cells(algo="td3", set=("hidden=32-32", "batch_size=32"))
    assert overridden(cell.config()) == {"hidden": "32-32", "batch_size": "32"}
    (cell,) = requested_cells(arguments({"env": "Humanoid-v5", "algo": "aes-rl@fixed-ratio"}))
    assert overridden(cell.config()) == {}
    assert overridden({"run": {"algo": "somebody-elses"}, "settings": {"hidden": [1]}}) == {}


def test_terminal_and_page_have_the_sheet_and_the_tuning_table_speaks_of_defaults_only(tmp_path):
    words = [
        "run",
        "--algo",
        "td3,cem",
        "--env",
        ENV,
        "--total-timesteps",
        "1000000",
        "--out",
        str(tmp_path),
        "--dry-run",
    ]
    assert "TD3's authors" in CliRunner().invoke(cli, words).output
    td3 = make_cell("td3", tmp_path, steps=400, workers=0)
    assert run(td3, make_cell("cem", tmp_path, steps=400, workers=0)) == 0
    page = page_of(tmp_path)
    table = fairness_table(page)
    assert table is not None
    printed = {row[0].text: [cell.text for cell in row[1:]] for row in table.cells}
    assert printed["warm-up steps"] == ["0", "300"]
    assert "batch_size=16" in printed["overridden"][1]
    tuning = tuning_table(page)
    assert tuning is not None
    (text,) = [row[1].text for row in tuning.cells if row[0].text == "td3"]
    assert "batch_size" in text
    assert "discount" not in text
