"""A claim under a plan: the plan's own test decides it, and only if the plan was there first and was followed."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.claim_verdicts import RESULTS
from erlbench.claims.evidence import Sources
from erlbench.claims.standing import Standing, standing_of
from erlbench.experiment.claims import PLAN, Claim, ClaimPart, load_claims
from erlbench.experiment.plan_file import plan_hash, read_plan
from erlbench.reporting.data.published import Published
from tests.claims.test_standing import TEXTS
from tests.plans import TEXT, planned_cells, run_cells_of

# Means far apart: a policy of one unit that is never varied, and one that learns.
APART = TEXT.replace("initial_variance = 1e-4", "initial_variance = 1e-12").replace("looks = [2, 4]", "looks = [4]")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The results, with the runs of a plan in the folder `study`."""
    results = tmp_path_factory.mktemp("results")
    path = results / "study" / "plan.toml"
    path.parent.mkdir()
    path.write_text(APART)
    cells = planned_cells(path, path.parent)
    assert run_cells_of(path, path.parent, cells) == 0
    return results


def claim_of(results, contrast="narrow - wide", **changes):
    found = Claim(id="c", basis=PLAN, plan=plan_hash(results / "study"), folder="study",
                  parts=(ClaimPart(label="one", contrast=contrast),), **TEXTS)  # fmt: skip
    return replace(found, **changes)


def standing(claim, results):
    return standing_of(claim, Sources(results, Published([])))


def test_the_contrast_of_the_plan_is_the_effect(study):
    (part,) = standing(claim_of(study), study).parts
    assert part.runs == (4, 4)
    scores = {}
    for label in ("cem", "cem-narrow"):
        runs = (study / "study" / "InvertedPendulum-v5" / label).iterdir()
        rows = [(run / "eval.csv").read_text().splitlines() for run in runs]
        head = rows[0][0].split(",")
        points = [[(float(line.split(",")[head.index("timesteps")]), float(line.split(",")[head.index("return_mean")]))
                   for line in lines[1:-1]] for lines in rows]  # fmt: skip
        scores[label] = points
    assert part.effect == pytest.approx(_mean(scores["cem-narrow"]) - _mean(scores["cem"]))
    assert part.standing in (Standing.HOLDS, Standing.FAILS) or part.why == "no difference found"


def _mean(curves):
    """The mean over runs of each curve from 250 to 750 steps, linear between evaluations, on a fine grid."""
    grid = np.linspace(250, 750, 500_001)
    return np.mean([np.interp(grid, *zip(*curve, strict=True)).mean() for curve in curves])


@pytest.mark.parametrize(("contrast", "axis"), [("wide - narrow", ""), ("narrow - wide", "minutes")])
def test_a_contrast_that_the_plan_lacks_decides_nothing(study, contrast, axis):
    part = ClaimPart(label="one", contrast=contrast, axis=axis)
    found = standing(claim_of(study, parts=(part,)), study)
    assert found.standing is Standing.OPEN
    assert found.parts[0].why == "the plan has 0 such contrasts"


def test_another_plan_than_the_claims_decides_nothing(study):
    found = standing(claim_of(study, plan="0" * 64), study)
    assert found.standing is Standing.OPEN
    assert "not that of the claim" in found.parts[0].why


def test_a_run_that_began_before_the_plan_decides_nothing(study, tmp_path):
    shutil.copytree(study, tmp_path / "results")
    meta = min((tmp_path / "results").rglob("meta.json"))
    values = json.loads(meta.read_text())
    for start in values["starts"]:
        start.pop("study_plan")
    meta.write_text(json.dumps(values))
    found = standing(claim_of(study), tmp_path / "results")
    assert found.standing is Standing.OPEN
    assert "departs from the plan" in found.parts[0].why


def test_a_run_that_was_deleted_decides_nothing(study, tmp_path):
    shutil.copytree(study, tmp_path / "results")
    shutil.rmtree(min((tmp_path / "results").rglob("seed-*")))
    found = standing(claim_of(study), tmp_path / "results")
    assert found.standing is Standing.OPEN
    assert "departs from the plan" in found.parts[0].why


def test_before_the_first_look_nothing_is_decided(study, tmp_path):
    folder = tmp_path / "study"
    folder.mkdir()
    path = Path(shutil.copy(study / "study" / "plan.toml", folder))
    assert run_cells_of(path, folder, planned_cells(path, folder, seeds=1)) == 0
    found = standing(claim_of(study), tmp_path)
    assert found.standing is Standing.OPEN
    assert re.findall(r"\d+", found.parts[0].why) == ["1", "4"]  # complete seeds, and those of the first look
    assert found.parts[0].effect != found.parts[0].effect  # not shown


def test_the_plans_of_the_suites_claims_are_those_of_their_folders():
    planned = [claim for claim in load_claims().values() if claim.plan]
    assert planned
    for claim in planned:
        assert plan_hash(RESULTS / claim.folder) == claim.plan
        titles = {contrast.title for contrast in read_plan(RESULTS / claim.folder / "plan.toml").contrasts}
        assert {part.contrast for part in claim.parts if part.contrast} <= titles
        assert claim.run["plan"] == f"results/{claim.folder}/plan.toml"
