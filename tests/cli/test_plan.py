from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from click.testing import CliRunner
from statsmodels.stats.power import TTestIndPower

from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.experiment.plan import load_plan, plan_hash
from erlbench.reporting import build_report
from erlbench.reporting.data.runs import find_runs
from erlbench.reporting.tables.study_plan import plan_table
from tests.reporting.make_runs import make_run
from tests.runs import make_cell, run

PILOT = {"td3": [900, 1100, 1000], "new": [1400, 1600, 1500]}  # standard deviations of 100


@pytest.fixture
def pilot(tmp_path):
    for name, scores in PILOT.items():
        for seed, score in enumerate(scores):
            make_run(tmp_path / "pilot", "Hopper-v5", name, seed, [0, score])
    return tmp_path / "pilot"


def plan(*words):
    return CliRunner().invoke(cli, ["plan", *map(str, words)])


def write(pilot, folder):
    done = plan(pilot, "--baseline", "td3", "--difference", "20", "--looks", "5,10", "--write", folder)
    assert done.exit_code == 0, done.output
    return done.output


def test_seeds_are_those_of_statsmodels(pilot):
    done = plan(pilot, "--baseline", "td3", "--difference", "10,20")
    assert done.exit_code == 0
    rows = [line.split() for line in done.output.splitlines() if line.startswith("Hopper-v5")]
    for row, effect in zip(rows, (1.0, 2.0), strict=True):  # 10 % of 1,000 is a standard deviation
        expected = int(np.ceil(float(np.squeeze(TTestIndPower().solve_power(effect, None, 0.05, 0.8)))))
        assert int(row[-2]) == expected
        assert int(row[-1]) > expected


def test_a_written_plan_is_hashed_and_written_once(pilot, tmp_path):
    output = write(pilot, tmp_path / "study")
    digest = hashlib.sha256((tmp_path / "study" / "plan.toml").read_bytes()).hexdigest()
    assert digest in output
    assert digest == plan_hash(tmp_path / "study")
    found = load_plan(tmp_path / "study")
    assert (found.baseline, found.algorithms, found.environments, found.looks) == (
        "td3", ("new",), ("Hopper-v5",), (5, 10),
    )  # fmt: skip
    again = plan(pilot, "--baseline", "td3", "--looks", "5", "--write", tmp_path / "study")
    assert (again.exit_code, "written once" in again.output) == (2, True)
    late = plan(pilot, "--baseline", "td3", "--looks", "5", "--write", pilot)
    assert (late.exit_code, "before the first run" in late.output) == (2, True)


@pytest.mark.parametrize(
    "words",
    [["--baseline", "td4"], ["--baseline", "td3", "--looks", "5,4"], ["--baseline", "td3", "--looks", "1,5"],
     ["--baseline", "td3", "--difference", "x"], ["--baseline", "td3", "--write", "somewhere"]],
)  # fmt: skip
def test_mistakes_are_told(pilot, words):
    done = plan(pilot, *words)
    assert done.exit_code == 2
    assert done.output.startswith("erlbench: ")


@pytest.mark.parametrize(("name", "hint"), [("x", "; there are new, td3"), ("td4", "; did you mean 'td3'?")])
def test_a_baseline_that_has_no_runs_is_told_with_those_that_have(pilot, name, hint):
    assert plan(pilot, "--baseline", name).output == f"erlbench: --baseline {name}: no run has that name{hint}\n"


def test_a_power_below_the_one_asked_for_is_told_and_stored(pilot, tmp_path):
    words = (pilot, "--baseline", "td3", "--difference", "5", "--looks", "5,10", "--write", tmp_path / "study")
    output = plan(*words).output
    line = "The plan's power is below what was asked for: it finds a difference of 5 % with "
    told = next(row for row in output.splitlines() if row.startswith(line))
    found = load_plan(tmp_path / "study")
    assert told == f"{line}{found.power_by_pilots:.2f}, not 0.8."
    assert (found.power, 0.05 < found.power_by_pilots < 0.3) == (0.8, True)
    note = plan_table(tmp_path / "study", []).notes[0]
    assert f"power 0.8 (by the pilots: {found.power_by_pilots:.2f})." in note
    assert (
        "below what was asked for"
        not in plan(pilot, "--baseline", "td3", "--looks", "5,10", "--difference", "50").output
    )


def test_a_plan_without_the_power_by_its_pilots_is_read(pilot, tmp_path):
    write(pilot, tmp_path / "study")
    path = tmp_path / "study" / "plan.toml"
    path.write_text("".join(row for row in path.read_text().splitlines(True) if "power_by_pilots" not in row))
    assert load_plan(tmp_path / "study").power_by_pilots == 0.0
    assert "and power 0.8." in plan_table(tmp_path / "study", []).notes[0]


def test_too_many_seeds_are_told_by_their_number(pilot):
    lines = plan(pilot, "--baseline", "td3", "--difference", "0.001").output.splitlines()
    assert lines[1].count("more than 10,000") == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--seeds 5 --total-timesteps 5000", "a budget of 5,000 steps, not 1,000"),
        ("--seed 10 --total-timesteps 1000", "seed 10, beyond the last look after 10 seeds"),
        ("--seeds 5 --total-timesteps 1000", ""),
        ("--seeds 5 --total-timesteps 5000 --name other", ""),
    ],
)
def test_a_run_that_does_not_follow_its_plan_is_told_before_it_starts(pilot, tmp_path, words, told):
    write(pilot, tmp_path / "study")
    start = ["run", "--algo", "td3", "--env", "Hopper-v5", "--dry-run", "--out", str(tmp_path / "study")]
    done = CliRunner().invoke(cli, [*start, *words.split()])
    assert done.exit_code == 0, done.output
    path = tmp_path / "study" / "plan.toml"
    assert done.stderr == (f"warning: {path} is not followed: there are runs with {told}\n" if told else "")


def study(folder, seeds, digest, shift=500.0):
    """Runs of a study that were started under a plan."""
    for seed in seeds:
        for name, score in (("td3", 1000.0), ("new", 1000.0 + shift)):
            made = make_run(folder, "Hopper-v5", name, seed, [0, score + 50 * (seed % 3)])
            meta = json.loads((made / "meta.json").read_text())
            meta["starts"][0]["study_plan"] = digest
            (made / "meta.json").write_text(json.dumps(meta))


def table(folder):
    found = plan_table(folder, find_runs([folder], pytest.fail))
    return [record["decision"] for record in found.records], found.notes[1]


def test_the_report_says_that_a_plan_was_followed_and_what_it_decides(pilot, tmp_path):
    folder = tmp_path / "study"
    write(pilot, folder)
    study(folder, range(5), plan_hash(folder))
    decisions, followed = table(folder)
    assert decisions == ["stop: better", "stopped before"]
    assert followed == "The study follows its plan: all 10 runs were started under it."


def test_a_study_without_a_difference_goes_on_to_its_last_look(pilot, tmp_path):
    folder = tmp_path / "study"
    write(pilot, folder)
    study(folder, range(10), plan_hash(folder), shift=1.0)
    assert table(folder)[0] == ["go on", "end: no difference found"]


def test_samples_without_spread_cannot_be_tested(pilot, tmp_path):
    folder = tmp_path / "study"
    write(pilot, folder)
    for seed in range(5):
        for name, score in (("td3", 10.0), ("new", 500.0)):
            make_run(folder, "Hopper-v5", name, seed, [0, score])
    assert table(folder)[0][0] == "cannot be tested"


def test_two_plans_in_one_report_are_two_tables(pilot, tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, shift in zip(folders, (500.0, -500.0), strict=True):
        write(pilot, folder)
        study(folder, range(5), plan_hash(folder), shift)
    build_report(folders, tmp_path / "report", {}, None, warn=lambda text: None)
    found = [(tmp_path / f"report/all-runs/plan-{number}.csv").read_text() for number in (1, 2)]
    assert ["stop: better" in found[0], "stop: worse" in found[1]] == [True, True]


def test_a_plan_that_was_changed_or_came_later_is_told(pilot, tmp_path):
    folder = tmp_path / "study"
    write(pilot, folder)
    study(folder, range(5), plan_hash(folder))
    text = (folder / "plan.toml").read_text()
    (folder / "plan.toml").write_text(text.replace("level = 0.05", "level = 0.5"))
    assert table(folder)[1] == "The study does not follow its plan: 10 of 10 runs were not started under this plan."
    (folder / "plan.toml").write_text(text)
    make_run(folder, "Hopper-v5", "new", 11, [0, 1])
    assert "1 of 11 runs were not started" in table(folder)[1]
    assert "1 run with a seed or a budget" in table(folder)[1]


def test_a_run_that_failed_is_told(pilot, tmp_path):
    folder = tmp_path / "study"
    write(pilot, folder)
    study(folder, range(5), plan_hash(folder))
    path = folder / "Hopper-v5" / "new" / "seed-004" / "status.json"
    path.write_text(path.read_text().replace('"done"', '"failed"'))
    decisions, followed = table(folder)
    assert decisions[0] == "runs are missing"
    assert followed == "The study does not follow its plan: 1 run failed."


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("level = 0.05", 'level = "five"', "level must be a finite number, not 'five'"),
        ("looks = [", "looks = [0.5, ", "looks must be"),
        ("p = [", "p = [0.5, ", "looks and p must have the same length"),
        ("level = 0.05", "levels = 0.05", "unexpected keyword argument 'levels'"),
        ("level = 0.05", "", "missing 1 required positional argument: 'level'"),
    ],
)
def test_a_damaged_plan_is_named(pilot, tmp_path, old, new, message):
    folder = tmp_path / "study"
    write(pilot, folder)
    text = (folder / "plan.toml").read_text()
    assert old in text
    (folder / "plan.toml").write_text(text.replace(old, new))
    with pytest.raises(UsageError, match=r"plan\.toml is no plan that `erlbench plan` wrote") as caught:
        load_plan(folder)
    assert message in str(caught.value)


def test_a_run_records_the_plan_that_it_was_started_under(pilot, tmp_path):
    folder = tmp_path / "study"
    write(pilot, folder)
    cell = make_cell("cem", folder, steps=50)
    assert run(cell) == 0
    meta = json.loads((cell.directory / "meta.json").read_text())
    assert meta["starts"][0]["study_plan"] == plan_hash(folder)


def test_the_report_shows_the_plan(pilot, tmp_path):
    folder = tmp_path / "study"
    write(pilot, folder)
    study(folder, range(5), plan_hash(folder))
    done = CliRunner().invoke(cli, ["report", str(folder), "--out", str(tmp_path / "report")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "report" / "all-runs" / "index.md").read_text()
    assert "The study follows its plan" in page


def test_runs_of_two_folders_that_are_alike_are_one_line(pilot, tmp_path):
    for name in PILOT:
        make_run(tmp_path / "second", "Hopper-v5", name, 0, [0, 1])
    done = plan(pilot, tmp_path / "second", "--baseline", "td3")
    assert done.exit_code == 0
    (line,) = done.stderr.splitlines()
    assert "left out here" in line
    assert line.endswith("(and 1 more like this)")
