import json

import pytest

from benchmarks.algorithm_facts import collect_facts
from erlbench.algorithms import registry
from erlbench.experiment.fairness import compare_algorithms, overridden, read_facts
from tests.experiment.requested import cells_of

CHEETAH = "HalfCheetah-v5"


@pytest.mark.parametrize("name", registry.ALGORITHMS)
def test_what_reports_know_of_an_algorithm_is_true(name):
    """Else run: python -m benchmarks.algorithm_facts."""
    assert read_facts()[name] == json.loads(json.dumps(collect_facts(name)))


def test_the_sheet_has_what_differs_between_td3_and_cem_rl():
    names, found = compare_algorithms(cell.config() for cell in cells_of(algo="td3,cem-rl,aes-rl", env=CHEETAH))
    assert names == ("td3", "cem-rl", "aes-rl")
    assert found["hidden layers"] == ("256-256", "400-300", "400-300")
    assert found["minibatch"] == ("256", "100", "256")
    assert found["warm-up steps"] == ("25,000", "10,000", "10,000")
    assert found["steps that only measure, per step"] == ("0", "0", "5")
    assert found["updates per step"] == ("critic 1, actor 0.5", "critic 1, actor 5", "critic 1, actor 5")
    assert found.keys().isdisjoint(("overridden", "discount", "evaluation"))


def test_what_was_typed_is_overridden_and_an_environments_own_default_is_not():
    (cell,) = cells_of(algo="td3", env=CHEETAH, set=("hidden=32-32", "batch_size=32"))
    assert overridden(cell.config()) == {"hidden": "32-32", "batch_size": "32"}
    (cell,) = cells_of(env="Humanoid-v5", algo="aes-rl@fixed-ratio")
    assert overridden(cell.config()) == {}
