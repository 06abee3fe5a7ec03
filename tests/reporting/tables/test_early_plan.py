"""Plans of before format 2: reports read them, and runs are compared with them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.experiment.early_plan import load_plan
from erlbench.experiment.plan_file import plan_hash
from erlbench.reporting import build_report
from erlbench.reporting.data.runs import find_runs
from erlbench.reporting.tables.early_plan import plan_table
from tests.reporting.make_runs import make_run

TEXT = """\
baseline = "td3"
algorithms = ["new"]
environments = ["Hopper-v5"]
total_timesteps = 1000
level = 0.05
power = 0.8
difference = 0.2
spending = "obrien-fleming"
looks = [5, 10]
p = [0.00305, 0.049]
written = "2026-11-01T10:00:00+00:00"
power_by_pilots = 0.9
"""


def write(folder):
    folder.mkdir(parents=True)
    (folder / "plan.toml").write_text(TEXT)


def test_a_plan_without_the_power_by_its_pilots_is_read(tmp_path):
    write(tmp_path / "study")
    path = tmp_path / "study" / "plan.toml"
    assert "and power 0.8 (by the pilots: 0.90)." in plan_table(tmp_path / "study", []).notes[0]
    path.write_text("".join(row for row in path.read_text().splitlines(True) if "power_by_pilots" not in row))
    assert load_plan(tmp_path / "study").power_by_pilots == 0.0
    assert "and power 0.8." in plan_table(tmp_path / "study", []).notes[0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--seeds 5 --total-timesteps 5000", "a budget of 5,000 steps, not 1,000"),
        ("--seed 10 --total-timesteps 1000", "seed 10, beyond the last look after 10 seeds"),
        ("--seeds 5 --total-timesteps 1000", ""),
        ("--seeds 5 --total-timesteps 5000 --name other", ""),
    ],
)
def test_a_run_that_does_not_follow_its_plan_is_told_before_it_starts(tmp_path, words, told):
    write(tmp_path / "study")
    start = ["run", "--algo", "td3", "--env", "Hopper-v5", "--dry-run", "--out", str(tmp_path / "study")]
    done = CliRunner().invoke(cli, [*start, *words.split()])
    assert done.exit_code == 0, done.output
    path = tmp_path / "study" / "plan.toml"
    of_plans = "".join(line for line in done.stderr.splitlines(True) if "it never trains" not in line)
    assert of_plans == (f"warning: {path} is not followed: there are runs with {told}\n" if told else "")


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


def test_the_report_says_that_a_plan_was_followed_and_what_it_decides(tmp_path):
    folder = tmp_path / "study"
    write(folder)
    study(folder, range(5), plan_hash(folder))
    decisions, followed = table(folder)
    assert decisions == ["stop: better", "stopped before"]
    assert followed == "The study follows its plan: all 10 runs were started under it."


def test_a_study_without_a_difference_goes_on_to_its_last_look(tmp_path):
    folder = tmp_path / "study"
    write(folder)
    study(folder, range(10), plan_hash(folder), shift=1.0)
    assert table(folder)[0] == ["go on", "end: no difference found"]


def test_samples_without_spread_cannot_be_tested(tmp_path):
    folder = tmp_path / "study"
    write(folder)
    for seed in range(5):
        for name, score in (("td3", 10.0), ("new", 500.0)):
            make_run(folder, "Hopper-v5", name, seed, [0, score])
    assert table(folder)[0][0] == "cannot be tested"


def test_two_plans_in_one_report_are_two_tables(tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, shift in zip(folders, (500.0, -500.0), strict=True):
        write(folder)
        study(folder, range(5), plan_hash(folder), shift)
    build_report(folders, tmp_path / "report", {}, None, warn=lambda text: None)
    found = [(tmp_path / f"report/all-runs/plan-{number}.csv").read_text() for number in (1, 2)]
    assert ["stop: better" in found[0], "stop: worse" in found[1]] == [True, True]


def test_a_plan_that_was_changed_or_came_later_is_told(tmp_path):
    folder = tmp_path / "study"
    write(folder)
    study(folder, range(5), plan_hash(folder))
    text = (folder / "plan.toml").read_text()
    (folder / "plan.toml").write_text(text.replace("level = 0.05", "level = 0.5"))
    assert table(folder)[1] == "The study does not follow its plan: 10 of 10 runs were not started under this plan."
    (folder / "plan.toml").write_text(text)
    make_run(folder, "Hopper-v5", "new", 11, [0, 1])
    assert "1 of 11 runs were not started" in table(folder)[1]
    assert "1 run with a seed or a budget" in table(folder)[1]


def test_a_run_that_failed_is_told(tmp_path):
    folder = tmp_path / "study"
    write(folder)
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
        ("level = 0.05", "", "argument: 'level'"),
    ],
)
def test_a_damaged_plan_is_named(tmp_path, old, new, message):
    folder = tmp_path / "study"
    write(folder)
    text = (folder / "plan.toml").read_text()
    assert old in text
    (folder / "plan.toml").write_text(text.replace(old, new))
    with pytest.raises(UsageError, match=r"plan\.toml is no plan that `erlbench plan` wrote") as caught:
        load_plan(folder)
    assert message in str(caught.value)


def test_the_report_shows_the_plan(tmp_path):
    folder = tmp_path / "study"
    write(folder)
    study(folder, range(5), plan_hash(folder))
    done = CliRunner().invoke(cli, ["report", str(folder), "--out", str(tmp_path / "report")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "report" / "all-runs" / "index.md").read_text()
    assert "The study follows its plan" in page
