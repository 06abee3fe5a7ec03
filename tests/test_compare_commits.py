"""Two commits are compared by what their command lines leave: each planted change is seen, whatever it is."""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from click.testing import CliRunner
from safetensors.numpy import save_file

from benchmarks.compare_commits import __main__ as program
from benchmarks.compare_commits.cases import CASES
from benchmarks.compare_commits.compare import compare, describe, mark_intended, read_runs

ROOT = Path(__file__).parents[1]
MEASURED = CASES["runs"]["measured"]
EVALUATIONS = [
    ["evaluation", "return_mean", "total_time_s", "paused_s"],
    ["0", "1.25", "0.1", "a"],
    ["1", "2.5", "0.2", "b"],
]
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b")
PACKAGE = """import pathlib, sys
import numpy as np
from safetensors.numpy import save_file

if sys.argv[1] == "run" and "--out" in sys.argv:
    out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1], "seed-003")
    (out / "training-end" / "1").mkdir(parents=True)
    for name in ("config.toml", "episodes.csv", "tasks.csv", "train.csv", "events.csv"):
        (out / name).write_text("task = 3\\n")
    (out / "tasks.csv").write_text("task\\n1\\n")
    (out / "meta.json").write_text("{}")
    (out / "eval.csv").write_text("evaluation,return_mean\\n0,SCORE\\n")
    save_file({"w": np.ones(2)}, out / "policy.safetensors")
    save_file({"w": np.ones(2)}, out / "training-end" / "1" / "arrays.safetensors")
"""


def write_csv(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)


def rewrite(path, old, new):
    """Replace bytes that the file has once."""
    data = path.read_bytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))


def rewrite_measured(run):
    rewrite(run / "eval.csv", b"0.1,a", b"0.7,z")
    rewrite(run / "eval.csv", b"1.25", b"1.250")
    rewrite(run / "meta.json", b"this", b"that")
    write_csv(run / "tasks.csv", [["task", "kind", "cpu_s"], ["10", "es", "0.1"], ["2", "es", "0.2"]])


def write_state(run, number, first="mean", second="variance", value=4.0):
    (run / "training-end" / number).mkdir(parents=True, exist_ok=True)
    arrays = {first: np.full(3, 4.0), second: np.full(3, value), "steps": np.arange(2)}
    save_file(arrays, run / "training-end" / number / "arrays.safetensors")


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (rewrite_measured, ""),
        (lambda run: rewrite(run / "eval.csv", b"1.25", b"1.26"), "eval.csv, return_mean, #0: 1.25 -> 1.26"),
        (lambda run: rewrite(run / "eval.csv", b"1,2.5,0.2,b\r\n", b""), "eval.csv, evaluation, #1: 1 -> (absent)"),
        (lambda run: rewrite(run / "eval.csv", b"return_", b""), "eval.csv, mean: (absent) -> 2 values"),
        (lambda run: rewrite(run / "config.toml", b"16]", b"17]"), "config.toml, settings.hidden: [16] -> [17]"),
        (lambda run: save_file({"w": np.ones(2)}, run / "policies/0.safetensors"), "policies/0.safetensors, sha256: "),
        (lambda run: write_state(run, "2", "centre", "spread"), ""),  # by content, whatever the names
        (lambda run: write_state(run, "2", value=np.nextafter(4.0, 5.0)), "final state, "),
    ],
)
def test_a_planted_change_is_found_in_its_place_and_nothing_that_was_measured(tmp_path, act, expected):
    for out in ("old", "new"):
        run = tmp_path / out / "Hopper-v5" / "cem" / "seed-000"
        (run / "policies").mkdir(parents=True)
        (run / "config.toml").write_text("[run]\nseed = 0\n[settings]\nhidden = [16]\n")
        (run / "meta.json").write_text(json.dumps({"cpu": "this", "versions": {}}))
        write_csv(run / "eval.csv", EVALUATIONS)
        write_csv(run / "tasks.csv", [["task", "kind", "cpu_s"], ["2", "es", "0.5"], ["10", "es", "0.25"]])
        save_file({"w": np.full(3, 2.0)}, run / "policies/0.safetensors")
        for number in "12":
            write_state(run, number)
    act(run)
    differences = compare("runs/cem", *(read_runs(tmp_path / name, MEASURED) for name in ("old", "new")))
    mark_intended(differences, [])
    lines = describe(differences)
    assert bool(lines) == bool(expected)
    assert "".join(lines[:1]).startswith(f"runs/cem: Hopper-v5/cem/seed-000/{expected}" if expected else "")


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A repository with a package whose runs score 1.25, 1.25 and 1.35: tags `a`, `b` and `c`."""
    root = tmp_path / "clone"
    (root / "algorithms").mkdir(parents=True)
    (root / "erlbench").mkdir()
    (root / "erlbench" / "algorithms").symlink_to("../algorithms")
    for package in ("algorithms", "erlbench"):
        (root / package / "__init__.py").touch()

    def git(*words):
        return subprocess.check_output(["git", "-C", root, *IDENTITY, *words], text=True).strip()

    git("init", "--quiet")
    for name, score in (("a", "1.25"), ("b", "1.25"), ("c", "1.35")):
        (root / "erlbench" / "__main__.py").write_text(PACKAGE.replace("SCORE", score))
        git("add", "--all")
        git("commit", "--quiet", "--allow-empty", "--message", name)
        git("tag", name)
    monkeypatch.setattr(program, "ROOT", root)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


def compare_commits(*words):
    return CliRunner().invoke(program.main, words)


@pytest.mark.usefixtures("clone")
def test_the_exit_code_is_0_for_equal_or_intended_1_for_other_differences_and_2_for_usage(tmp_path):
    equal = compare_commits("a", "b", "--only", "runs/cem")
    assert (equal.exit_code, "| runs | 1 | 1 | 0 | 0 |" in equal.output) == (0, True), equal.output
    different = compare_commits("a", "--only", "runs/cem", "--only", "runs/td3")
    assert different.exit_code == 1
    assert "runs/td3: seed-003/eval.csv, return_mean, #0: 1.25 -> 1.35" in different.output
    kinds = {"case": "runs/*", "column": "return_mean", "old": "1.25", "new": "1.35", "reason": "a better mean"}
    (tmp_path / "kinds.toml").write_text(tomli_w.dumps({"kind": [kinds]}))
    intended = compare_commits("a", "c", "--only", "runs/cem", "--intended", str(tmp_path / "kinds.toml"))
    assert (intended.exit_code, "| runs | 1 | 0 | 1 | 0 |" in intended.output) == (0, True), intended.output
    for words in (("z",), ("a", "--only", "run"), ("a", "--only", "runs", "--skip", "runs"), ("a", "--intended", "z")):
        assert compare_commits(*words).exit_code == 2
    assert list((tmp_path / "temporary").iterdir()) == []


def test_processes_that_a_command_does_not_wait_for_are_counted():
    burn = [sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"]
    leave = [sys.executable, "-c", f"import subprocess; subprocess.Popen({burn})"]
    trees = "from benchmarks.compare_commits.trees import measure_cpu"
    measure = f"import subprocess; {trees}; print(measure_cpu(lambda: subprocess.run({leave})))"
    assert 0.5 < float(subprocess.check_output([sys.executable, "-c", measure], cwd=ROOT)) < 1.5
