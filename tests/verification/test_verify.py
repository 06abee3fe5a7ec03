import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from erlbench.errors import UsageError
from erlbench.machine import description
from erlbench.records.run import run_folders
from erlbench.records.schema import EpisodeRow, EvaluationRow, header
from erlbench.verification import AGREES, DIFFERS, UNKNOWN, Files, check_rows, load_files
from erlbench.verification.comparison import compare_rows, compare_runs
from tests.audit.edits import renew
from tests.audit.page_numbers import REFERENCE
from tests.calls import call, succeed
from tests.files import edit, edit_json, edit_rows
from tests.runs import listen, make_cell, run, verify

RETURNS = header(EvaluationRow).index("returns")
LAST = {"timesteps": 20, "fitness_timesteps": 0, "train_time_s": 1.0, "return_mean": 0.0}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run, the same run once more, and one with another seed."""
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "again", "other")]
    cells = [make_cell("cem", folder, seed=seed) for folder, seed in zip(folders, (0, 0, 1), strict=True)]
    assert [run(cell) for cell in cells] == [0, 0, 0]
    return [cell.directory for cell in cells]


@pytest.fixture
def folder(made, tmp_path):
    """A copy of the run that a test may damage."""
    return Path(shutil.copytree(made[0], tmp_path / Path(*made[0].parts[-3:])))


def outcomes(folder, outcome=DIFFERS):
    return {check.name for check in verify(folder) if check.outcome == outcome}


def raise_a_return(folder):
    """Raise the first return of the final evaluation by 1."""
    row = (folder / "eval.csv").read_text().splitlines()[-1].split(",")
    first = row[RETURNS].split()[0]
    edit(folder / "eval.csv", row[RETURNS], row[RETURNS].replace(first, repr(float(first) + 1), 1))


def remove(folder, *names):
    for name in names:
        (folder / name).unlink()


def remove_policies(folder):
    shutil.rmtree(folder / "policies")
    remove(folder, "policy.safetensors")
    edit_rows(folder / "eval.csv", policy_sha256="")
    renew(folder)


def change_starts(run, *lost):
    """Remove keys of meta.json and of its start."""
    edit_json(
        run / "meta.json", lambda meta: [part.pop(name, None) for part in (meta, meta["starts"][0]) for name in lost]
    )
    renew(run)


def add_a_start(run):
    def add(meta):
        other = json.loads(json.dumps(meta["starts"][0])) | {"arithmetic": "other"}
        other["identity"]["versions"]["mujoco"] = "0.0.1"
        meta["starts"].insert(0, other)

    edit_json(run / "meta.json", add)
    renew(run)


LARGE = "episodes.csv", "tasks.csv"


@pytest.mark.parametrize(
    ("act", "differing", "unknown"),
    [
        (raise_a_return, "checksums evaluations policy", ""),
        (lambda run: remove(run, "meta.json"), "version", "admission checksums config identity software"),
        (lambda run: remove(run, "eval.csv"), "checksums", "episodes evaluations policy scores tasks"),
        (lambda run: remove(run, *LARGE), "", "checksums episodes tasks"),
        (
            lambda run: (remove(run, *LARGE), edit(run / "train.csv", "time", "tim")),
            "checksums damage",
            "episodes tasks",
        ),
        (remove_policies, "version", "policy"),
        (lambda run: (run / "policy.safetensors").write_bytes(b"nothing"), "checksums policy", ""),
        (lambda run: edit(run / "eval.csv", "0,0,", "0,x,"), "checksums damage evaluations policies", ""),
        (lambda run: change_starts(run, "kernel", "arithmetic"), "", "software"),
        (lambda run: change_starts(run, "identity"), "", "identity"),
        (add_a_start, "", "identity software"),
    ],
)
def test_each_change_of_a_run_is_found_where_it_is(folder, act, differing, unknown):
    act(folder)
    assert outcomes(folder) == {*differing.split()}
    assert outcomes(folder, UNKNOWN) == {*unknown.split()}
    assert call("verify", folder).exit_code == bool(differing)


def test_a_run_that_failed_on_the_way_differs_in_nothing(tmp_path, monkeypatch):
    """Its status.json has more steps than its last evaluation."""

    def fail(run, row):
        if isinstance(row, EvaluationRow):
            raise ZeroDivisionError

    cell = make_cell("cem", tmp_path, evaluate="after")
    listen(monkeypatch, fail)
    assert run(cell) == 1
    assert "status" in outcomes(cell.directory, UNKNOWN)
    assert not outcomes(cell.directory)


def test_everything_of_a_fresh_run_agrees(made, folder):
    names = "status checksums damage evaluations episodes tasks scores version config folder software identity"
    checks = verify(folder)
    assert {check.name for check in checks} == {*names.split(), "admission", "policy", "policies"}
    assert {check.outcome for check in checks} == {AGREES}
    assert re.findall(r"\d+", checks[-2].text) == ["3"]  # returns of the final evaluation
    assert {check.outcome for check in compare_runs(*map(load_files, made[:2]))} == {AGREES}


def test_another_policy_differs_by_its_returns(made, folder):
    edit_rows(folder / "eval.csv", policy_sha256="")  # an early run has no SHA-256
    shutil.copy(made[2] / "policy.safetensors", folder)
    renew(folder)
    checks = {check.name: check for check in verify(folder)}
    assert checks["checksums"].outcome == AGREES
    assert checks["policy"].outcome == DIFFERS
    assert "returns differ" in checks["policy"].text


@pytest.mark.parametrize("text", [None, "= 3"])
def test_a_run_without_a_readable_config_is_named_and_the_others_are_checked(made, tmp_path, text):
    for place in ("one", "two"):
        shutil.copytree(made[0], tmp_path / place / "seed-000")
    path = tmp_path / "one/seed-000/config.toml"
    path.write_text(text) if text else path.unlink()
    done = call("verify", tmp_path)
    assert (done.exit_code, "2 runs, 1 with differences" in done.output) == (1, True), done.output
    assert str(path) in "".join(done.output.split())


def test_other_bits_by_other_software_are_no_difference(folder, monkeypatch):
    here = description.software()
    versions = here["versions"] | {"mujoco": "0.0.1"}
    monkeypatch.setattr(description, "software", lambda: {**here, "versions": versions})
    assert outcomes(folder) == set()
    assert outcomes(folder, UNKNOWN) == {"software"}  # the bits happen to be the same
    raise_a_return(folder)
    assert "policy" in outcomes(folder, UNKNOWN)


def test_another_seed_is_not_the_same(made):
    checks = {check.name: check for check in compare_runs(load_files(made[0]), load_files(made[2]))}
    assert checks["config.toml"].text == "run.seed"
    assert checks["eval.csv"].outcome == DIFFERS
    assert checks["policy.safetensors"].text == "other parameters"


def test_a_module_that_the_folder_names_is_imported_only_where_it_is_trusted(folder, tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(tmp_path)
    edit(folder / "config.toml", 'env = "InvertedPendulum-v5"', 'env = "trap:Trap-v0"')
    (check,) = [check for check in verify(folder) if check.name == "policy"]
    assert check.outcome == UNKNOWN
    assert "module trap" in check.text
    edit(folder / "config.toml", 'algo = "', 'algo = "trap:')
    assert "identity" in outcomes(folder, UNKNOWN)
    assert not (tmp_path / "sprung").exists()
    call("verify", folder, "--import")
    assert (tmp_path / "sprung").exists()


def test_command_on_one_run_on_several_and_on_none(made, folder, tmp_path):
    assert "policy       agrees" in succeed("verify", made[0])
    edit(folder / "tasks.csv", "task,", "tusk,")
    done = call("verify", made[0], folder)
    assert done.exit_code == 1
    assert re.search(r"^ *checksums +differs +.*tasks\.csv", done.output, re.MULTILINE)
    succeed("verify", made[0], "--same-as", made[1])
    with pytest.raises(UsageError, match="give a run's folder"):
        load_files(tmp_path)


def test_a_run_that_was_moved_aside_counts_only_where_it_is_named(folder):
    aside = Path(shutil.copytree(folder, f"{folder}.old-1"))
    assert run_folders(folder.parent) == [folder]
    assert run_folders(aside) == [aside]
    succeed("verify", aside, "--same-as", folder)


FOLDERS = sorted(path.name for path in REFERENCE.iterdir() if any(path.rglob("config.toml")))


@pytest.mark.data
@pytest.mark.parametrize("folder", FOLDERS)
def test_reference_results_agree_with_themselves(folder):
    for path in sorted(path.parent for path in (REFERENCE / folder).rglob("config.toml")):
        differing = [check for check in verify(path) if check.outcome == DIFFERS]
        assert not differing, (path, differing)


def test_a_mean_of_training_near_zero_may_be_rounded(tmp_path):
    returns = [0.1, 0.1, 0.1, -0.3]
    rows = {
        EpisodeRow: pd.DataFrame({"r": returns, "l": 5, "kind": "es"}),
        EvaluationRow: pd.DataFrame(LAST, index=[0]),
    }
    for rounded, outcome in ((sum(returns) / 4, AGREES), (1e-9, DIFFERS)):
        run = Files(tmp_path, {}, {"status": "done", "training_return": rounded}, {}, rows)
        assert [check.outcome for check in check_rows(run) if check.name == "episodes"] == [outcome]


def test_numbers_that_an_info_lacked_are_equal():
    ours, theirs, others = (pd.DataFrame({"info": [(1.0, float(text))]}) for text in ("nan", "nan", "2"))
    assert compare_rows(EvaluationRow, ours, theirs)[0] == []
    assert compare_rows(EvaluationRow, ours, others)[0] != []
