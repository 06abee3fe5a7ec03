"""Files of older versions: their columns and settings under the names of today."""

from __future__ import annotations

import dataclasses
import shutil
import tomllib
from pathlib import Path

import pytest

import erlbench
from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.records.older import SETTINGS
from erlbench.records.run import read_config
from erlbench.settings import list_settings, resolve
from erlbench.verification import AGREES, load_files
from erlbench.verification.comparison import compare_runs
from tests.reporting.compare import load_run
from tests.runs import make_cell, run

REFERENCE = Path(__file__).parents[1] / "results" / "reference"
OLD = REFERENCE / "cem-swimmer" / "Swimmer-v5" / "cem-earlier" / "seed-000"


def test_old_columns_have_their_new_names_in_frames():
    assert "worker" in (OLD / "tasks.csv").read_text().partition("\n")[0]
    results = erlbench.load_results(OLD)
    for frame in (results.tasks, results.episodes):
        assert {"individual", "worker"} & set(frame) == {"individual"}
    assert sorted(results.episodes["individual"].unique()) == list(range(10))


def test_a_run_with_old_columns_equals_one_with_new_ones(tmp_path):
    cell = make_cell("cem", tmp_path, steps=300)
    assert run(cell) == 0
    old = Path(shutil.copytree(cell.directory, tmp_path / "old"))
    for name in ("tasks.csv", "episodes.csv"):
        text = (old / name).read_text()
        assert text.count("individual") == 1
        (old / name).write_text(text.replace("individual", "worker"))
    assert {check.outcome for check in compare_runs(load_files(old), load_files(cell.directory))} == {AGREES}


def configurations(*algorithms: str) -> list[Path]:
    """The config.toml files of the reference runs of these algorithms that have a setting's old name."""
    old = {algo: SETTINGS[algo] for algo in algorithms}
    paths = sorted(REFERENCE.rglob("config.toml"))
    tables = [(path, tomllib.loads(path.read_text())) for path in paths]
    return [path for path, table in tables if old.get(table["run"]["algo"], {}).keys() & table["settings"].keys()]


@pytest.mark.data
@pytest.mark.parametrize("algo", ["cem", "cem-rl", "td3", "sac", "esac", "openai-es", "erl", "aes-rl"])
def test_the_reference_runs_have_settings_of_today(algo):
    paths = configurations(algo)
    assert paths
    names = registry.find(algo).settings_type.__dataclass_fields__
    for path in paths:
        assert read_config(path)["settings"].keys() <= names.keys(), path
        assert load_run(path.parent, [].append).settings == load_files(path.parent).config["settings"]


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
    path = cell.directory / "config.toml"
    path.write_text(path.read_text().replace("initial_variance", "sigma_init").replace("epsilon_end", "sigma_end"))
    changed = (cell.directory / "eval.csv").stat().st_mtime_ns
    assert run(cell) == 0  # done already; other settings would be an error
    assert (cell.directory / "eval.csv").stat().st_mtime_ns == changed
    other = dataclasses.replace(cell, settings=dataclasses.replace(cell.settings, initial_variance=0.5))
    with pytest.raises(UsageError, match=r"settings.initial_variance: 0.001 .*0.5"):
        run(other)


@pytest.mark.parametrize("algo", SETTINGS)
def test_an_old_name_on_the_command_line_is_told_the_new_one(algo):
    kind = registry.find(algo).settings_type
    for old, new in SETTINGS[algo].items():
        assert new in kind.__dataclass_fields__
        assert old not in kind.__dataclass_fields__
        with pytest.raises(UsageError, match=f"'{old}' of {algo}; .*'{new}'"):
            resolve(kind, "HalfCheetah-v5", {}, {old: 1}, owner=algo)
