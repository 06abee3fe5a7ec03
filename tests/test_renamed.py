"""Files of older versions: their columns and settings under the names of today."""

import dataclasses
import shutil
import tomllib
from pathlib import Path

import pytest

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.records.older import SETTINGS
from erlbench.records.run import read_config
from erlbench.settings import list_settings, resolve
from erlbench.verification import AGREES, load_files
from erlbench.verification.comparison import compare_runs
from tests.runs import make_cell, run

REFERENCE = Path(__file__).parents[1] / "results" / "reference"


@pytest.mark.data
def test_every_stored_run_of_the_suite_keeps_its_preset_and_settings():
    """No old name is left, none is taken twice, and no value changes: so runs of a cell stay together, and apart."""
    names = {algo: set(list_settings(registry.find(algo).settings_type)) for algo in registry.ALGORITHMS}
    for path in sorted(REFERENCE.parent.rglob("config.toml")):
        raw, today = tomllib.loads(path.read_text()), read_config(path)
        if raw["run"]["algo"] not in names:
            continue
        assert today["settings"].keys() <= names[raw["run"]["algo"]], path
        assert today["run"] == raw["run"] | ({"preset": "default"} if raw["run"]["preset"] == "paper" else {}), path
        assert today["run"]["preset"] in registry.presets(raw["run"]["algo"]), path
        assert sorted(map(str, today["settings"].values())) == sorted(map(str, raw["settings"].values())), path


def test_an_old_run_is_the_run_of_todays_cell(tmp_path):
    cell = make_cell("cem", tmp_path, steps=300)
    assert run(cell) == 0
    old = Path(shutil.copytree(cell.directory, tmp_path / "old"))
    for name in ("tasks.csv", "episodes.csv"):
        (old / name).write_text((old / name).read_text().replace("individual", "worker"))
    assert {check.outcome for check in compare_runs(load_files(old), load_files(cell.directory))} == {AGREES}
    path = cell.directory / "config.toml"
    path.write_text(path.read_text().replace("initial_variance", "sigma_init").replace("epsilon_end", "sigma_end"))
    before = (cell.directory / "eval.csv").stat().st_mtime_ns
    assert run(cell) == 0  # done already; other settings would be an error
    assert (cell.directory / "eval.csv").stat().st_mtime_ns == before
    other = dataclasses.replace(cell, settings=dataclasses.replace(cell.settings, initial_variance=0.5))
    with pytest.raises(UsageError, match=r"settings.initial_variance: 0.001 .*0.5"):
        run(other)


def test_an_old_name_on_the_command_line_is_told_the_new_one():
    for algo, names in SETTINGS.items():
        kind = registry.find(algo).settings_type
        for old, new in names.items():
            assert {old, new} & kind.__dataclass_fields__.keys() == {new}
            with pytest.raises(UsageError, match=f"'{old}' of {algo}; .*'{new}'"):
                resolve(kind, "HalfCheetah-v5", {}, {old: 1}, owner=algo)
