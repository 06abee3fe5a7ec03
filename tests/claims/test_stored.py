"""The verdicts of the page are those of the stored runs and data: each moves with what it stands on."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.claim_verdicts import PAGE, RESULTS, VALUES, computed, with_claims
from erlbench.claims.evidence import Sources
from erlbench.claims.page import WIDTH, claim_values, strip
from erlbench.claims.rows import measurements_text, read_measurements
from erlbench.claims.standing import DECIDED, PartStanding, Standing, standing_of
from erlbench.cli import cli
from erlbench.experiment.claims import DISTANCE, EXPLORATORY, POPULATION, PROCESSOR, Claim, Evidence, load_claims
from erlbench.experiment.plan_file import read_plan
from erlbench.reporting.data.published import Published, load_published
from erlbench.reporting.data.references import References

CLAIMS = load_claims()


@pytest.fixture(scope="module")
def found():
    return {one.claim.id: one for one in computed()}


@pytest.mark.data
def test_page_and_values_are_computed_from_the_stored_runs(found):
    assert with_claims(PAGE.read_text(), [*found.values()]) == PAGE.read_text()
    stored = json.loads(VALUES.read_text())["claims"]
    assert [one["id"] for one in stored] == [*CLAIMS]
    for one in stored:
        now = claim_values(found[one["id"]])
        assert (one["verdict"], one["counts"]) == (now["verdict"], now["counts"])
        assert one["core_hours_measured"] == pytest.approx(now["core_hours_measured"])
        for before, after in zip(one["parts"], now["parts"], strict=True):
            for value, other in ((before["effect"], after["effect"]), *zip(before["interval"], after["interval"])):
                assert value == other or math.isclose(value, other, rel_tol=1e-6)


@pytest.mark.data
def test_no_more_than_five_verdicts_count_by_forecast_or_counting(found):
    """Evidence without spread: no run stands behind it."""
    counted = [one for one in found.values() if one.counts and not any(max(part.runs) for part in one.parts)]
    assert len(counted) <= 5
    for one in found.values():
        if one.counts:
            assert one.claim.basis != EXPLORATORY
            assert all(not runs or runs >= 5 for part in one.parts for runs in part.runs)


@pytest.mark.data
def test_the_measured_cost_is_the_processor_time_of_the_plans_tasks(found):
    spent = 0.0
    for path in (RESULTS / "claims" / "long-horizons-2").rglob("tasks.csv"):
        with path.open() as file:
            spent += sum(float(row["cpu_s"]) for row in csv.DictReader(file))
    assert found["long-horizons"].core_hours == pytest.approx(spent / 3600)


def stored_decisions():
    stored = json.loads(VALUES.read_text())["claims"]
    return [one["id"] for one in stored if one["verdict"] in {str(each) for each in DECIDED}]


@pytest.mark.data
def test_there_are_decisions_to_test():
    assert stored_decisions()


@pytest.mark.data
@pytest.mark.parametrize("name", stored_decisions())
def test_a_verdict_moves_with_one_run_or_number(name, found, tmp_path):
    """In turn: each stored sample, sample of others, published number, forecast and plan that the claim stands on."""
    before = found[name]
    kinds = {side.kind: side for side in sorted(set(before.claim.evidence), key=str) if side.kind != "value"}
    if any(part.contrast for part in before.claim.parts):
        kinds["plan"] = before.claim
    assert kinds
    for kind, side in kinds.items():
        after = standing_of(before.claim, CHANGED[kind](side, tmp_path))
        effects = [[part.effect for part in one.parts] for one in (before, after)]
        assert effects[0] != effects[1], kind
        assert all(part.runs == other.runs for part, other in zip(before.parts, after.parts, strict=True)), kind


def changed_run(side: Evidence, tmp_path: Path) -> Sources:
    """One seed scores half of what it did, and its tasks took half of the time; no checksum says so."""
    shutil.copytree(RESULTS / side.runs[0], tmp_path / side.runs[0])
    name = side.name or side.names[-1]
    (seeds,) = (tmp_path / side.runs[0]).glob(f"{side.env.split(' ')[0].replace('/', '_')}/{name}")
    folder = min(seeds.iterdir())
    _halve_returns(folder)
    if side.metric == PROCESSOR:
        _halve(folder / "tasks.csv", "cpu_s")
    if side.metric == POPULATION:
        _halve(folder / "train.csv", "fitness_mean")
    return Sources(tmp_path)


def changed_planned(claim: Claim, tmp_path: Path) -> Sources:
    """One seed of the first side of a plan's contrast scores half of what it did; no checksum says so."""
    shutil.copytree(RESULTS / claim.folder, tmp_path / claim.folder)
    plan = read_plan(tmp_path / claim.folder / "plan.toml")
    first = next(one.a for one in plan.contrasts if one.title == claim.parts[0].contrast)
    _halve_returns(min((tmp_path / claim.folder).glob(f"*/{plan.cell(first).name}/seed-*")))
    return Sources(tmp_path)


def _halve_returns(folder: Path) -> None:
    _halve(folder / "eval.csv", "return_mean", "returns")
    status = json.loads((folder / "status.json").read_text())
    status.pop("files", None)
    (folder / "status.json").write_text(json.dumps(status))


def _halve(path: Path, *columns: str) -> None:
    with path.open() as file:
        rows = [*csv.DictReader(file)]
    for row in rows:
        for column in columns:
            row[column] = " ".join(str(float(word) / 2) for word in row[column].split())
    with path.open("w") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def changed_rows(side: Evidence, tmp_path: Path) -> Sources:
    """One seed measures half of what it did."""
    (tmp_path / side.rows).parent.mkdir(parents=True)
    rows = read_measurements(RESULTS / side.rows)
    own = next(row for row in rows if (row["env"], row["name"]) == (side.env, side.name))
    for column in (side.metric, *(key for key in own if side.metric == DISTANCE and key.startswith("to_"))):
        own[column] = str(float(own[column]) / 2)
    (tmp_path / side.rows).write_text(measurements_text(rows))
    return Sources(tmp_path)


def changed_others(side: Evidence, tmp_path: Path) -> Sources:
    """One seed of others scores half of what it did."""
    known, sets = load_published(), []
    for one in known.references.sets:
        if (one.source.name, one.env, one.algorithm) == (side.others, side.env, side.name):
            (steps, returns), *rest = one.runs
            one = dataclasses.replace(one, runs=((steps, np.asarray(returns) / 2), *rest))
        sets.append(one)
    return Sources(RESULTS, Published(known.numbers, References(sets)))


def changed_number(side: Evidence, tmp_path: Path) -> Sources:
    """The published number is half of what it was."""
    known, asked = load_published(), (side.published, side.table, side.env, side.name, side.statistic)
    numbers = [
        dataclasses.replace(one, value=one.value / 2)
        if (one.source, one.table, one.env, one.algorithm, one.statistic) == asked
        else one
        for one in known.numbers
    ]
    return Sources(RESULTS, Published(numbers, known.references))


CHANGED = {
    "plan": changed_planned,
    "runs": changed_run,
    "rows": changed_rows,
    "others": changed_others,
    "published": changed_number,
}


def test_a_figure_has_its_marks_in_their_order():
    part = PartStanding(CLAIMS["es-is-stable"].parts[0], Standing.BOUNDED, 5.0, (3.0, 7.0), (9, 9), 0.0, 10.0)
    figure = strip(part)
    assert len(figure) == WIDTH
    assert [mark for mark in figure if mark not in "·─"] == [*"│├●┤◆"]
    assert (figure.index("│"), figure.index("◆"), figure.index("●")) == (0, WIDTH - 1, (WIDTH - 1) // 2)
    assert strip(dataclasses.replace(part, effect=math.nan)) == ""
    assert "◆" not in strip(dataclasses.replace(part, margin=0.0))


def run(*words):
    return CliRunner().invoke(cli, words)


def test_the_report_of_claims_prints_a_table_and_writes_page_and_values(tmp_path):
    shown = run("report", str(tmp_path), "--claims", "--out", str(tmp_path / "out"))  # no run is there
    assert shown.exit_code == 0, shown.output
    stored = {one["id"]: one for one in json.loads((tmp_path / "out" / "claims.json").read_text())["claims"]}
    assert stored.keys() == CLAIMS.keys()
    assert stored["swimmer-hard-for-rl"]["verdict"] == "not decided"
    assert (tmp_path / "out" / "claims.md").read_text().startswith("# Claims\n")
    assert all(name in shown.output for name in CLAIMS)


@pytest.mark.parametrize("words", [["--at", "1000"], ["--study", "goodai-ant"], ["."], ["--table"]])
def test_claims_go_with_no_other_choice_of_a_report(words, tmp_path):
    found = run("report", str(tmp_path), "--claims", *words)
    assert found.exit_code == 2
    assert "--claims" in found.output


def test_claims_are_listed_by_words_and_shown_by_name():
    assert "swimmer-two-modes" in run("list", "claims", "swimmer").output
    shown = run("list", "claims", "esac-ten-of-fifteen").output
    assert CLAIMS["esac-ten-of-fifteen"].caveat in shown
    assert "erlbench run --claim esac-ten-of-fifteen" in shown


@pytest.mark.parametrize(("words", "hint"), [(["mdp-es-frist"], "mdp-es-first"), (["atari-one-hour"], "Atari")])
def test_a_claim_that_cannot_be_run_ends_in_one_line(words, hint, tmp_path):
    done = subprocess.run([sys.executable, "-m", "erlbench", "run", "--claim", *words], cwd=tmp_path,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 2
    assert hint in done.stderr
    assert done.stderr.count("\n") <= 2
    assert not list(tmp_path.iterdir())
