"""What every registered algorithm must do: its settings and state."""

import json

import numpy as np
import pytest

from erlbench.algorithms import registry
from erlbench.envs.registry import problem
from erlbench.running.checkpoint import load_checkpoint, save_checkpoint
from erlbench.settings import setting_rows
from erlbench.work.values import references
from tests.algorithms.kept_settings import FILE, PARTS, resolved_settings, settings_of_parts
from tests.calls import python
from tests.runs import make_cell

ALGORITHMS = list(registry.ALGORITHMS)


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_its_state_goes_through_a_checkpoint(algo, new_context, tmp_path):
    cell = make_cell(algo, tmp_path)
    context = new_context(problem(cell.env), 0, 1000, cell.workers)
    algorithm = registry.find(algo)(cell.settings, context)
    tasks = algorithm.ask()
    assert tasks
    assert [t.id for t in tasks] == sorted({t.id for t in tasks})
    path = save_checkpoint(tmp_path / "checkpoint", {"a": algorithm.snapshot(), "tasks": tasks}, {})
    payload, _ = load_checkpoint(path)
    assert payload["tasks"] == tasks
    assert list(references(payload["a"])) == list(references(algorithm.snapshot()))
    assert list(references(algorithm.policy()))
    parameters = context.store.load(algorithm.policy())
    assert parameters.shape == (algorithm.policy_spec.size,)
    assert np.isfinite(parameters).all()


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_every_setting_is_documented(algo):
    for row in setting_rows(registry.find(algo).settings_type):
        assert row.help, row.name
        assert row.source, row.name


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_presets_have_the_settings_that_were_kept(algo):
    kept = json.loads(FILE.read_text())
    assert [*kept] == [*ALGORITHMS, PARTS]
    assert json.loads(json.dumps(resolved_settings(algo))) == kept[algo]


def test_parts_of_hybrids_have_the_settings_that_were_kept():
    assert json.loads(json.dumps(settings_of_parts())) == json.loads(FILE.read_text())[PARTS]


def test_no_algorithm_imports_torch_on_the_drivers_side():
    code = (
        "import sys; from erlbench.algorithms import registry; found = [*map(registry.find, registry.ALGORITHMS)]; "
        "print(len(found), 'torch' in sys.modules)"
    )
    done = python("-c", code)
    assert done.stdout.split() == [str(len(registry.ALGORITHMS)), "False"]
