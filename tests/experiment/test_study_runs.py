"""Running a user's study: where its runs go, what a start records, and which file decides it."""

from pathlib import Path

import pytest

from erlbench.errors import UsageError
from erlbench.experiment.studies import load_studies
from tests.experiment.requested import cells_of, run
from tests.files import read_json

STUDY = """\
[studies.small]
title = "Is a larger population better?"
envs = ["function:sphere"]
seeds = 2
total_timesteps = 60
eval_episodes = 1
final_episodes = 1
entries = [{ algo = "cma-es" }, { algo = "cma-es", name = "twenty", settings = { population = 20 } }]
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("studies.toml").write_text(STUDY)


def test_a_run_records_its_studys_hash_and_lays_its_text():
    other = STUDY.replace("small", "other").replace('"twenty"', '"thirty"').replace("20 }", "30 }")
    Path("studies.toml").write_text(f"{STUDY}\n{other}")
    assert run(study="small", out="results/small") == 0
    study = load_studies(Path("studies.toml"))["small"]
    assert load_studies(Path("results/small/study.toml")) == {"small": study}
    assert run(study="other", seeds="0,", out="results/small") == 0
    assert load_studies(Path("results/small/study.toml")) == load_studies(Path("studies.toml"))
    meta = read_json(Path("results/small/function_sphere/twenty/seed-001/meta.json"))
    assert meta["starts"][0]["studies"] == {"small": study.sha256}


def test_the_study_of_the_folder_decides(capsys):
    assert run(study="small", seeds="0,", out="there") == 0
    Path("studies.toml").write_text(STUDY.replace("seeds = 2", "seeds = 3"))
    assert len(cells_of(study="small", out="there")) == 4
    assert "there/study.toml decides the study 'small'" in capsys.readouterr().err
    assert len(cells_of(study="small", out="elsewhere")) == 6
    assert capsys.readouterr().err == ""
    Path("studies.toml").unlink()
    assert len(cells_of(study="small", out="there")) == 4
    with pytest.raises(UsageError, match="unknown study 'small'"):
        cells_of(study="small")


def test_seeds_that_are_not_the_studys_are_named(capsys):
    cells_of(study="small", seeds="1-3")
    assert "2 of --seeds are no seeds of study 'small'" in capsys.readouterr().err
    cells_of(study="small", seeds="1,")
    assert capsys.readouterr().err == ""


def test_a_study_without_profiles_refuses_what_it_decides():
    with pytest.raises(UsageError, match="study 'small' has no profiles"):
        cells_of(study="small", profile="paper")
    Path("studies.toml").write_text(f"{STUDY}simulated_time = {{}}\n")
    with pytest.raises(UsageError, match="study 'small' decides the simulated time"):
        cells_of(study="small", simulated_time=True)


def test_an_entry_has_environments_settings_of_these_and_steps():
    envs = 'envs = ["function:sphere", "function:ackley"]'
    entry = 'name = "twenty", envs = ["function:ackley"], env_settings = { dimension = 3 }, total_timesteps = 40'
    Path("studies.toml").write_text(STUDY.replace('envs = ["function:sphere"]', envs).replace('name = "twenty"', entry))
    cells = cells_of(study="small", seeds="0,")
    assert [(cell.name, cell.env, cell.total_timesteps, cell.env_settings) for cell in cells] == [
        ("cma-es", "function:sphere", 60, {}),
        ("cma-es", "function:ackley", 60, {}),
        ("twenty", "function:ackley", 40, {"dimension": 3}),
    ]
    assert not any(cell.one_core for cell in cells)
    pair = 'compare = [{ first = "cma-es", second = "twenty", metric = "minutes" }]\n'
    Path("studies.toml").write_text(STUDY + pair)
    cells = cells_of(study="small", seeds="0,", total_timesteps="50")
    assert {(cell.total_timesteps, cell.one_core) for cell in cells} == {(50, True)}
