"""Values of a folder's config.toml win over defaults of today; what was typed and differs is refused."""

import dataclasses
import tomllib
from ast import literal_eval

import pytest
import tomli_w

from erlbench.algorithms.cem import CEM
from erlbench.errors import UsageError
from erlbench.experiment.costs import built_in_costs, load_costs
from erlbench.records.run import config_hash
from erlbench.running.folder import RunFolder
from tests.experiment.requested import cells_of, run
from tests.files import edit
from tests.runs import interrupt_after, rows
from tests.tables import cells

BASE = {"algo": ("cem",), "env": ("InvertedPendulum-v5",)}
SMALL = {
    "total_timesteps": 500, "set": ("hidden=8", "population=6"), "eval_freq": 200, "eval_episodes": 2,
    "final_episodes": 3, "processes": 0, "quiet": True,
}  # fmt: skip


def started(out, **more):
    """The config.toml of a run that was begun with small settings, and interrupted."""
    given = {**BASE, **SMALL, "out": str(out), **more}
    (cell,) = cells_of(**given)
    with pytest.MonkeyPatch.context() as patch:
        interrupt_after(patch, 10)
        assert run(**given) == 130
    return cell.directory / "config.toml"


def again(out, **given):
    """The exit code of a later command with these options."""
    return run(**BASE, out=str(out), **given)


def config(path):
    return tomllib.loads(path.read_text())


def change(path, table, **values):
    """Write other values into the file, as another version would have done; None removes one."""
    known, before, meta = config(path), config_hash(path.parent), path.with_name("meta.json")
    known[table] = {key: value for key, value in {**known[table], **values}.items() if value is not None}
    path.write_text(tomli_w.dumps(known))
    meta.write_text(meta.read_text().replace(before, config_hash(path.parent)))


def test_what_was_not_typed_is_taken_from_the_folder(tmp_path):
    path = started(tmp_path, env_set=("max_episode_steps=40",))
    before = config(path)
    assert again(tmp_path) == 0
    assert config(path) == before
    whole = started(tmp_path / "whole", env_set=("max_episode_steps=40",))
    assert again(tmp_path / "whole", **SMALL, env_set=("max_episode_steps=40",)) == 0
    assert rows(path.parent, "eval.csv") == rows(whole.parent, "eval.csv")
    assert again(tmp_path, total_timesteps=900) == 0
    assert config(path)["run"]["total_timesteps"] == 900
    assert config(path)["settings"]["population"] == 6
    copy = tmp_path / "copy.toml"  # what a file says was typed
    copy.write_text(path.read_text().replace("population = 6", "population = 7"))
    with pytest.raises(UsageError, match=r"settings\.population: 6 there, 7 now"):
        again(tmp_path, config=str(copy))


DIFFERS = """
{"set": ("population=7",)}                     | settings.population: 6 there, 7 now
{"total_timesteps": 400}                       | run.total_timesteps: 500 there, 400 now
{"env_set": ("max_episode_steps=30",)}         | env_settings.max_episode_steps: not set there, 30 now
{"preset": "no-extra-division", "name": "cem"} | run.preset: default there, no-extra-division now
"""


@pytest.mark.parametrize(("given", "refusal"), cells(DIFFERS))
def test_what_was_typed_and_differs_is_refused(tmp_path, given, refusal):
    path, typed = started(tmp_path), literal_eval(given)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=refusal) as error:
        again(tmp_path, **typed)
    assert str(error.value).count(" there, ") == 1  # nothing that was not typed
    assert path.read_bytes() == before
    assert again(tmp_path, **typed, force=True, **{key: SMALL[key] for key in SMALL.keys() - typed.keys()}) == 0


def test_an_edited_file_is_refused_as_the_run_would_be_of_both_and_the_file_of_a_kill_is_not(tmp_path, monkeypatch):
    path = started(tmp_path)
    before, write = path.read_text(), RunFolder.write
    edit(path, "elites = 5", "elites = 2")
    with pytest.raises(UsageError, match="was edited"):
        again(tmp_path)
    path.write_text(before)
    assert again(tmp_path) == 0
    edit(path, "elites = 5", "elites = 2")
    with pytest.raises(UsageError, match="was edited"):
        again(tmp_path, total_timesteps=900)
    path.write_text(before)
    with monkeypatch.context() as patch:

        def killed(folder, name, data):
            if name == "config.toml":
                raise KeyboardInterrupt
            write(folder, name, data)

        patch.setattr(RunFolder, "write", killed)
        assert again(tmp_path, total_timesteps=900) == 130
    assert path.read_text() == before
    assert again(tmp_path, total_timesteps=900) == 0


def test_a_stored_value_that_is_none_is_one_line(tmp_path):
    path = started(tmp_path)
    before = path.read_bytes()
    for table, values in (("run", {"eval_freq": "often"}), ("settings", {"population": -3})):
        change(path, table, **values)
        with pytest.raises(UsageError, match=f"^{path}: .*$"):
            again(tmp_path)
        path.write_bytes(before)


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
    monkeypatch.setattr("erlbench.experiment.requested_cells.built_in_costs", lambda: later)
    (fresh,) = cells_of(**BASE, out=str(tmp_path / "fresh"), simulated_time=True)
    assert fresh.settings.tau_cem == 0.5
    assert fresh.costs.timestep == 1.0
    for typed in ({}, {"simulated_time": True}):
        (cell,) = cells_of(**BASE, out=str(tmp_path), **typed)
        assert cell.settings.tau_cem == 0.95
        assert cell.costs == load_costs(path)
        assert cell.config() == before
        assert any(text.startswith("settings.tau_cem: 0.95 ") for text in cell.kept)
    assert again(tmp_path) == 0
    assert config(path) == before


def test_a_setting_that_came_or_went_breaks_no_folder(tmp_path):
    path = started(tmp_path)
    change(path, "settings", tau_cem=None, abolished=3)
    assert again(tmp_path) == 0
    found = config(path)["settings"]
    assert found["tau_cem"] == 0.95
    assert found["abolished"] == 3
    with pytest.raises(UsageError, match="unknown setting 'abolished'"):
        again(tmp_path, set=("abolished=3",))
    change(path, "settings", tau_cem=None)
    with pytest.raises(UsageError, match=r"settings\.tau_cem: not set"):
        again(tmp_path, set=("tau_cem=0.9",))
