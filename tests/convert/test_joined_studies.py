"""Seeds of a study that somebody else has run: a bundle beside a folder."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench.cli import cli


@pytest.mark.data
def test_seeds_that_somebody_else_sends_belong_to_the_study(tmp_path, monkeypatch):
    """A study with one seed, and a bundle of the same study with two more."""
    monkeypatch.chdir(tmp_path)
    stored = Path(__file__).parents[2] / "results" / "search-or-settings"
    for name, seeds in (("ours", [10]), ("theirs", [11, 12])):
        text = (stored / "study.toml").read_text(encoding="utf-8")
        folder = tmp_path / name
        for entry in ("cem-rl", "td3@cem-rl"):
            for seed in seeds:
                run = f"HalfCheetah-v5/{entry}/seed-{seed:03d}"
                shutil.copytree(stored / run, folder / run)
        (folder / "study.toml").write_text(re.sub(r"(?m)^seeds = .*$", f"seeds = {seeds}", text), encoding="utf-8")
    assert CliRunner().invoke(cli, ["convert", "--to", "bundle", "theirs", "--out", "theirs.zip"]).exit_code == 0
    counts = {}
    for folders in (["ours"], ["ours", "theirs.zip"]):
        assert CliRunner().invoke(cli, ["report", *folders, "--out", "report"]).exit_code == 0
        (study,) = json.loads(Path("report/verdict.json").read_text(encoding="utf-8"))["studies"]
        counts[len(folders)] = [len(sample["seeds"]) for sample in study["pairs"][0]["samples"]]
    assert counts == {1: [1, 1], 2: [3, 3]}
    verified = CliRunner().invoke(cli, ["verify", "theirs.zip"])
    assert verified.exit_code == 0
    assert "4 runs, 0 with differences" in verified.output
