"""Two commits are compared by what their command lines leave: each planted change is seen, whatever it is."""

import csv
import json
import subprocess
import tempfile
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from safetensors.numpy import save_file

from benchmarks.compare_commits import __main__ as program
from benchmarks.compare_commits.cases import CASES
from benchmarks.compare_commits.compare import compare, read_report, read_runs, state_arrays
from benchmarks.compare_commits.trees import resolve

ROOT = Path(__file__).parents[1]
MEASURED = CASES["runs"]["measured"]
EVALUATIONS = [
    ["evaluation", "return_mean", "total_time_s", "paused_s"],
    ["0", "1.25", "0.1", "a"],
    ["1", "2.5", "0.2", "b"],
]
KIND = {"case": "runs/*", "column": "return_mean", "old": "1.25", "new": "1.26", "reason": "a better mean"}
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b")
PACKAGE = """import pathlib, sys, time
import numpy as np
from safetensors.numpy import save_file

if sys.argv[1] == "report":
    time.sleep(600)
if sys.argv[1] == "run" and "--out" in sys.argv:
    out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1], "seed-003")
    if any(word.endswith("checkpoints.toml") for word in sys.argv) and not out.exists():
        (out / "checkpoint" / "1").mkdir(parents=True)
        (out / "checkpoint" / "1" / "state").touch()
        (out / "train.csv").write_text("generation\\n" * 50)
        time.sleep(600)
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


@pytest.fixture
def runs(tmp_path):
    """Two folders with equal runs, and a function that returns their differences."""

    def write(out):
        run = out / "Hopper-v5" / "cem" / "seed-000"
        (run / "policies").mkdir(parents=True)
        (run / "config.toml").write_text("[run]\nseed = 0\n[settings]\nhidden = [16, 16]\n")
        (run / "meta.json").write_text(json.dumps({"cpu": "this", "versions": {}}))
        write_csv(run / "eval.csv", EVALUATIONS)
        write_csv(run / "tasks.csv", [["task", "kind", "cpu_s"], ["2", "es", "0.5"], ["10", "es", "0.25"]])
        for name, number in (("policy", 1.0), ("policies/000000", 2.0)):
            save_file({"w": np.full(3, number)}, run / f"{name}.safetensors", {"policy": "{}"})
        for name, number in (("000001", 3.0), ("000002", 4.0)):
            (run / "training-end" / name).mkdir(parents=True)
            arrays = {"mean": np.full(3, number), "variance": np.full(3, number), "steps": np.arange(2)}
            save_file(arrays, run / "training-end" / name / "arrays.safetensors")
        return run

    old, new = (write(tmp_path / name) for name in ("old", "new"))
    return old, new, lambda: compare("runs/cem", *(read_runs(tmp_path / name, MEASURED) for name in ("old", "new")))


def test_equal_runs_do_not_differ_whatever_was_measured(runs):
    _, new, differences = runs
    rewrite(new / "eval.csv", b"0.1,a", b"0.7,z")
    write_csv(new / "tasks.csv", [["task", "kind", "cpu_s"], ["10", "es", "0.1"], ["2", "es", "0.2"]])
    rewrite(new / "meta.json", b"this", b"that")
    rewrite(new / "eval.csv", b"1.25", b"1.250")
    assert differences() == []


@pytest.mark.parametrize(
    ("file", "old", "new", "place", "texts"),
    [
        ("eval.csv", b"1.25", b"1.26", ("return_mean", "#0"), ("1.25", "1.26")),
        ("eval.csv", b"1,2.5,0.2,b\r\n", b"", ("evaluation", "#1"), ("1", "(absent)")),
        ("eval.csv", b"return_mean", b"mean_return", ("mean_return", ""), ("(absent)", "2 values")),
        ("tasks.csv", b"10,es", b"10,rl", ("kind", "#1"), ("es", "rl")),
        ("config.toml", b"[16, 16]", b"[16, 17]", ("settings.hidden", ""), ("[16, 16]", "[16, 17]")),
        ("meta.json", b"versions", b"packages", ("packages", ""), ("(absent)", "present")),
    ],
)  # one digit, a row, a column, a text, a setting, a key
def test_a_planted_change_of_a_file_is_found_in_its_place(runs, file, old, new, place, texts):
    rewrite(runs[1] / file, old, new)
    differences = runs[2]()
    first = differences[0]
    assert (first["file"], first["column"], first["row"]) == (f"Hopper-v5/cem/seed-000/{file}", *place)
    assert (first["old"], first["new"]) == texts
    assert {difference["file"] for difference in differences} == {first["file"]}


@pytest.mark.parametrize("name", ["policy.safetensors", "policies/000000.safetensors"])
def test_one_byte_of_a_policy_is_found(runs, name):
    path = runs[1] / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    (difference,) = runs[2]()
    assert (difference["file"], difference["column"]) == (f"Hopper-v5/cem/seed-000/{name}", "sha256")


def test_arrays_of_the_last_state_count_by_content_and_their_names_do_not(runs):
    old, new, differences = runs
    path = new / "training-end" / "000002" / "arrays.safetensors"
    renamed = {"centre": np.full(3, 4.0), "spread": np.full(3, 4.0), "count": np.arange(2)}
    save_file(renamed, path)
    assert differences() == []
    assert sorted(state_arrays(new).values()) == [1, 2]
    save_file(renamed | {"spread": np.full(3, np.nextafter(4.0, 5.0))}, path)
    assert [(item["old"], item["new"]) for item in differences()] in (
        [("2", "1"), ("(absent)", "1")],
        [("(absent)", "1"), ("2", "1")],
    )
    save_file({"centre": np.full(3, 4.0, np.float32), "spread": np.full(3, 4.0), "count": np.arange(2)}, path)
    assert len(differences()) == 2
    (old / "training-end" / "000001" / "arrays.safetensors").unlink()
    save_file(renamed, path)
    assert differences() == []


def test_a_report_is_compared_cell_by_cell_and_leaf_by_leaf(tmp_path):
    for name, p, case in (("old", "0.013", "decided"), ("new", "0.03", "undecided")):
        folder = tmp_path / name / "all-runs"
        folder.mkdir(parents=True)
        rows = [["env", "first", "second", "p"], ["Ant", "cem", "td3", p], ["Ant", "cem", "sac", "nan"]]
        write_csv(folder / "tests.csv", rows if name == "old" else [rows[0], *rows[:0:-1]])
        (tmp_path / name / "verdict.json").write_text(json.dumps({"verdicts": [{"case": case, "seeds": [1, 2]}]}))
    differences = compare("reports/pair", *(read_report(tmp_path / name) for name in ("old", "new")))
    assert [tuple(difference.values())[1:] for difference in differences] == [
        ("all-runs/tests.csv", "p", "Ant, cem, td3#0", "0.013", "0.03"),
        ("verdict.json", "verdicts[0].case", "", "decided", "undecided"),
    ]


def write_kinds(path, *kinds):
    tables = ("\n".join(f"{key} = {json.dumps(value)}" for key, value in kind.items()) for kind in kinds)
    path.write_text("".join(f"[[kind]]\n{table}\n" for table in tables))
    return path


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A repository with a package whose runs score 1.25, 1.25 and 1.35: commits `a`, `b` and the tag `c`."""
    root = tmp_path / "clone"
    (root / "algorithms").mkdir(parents=True)
    (root / "erlbench").mkdir()
    (root / "erlbench" / "algorithms").symlink_to("../algorithms")
    (root / "benchmarks").mkdir()
    for package in ("algorithms", "erlbench"):
        (root / package / "__init__.py").touch()

    def git(*words):
        return subprocess.check_output(["git", "-C", root, *IDENTITY, *words], text=True).strip()

    git("init", "--quiet")
    commits = {}
    for name, score in (("a", "1.25"), ("b", "1.25"), ("c", "1.35")):
        (root / "erlbench" / "__main__.py").write_text(PACKAGE.replace("SCORE", score))
        git("add", "--all")
        git("commit", "--quiet", "--allow-empty", "--message", name)
        commits[name] = git("rev-parse", "HEAD")
    git("tag", "c")
    table = "".join(f'{name} = "{commit}"\n' for name, commit in commits.items() if name != "c")
    (root / "benchmarks" / "commits.toml").write_text(f'{table}lost = "{"0" * 40}"\n')
    monkeypatch.setattr(program, "ROOT", root)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return root, commits


def test_a_commit_has_the_name_that_git_or_else_the_table_knows(clone):
    root, commits = clone
    assert [resolve(name, root) for name in ("a", "c", "HEAD", commits["b"][:10])] == [
        commits[name] for name in ("a", "c", "c", "b")
    ]
    for name, word in (("lost", "lacks"), ("d", "lost"), ("--help", "no commit")):
        with pytest.raises(click.UsageError, match=word):
            resolve(name, root)


def compare_commits(*words):
    return CliRunner().invoke(program.main, words)


def test_the_exit_code_is_0_for_equal_or_intended_1_for_other_differences_and_2_for_usage(clone, tmp_path):
    equal = compare_commits("a", "b", "--only", "runs/cem")
    assert equal.exit_code == 0, equal.output
    assert "| runs | 1 | 1 | 0 | 0 |" in equal.output
    different = compare_commits("a", "--only", "runs/cem", "--only", "runs/td3")
    assert different.exit_code == 1
    assert "runs/td3: seed-003/eval.csv, return_mean, #0: 1.25 -> 1.35" in different.output
    assert "| runs | 2 | 0 | 0 | 2 |" in different.output
    kinds = str(write_kinds(tmp_path / "kinds.toml", {**KIND, "new": "1.35"}))
    intended = compare_commits("a", "c", "--only", "runs/cem", "--intended", kinds)
    assert intended.exit_code == 0, intended.output
    assert "| runs | 1 | 0 | 1 | 0 |" in intended.output
    kinds = str(write_kinds(tmp_path / "kinds.toml", {**KIND, "case": "*", "column": "*"}))
    failed = compare_commits("a", "b", "--only", "verify", "--intended", kinds)
    assert failed.exit_code == 1
    assert "verify/stored: not compared" in failed.output
    for words in (("z",), ("a", "--only", "run"), ("a", "--only", "runs", "--skip", "runs"), ("a", "--intended", "z")):
        assert compare_commits(*words).exit_code == 2
    assert list((tmp_path / "temporary").iterdir()) == []
