"""The eleven written plans came over into the language of studies without loss."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from erlbench.experiment.arguments import arguments
from erlbench.experiment.command import requested_cells
from erlbench.experiment.studies import load_studies
from tests.plan_to_study import HASHES, RESULTS, assigned_seeds, read_plan, study_file

FOLDERS = sorted(path.parent for path in RESULTS.rglob("plan.toml"))


def test_each_plan_is_a_study():
    assert sorted(HASHES) == sorted(folder.name for folder in FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_stored_study_is_that_of_the_plan(folder):
    """Studies of sentences may follow it."""
    stored, expected = (folder / "study.toml").read_text(encoding="utf-8"), study_file(folder)
    assert stored.startswith(expected.partition("\n[")[0])  # what the plan had besides
    stored, expected = (tomllib.loads(text)["studies"][folder.name] for text in (stored, expected))
    assert stored == expected


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_study_has_the_cells_of_its_plan(folder, tmp_path):
    shutil.copy(folder / "study.toml", tmp_path)
    plan = read_plan(folder)
    cells = requested_cells(arguments({"study": (folder.name,), "out": str(tmp_path)}))
    seeds = assigned_seeds(plan, HASHES[folder.name])
    expected = [planned_config(plan, cell, seed) for cell in plan["cells"] for seed in seeds]
    configs = {cell.directory: cell.config() for cell in cells}
    for one in expected:  # settings that came after the plan are left out
        later = configs[folder_of(one, tmp_path)]["settings"]
        for name in later.keys() - one["settings"].keys():
            del later[name]
    assert configs == {folder_of(one, tmp_path): one for one in expected}
    assert len(cells) == len(plan["cells"]) * plan["seeds"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_study_compares_what_its_plan_compares(folder):
    plan = read_plan(folder)
    labels = {cell["label"]: (cell["name"], cell["env"]) for cell in plan["cells"]}
    study = load_studies(folder / "study.toml")[folder.name]
    (profile,) = study.profiles.values()
    compared = [
        ((pair.first, env), (pair.second, env), (pair.begin, pair.end), pair.axis)
        for pair in study.compare
        for env in pair.envs or profile.envs
    ]
    planned = [
        (
            labels[one["a"]],
            labels[one["b"]],
            tuple(one["stretch"]),
            {"timesteps": "steps"}.get(one["axis"], one["axis"]),
        )
        for one in plan["contrasts"]
    ]
    assert compared == planned


def test_the_seeds_of_asynchrony_are_those_of_its_runs():
    study = load_studies(RESULTS / "asynchrony" / "study.toml")["asynchrony"]
    (profile,) = study.profiles.values()
    assert len(profile.seeds) == 12
    run = {int(path.name.removeprefix("seed-")) for path in (RESULTS / "asynchrony").glob("*/*/seed-*")}
    assert run <= set(profile.seeds)


def folder_of(config: dict, out: Path) -> Path:
    run = config["run"]
    return out / run["env"].replace("/", "_") / run["name"] / f"seed-{run['seed']:03d}"


def planned_config(plan: dict, cell: dict, seed: int) -> dict:
    """What the config.toml of a plan's run holds."""
    algo, _, preset = cell["algo"].partition("@")
    run = {
        "algo": algo, "preset": preset, "seed": seed, "simulated_time": "simulated_time" in plan, **plan["evaluation"],
        **{key: cell[key] for key in ("env", "name", "workers", "total_timesteps", "total_minutes") if key in cell},
    }  # fmt: skip
    tables = {"run": run, "settings": cell["settings"], "env_settings": cell.get("env_settings", {})}
    if simulated := plan.get("simulated_time"):
        run |= {"simulated_processes": simulated["processes"], "simulated_critic": simulated["critic"]}
        tables["costs"] = plan["costs"]
    return tables
