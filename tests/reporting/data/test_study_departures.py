"""What was done to a study, and what the report finds of it: the rows of the table in docs/planning.md."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.experiment import journal
from erlbench.experiment.cells import RunOptions
from erlbench.experiment.departures import Kind
from erlbench.experiment.plan import FILE
from erlbench.machine import kernel
from erlbench.reporting.data.runs import find_runs
from erlbench.reporting.data.study import read_study
from erlbench.reporting.data.study_departures import all_departures
from erlbench.reporting.tables.study_plan import plan_tables
from erlbench.running.runner import run_cells
from tests import plans
from tests.runs import write_options

PAGE = Path(__file__).parents[3] / "docs" / "planning.md"


@pytest.fixture(scope="module")
def one_seed(tmp_path_factory):
    """A plan, and the results of its first seed."""
    folder = tmp_path_factory.mktemp("study")
    path = plans.write(folder / "plan.toml")
    plans.run_cells_of(path, folder / "out", plans.planned_cells(path, folder / "out", 1))
    return folder / "out"


@pytest.fixture
def study(one_seed, tmp_path):
    """A copy of it that may be changed."""
    return shutil.copytree(one_seed, tmp_path / "out")


def kinds(study):
    return {one.kind for one in all_departures(read_study(study))}


def cells(study, seeds=None):
    return plans.planned_cells(study / FILE, study, seeds)


def run(study, *chosen, **options):
    return plans.run_cells_of(study / FILE, study, chosen, **options)


def command(*words):
    done = CliRunner().invoke(cli, [*map(str, words)])
    assert done.exit_code == 0, done.output
    return done


def edit(path, old, new):
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def config_of(cell):
    return cell.directory / "config.toml"


def another_kernel(monkeypatch):
    here = kernel.describe()
    monkeypatch.setattr(kernel, "describe", lambda: {**here, "kernel": "Another"})


# -- what was done -----------------------------------------------------------------------------------------------------


def deleted(study, monkeypatch):
    shutil.rmtree(cells(study)[0].directory)


def deleted_and_run_again(study, monkeypatch):
    deleted(study, monkeypatch)
    run(study, cells(study)[0])


def forced(study, monkeypatch):
    run(study, cells(study)[0], force=True)


def forced_and_tidied(study, monkeypatch):
    forced(study, monkeypatch)
    for path in study.rglob("*.old-1"):
        shutil.rmtree(path)


def another_kernel_in_the_seed(study, monkeypatch):
    third, fourth = cells(study, 2)[2:]
    run(study, third)
    another_kernel(monkeypatch)
    with pytest.raises(UsageError, match="on one kernel"):
        run(study, fourth)
    assert not fourth.directory.exists()
    run(study, fourth, anyway=True)


def another_kernel_in_a_new_seed(study, monkeypatch):
    another_kernel(monkeypatch)
    assert run(study, *cells(study, 2)) == 0


def another_identity(study, monkeypatch):
    run(study, cells(study, 2)[2])
    for cell, version in zip(cells(study, 2)[::2], "12", strict=True):
        meta = json.loads((cell.directory / "meta.json").read_text())
        meta["starts"][0]["identity"] = {"versions": {"mujoco": version}}
        (cell.directory / "meta.json").write_text(json.dumps(meta))


def other_evaluations(study, monkeypatch):
    edit(config_of(cells(study)[0]), "eval_episodes = 2", "eval_episodes = 3")


def other_settings(study, monkeypatch):
    edit(config_of(cells(study)[1]), "initial_variance = 0.0001", "initial_variance = 0.0002")


def another_budget(study, monkeypatch):
    edit(config_of(cells(study)[0]), "total_timesteps = 1000", "total_timesteps = 1001")


def an_extra_seed(study, monkeypatch):
    settings = [f"--set={name}={value}" for name, value in (("population", 4), ("elites", 2), ("hidden", 8))]
    protocol = ["--eval-freq=250", "--eval-episodes=2", "--total-timesteps=1000"]
    config = write_options(study.parent / "options.toml", final_episodes=3)
    done = command(
        "run",
        f"--config={config}",
        "--algo=cem",
        "--env=InvertedPendulum-v5",
        "--seeds=5,",
        *settings,
        *protocol,
        "--processes=0",
        "--out",
        study,
    )
    assert "plan.toml is not followed" in done.stderr


def a_new_cell(study, monkeypatch):
    done = command(
        "run", "--algo=cem", "--env=InvertedPendulum-v5", "--name=other", "--total-timesteps=50", "--processes=0",
        "--out", study,
    )  # fmt: skip
    assert "plan.toml is not followed" in done.stderr


def a_failure(study, monkeypatch):
    edit(cells(study)[0].directory / "status.json", '"done"', '"failed"')


def a_start_before_the_plan(study, monkeypatch):
    (study / FILE).rename(study / "later")
    shutil.copy(study / "later", study.parent / FILE)
    cell = plans.planned_cells(study.parent / FILE, study.parent / "elsewhere", 2)[2]
    run_cells([cell], RunOptions(0, verbosity=-1, device="cpu"))
    cell.directory.rename(study / "InvertedPendulum-v5" / "cem" / cell.directory.name)
    (study / "later").rename(study / FILE)


def an_edited_plan(study, monkeypatch):
    edit(study / FILE, "level = 0.05", "level = 0.1")


def a_journal_without_a_line(study, monkeypatch):
    lines = (study / journal.FILE).read_text().splitlines(True)
    (study / journal.FILE).write_text(lines[0])


def a_journal_that_is_gone(study, monkeypatch):
    (study / journal.FILE).unlink()


def a_damaged_journal(study, monkeypatch):
    with (study / journal.FILE).open("a") as file:
        file.write('{"what": "sta\n')


def report(*words):
    def deed(study, monkeypatch):
        command("report", study, "--out", study.parent / "report", *words)

    return deed


def a_report_of_a_part(study, monkeypatch):
    command("report", study / "InvertedPendulum-v5" / "cem", "--out", study.parent / "report")


DEEDS = [
    (lambda study, monkeypatch: None, set()),
    (report(), set()),
    (another_kernel_in_a_new_seed, set()),
    (deleted, {Kind.DELETED}),
    (deleted_and_run_again, {Kind.DELETED}),
    (forced, {Kind.REPEATED}),
    (forced_and_tidied, {Kind.REPEATED, Kind.DELETED}),
    (another_kernel_in_the_seed, {Kind.KERNEL}),
    (another_identity, {Kind.IDENTITY}),
    (other_evaluations, {Kind.EVALUATION}),
    (other_settings, {Kind.SETTINGS}),
    (another_budget, {Kind.BUDGET}),
    (an_extra_seed, {Kind.SEED}),
    (a_new_cell, {Kind.CELL}),
    (a_failure, {Kind.FAILED}),
    (a_start_before_the_plan, {Kind.BEFORE}),
    (an_edited_plan, {Kind.EDITED, Kind.SEED}),
    (a_journal_without_a_line, {Kind.JOURNAL}),
    (a_journal_that_is_gone, {Kind.JOURNAL}),
    (a_damaged_journal, {Kind.JOURNAL}),
    (report("--metric", "area", "--early"), {Kind.SCORE, Kind.EARLY}),
    (report("--at", "500"), {Kind.SCORE}),
    (report("--baseline", "cem"), {Kind.FAMILY}),
    (report("--family", "environment"), {Kind.FAMILY}),
    (a_report_of_a_part, {Kind.FAMILY}),
    (report("--early"), {Kind.EARLY}),
]  # fmt: skip


@pytest.mark.parametrize(("deed", "expected"), DEEDS)
def test_what_was_done_to_a_study_is_found(study, monkeypatch, deed, expected):
    deed(study, monkeypatch)
    assert kinds(study) == expected


def test_every_kind_is_found_by_some_deed():
    assert set().union(*(found for _, found in DEEDS)) == set(Kind)


def test_a_study_in_simulated_time_with_a_budget_of_minutes_and_costs_with_many_digits_departs_in_nothing(tmp_path):
    costs = "[simulated_time]\n[costs]\ntimestep = 7.210378607832741e-05\ncritic_update = 0.008025755327237542\n"
    changes = {
        "[test]": f"{costs}actor_update = 0.004236962488909078\noverhead = 0.005016259083536053\n[test]",
        "total_timesteps = 1000": "total_minutes = 0.01",
        "stretch = [250, 750]": "axis = 'minutes'\nstretch = [0.002, 0.004]",
        "eval_freq = 250": "eval_freq = 50",
    }
    path, out = plans.write(tmp_path / "plan.toml", **changes), tmp_path / "out"
    assert plans.run_cells_of(path, out, plans.planned_cells(path, out, 2)) == 0
    found, runs = read_study(out), {run.path.resolve(): run for run in find_runs([out], pytest.fail)}
    assert (all_departures(found), found.reached) == ([], (2,))
    assert all(not np.isnan(one.difference.difference) for one in plan_tables(found, runs)[0].rows)


def test_the_documentation_has_each_kind_and_no_other():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and line.count("|") == 3]
    listed = {word for row in rows for word in re.findall(r"`([A-Z]+)`", row.split("|")[2])}
    assert listed == set(Kind.__members__)


def test_a_departure_of_a_report_stays_in_later_reports(study, tmp_path):
    command("report", study, "--out", tmp_path / "report", "--metric", "area")
    command("report", study, "--out", tmp_path / "report")
    rows = (tmp_path / "report" / "all-runs" / "departures.csv").read_text().splitlines()
    assert [row.split(",")[1] for row in rows[1:]] == ["SCORE"]


def test_a_report_that_departs_is_refused_where_the_journal_cannot_be_written(study, tmp_path):
    (study / journal.FILE).unlink()
    (study / journal.FILE).mkdir()
    done = CliRunner().invoke(cli, ["report", str(study), "--out", str(tmp_path / "report"), "--early"])
    assert (done.exit_code, "journal cannot be written" in done.output) == (2, True)
    assert not (tmp_path / "report").exists()


def test_a_start_is_a_line_of_the_journal(study):
    lines = [json.loads(line) for line in (study / journal.FILE).read_text().splitlines()]
    found = read_study(study)
    assert [line["folder"] for line in lines] == [str(cell.directory.relative_to(study)) for cell in cells(study, 1)]
    for line, cell in zip(lines, cells(study, 1), strict=True):
        (start,) = json.loads((cell.directory / "meta.json").read_text())["starts"]
        assert (line["what"], line["id"], line["plan"]) == ("start", start["journal"], found.plan.hash)
        assert (line["kernel"], line["forced"]) == (kernel.in_words(kernel.describe()), False)
