"""Each edit of `edits.py` is made on a copy of a run, and the checks that it names find it; the others do not."""

import csv
import shutil
from pathlib import Path

import pytest

from erlbench.records.run import run_folders
from erlbench.verification import AGREES, DIFFERS, UNKNOWN, verify_all
from erlbench.verification.comparison import run_again
from tests.audit.edits import AGAIN, EDITS, NOTHING, config, move, renew, rows, table, update
from tests.audit.page_numbers import REFERENCE, ROOT
from tests.files import read_json
from tests.runs import make_cell, run, verify


def names(text):
    return set() if text in (AGAIN, NOTHING) else set(text.split(", "))


def parameters():
    """Of each edit; all but the first that each check finds are slow."""
    known, listed = set(), []
    for edit in EDITS:
        new = (names(edit.differing) | names(edit.renewed)) - known
        known |= new
        listed.append(pytest.param(edit, marks=() if new else pytest.mark.slow, id=edit.what))
    return listed


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
    ours, theirs = (
        Path(shutil.copytree(path, tmp_path / name / Path(*path.parts[-3:])))
        for path, name in zip(made, ("results", "other"), strict=True)
    )
    assert theirs.name == "seed-001"
    return ours


def outcomes(checks):
    return {check.name: check.outcome for check in checks}


def differing(path):
    return {name for name, outcome in outcomes(verify(path)).items() if outcome == DIFFERS}


@pytest.mark.parametrize("edit", parameters())
def test_an_edit_is_found_by_what_the_table_names(folder, edit):
    path = edit.make(folder) or folder
    assert differing(path) == names(edit.differing)
    renew(path)
    assert differing(path) == names(edit.renewed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "edit", [edit for edit in EDITS if edit.renewed in (AGAIN, NOTHING)], ids=lambda edit: edit.what
)
def test_a_second_run_finds_what_the_table_leaves_to_it(folder, edit):
    path = edit.make(folder) or folder
    renew(path)
    assert read_json(path / "status.json")["status"] == "done"
    check = run_again(path, sum(1 for _ in open(path / "eval.csv")) - 2)
    assert check.outcome == (DIFFERS if edit.renewed == AGAIN else AGREES), check


def test_the_documentation_has_the_table_and_everything_agrees_before_an_edit(made):
    with open(ROOT / "docs/data/edits.csv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == table()
    assert set(outcomes(verify(made[0])).values()) == {AGREES}


def copies(folders):
    return [outcomes(checks)["copies"] for checks in verify_all(folders).values()]


@pytest.mark.parametrize("renewed", [False, True])
def test_one_run_copied_as_three_seeds_is_found(folder, renewed):
    for seed in (1, 2):
        copy = Path(shutil.copytree(folder, folder.with_name(f"seed-00{seed}")))
        if renewed:
            config("seed = 0", f"seed = {seed}")(copy)
            renew(copy)
    runs = run_folders(folder.parents[2])
    assert not renewed or copies(runs) == [DIFFERS] * 3
    named = [outcomes(checks)["folder"] for checks in verify_all(runs).values()]
    assert named == [AGREES] + [AGREES if renewed else DIFFERS] * 2


def test_a_copy_under_another_seed_is_found_without_digests_and_policies(folder):
    """As in stored runs of before: returns and episodes tell copies apart from runs."""
    copy = Path(shutil.copytree(folder, folder.with_name("seed-001")))
    config("seed = 0", "seed = 1")(copy)
    for path in (folder, copy):
        for name in ("policy.safetensors", "meta.json"):
            (path / name).unlink()
        rows("eval.csv", lambda listed: update(listed, digest=lambda cell: ""))(path)
    assert copies([folder, copy]) == [DIFFERS] * 2


def test_the_same_run_twice_other_seeds_and_runs_that_reach_one_optimum_are_no_copies(folder):
    """CMA-ES ends with the same three float32 numbers in each run."""
    again = Path(shutil.copytree(folder, folder.parents[3] / "again" / Path(*folder.parts[-3:])))
    assert copies([folder, again, *folder.parents[3].glob("other/*/*/seed-001")]) == [AGREES] * 3
    runs = [REFERENCE / f"quadratic/function_quadratic/cma-es/seed-00{seed}" for seed in (0, 1)]
    assert len({(path / "policy.safetensors").read_bytes() for path in runs}) == 1
    assert copies(runs) == [AGREES] * 2


def test_an_older_run_never_agrees_in_what_it_does_not_hold(tmp_path):
    stored = REFERENCE / "halfcheetah/HalfCheetah-v5/td3/seed-000"
    copy = Path(shutil.copytree(stored, tmp_path / "HalfCheetah-v5/td3/seed-000"))
    before = outcomes(verify(copy))
    config(r"learning_rate = [\d.e-]+", "learning_rate = 0.01")(copy)
    assert outcomes(verify(copy)) == before
    assert {before[name] for name in ("config", "policy")} == {UNKNOWN}
    assert outcomes(verify(move(copy, "seed-007")))["folder"] == DIFFERS
