"""The results of `--reference`, which open a report, and the pages of studies that have some of them."""

from __future__ import annotations

import pandas as pd
import pytest

from erlbench.experiment.study import Entry, Profile
from erlbench.reporting import build_report
from erlbench.reporting.page import SMOKE_BANNER
from tests.reporting.compare import read
from tests.reporting.make_runs import make_cells, make_run
from tests.reporting.make_studies import make_study

pytestmark = pytest.mark.data


def report(folder, **studies):
    """A report of `new` runs with those that were `kept` for reference."""
    out = folder / "out"
    build_report([folder / "new"], out, studies, None, lambda warning: None, reference=folder / "kept")
    return out


def test_smoke_runs_stand_below_the_reference_results_and_are_not_judged(tmp_path):
    make_cells(tmp_path / "kept", "Swimmer-v5", {"cem": [300] * 5})
    make_cells(tmp_path / "new", "HalfCheetah-v5", {"cem-rl": range(100, 105), "aes-rl": range(150, 155)}, before=[0])
    out = report(tmp_path, study=make_study(profiles={"smoke": Profile(tuple(range(5)), 1000, ("HalfCheetah-v5",))}))
    text, page = read(out / "index.md"), read(out / "study" / "index.md")
    places = [
        text.index(words) for words in ("## Reference results", "Swimmer-v5", "## New runs", SMOKE_BANNER, "HalfC")
    ]
    assert places == sorted(places)
    assert SMOKE_BANNER in page
    table = page.partition("| Environment")[2].partition("Files:")[0]
    assert "AES-RL" in table
    assert not [word for word in ("%", "ublished", "**1", "vs ") if word in table]
    assert len(pd.read_csv(out / "cells.csv")) == 10  # the new runs
    assert "Swimmer-v5" in read(out / "reference" / "scores.md")


def test_reference_results_stand_beside_published_numbers(tmp_path):
    """Each study with some of them has a page, with the profile of most; the user's own runs are not on it."""
    make_cells(tmp_path / "kept", "HalfCheetah-v5", {"cem-rl": [2, 2, 2]})
    make_run(tmp_path / "kept", "HalfCheetah-v5", "cem-rl", 3, [0] * 1000 + [3], steps=range(0, 1_001_000, 1000))
    make_run(tmp_path / "new", "HalfCheetah-v5", "aes-rl", 0, [0, 1, 2])
    other = make_study(name="other", entries=(Entry("td3", "td3"), Entry("sac", "sac")), baseline="td3")
    out = report(tmp_path, study=make_study(), other=other)
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == ["all-runs", "reference", "reference-study"]
    scores = pd.read_csv(out / "reference-study" / "scores.csv").set_index(["env", "name"])
    assert scores.loc[("HalfCheetah-v5", "cem-rl"), ["n", "mean", "published_mean"]].tolist() == [3, 2, 10725]
    assert scores.loc[("HalfCheetah-v5", "aes-rl"), "n"] == 0
    text = read(out / "index.md")
    assert text.index("## New runs") < text.index("## Contents") < text.index("(reference-study/index.md)")
    assert pd.read_csv(out / "cells.csv").studies.isna().all()
