"""Runs whose environment got `fresh` from the check before a run: they are those that their study names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from erlbench.conversion import import_runs
from erlbench.experiment.cells import folder_name
from erlbench.experiment.studies import load_studies
from erlbench.records.read import ignore
from erlbench.reporting.runs import env_label, env_labels, find_runs
from erlbench.reporting.studies import add_departures, make_study_pages
from tests.reporting.compare import find_rows

ANT = Path(__file__).parents[3] / "results/reference/goodai-ant"
ENV, TYPED = "pybullet_envs_gymnasium:AntBulletEnv-v0", {"max_episode_steps": 501}
FRESH = env_label(ENV, {**TYPED, "fresh": "reset"})


@pytest.fixture
def runs():
    return find_runs([ANT], ignore)


def test_they_belong_to_their_study_and_runs_without_it_are_a_group_of_their_own(runs):
    """A used object gives other numbers than a fresh one, so their scores have no common mean."""
    study = load_studies()["goodai-ant"]
    (page,) = make_study_pages(study, runs, None, ignore)
    assert {run.path for run in page.runs} == {*runs.path}
    assert [group.env for group in page.groups] == [FRESH]
    assert not any(cell.departures for cell in add_departures(page, study).rows)
    other = runs[:1].assign(env=env_label(ENV, TYPED), seed=1)
    (page,) = make_study_pages(study, pd.concat([runs[:1], other]), None, ignore)
    assert [len(group.cells[-1].runs) for group in page.groups] == [1, 1]
    assert env_labels(ENV, {"fresh": "object"}) == (f"{ENV} (fresh=object)",)  # what was typed is not chosen again


def test_imported_runs_stand_beside_those_with_it(tmp_path):
    """No other program has the setting, so that their user cannot type it."""
    (tmp_path / "scores.csv").write_text("env,algo,seed,step,return\nA-v1,x,0,10,1\n")
    for name, settings in (("beside", TYPED), ("apart", {})):
        import_runs([tmp_path / "scores.csv"], tmp_path / "out", origin="me", env=ENV, env_set=settings, name=name)
        shutil.move(tmp_path / "out" / folder_name(ENV), tmp_path / "results" / name)
    envs = {run.name: run.env for run in find_rows([ANT, tmp_path / "results"], ignore)}
    assert envs.pop("apart") == ENV
    assert set(envs.values()) == {FRESH}
    assert "beside" in envs
