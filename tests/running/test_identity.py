"""The identity of a problem: what is recorded, and that a run goes on with another one only when asked to."""

import hashlib
import json
import shutil
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import gymnasium.envs.mujoco
import pytest
from gymnasium.envs.registration import registry as registered

from erlbench.errors import UsageError
from erlbench.machine.description import version
from erlbench.records.run import FORMAT
from erlbench.running import admission
from erlbench.running.admission import identify_problem
from erlbench.work import identity
from tests.calls import python
from tests.files import contents, edit_json
from tests.runs import complete, interrupt, make_cell, meta, run, status

ENVIRONMENT = """
import gymnasium
from gymnasium.envs.classic_control.pendulum import PendulumEnv

GRAVITY = 10.0


class Swing(PendulumEnv):
    def __init__(self):
        super().__init__(g=GRAVITY)


gymnasium.register("Swing-v0", Swing, max_episode_steps=20)
"""


@pytest.fixture
def swing(tmp_path, monkeypatch):
    """The file of a module with an environment of one's own, `swinging:Swing-v0`."""
    folder = tmp_path / "modules"
    folder.mkdir()
    file = folder / "swinging.py"
    file.write_text(ENVIRONMENT)
    monkeypatch.syspath_prepend(folder)
    yield file
    sys.modules.pop("swinging", None)
    registered.pop("Swing-v0", None)


def refused(cell, match, **options):
    """The one line by which going on is refused; nothing is written."""
    before = contents(cell.out)
    with pytest.raises(UsageError, match=match) as refusal:
        run(cell, **options)
    assert contents(cell.out) == before
    assert "\n" not in str(refusal.value)
    assert refusal.value.exit_code == 2
    return str(refusal.value)


def test_a_run_without_one_fails_as_nothing_would_guard_its_continuation(tmp_path, monkeypatch):
    cell = make_cell("cem", tmp_path, steps=300)
    admission._loaded_by.cache_clear()
    monkeypatch.setattr(admission, "IMPORTED", 0.001)  # a machine under load
    assert run(cell) == 1
    assert "erlbench.algorithms.cem cannot be imported" in status(cell)["message"]
    monkeypatch.undo()
    assert meta(complete(cell))["identity"]


def test_it_has_what_a_clean_process_loads_and_nothing_of_the_driver(tmp_path):
    """This process has pytest loaded; a Python that has loaded nothing finds the same."""
    cell = complete(make_cell("cem", tmp_path, steps=300))
    found = meta(cell)["identity"]
    for name in ("numpy", "gymnasium", "mujoco", "safetensors"):
        owners = found["versions"].keys() & packages_distributions()[name]  # mujoco-core has MuJoCo 4
        assert owners
        assert all(found["versions"][owner] == version(owner) for owner in owners)
    assert not found["versions"].keys() & {"pytest", "pandas", "torch", "erlbench", "setuptools", "threadpoolctl"}
    assert (found["modules"], found["files"]) == ({}, {})
    assert len(found["model"]) == 64
    assert meta(cell)["starts"][-1]["identity"] == found
    assert meta(cell)["format"] == meta(cell)["starts"][-1]["format"] == FORMAT
    code = (
        "import json; from pathlib import Path; from tests.runs import make_cell\n"
        "from erlbench.running.admission import identify_problem\n"
        f"print(json.dumps(identify_problem(make_cell('cem', Path({str(tmp_path)!r})))))"
    )
    assert json.loads(python("-c", code, cwd=Path(__file__).parents[2]).stdout) == found


def test_it_has_what_gradient_tasks_and_the_algorithm_import(tmp_path):
    versions = {name: identify_problem(make_cell(name, tmp_path))["versions"] for name in ("cma-es", "td3")}
    assert versions["td3"]["torch"] == version("torch")
    assert "torch" not in versions["cma-es"]
    assert versions["cma-es"]["cma"] == version("cma")


def test_a_changed_module_needs_the_option(tmp_path, swing):
    cell = interrupt(make_cell("cem", tmp_path / "results", "swinging:Swing-v0", steps=900), 10)
    first = meta(cell)["identity"]
    assert first["modules"] == {"swinging": hashlib.sha256(swing.read_bytes()).hexdigest()}
    swing.write_text(ENVIRONMENT.replace("10.0", "9.8"))
    assert "module swinging" in refused(cell, "--anyway")
    assert "anyway" not in meta(cell)
    assert meta(complete(cell, anyway=True))["anyway"] is True
    assert identity.list_identities(meta(cell)) == [first, identify_problem(cell)]
    assert first != identify_problem(cell)
    swing.write_text(ENVIRONMENT)
    complete(cell)  # it is done, so nothing is computed any more


def test_a_changed_file_of_a_setting_needs_the_option(tmp_path):
    """A copy of a robot's model; the file may lie elsewhere if the setting says so, but not have another content."""
    original = Path(gymnasium.envs.mujoco.__file__).parent / "assets" / "inverted_pendulum.xml"
    file = tmp_path / "pendulum.xml"
    file.write_bytes(original.read_bytes())
    settings = {"xml_file": str(file)}
    cell = interrupt(make_cell("cem", tmp_path / "results", steps=600, env_settings=settings), 10)
    found = meta(cell)["identity"]
    assert found["files"] == {"env_settings.xml_file": hashlib.sha256(original.read_bytes()).hexdigest()}
    assert found["model"] == identify_problem(make_cell("cem", tmp_path))["model"]
    file.write_text(original.read_text().replace('gravity="0 0 -9.81"', 'gravity="0 0 -9.8"'))
    line = refused(cell, "env_settings.xml_file")
    assert "compiled MuJoCo model changed" in line
    file.write_text(original.read_text() + "\n<!-- -->\n")
    assert "model" not in refused(cell, "env_settings.xml_file")
    file.write_bytes(original.read_bytes())
    complete(cell)


@pytest.mark.parametrize("is_recorded", [True, False])
def test_another_version_is_named_and_what_was_not_recorded_refuses_nothing(tmp_path, is_recorded):
    cell = interrupt(make_cell("cem", tmp_path, steps=600), 10)

    def change(meta):
        if is_recorded:
            meta["starts"][-1]["identity"]["versions"] |= {"numpy": "1.0", "forgotten": "2"}
        else:
            for place in (meta, *meta["starts"]):
                del place["identity"], place["format"]

    edit_json(cell.directory / "meta.json", change)
    if is_recorded:
        line = refused(cell, "--anyway")
        assert f"package forgotten 2 -> not loaded; package numpy 1.0 -> {version('numpy')}" in line
        edit_json(cell.directory / "meta.json", arithmetic="other")
        refused(cell, r"other arithmetic \(other\)")
        complete(cell, anyway=True)
    else:
        assert ["identity" in start for start in meta(complete(cell))["starts"]] == [False, True]


def test_each_start_of_a_seed_is_counted_with_its_score(tmp_path):
    """Three starts; the first run's folder is gone by then, and the second one's list still has it."""
    scores = []
    for force in (False, True, True):
        cell = complete(make_cell("cem", tmp_path, steps=900 if scores else 200), force=force)
        scores.append(status(cell)["return_mean"])
        shutil.rmtree(cell.directory.with_name("seed-000.old-1"), ignore_errors=True)
    first, second = meta(cell)["repeats"]
    assert [(entry["folder"], entry["status"], entry["score"]) for entry in (first, second)] == [
        ("seed-000.old-1", "done", scores[0]), ("seed-000.old-2", "done", scores[1]),
    ]  # fmt: skip
    assert first["timesteps"] < second["timesteps"]
    assert first["started"] <= second["started"] <= meta(cell)["starts"][0]["started"]
