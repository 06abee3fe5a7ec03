"""Runs whose environment got `fresh` from the check before a run: they are those that their study names."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from erlbench.experiment.cells import folder_name
from erlbench.experiment.studies import load_studies
from erlbench.importing import import_runs
from erlbench.records.read import ignore
from erlbench.reporting.data.departures import with_departures
from erlbench.reporting.data.runs import env_label, env_labels, find_runs, load_run
from erlbench.reporting.data.study_comparisons import comparisons_of

ANT = Path(__file__).parents[3] / "results/reference/goodai-ant"
STUDY = load_studies()["goodai-ant"]
ENV, TYPED = "pybullet_envs_gymnasium:AntBulletEnv-v0", {"max_episode_steps": 501}


def test_they_belong_to_their_study_without_a_departure():
    runs = [load_run(path.parent, ignore) for path in sorted(ANT.rglob("eval.csv"))]
    (page,) = comparisons_of(STUDY, runs, None, ignore)
    assert {run.path for run in page.runs} == {run.path for run in runs}
    (group,) = page.groups
    assert group.env == env_label(ENV, {**TYPED, "fresh": "reset"})
    assert not any(run_set.departures for run_set in with_departures(page, STUDY).run_sets)


def test_runs_without_it_are_a_group_of_their_own():
    """A used object gives other numbers than a fresh one, so their scores have no common mean."""
    first, *_ = (load_run(path.parent, ignore) for path in sorted(ANT.rglob("eval.csv")))
    other = replace(first, env=env_label(ENV, TYPED), seed=1)
    (page,) = comparisons_of(STUDY, [first, other], None, ignore)
    assert [len(group.run_sets[-1].runs) for group in page.groups] == [1, 1]


def test_what_was_typed_is_not_chosen_again():
    assert env_labels(ENV, {"fresh": "object"}) == (f"{ENV} (fresh=object)",)


def test_imported_runs_stand_beside_those_with_it(tmp_path):
    """No other program has the setting, so that their user cannot type it."""
    (tmp_path / "scores.csv").write_text("env,algo,seed,step,return\nA-v1,x,0,10,1\n")
    for name, settings in (("beside", TYPED), ("apart", {})):
        import_runs([tmp_path / "scores.csv"], tmp_path / "out", origin="me", env=ENV, env_settings=settings, name=name)
        shutil.move(tmp_path / "out" / folder_name(ENV), tmp_path / "results" / name)
    envs = {run.name: run.env for run in find_runs([ANT, tmp_path / "results"], ignore)}
    assert envs.pop("apart") == ENV
    assert set(envs.values()) == {env_label(ENV, {**TYPED, "fresh": "reset"})}
    assert "beside" in envs
