"""Each edit of `edits.py` is made on a copy of a run, and the checks that it names find it; the others do not."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from erlbench.records.run import run_folders
from erlbench.verification import AGREES, DIFFERS, UNKNOWN, verify, verify_all
from erlbench.verification.comparison import run_again
from tests.audit.edits import AGAIN, EDITS, NOTHING, config, move, renew, table
from tests.runs import make_cell, run

ROOT = Path(__file__).parents[2]


def names(text: str) -> set[str]:
    return set() if text in (AGAIN, NOTHING) else set(text.split(", "))


def first_of_each_check() -> set[str]:
    """The edits that are the first in the table to be found by some check."""
    first: dict[str, str] = {}
    for edit in EDITS:
        for name in sorted(names(edit.found) | names(edit.renewed)):
            first.setdefault(name, edit.what)
    return {*first.values()}


def parameters() -> list[Any]:
    """Of each edit; all but the first of each check are slow."""
    first = first_of_each_check()
    marks = {edit: () if edit.what in first else pytest.mark.slow for edit in EDITS}
    return [pytest.param(edit, marks=marks[edit], id=edit.what) for edit in EDITS]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two runs of TD3 with different seeds."""
    root = tmp_path_factory.mktemp("runs")
    options = {"workers": 0, "eval_freq": 100, "evaluate": "after", "settings": {"start_timesteps": 200}}
    cells = [make_cell("td3", root / str(seed), seed=seed, **options) for seed in (0, 1)]
    assert run(*cells) == 0
    return [cell.directory for cell in cells]


@pytest.fixture
def folder(made, tmp_path):
    """A copy of the first run that a test may edit, in a folder ENV/NAME/seed-000, and the other seed's beside it."""
    ours, theirs = made
    shutil.copytree(theirs, tmp_path / "other" / Path(*theirs.parts[-3:]))
    return Path(shutil.copytree(ours, tmp_path / "results" / Path(*ours.parts[-3:])))


def differing(path: Path) -> set[str]:
    return {check.name for check in verify(path) if check.outcome == DIFFERS}


def test_everything_agrees_before_an_edit(made):
    assert {check.outcome for check in verify(made[0])} == {AGREES}


@pytest.mark.parametrize("edit", parameters())
def test_an_edit_is_found_by_what_the_table_names(folder, edit):
    path = edit.make(folder) or folder
    assert differing(path) == names(edit.found)
    renew(path)
    assert differing(path) == names(edit.renewed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "edit", [edit for edit in EDITS if edit.renewed in (AGAIN, NOTHING)], ids=lambda edit: edit.what
)
def test_a_second_run_finds_what_the_table_leaves_to_it(folder, edit):
    path = edit.make(folder) or folder
    renew(path)
    assert json.loads((path / "status.json").read_text())["status"] == "done"
    check = run_again(path, sum(1 for _ in open(path / "eval.csv")) - 2)
    assert check.outcome == (DIFFERS if edit.renewed == AGAIN else AGREES), check


def test_the_documentation_has_the_table():
    with open(ROOT / "docs" / "data" / "edits.csv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == table()


@pytest.mark.parametrize("renewed", [False, True])
def test_one_run_copied_as_three_seeds_is_found(folder, renewed):
    for seed in (1, 2):
        copy = Path(shutil.copytree(folder, folder.with_name(f"seed-00{seed}")))
        if renewed:
            config("seed = 0", f"seed = {seed}")(copy)
            renew(copy)
    found = verify_all(run_folders(folder.parents[2]))
    outcomes = [{check.name: check.outcome for check in checks} for checks in found.values()]
    if renewed:
        assert [one["copies"] for one in outcomes] == [DIFFERS] * 3
    assert [one["folder"] for one in outcomes] == [AGREES] + ([AGREES] * 2 if renewed else [DIFFERS] * 2)


def test_a_copy_under_another_seed_is_found_without_digests_and_policies(folder):
    """As in stored runs of before: returns and episodes tell copies apart from runs."""
    copy = Path(shutil.copytree(folder, folder.with_name("seed-001")))
    config("seed = 0", "seed = 1")(copy)
    for path in (folder, copy):
        for name in ("policy.safetensors", "meta.json"):
            (path / name).unlink()
        lines = (path / "eval.csv").read_text().splitlines()
        last = lines[0].split(",").index("digest")
        (path / "eval.csv").write_text("".join(f"{','.join(line.split(',')[:last])}\n" for line in lines))
    found = verify_all([folder, copy])
    assert [check.outcome for checks in found.values() for check in checks if check.name == "copies"] == [DIFFERS] * 2


def test_the_same_run_twice_is_no_copy_and_other_seeds_are_none(folder, made):
    again = Path(shutil.copytree(folder, folder.parents[3] / "again" / Path(*folder.parts[-3:])))
    seed_1 = next((folder.parents[3] / "other").glob("*/*/seed-001"))
    found = verify_all([folder, again, seed_1])
    assert [check.outcome for checks in found.values() for check in checks if check.name == "copies"] == [AGREES] * 3


def test_an_older_run_never_agrees_in_what_it_does_not_hold(tmp_path):
    stored = ROOT / "results" / "reference" / "halfcheetah" / "HalfCheetah-v5" / "td3" / "seed-000"
    copy = Path(shutil.copytree(stored, tmp_path / "HalfCheetah-v5" / "td3" / "seed-000"))
    before = {check.name: check.outcome for check in verify(copy)}
    config(r"learning_rate = [\d.e-]+", "learning_rate = 0.01")(copy)
    after = {check.name: check.outcome for check in verify(copy)}
    assert {before[name] for name in ("config", "policy")} == {UNKNOWN}
    assert before == after
    assert {check.name: check.outcome for check in verify(move(copy, "././seed-007"))}["folder"] == DIFFERS


def test_runs_that_reach_one_optimum_are_no_copies():
    """CMA-ES ends with the same three float32 numbers in each run."""
    runs = [ROOT / f"results/reference/quadratic/function_quadratic/cma-es/seed-00{seed}" for seed in (0, 1)]
    assert len({(run / "policy.safetensors").read_bytes() for run in runs}) == 1
    found = verify_all(runs)
    assert [check.outcome for checks in found.values() for check in checks if check.name == "copies"] == [AGREES] * 2
