"""Runs whose environment got `fresh` from the check before a run: they are those that their study names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd

from erlbench.conversion import import_runs
from erlbench.experiment.cells import folder_name
from erlbench.experiment.studies import load_studies
from erlbench.records.read import ignore
from erlbench.reporting.runs import env_label, env_labels, find_runs
from erlbench.reporting.studies import add_departures, make_study_pages
from tests.reporting.compare import find_rows

ANT = Path(__file__).parents[3] / "results/reference/goodai-ant"
STUDY = load_studies()["goodai-ant"]
ENV, TYPED = "pybullet_envs_gymnasium:AntBulletEnv-v0", {"max_episode_steps": 501}


def test_they_belong_to_their_study_without_a_departure():
    runs = find_runs([ANT], ignore)
    (page,) = make_study_pages(STUDY, runs, None, ignore)
    assert {run.path for run in page.runs} == {*runs.path}
    (group,) = page.groups
    assert group.env == env_label(ENV, {**TYPED, "fresh": "reset"})
    assert not any(run_set.departures for run_set in add_departures(page, STUDY).rows)


def test_runs_without_it_are_a_group_of_their_own():
    """A used object gives other numbers than a fresh one, so their scores have no common mean."""
    first = find_runs([ANT], ignore)[:1]
    other = first.assign(env=env_label(ENV, TYPED), seed=1)
    (page,) = make_study_pages(STUDY, pd.concat([first, other]), None, ignore)
    assert [len(group.cells[-1].runs) for group in page.groups] == [1, 1]


def test_what_was_typed_is_not_chosen_again():
    assert env_labels(ENV, {"fresh": "object"}) == (f"{ENV} (fresh=object)",)


def test_imported_runs_stand_beside_those_with_it(tmp_path):
    """No other program has the setting, so that their user cannot type it."""
    (tmp_path / "scores.csv").write_text("env,algo,seed,step,return\nA-v1,x,0,10,1\n")
    for name, settings in (("beside", TYPED), ("apart", {})):
        import_runs([tmp_path / "scores.csv"], tmp_path / "out", origin="me", env=ENV, env_set=settings, name=name)
        shutil.move(tmp_path / "out" / folder_name(ENV), tmp_path / "results" / name)
    envs = {run.name: run.env for run in find_rows([ANT, tmp_path / "results"], ignore)}
    assert envs.pop("apart") == ENV
    assert set(envs.values()) == {env_label(ENV, {**TYPED, "fresh": "reset"})}
    assert "beside" in envs
