"""Identities of runs in reports: mixed cells, changes between folders, and seeds that were run before."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from erlbench.reporting.agreement import change_between, find_disagreements
from tests.reporting.compare import invoke, load_run, read, run_report
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


def moved_aside(run: Path, number: int, score: float | None) -> None:
    """A copy of the run beside it, which `--force` moved aside, with this score."""
    aside = run.with_name(f"{run.name}.old-{number}")
    shutil.copytree(run, aside)
    status = json.loads((aside / "status.json").read_text()) | {"return_mean": score}
    (aside / "status.json").write_text(json.dumps(status if score is not None else status | {"status": "failed"}))
    meta = (aside / "meta.json").read_text()
    (aside / "meta.json").write_text(meta.replace("2025-01-02", f"2024-01-0{number}"))


def loaded(*folders: Path):
    return [load_run(folder, pytest.fail) for folder in folders]


def test_mixtures_and_repetitions_name_seeds_and_what_differs(tmp_path):
    runs = loaded(made(tmp_path, 0, FIRST), made(tmp_path, 1, LATER), made(tmp_path, 2, MODULE), made(tmp_path, 3))
    equal = loaded(made(tmp_path, 4, FIRST, FIRST))
    assert [*find_disagreements([("TD3", [*runs[:1], *equal, *runs[3:]]), ("CEM", runs[3:])])] == []
    (remark,) = find_disagreements([("TD3 on Ant", runs), ("CEM", runs[:1])])
    assert f"TD3 on Ant (seed 1: {CHANGE}, compiled MuJoCo model changed" in remark
    assert "seed 2: source of module mine new" in remark
    assert "seed 3: not recorded" in remark
    assert "CEM" not in remark
    (remark,) = find_disagreements([("TD3", loaded(made(tmp_path, 5, FIRST, LATER, LATER)))])
    assert f"seed 5: changed within the run: {CHANGE}" in remark
    repeated = made(tmp_path, 6, FIRST)
    moved_aside(repeated, 1, -1455.0)
    moved_aside(repeated, 2, None)
    (remark,) = find_disagreements([("TD3", [*loaded(repeated), *equal])])
    assert "TD3 (seed 6: run 3 of this seed, before it done, score -1,455; failed" in remark
    assert "seed 4" not in remark


def test_changes_between_two_folders(tmp_path):
    known = {"1-a": [FIRST], "2-a": [FIRST], "3-a": [LATER], "4-b": [FIRST], "5-a": []}
    sides = [
        loaded(*(made(tmp_path / name, seed, *identities, kernel=name[-1]) for seed in range(2)))
        for name, identities in known.items()
    ]
    changes = [change_between(sides[0], side) for side in sides[1:]]
    assert changes == ["same", f"{CHANGE}; compiled MuJoCo model changed", "kernel", "unknown"]
    assert change_between(sides[2], sides[0]).startswith("package mujoco 3.2.0 -> 3.1.0")
    assert change_between(sides[0], [*sides[2], *sides[0]]) == "mixed"


def test_commands_name_mixtures_and_repetitions(tmp_path):
    for name, seed, identity in (("a", 0, FIRST), ("a", 1, FIRST), ("b", 0, LATER)):
        made(tmp_path / name, seed, identity)
    moved_aside(made(tmp_path / "b", 1, FIRST), 1, 99.0)
    out = tmp_path / "report"
    compared = run_report(tmp_path / "a", tmp_path / "b", "--side-by-side", "--out", out)
    assert "package mujoco" in compared
    assert "seed 1: run 2 of this seed" in compared
    run_report(tmp_path / "b", "--out", out)
    page = " ".join(map(read, out.rglob("*.md")))
    assert "another problem's model" in page
    assert "REPEATED SEEDS" in page
    repeated, unknown = tmp_path / "b" / "Ant-v5" / "td3" / "seed-001", made(tmp_path / "c", 0)
    repeated, unknown = (" ".join(invoke("show", run).stdout.split()) for run in (repeated, unknown))
    assert "run 2 of this seed" in repeated
    assert "done, score 99" in repeated
    assert "identity unknown" in unknown
