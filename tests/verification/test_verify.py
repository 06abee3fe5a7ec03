from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.machine import description
from erlbench.records.run import file_checksum
from erlbench.records.schema import EvaluationRow, header
from erlbench.verification import AGREES, DIFFERS, UNKNOWN, load_files, verify
from erlbench.verification.comparison import compare_runs
from tests.runs import make_cell, run

RETURNS = header(EvaluationRow).index("returns")
REFERENCE = Path(__file__).parents[2] / "results" / "reference"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run of a gradient algorithm, the same run once more, and one with another seed."""
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "again", "other")]
    cells = [make_cell("p-cem-rl", folder, seed=seed) for folder, seed in zip(folders, (0, 0, 1), strict=True)]
    assert [run(cell) for cell in cells] == [0, 0, 0]
    return [cell.directory for cell in cells]


@pytest.fixture
def folder(made, tmp_path):
    """A copy of the run that a test may damage."""
    return Path(shutil.copytree(made[0], tmp_path / Path(*made[0].parts[-3:])))


def outcomes(checks):
    return {check.name: check.outcome for check in checks}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def change_status(folder: Path, change) -> None:
    status = json.loads((folder / "status.json").read_text())
    change(status)
    (folder / "status.json").write_text(json.dumps(status))


def renew_sums(folder: Path) -> None:
    """Write the checksums of the files as they are."""
    status = json.loads((folder / "status.json").read_text())
    sums = {name: file_checksum(folder / name) for name in status["files"]}
    change_status(folder, lambda status: status.update(files=sums))


def raise_a_return(folder: Path) -> None:
    """Raise the first return of the final evaluation by 1."""
    row = (folder / "eval.csv").read_text().splitlines()[-1].split(",")
    first = row[RETURNS].split()[0]
    edit(folder / "eval.csv", row[RETURNS], row[RETURNS].replace(first, repr(float(first) + 1), 1))


def test_everything_of_a_fresh_run_agrees(folder):
    checks = verify(folder)
    assert outcomes(checks) == dict.fromkeys(
        (
            "status",
            "checksums",
            "damage",
            "evaluations",
            "episodes",
            "tasks",
            "scores",
            "version",
            "config",
            "folder",
            "software",
            "identity",
            "admission",
            "policy",
            "policies",
        ),
        AGREES,
    )
    assert re.findall(r"\d+", checks[-2].text) == ["3"]  # returns of the final evaluation


def test_a_changed_return_is_found_three_times(folder):
    raise_a_return(folder)
    found = outcomes(verify(folder))
    assert {name for name, outcome in found.items() if outcome == DIFFERS} == {"checksums", "evaluations", "policy"}


def test_another_policy_differs_by_its_returns(made, folder):
    row = (folder / "eval.csv").read_text().splitlines()[-1].split(",")
    edit(folder / "eval.csv", row[header(EvaluationRow).index("policy_sha256")], "")  # an early run has no SHA-256
    shutil.copy(made[2] / "policy.safetensors", folder)
    renew_sums(folder)
    found = {check.name: check for check in verify(folder)}
    assert found["checksums"].outcome == AGREES
    assert found["policy"].outcome == DIFFERS
    assert "returns differ" in found["policy"].text


def test_lost_rows_are_found(folder):
    for name in ("episodes.csv", "tasks.csv"):
        lines = (folder / name).read_text().splitlines(keepends=True)
        (folder / name).write_text("".join(lines[:-1]))
    renew_sums(folder)
    found = outcomes(verify(folder))
    assert (found["episodes"], found["tasks"], found["policy"]) == (DIFFERS, DIFFERS, AGREES)


def test_damaged_rows_and_policies_are_no_tracebacks(folder):
    (folder / "policy.safetensors").write_bytes(b"nothing")
    edit(folder / "eval.csv", "0,0,", "0,x,")
    found = outcomes(verify(folder))
    assert (found["policy"], found["checksums"]) == (DIFFERS, DIFFERS)


def test_a_run_without_meta_json_differs(folder):
    (folder / "meta.json").unlink()
    found = outcomes(verify(folder))
    assert {name for name, outcome in found.items() if outcome == DIFFERS} == {"version"}
    unknown = {name for name, outcome in found.items() if outcome == UNKNOWN}
    assert unknown == {"checksums", "config", "software", "identity", "admission"}


def test_the_training_return_of_status_is_that_of_the_episodes(folder):
    change_status(folder, lambda status: status.update(training_return=status["training_return"] + 500))
    assert {name for name, outcome in outcomes(verify(folder)).items() if outcome == DIFFERS} == {"episodes"}


def test_a_run_without_its_large_files_does_not_differ(folder):
    for name in ("episodes.csv", "tasks.csv"):
        (folder / name).unlink()
    found = {check.name: check for check in verify(folder)}
    assert found["checksums"].outcome == UNKNOWN
    assert re.findall(r"\w+\.\w+", found["checksums"].text) == ["episodes.csv", "tasks.csv"]
    assert DIFFERS not in outcomes(verify(folder)).values()
    edit(folder / "train.csv", "timesteps", "timestep")
    assert outcomes(verify(folder))["checksums"] == DIFFERS  # what is there is compared


def test_a_run_without_evaluations_differs(folder):
    (folder / "eval.csv").unlink()
    assert outcomes(verify(folder))["checksums"] == DIFFERS


def test_an_environment_that_is_not_here_is_no_difference(folder):
    edit(folder / "config.toml", 'env = "InvertedPendulum-v5"', 'env = "nowhere:Thing-v0"')
    (check,) = [check for check in verify(folder, trusted=True) if check.name == "policy"]
    assert (check.outcome, "'nowhere'" in check.text) == (UNKNOWN, True)


SEARCH = """import erlbench, numpy

@erlbench.maximise
class Walk:
    def __init__(self, mean, seed):
        self.mean, self.rng = mean, numpy.random.default_rng(seed)

    def ask(self):
        return self.mean + self.rng.standard_normal((4, len(self.mean)))

    def tell(self, values):
        pass
"""


def test_a_search_of_ones_own_has_the_identity_of_its_run(tmp_path):
    (tmp_path / "walks.py").write_text(SEARCH)

    def command(*words):
        line = [sys.executable, "-m", "erlbench", *words]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)

    words = [
        "run",
        "--algo",
        "walks:Walk",
        "--env",
        "function:sphere",
        "--seeds",
        "1",
        "--total-timesteps",
        "40",
        "--processes",
        "0",
        "-q",
    ]
    assert command(*words).returncode == 0
    found = command("verify", "results", "--import", "-v").stdout
    assert re.search(r"^identity +agrees", found, re.MULTILINE), found


@pytest.mark.parametrize("text", [None, "= 3"])
def test_a_run_without_a_readable_config_is_named_and_the_others_are_checked(made, tmp_path, text):
    for place in ("one", "two"):
        shutil.copytree(made[0], tmp_path / place / "seed-000")
    (tmp_path / "one" / "seed-000" / "config.toml").unlink()
    if text:
        (tmp_path / "one" / "seed-000" / "config.toml").write_text(text)
    done = CliRunner().invoke(cli, ["verify", str(tmp_path)])
    assert (done.exit_code, "2 runs, 1 with differences" in done.output) == (1, True), done.output
    assert str(tmp_path / "one" / "seed-000" / "config.toml") in "".join(done.output.split())


def test_other_bits_by_other_software_are_no_difference(folder, monkeypatch):
    here = description.software()
    versions = here["versions"] | {"mujoco": "0.0.1"}
    monkeypatch.setattr(description, "software", lambda: {**here, "versions": versions})
    found = {check.name: check for check in verify(folder)}
    assert found["software"].outcome == UNKNOWN
    assert {here["versions"]["mujoco"], "0.0.1"} <= {*re.findall(r"[\d.]*\d", found["software"].text)}
    assert found["policy"].outcome == AGREES  # the bits happen to be the same
    raise_a_return(folder)
    assert outcomes(verify(folder))["policy"] == UNKNOWN


def meta(folder: Path) -> dict:
    return json.loads((folder / "meta.json").read_text())


def write_meta(folder: Path, values: dict) -> None:
    (folder / "meta.json").write_text(json.dumps(values))


def test_a_kernel_and_an_identity_that_were_never_recorded_do_not_agree(folder):
    known = meta(folder)
    for name, forgotten in (("software", ("kernel", "arithmetic")), ("identity", ("identity",))):
        starts = [{key: value for key, value in start.items() if key not in forgotten} for start in known["starts"]]
        write_meta(folder, {key: value for key, value in known.items() if key not in forgotten} | {"starts": starts})
        assert {check: outcome for check, outcome in outcomes(verify(folder)).items() if outcome == UNKNOWN} == {
            name: UNKNOWN
        }


def test_several_kernels_or_identities_of_one_run_are_named(folder):
    known = meta(folder)
    (start,) = known["starts"]
    versions = start["identity"]["versions"] | {"mujoco": "0.0.1"}
    before = {**start, "arithmetic": "other", "identity": start["identity"] | {"versions": versions}}
    write_meta(folder, {**known, "starts": [before, start]})
    found = {check.name: check for check in verify(folder)}
    assert (found["software"].outcome, found["identity"].outcome) == (UNKNOWN, UNKNOWN)
    assert "other | " in found["software"].text or " | other" in found["software"].text
    assert f"mujoco 0.0.1 -> {start['identity']['versions']['mujoco']}" in found["identity"].text


def test_the_same_run_again_is_the_same_to_the_last_bit(made):
    first, again = map(load_files, made[:2])
    assert set(outcomes(compare_runs(first, again)).values()) == {AGREES}


def test_another_seed_is_not_the_same(made):
    found = {check.name: check for check in compare_runs(load_files(made[0]), load_files(made[2]))}
    assert found["config.toml"].text == "run.seed"
    assert found["eval.csv"].outcome == DIFFERS
    assert found["policy.safetensors"].text == "other parameters"


def test_a_column_that_one_of_the_runs_lacks_is_a_difference(made, folder):
    lines = (folder / "eval.csv").read_text().splitlines(keepends=True)
    head = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    more = [line.rstrip("\n") + (",extra\n" if i == head else ",1\n") if i >= head else line
            for i, line in enumerate(lines)]  # fmt: skip
    (folder / "eval.csv").write_text("".join(more))
    for pair in ((made[0], folder), (folder, made[0])):
        (found,) = [check for check in compare_runs(*map(load_files, pair)) if check.name == "eval.csv"]
        assert (found.outcome, "extra" in found.text) == (DIFFERS, True)


def test_a_module_that_the_folder_names_is_imported_only_where_it_is_trusted(folder, tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(tmp_path)
    edit(folder / "config.toml", 'env = "InvertedPendulum-v5"', 'env = "trap:Trap-v0"')
    found = {check.name: check for check in verify(folder)}
    assert (found["policy"].outcome, "module trap" in found["policy"].text) == (UNKNOWN, True)
    assert found["identity"].outcome == UNKNOWN
    assert not (tmp_path / "sprung").exists()
    CliRunner().invoke(cli, ["verify", str(folder), "--import"])
    assert (tmp_path / "sprung").exists()


def test_command_on_one_run_on_several_and_on_none(made, folder, tmp_path):
    runner = CliRunner()
    done = runner.invoke(cli, ["verify", str(made[0])])
    assert done.exit_code == 0
    assert "policy       agrees" in done.output
    edit(folder / "tasks.csv", "task,", "tusk,")
    done = runner.invoke(cli, ["verify", str(made[0]), str(folder)])
    assert done.exit_code == 1
    assert re.search(r"^ *checksums +differs +.*tasks\.csv", done.output, re.MULTILINE)
    assert runner.invoke(cli, ["verify", str(made[0]), "--same-as", str(made[1])]).exit_code == 0
    assert runner.invoke(cli, ["verify", str(tmp_path / "nothing")]).exit_code == 2
    with pytest.raises(UsageError, match="give a run's folder"):
        load_files(tmp_path)


FOLDERS = sorted(path.name for path in REFERENCE.iterdir() if any(path.rglob("config.toml")))


@pytest.mark.data
@pytest.mark.parametrize("folder", FOLDERS)
def test_reference_results_agree_with_themselves(folder):
    for path in sorted(path.parent for path in (REFERENCE / folder).rglob("config.toml")):
        differing = [check for check in verify(path) if check.outcome == DIFFERS]
        assert not differing, (path, differing)
