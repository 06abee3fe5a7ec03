"""Identities of runs in reports: mixed cells, changes between folders, and seeds that were run before."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.reporting.agreement import change_between, find_disagreements
from tests.reporting.compare import load_run
from tests.reporting.make_runs import make_run

FIRST = {"versions": {"mujoco": "3.1.0", "numpy": "2.0.0"}, "modules": {}, "files": {}, "model": "a"}
LATER = {**FIRST, "versions": {"mujoco": "3.2.0", "numpy": "2.0.0"}, "model": "b"}
MODULE = {**FIRST, "modules": {"mine": "c"}}
CHANGE = "package mujoco 3.1.0 -> 3.2.0"


def made(out: Path, seed: int, *identities: dict | None, kernel: str = "k") -> Path:
    """A finished run whose starts have these identities; None: not recorded."""
    folder = make_run(out, "Ant-v5", "td3", seed, [0, 10 + seed])
    meta = json.loads((folder / "meta.json").read_text())
    (start,) = meta["starts"]
    meta["starts"] = [
        start | {"arithmetic": kernel} | ({"identity": known} if known else {}) for known in identities or (None,)
    ]
    (folder / "meta.json").write_text(json.dumps(meta))
    return folder


def loaded(*folders: Path):
    return [load_run(folder, pytest.fail) for folder in folders]


def test_equal_and_unknown_identities_are_no_mixture(tmp_path):
    equal = loaded(made(tmp_path, 0, FIRST), made(tmp_path, 1, FIRST, FIRST), made(tmp_path, 2))
    assert [*find_disagreements([("TD3", equal), ("CEM", loaded(made(tmp_path, 3)))])] == []


def test_a_mixture_names_seeds_and_what_differs(tmp_path):
    runs = loaded(made(tmp_path, 0, FIRST), made(tmp_path, 1, LATER), made(tmp_path, 2, MODULE), made(tmp_path, 3))
    (remark,) = find_disagreements([("TD3 on Ant", runs), ("CEM", runs[:1])])
    assert f"TD3 on Ant (seed 1: {CHANGE}, compiled MuJoCo model changed" in remark
    assert "seed 2: source of module mine new" in remark
    assert "seed 3: not recorded" in remark
    assert "CEM" not in remark


def test_a_run_that_went_on_with_another_identity_is_a_mixture_by_itself(tmp_path):
    (remark,) = find_disagreements([("TD3", loaded(made(tmp_path, 0, FIRST, LATER, LATER)))])
    assert f"seed 0: changed within the run: {CHANGE}" in remark


def test_changes_between_two_folders(tmp_path):
    sides = {
        name: loaded(*(made(tmp_path / name, seed, *known, kernel=name[-1]) for seed in range(2)))
        for name, known in (("1-a", [FIRST]), ("2-a", [FIRST]), ("3-a", [LATER]), ("4-b", [FIRST]), ("5-a", []))
    }
    first = sides["1-a"]
    assert change_between(first, sides["2-a"]) == "same"
    assert change_between(first, sides["3-a"]) == f"{CHANGE}; compiled MuJoCo model changed"
    assert change_between(sides["3-a"], first).startswith("package mujoco 3.2.0 -> 3.1.0")
    assert change_between(first, sides["4-b"]) == "kernel"
    assert change_between(first, sides["5-a"]) == change_between(sides["5-a"], first) == "unknown"
    assert change_between(first, [*sides["3-a"], *first]) == "mixed"


def moved_aside(run: Path, number: int, score: float | None) -> None:
    """A copy of the run beside it, which `--force` moved aside, with this score."""
    aside = run.with_name(f"{run.name}.old-{number}")
    shutil.copytree(run, aside)
    status = json.loads((aside / "status.json").read_text()) | {"return_mean": score}
    (aside / "status.json").write_text(json.dumps(status if score is not None else status | {"status": "failed"}))
    meta = json.loads((aside / "meta.json").read_text())
    meta["starts"][0]["started"] = f"2024-01-0{number}T00:00:00+00:00"
    (aside / "meta.json").write_text(json.dumps(meta))


def test_a_repeated_seed_is_named_with_its_earlier_scores(tmp_path):
    run, other = made(tmp_path, 0, FIRST), made(tmp_path, 1, FIRST)
    moved_aside(run, 1, -1455.0)
    moved_aside(run, 2, None)
    (remark,) = find_disagreements([("TD3", loaded(run, other))])
    assert "TD3 (seed 0: run 3 of this seed, before it done, score -1,455; failed" in remark
    assert "seed 1" not in remark


def test_commands_name_mixtures_and_repetitions(tmp_path):
    for name, seed, identity in (("a", 0, FIRST), ("a", 1, FIRST), ("b", 0, LATER)):
        made(tmp_path / name, seed, identity)
    moved_aside(made(tmp_path / "b", 1, FIRST), 1, 99.0)

    def said(*words: object) -> str:
        result = CliRunner().invoke(cli, list(map(str, words)))
        assert result.exit_code == 0, result.output
        return " ".join(result.stdout.split())

    out = tmp_path / "report"
    compared = said("report", tmp_path / "a", tmp_path / "b", "--side-by-side", "--out", out)
    assert "package mujoco" in compared
    assert "seed 1: run 2 of this seed" in compared
    said("report", tmp_path / "b", "--out", out)
    page = " ".join(path.read_text() for path in out.rglob("*.md"))
    assert "another problem's model" in page
    assert "REPEATED SEEDS" in page
    shown = said("show", tmp_path / "b" / "Ant-v5" / "td3" / "seed-001")
    assert "run 2 of this seed" in shown
    assert "done, score 99" in shown
    assert "identity unknown" in said("show", made(tmp_path / "c", 0))
