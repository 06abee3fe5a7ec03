from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest
import tomli_w
from click.testing import CliRunner
from scipy import stats

import erlbench
from erlbench.cli import cli
from erlbench.experiment.plan_file import read_plan
from erlbench.reporting.data.runs import find_runs
from erlbench.reporting.data.score import stretch_mean
from erlbench.reporting.data.study import read_study
from erlbench.reporting.statistics.sequential import design, verdicts
from erlbench.reporting.tables import study_plan
from erlbench.reporting.tables.plan_verdicts import plan_verdicts
from erlbench.reporting.tables.study_plan import plan_tables
from erlbench.reporting.verdict.rule import Case
from erlbench.reporting.verdict.words import details, result, sentence
from tests import plans

EVAL = (
    "evaluation,final,timesteps,fitness_timesteps,evaluation_timesteps,replayed_timesteps,train_time_s,return_mean,"
    "returns"
)
STEPS = (0, 240, 510, 770, 1010)  # of the evaluations; the last one is the final


@pytest.fixture
def study(tmp_path):
    """A folder under a plan, without runs."""
    path = plans.write(tmp_path / "plan.toml")
    plans.run_cells_of(path, tmp_path / "out", plans.planned_cells(path, tmp_path / "out", 1))
    for folder in (tmp_path / "out").iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    (tmp_path / "out" / "journal.jsonl").unlink()
    return tmp_path / "out"


def make(study, label, index, level):
    """A finished run of a planned cell with its seed number `index`, whose curve rises to `level`; its curve."""
    plan = read_plan(study / "plan.toml")
    cell, seed = plan.cell(label), plan.assigned_seeds()[index]
    folder = study / cell.env / cell.name / f"seed-{seed}"
    folder.mkdir(parents=True)
    config = plan.config(cell)
    config["run"] = {name: value for name, value in config["run"].items() if value is not None} | {"seed": seed}
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    returns = [level * share for share in (0.0, 0.5, 0.75, 1.0)] + [1e6]
    rows = [
        [i, int(i == 4), step, 2 * step, 100, 0, step * 0.6, value, f"{value} {value}"]
        for i, (step, value) in enumerate(zip(STEPS, returns, strict=True))
    ]
    (folder / "eval.csv").write_text("\n".join([EVAL, *(",".join(map(str, row)) for row in rows)]) + "\n")
    (folder / "tasks.csv").write_text("task,process,start_s,end_s,cpu_s\n0,0,0,1,1800.0\n1,0,1,2,900.0\n")
    start = {"study_plan": plan.hash}
    (folder / "meta.json").write_text(json.dumps({"starts": [start]}))
    (folder / "status.json").write_text(json.dumps({"status": "done", "timesteps": 1010, "train_time_s": 606.0}))
    return returns[:-1]


def tables(study):
    runs = find_runs([study], pytest.fail)
    return plan_tables(read_study(study), {run.path.resolve(): run for run in runs})


def report(study, out, *words):
    done = CliRunner().invoke(cli, ["report", str(study), "--out", str(out), *words])
    assert done.exit_code == 0, done.output
    return done


LEVELS = {"narrow": (510.0, 490.0, 530.0, 470.0), "wide": (300.0, 310.0, 280.0, 305.0)}


def test_the_contrast_is_that_of_the_curves_over_the_stretch_by_exactly_the_seeds_of_the_look(study):
    curves = {label: [make(study, label, i, level) for i, level in enumerate(LEVELS[label][:3])] for label in LEVELS}
    points = np.linspace(250, 750, 200_001)
    scores = {
        label: [np.interp(points, STEPS[:-1], curve).mean() for curve in own[:2]] for label, own in curves.items()
    }
    (record,) = tables(study)[0].records
    assert not any("do not span" in note for note in tables(study)[0].notes)
    test = stats.ttest_ind(scores["narrow"], scores["wide"], equal_var=False)
    assert (record["mean_a"], record["mean_b"]) == pytest.approx(
        tuple(np.mean(own) for own in scores.values()), abs=1e-3
    )
    assert record["p_welch"] == pytest.approx(test.pvalue, rel=1e-4)
    assert record["low"] is record["high"] is None  # below six seeds
    assert record["boundary"] == pytest.approx(design((2, 4), 0.05).p[0])
    assert record["simulator_steps_a"] == pytest.approx(3 * 750 + 100)
    assert record["decision"] == "open"


def test_the_last_look_decides(study):
    for label, levels in LEVELS.items():
        for index, level in enumerate(levels):
            make(study, label, index, level)
    assert [(record["look"], record["decision"]) for record in tables(study)[0].records] == [
        ("2 seeds", "open"), ("4 seeds", "above"),
    ]  # fmt: skip


def test_the_words_of_a_plan_speak_of_its_test_and_of_the_means_of_these_runs(study):
    looks = ((0, 2, Case.UNDECIDED, "The plan has 2 more seeds per side"), (2, 4, Case.DECIDED, "p < 0.001 of"))
    for first, seeds, case, words in looks:
        for label, levels in LEVELS.items():
            for index in range(first, seeds):
                make(study, label, index, levels[index])
        runs = {run.path.resolve(): run for run in find_runs([study], pytest.fail)}
        (found,) = plan_verdicts(read_study(study), runs)
        assert found.case is case
        assert words in " ".join(details(found))
        assert "of Welch's test, where this look of the plan stops at" in " ".join(details(found))
        assert "for a test" not in " ".join(details(found))
    assert found.ordered[0].name == "narrow"
    assert "the mean of the runs of narrow is above the mean of wide" in sentence(found)
    assert result([found]).startswith("The mean of narrow's runs is above that of wide on ")


def test_the_mean_over_a_stretch_is_that_of_a_fine_grid_and_none_beyond_the_curve():
    x, y = np.array([0.0, 2.0, 5.0]), np.array([0.0, 4.0, 1.0])
    assert stretch_mean(x, y, 1.0, 4.0) == pytest.approx(np.interp(np.linspace(1, 4, 300_001), x, y).mean(), abs=1e-4)
    assert np.isnan(stretch_mean(x, y, 1.0, 5.1))
    assert np.isnan(stretch_mean(x[1:], y[1:], 1.0, 4.0))


def shown(report_folder):
    """The runs and the tables that a report shows."""
    cells = pd.read_csv(report_folder / "cells.csv")
    return list(cells["seed"]), {path.stem for path in (report_folder / "all-runs").glob("*.csv")}


def test_before_a_look_no_score_is_shown_and_the_report_says_what_is_complete_and_what_it_cost(study, tmp_path):
    make(study, "narrow", 0, 4321.0)
    make(study, "wide", 0, 1234.0)
    make(study, "wide", 1, 1234.0)
    report(study, tmp_path / "report")
    assert shown(tmp_path / "report") == ([], {"plan", "departures"})
    assert (tmp_path / "report/all-runs/plan.csv").read_text().count("\n") == 1
    page = (tmp_path / "report/all-runs/index.md").read_text()
    assert "1 of 4 seeds is complete in all cells; they cost 1.5 core-hours (processor time)" in page
    texts = [path.read_text() for path in (tmp_path / "report").rglob("*") if path.suffix in (".md", ".csv", ".tex")]
    assert len(texts) > 5
    assert not any(number in text.replace(",", "") for text in texts for number in ("4321", "3240.75"))
    assert '"cem-narrow"' not in (tmp_path / "report/index.html").read_text()
    early = report(study, tmp_path / "early", "--early")
    assert len(shown(tmp_path / "early")[0]) == 3
    assert "not shown" not in early.stderr
    erlbench.report(study, out=tmp_path / "api", early=True)
    assert len(shown(tmp_path / "api")[0]) == 3


def test_between_looks_only_the_seeds_of_the_look_are_shown(study, tmp_path):
    for label, levels in LEVELS.items():
        for index, level in enumerate(levels[:3]):
            make(study, label, index, level)
    report(study, tmp_path / "report")
    seeds = read_plan(study / "plan.toml").assigned_seeds()
    assert sorted(shown(tmp_path / "report")[0]) == sorted(2 * seeds[:2])


def test_runs_of_which_a_look_has_another_seed_complete_are_not_enough(study):
    for index in (1, 2, 3):
        for label in LEVELS:
            make(study, label, index, 100.0 + index)
    found = read_study(study)
    assert (len(found.complete), found.reached) == (3, ())


@pytest.mark.parametrize(
    "words",
    [["compare", "OUT", "OTHER"], ["plan", "OUT", "--baseline", "cem"], ["report", "OTHER", "--reference", "OUT"]],
)
def test_other_commands_that_show_means_refuse_a_study_before_its_look(study, tmp_path, words):
    for label in LEVELS:
        make(study, label, 0, 100.0)
    shutil.copytree(study / "InvertedPendulum-v5", tmp_path / "other" / "InvertedPendulum-v5")
    places = {"OUT": str(study), "OTHER": str(tmp_path / "other")}
    done = CliRunner().invoke(cli, [places.get(word, word) for word in words])
    assert (done.exit_code, "may not be seen before its next look" in done.output) == (2, True)


def test_a_copy_without_its_plan_is_named(study, tmp_path):
    make(study, "narrow", 0, 100.0)
    shutil.copytree(study / "InvertedPendulum-v5", tmp_path / "copy" / "InvertedPendulum-v5")
    done = report(tmp_path / "copy", tmp_path / "report")
    assert "copy: 1 run started under a plan that does not lie there any more" in done.stderr


def test_a_run_whose_curve_ends_before_the_stretch_leaves_its_contrast_untested(study):
    for label, levels in LEVELS.items():
        for index, level in enumerate(levels[:2]):
            make(study, label, index, level)
    path = next(study.rglob("cem-narrow/*/eval.csv"))
    path.write_text("".join(line for line in path.read_text().splitlines(True) if ",770," not in line))
    (record,) = tables(study)[0].records
    assert (record["decision"], record["difference"]) == ("cannot be tested", None)
    (short,) = [note for note in tables(study)[0].notes if "do not span" in note]
    assert "/".join(path.parts[-4:-1]) in short


def test_holm_at_each_look_by_hand():
    looks, level = (6, 12), 0.05
    shares = [design(looks, level / k, "obrien-fleming").p for k in (3, 2, 1)]
    first = [shares[0][0] / 2, (shares[0][0] + shares[1][0]) / 2, 0.5]  # the second stops only after the first one
    found = verdicts(looks, [first], level, "obrien-fleming")
    assert [one.stops for one in found[0]] == [True, True, False]
    assert [one.boundary for one in found[0]] == pytest.approx([share[0] for share in shares])
    swapped = verdicts(looks, [[shares[0][0] * 1.01, shares[1][0] * 0.99, 0.5]], level, "obrien-fleming")
    assert shares[1][0] * 0.99 > shares[0][0] * 1.01
    assert [one.stops for one in swapped[0]] == [False, False, False]
    later = verdicts(looks, [first, [0.9, 0.9, shares[2][1] * 0.99]], level, "obrien-fleming")
    assert [(one.stopped, one.stops) for one in later[1]] == [(True, False), (True, False), (False, True)]
    single = verdicts(looks, [[shares[2][0] * 0.99] * 2], level, "obrien-fleming", holm=False)
    assert [one.stops for one in single[0]] == [True, True]
    assert not verdicts(looks, [[float("nan")]], level, "obrien-fleming")[0][0].stops


def test_holm_over_looks_keeps_the_level_of_all_contrasts():
    looks, contrasts, studies = (6, 12), 4, 1500
    rng, wrong = np.random.default_rng(2), 0
    values = rng.normal(size=(studies, 2, contrasts, looks[-1]))
    p = np.array(
        [stats.ttest_ind(values[:, 0, :, :n], values[:, 1, :, :n], axis=2, equal_var=False).pvalue for n in looks]
    )
    for one in range(studies):
        found = verdicts(looks, p[:, one].tolist(), 0.05, "obrien-fleming")
        wrong += any(verdict.stops for row in found for verdict in row)
    assert wrong / studies == pytest.approx(0.045, abs=0.018)


def test_two_contrasts_of_the_same_cells_have_a_verdict_each(tmp_path):
    """Without names they share a title; their stretches tell them apart."""
    second = '[[contrasts]]\na = "narrow"\nb = "wide"\nstretch = [250, 500]\n'
    path = plans.write(tmp_path / "plan.toml", **{"[[contrasts]]": f"{second}\n[[contrasts]]"})
    plans.run_cells_of(path, tmp_path / "out", plans.planned_cells(path, tmp_path / "out", 1))
    for folder in (one for one in (tmp_path / "out").iterdir() if one.is_dir()):
        shutil.rmtree(folder)
    (tmp_path / "out" / "journal.jsonl").unlink()
    for index in range(4):
        make(tmp_path / "out", "narrow", index, 1000 + index)
        make(tmp_path / "out", "wide", index, 100 + 2 * index)
    found = read_study(tmp_path / "out")
    runs = {run.path.resolve(): run for run in find_runs([tmp_path / "out"], lambda said: None)}
    rows = [row for row in study_plan.tested_contrasts(found, runs) if row.verdict.stops]
    assert len(rows) == 2
    judged = [one.outcome.difference.difference for one in plan_verdicts(found, runs)]
    assert judged == [row.difference.difference for row in rows]
    assert judged[0] != judged[1]
