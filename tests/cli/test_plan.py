from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from statsmodels.stats.power import TTestIndPower

from erlbench.cli import cli
from erlbench.experiment.plan_file import plan_hash, read_plan
from tests import plans
from tests.reporting.make_runs import make_run

PILOT = {"td3": [900, 1100, 1000], "new": [1400, 1600, 1500]}  # standard deviations of 100


@pytest.fixture
def pilot(tmp_path):
    for name, scores in PILOT.items():
        for seed, score in enumerate(scores):
            make_run(tmp_path / "pilot", "Hopper-v5", name, seed, [0, *[score] * 6])
    return tmp_path / "pilot"


def plan(*words):
    return CliRunner().invoke(cli, ["plan", *map(str, words)])


def rows(output, header):
    """The rows of the table whose header begins so, as lists of words."""
    lines = output.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(header)) + 1
    found = []
    for line in lines[first:]:
        if not line.startswith("Hopper-v5"):
            break
        found.append(line.split())
    return found


def test_seeds_are_those_of_statsmodels(pilot):
    done = plan(pilot, "--baseline", "td3", "--difference", "10,20")
    assert done.exit_code == 0
    for row, effect in zip(rows(done.output, "environment"), (1.0, 2.0), strict=True):  # 10 % is a standard deviation
        expected = int(np.ceil(float(np.squeeze(TTestIndPower().solve_power(effect, None, 0.05, 0.8)))))
        assert int(row[-2]) == expected
        assert int(row[-1]) > expected


def test_a_plan_from_pilots_has_their_cells_and_none_of_their_seeds(pilot, tmp_path):
    done = plan(pilot, "--baseline", "td3", "--difference", "20", "--looks", "5,10", "--write", tmp_path / "study")
    assert done.exit_code == 0, done.output
    found = read_plan(tmp_path / "study" / "plan.toml")
    assert plan_hash(tmp_path / "study") == found.hash
    assert found.hash in done.output
    assert found.pilot_seeds == (0, 1, 2)
    assert not set(found.pilot_seeds) & set(found.assigned_seeds())
    assert [(cell.name, cell.total_timesteps, cell.settings["initial_variance"]) for cell in found.cells] == [
        ("new", 6000, 0.001), ("td3", 6000, 0.001),
    ]  # fmt: skip
    assert [(one.a, one.b, one.axis, one.stretch) for one in found.contrasts] == [
        ("new on Hopper-v5", "td3 on Hopper-v5", "timesteps", (4000.0, 5000.0))
    ]
    assert (found.seeds, found.test.looks, found.resolved) == (10, (5, 10), True)
    again = plan(pilot, "--baseline", "td3", "--looks", "5,10", "--write", tmp_path / "study")
    assert (again.exit_code, "under another plan" in again.output) == (2, True)
    late = plan(pilot, "--baseline", "td3", "--looks", "5,10", "--write", pilot)
    assert (late.exit_code, "before the first run" in late.output) == (2, True)


def test_the_power_of_looks_is_that_of_welch_and_the_careful_one_of_the_spreads_upper_limits(pilot):
    done = plan(pilot, "--baseline", "td3", "--difference", "10,20", "--looks", "3,5")
    (_, _, _, _, _, one, careful, seeds, least), (_, _, _, _, _, two, *_) = rows(
        done.output.partition("\n\n")[2], "env"
    )
    assert (float(one), float(two)) == pytest.approx((0.257, 0.76), abs=0.015)  # normal statistics: 0.35 and 0.88
    assert float(careful) < float(one)
    assert 4.9 <= float(seeds) <= 5
    again = plan(pilot, "--baseline", "td3", "--difference", str(float(least) / 10), "--looks", "3,5")
    assert float(rows(again.output.partition("\n\n")[2], "environment")[0][-3]) == pytest.approx(0.8, abs=0.01)


def test_a_power_below_the_one_asked_for_is_printed_and_stored(pilot, tmp_path):
    words = (pilot, "--baseline", "td3", "--looks", "5,10")
    low = plan(*words, "--difference", "5", "--write", tmp_path / "study").output
    assert "below what was asked for" in low
    assert "with power 0.0" in read_plan(tmp_path / "study" / "plan.toml").why
    assert "below what was asked for" not in plan(*words, "--difference", "100").output


@pytest.mark.parametrize(
    "words",
    [["--baseline", "td4"], ["--baseline", "td3", "--looks", "5,4"], ["--baseline", "td3", "--looks", "1,5"],
     ["--baseline", "td3", "--difference", "x"], ["--baseline", "td3", "--write", "somewhere"], [],
     ["--resolve", "x.toml"],
     ["--baseline", "td3", "--looks", "2,4,6,8,10", "--spending", "pocock", "--write", "somewhere"]],
)  # fmt: skip
def test_mistakes_are_one_line_and_write_nothing(pilot, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = plan(pilot, *words)
    assert done.exit_code == 2
    assert done.output.startswith("erlbench: ")
    assert done.output.count("\n") == 1
    assert not (tmp_path / "somewhere").exists()


def test_pilots_with_several_configurations_are_no_cells_of_a_plan(pilot, tmp_path):
    path = pilot / "Hopper-v5" / "new" / "seed-001" / "config.toml"
    path.write_text(path.read_text().replace("0.001", "0.002"))
    done = plan(pilot, "--baseline", "td3", "--looks", "5,10", "--write", tmp_path / "study")
    assert (done.exit_code, "seed-001 has other settings" in done.output) == (2, True)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(("name", "hint"), [("x", "; there are new, td3"), ("td4", "; did you mean 'td3'?")])
def test_a_baseline_that_has_no_runs_is_named_with_those_that_have(pilot, name, hint):
    assert plan(pilot, "--baseline", name).output.endswith(f"--baseline {name}: no run has that name{hint}\n")


def test_too_many_seeds_are_named_by_their_number(pilot):
    lines = plan(pilot, "--baseline", "td3", "--difference", "0.001").output.splitlines()
    assert lines[1].count("more than 10,000") == 2


def test_a_plan_by_hand_is_resolved_to_the_terminal_or_a_folder(tmp_path):
    path = plans.write(tmp_path / "a.toml")
    shown = CliRunner().invoke(cli, ["plan", "--resolve", str(path)])
    assert shown.exit_code == 0, shown.output
    (tmp_path / "b.toml").write_text(shown.stdout)
    found = read_plan(tmp_path / "b.toml")
    assert (found.resolved, found.hash in shown.stderr) == (True, True)
    assert plan("--resolve", path, "--write", tmp_path / "study").exit_code == 0
    assert plan_hash(tmp_path / "study") == found.hash
    assert plan("--resolve", path, "--write", tmp_path / "study").exit_code == 2


def test_looks_that_do_not_keep_the_level_are_refused_at_every_door(tmp_path):
    changes = {"seeds = 4": "seeds = 10", "looks = [2, 4]": "looks = [2, 4, 6, 8, 10]\nspending = 'pocock'"}
    path = plans.write(tmp_path / "a.toml", **changes)
    for words in (["plan", "--resolve", path], ["run", "--plan", path, "--out", tmp_path / "out"]):
        done = CliRunner().invoke(cli, [*map(str, words)])
        said = [line for line in done.output.splitlines() if line.startswith("erlbench: ")]
        assert (done.exit_code, len(said), "have level" in said[0]) == (2, 1, True)
    assert not (tmp_path / "out").exists()


def test_runs_of_two_folders_that_are_alike_are_one_line(pilot, tmp_path):
    for name in PILOT:
        make_run(tmp_path / "second", "Hopper-v5", name, 0, [0, *[1] * 6])
    done = plan(pilot, tmp_path / "second", "--baseline", "td3")
    assert done.exit_code == 0
    (line,) = done.stderr.splitlines()
    assert "listed only" in line
    assert line.endswith("(and 1 more like this)")
