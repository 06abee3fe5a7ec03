"""The results of `--reference`, which open a report, and the pages of studies that have some of them."""

import pandas as pd

from erlbench.experiment.study import Profile
from erlbench.reporting import build_report
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.page import SMOKE_BANNER
from tests.reporting.compare import read
from tests.reporting.make_runs import make_cells, make_run
from tests.reporting.make_studies import make_study


def test_reference_results_come_before_new_runs_and_stand_beside_published_numbers(tmp_path):
    """Each study with some of them has a page, with the profile of most, without the user's runs. Smoke runs are not
    judged."""
    kept, new, out, env = tmp_path / "kept", tmp_path / "new", tmp_path / "out", "HalfCheetah-v5"
    make_cells(kept, env, {"cem-rl": [2, 2, 2]})
    make_run(kept, env, "cem-rl", 3, [0] * 1000 + [3], steps=range(0, 1_001_000, 1000))
    make_cells(new, env, {"cem-rl": range(100, 105), "aes-rl": range(150, 155)}, before=[0])
    studies = {
        "study": make_study(),
        "quick": make_study(name="quick", profiles={"smoke": Profile(tuple(range(5)), 1000, (env,))}),
    }
    build_report(ReportOptions(results=(new,), out=out, reference=kept), studies, None, lambda warning: None)
    pages = sorted(path.name for path in out.iterdir() if path.is_dir())
    assert pages == ["all-runs", "quick", "reference", "reference-study"]
    text, page = read(out / "index.md"), read(out / "quick/index.md")
    assert text.index("Reference results") < text.index("New runs") < text.index(SMOKE_BANNER)
    table = page.partition("| Environment")[2].partition("Files:")[0]
    assert not [word for word in ("%", "ublished", "**1", "vs ") if word in table]
    scores = pd.read_csv(out / "reference-study/scores.csv").set_index(["env", "name"])
    assert scores.loc[(env, "cem-rl"), ["n", "mean", "published_mean"]].tolist() == [3, 2, 10725]
    assert scores.loc[(env, "aes-rl"), "n"] == 0
    assert set(pd.read_csv(out / "cells.csv").studies) == {"quick"}  # the new runs
