"""The results of `--reference`, which open a report, and the pages of studies that have some of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from erlbench.experiment.study import Entry, Profile
from erlbench.reporting import build_report
from erlbench.reporting.page import SMOKE_BANNER
from tests.reporting.make_runs import make_run
from tests.reporting.make_studies import make_study

pytestmark = pytest.mark.data


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_smoke_runs_stand_below_the_reference_results_and_are_not_judged(tmp_path):
    for seed in range(5):
        make_run(tmp_path / "kept", "Swimmer-v5", "cem", seed, [0, 300])
        for name in ("cem-rl", "aes-rl"):
            make_run(tmp_path / "new", "HalfCheetah-v5", name, seed, [0, 100 + seed + 50 * (name == "aes-rl")])
    study = make_study(profiles={"smoke": Profile(tuple(range(5)), 1000, ("HalfCheetah-v5",))})
    out, known = tmp_path / "out", tmp_path / "kept"
    build_report([tmp_path / "new"], out, {"study": study}, None, lambda warning: None, reference=known)
    text = read(out / "index.md")
    order = [
        text.index(words) for words in ("## Reference results", "Swimmer-v5", "## New runs", SMOKE_BANNER, "HalfC")
    ]
    assert order == sorted(order)
    page = read(out / "study" / "index.md")
    assert SMOKE_BANNER in page
    start = page.index("| Environment")
    table = page[start : page.index("Files:", start)]
    assert "AES-RL" in table
    assert not [word for word in ("%", "ublished", "**1", "vs ") if word in table]
    assert read(out / "cells.csv").count("\n") == 11  # the new runs and a header
    assert "Swimmer-v5" in read(out / "reference" / "scores.md")


def test_reference_results_stand_beside_published_numbers(tmp_path):
    """Each study with some of them has a page, with the profile of most; the user's own runs are not on it."""
    for seed in range(3):
        make_run(tmp_path / "kept", "HalfCheetah-v5", "cem-rl", seed, [0, 1, 2])
    make_run(tmp_path / "kept", "HalfCheetah-v5", "cem-rl", 3, [0] * 1000 + [3], steps=range(0, 1_001_000, 1000))
    make_run(tmp_path / "new", "HalfCheetah-v5", "aes-rl", 0, [0, 1, 2])
    other = make_study(name="other", entries=(Entry("td3", "td3"), Entry("sac", "sac")), baseline="td3")
    studies, out = {"study": make_study(), "other": other}, tmp_path / "out"
    build_report([tmp_path / "new"], out, studies, None, lambda warning: None, reference=tmp_path / "kept")
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == ["all-runs", "reference", "reference-study"]
    scores = pd.read_csv(out / "reference-study" / "scores.csv").set_index(["env", "name"])
    assert scores.loc[("HalfCheetah-v5", "cem-rl"), ["n", "mean", "published_mean"]].tolist() == [3, 2, 10725]
    assert scores.loc[("HalfCheetah-v5", "aes-rl"), "n"] == 0
    text = read(out / "index.md")
    assert text.count("(reference-study/index.md)") == 1
    assert text.index("## New runs") < text.index("## Contents") < text.index("reference-study")
    assert pd.read_csv(out / "cells.csv").studies.isna().all()
