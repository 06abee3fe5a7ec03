"""Values of a folder's config.toml win over defaults of today; what was typed and differs is refused."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

import pytest
import tomli_w
from click.testing import CliRunner

from erlbench.algorithms.cem import CEM
from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.experiment.arguments import arguments
from erlbench.experiment.command import requested_cells, run_options
from erlbench.experiment.costs import built_in_costs, load_costs
from erlbench.running.command import run_cells
from tests.runs import interrupt_after, rows

BASE = {"algo": ("cem",), "env": ("InvertedPendulum-v5",)}
SMALL = {
    "total_timesteps": 500, "set": ("hidden=8", "population=6"), "eval_freq": 200, "eval_episodes": 2,
    "final_episodes": 3, "processes": 0, "quiet": True,
}  # fmt: skip


def started(out: Path, **more) -> Path:
    """The config.toml of a run that was begun with small settings, and interrupted."""
    asked = arguments({**BASE, **SMALL, "out": str(out), **more})
    (cell,) = requested_cells(asked)
    with pytest.MonkeyPatch.context() as patch:
        interrupt_after(patch, 10)
        assert run_cells([cell], run_options(asked, ("erlbench", "run"))) == 130
    return cell.directory / "config.toml"


def again(out: Path, **given) -> int:
    """The exit code of a later command with these options."""
    asked = arguments({**BASE, "processes": 0, "quiet": True, "out": str(out), **given})
    return run_cells(requested_cells(asked), run_options(asked, ("erlbench", "run")))


def config(path: Path) -> dict:
    return tomllib.loads(path.read_text())


def change(path: Path, table: str, **values) -> None:
    """Write other values into the file; None removes one."""
    known = config(path)
    known[table] = {key: value for key, value in {**known[table], **values}.items() if value is not None}
    path.write_text(tomli_w.dumps(known))


def test_what_was_not_typed_is_taken_from_the_folder(tmp_path):
    path = started(tmp_path, env_set=("max_episode_steps=40",))
    before = config(path)
    assert again(tmp_path) == 0
    assert config(path) == before
    whole = started(tmp_path / "whole", env_set=("max_episode_steps=40",))
    assert again(tmp_path / "whole", **SMALL, env_set=("max_episode_steps=40",)) == 0
    assert rows(path.parent, "eval.csv") == rows(whole.parent, "eval.csv")


@pytest.mark.parametrize(
    ("typed", "refusal"),
    [
        ({"set": ("population=7",)}, r"settings\.population: 6 there, 7 now"),
        ({"eval_freq": 300}, r"run\.eval_freq: 200 there, 300 now"),
        ({"total_timesteps": 400}, r"run\.total_timesteps: 500 there, 400 now"),
        ({"env_set": ("max_episode_steps=30",)}, r"env_settings\.max_episode_steps: not set there, 30 now"),
        ({"simulated_time": True}, r"run\.simulated_time: False there, True now"),
        ({"preset": "no-extra-division", "name": "cem"}, r"run\.preset: default there, no-extra-division now"),
    ],
)
def test_what_was_typed_and_differs_is_refused(tmp_path, typed, refusal):
    path = started(tmp_path)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=refusal) as error:
        again(tmp_path, **typed)
    assert str(error.value).count(" there, ") == 1  # nothing that was not typed
    assert path.read_bytes() == before
    assert again(tmp_path, **typed, force=True, **{key: SMALL[key] for key in SMALL.keys() - typed.keys()}) == 0


def test_a_value_of_a_config_file_is_typed(tmp_path):
    path = started(tmp_path)
    copy = tmp_path / "copy.toml"
    copy.write_bytes(path.read_bytes())
    assert requested_cells(arguments({"config": str(copy), "out": str(tmp_path)}))[0].config() == config(path)
    change(copy, "settings", population=7)
    with pytest.raises(UsageError, match=r"settings\.population: 6 there, 7 now"):
        again(tmp_path, config=str(copy))


def test_another_default_of_today_breaks_no_folder(tmp_path, monkeypatch):
    """Of a setting, of the evaluation, and of the costs of simulated time."""
    path = started(tmp_path, simulated_time=True)
    before = config(path)

    @dataclasses.dataclass(frozen=True)
    class Later(CEM.settings_type):
        tau_cem: float = dataclasses.field(
            default=0.5, metadata=CEM.settings_type.__dataclass_fields__["tau_cem"].metadata
        )

    monkeypatch.setattr(CEM, "settings_type", Later)
    later = dataclasses.replace(built_in_costs(), timestep=1.0)
    monkeypatch.setattr("erlbench.experiment.command.built_in_costs", lambda: later)
    (fresh,) = requested_cells(arguments({**BASE, "out": str(tmp_path / "fresh"), "simulated_time": True}))
    assert (fresh.settings.tau_cem, fresh.costs.timestep) == (0.5, 1.0)
    for typed in ({}, {"simulated_time": True}):
        (cell,) = requested_cells(arguments({**BASE, "out": str(tmp_path), **typed}))
        assert (cell.settings.tau_cem, cell.costs) == (0.95, load_costs(path))
        assert cell.config() == before
        assert any(text.startswith("settings.tau_cem: 0.95 ") for text in cell.kept)
    assert again(tmp_path) == 0
    assert config(path) == before


def test_a_setting_that_came_or_went_breaks_no_folder(tmp_path):
    path = started(tmp_path)
    change(path, "settings", tau_cem=None, abolished=3)
    assert again(tmp_path) == 0
    found = config(path)["settings"]
    assert (found["tau_cem"], found["abolished"]) == (0.95, 3)
    with pytest.raises(UsageError, match="unknown setting 'abolished'"):
        again(tmp_path, set=("abolished=3",))
    change(path, "settings", tau_cem=None)
    with pytest.raises(UsageError, match=r"settings\.tau_cem: not set"):
        again(tmp_path, set=("tau_cem=0.9",))


@pytest.mark.parametrize("typed", [{}, {"simulated_time": True}])
def test_a_budget_in_minutes_stays_the_only_one(tmp_path, typed):
    """The default of a million steps would have to pass besides."""
    (begun,) = requested_cells(arguments({**BASE, "out": str(tmp_path), "simulated_time": True, "total_minutes": 0.02}))
    begun.directory.mkdir(parents=True)
    (begun.directory / "config.toml").write_text(tomli_w.dumps(begun.config()))
    (cell,) = requested_cells(arguments({**BASE, "out": str(tmp_path), **typed}))
    assert (cell.total_minutes, cell.total_timesteps) == (0.02, 0)
    assert cell.config() == begun.config()


def test_a_finished_run_is_extended_without_its_settings_being_typed(tmp_path):
    path = started(tmp_path)
    assert again(tmp_path) == 0
    assert again(tmp_path, total_timesteps=900) == 0
    assert config(path)["run"]["total_timesteps"] == 900
    assert config(path)["settings"]["population"] == 6


@pytest.mark.parametrize(
    ("table", "values"), [("run", {"eval_freq": "often"}), ("settings", {"population": -3}), ("run", {"workers": 1.5})]
)
def test_a_stored_value_that_is_none_is_one_line(tmp_path, table, values):
    path = started(tmp_path)
    change(path, table, **values)
    with pytest.raises(UsageError) as error:
        again(tmp_path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_the_command_names_what_it_keeps(tmp_path):
    path = started(tmp_path)
    words = ["run", "--algo", "cem", "--env", "InvertedPendulum-v5", "--out", str(tmp_path), "--dry-run"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert f"{path.parent} keeps its own values: " in done.stderr
    assert "settings.population: 6 there, 10 now" in done.stderr
    assert "keeps" not in CliRunner().invoke(cli, [*words[:-2], str(tmp_path / "new"), "--dry-run"]).stderr


STUDY = """
[studies.mine]
title = "mine"
kind = "curves"

[[studies.mine.entries]]
name = "cem"
algo = "cem"
settings = {{ population = {population}, hidden = [8] }}

[studies.mine.profiles.smoke]
seeds = [0]
total_timesteps = {steps}
envs = ["InvertedPendulum-v5"]
"""


def test_a_study_states_its_values(tmp_path, monkeypatch):
    """What its file says is refused where it differs; a default is taken from the folder."""
    monkeypatch.chdir(tmp_path)
    file, out = tmp_path / "studies.toml", tmp_path / "out"

    def cell(population: int, steps: int):
        file.write_text(STUDY.format(population=population, steps=steps))
        (found,) = requested_cells(arguments({"study": ("mine",), "out": str(out)}))
        return found

    first = cell(6, 400)
    first.directory.mkdir(parents=True)
    path = first.directory / "config.toml"
    path.write_text(tomli_w.dumps(first.config()))
    change(path, "settings", tau_cem=0.9)
    saved = config(path)
    assert cell(6, 400).settings.tau_cem == 0.9
    assert cell(6, 400).departures(saved) == []
    assert cell(7, 400).departures(saved) == ["settings.population: 6 there, 7 now"]
    assert cell(6, 300).departures(saved) == ["run.total_timesteps: 400 there, 300 now"]
