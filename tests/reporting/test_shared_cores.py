"""Minutes of runs whose cores other cells used, too: printed nowhere; all else of these runs counts."""

from __future__ import annotations

import math

import pytest

from erlbench.api import Results
from erlbench.errors import UsageError
from erlbench.records.run import shared_cores
from erlbench.reporting.checklist import checklist
from erlbench.reporting.page_cells import everything, score_page
from erlbench.reporting.pairs import make_sample
from erlbench.reporting.reach import reach_table
from erlbench.reporting.runs import find_runs
from erlbench.reporting.score import FINAL, Moment, cut_runs
from erlbench.reporting.statistics import minutes_per_million
from erlbench.reporting.studies import make_study_pages
from erlbench.reporting.times import times_table
from tests.reporting.compare import curves_of, find_rows, page_of, runs_of
from tests.reporting.make_runs import make_run
from tests.reporting.make_studies import make_study

SHARED = {"cells_at_once": 3, "exclusive": False}
COUNT = ({}, {"cells_at_once": 1, "exclusive": True}, {"cells_at_once": 3, "exclusive": True})
ENV = "HalfCheetah-v5"


@pytest.fixture
def runs(tmp_path):
    """CEM-RL: two runs on cores of their own and one on shared ones, ten times as long; AES-RL: all on shared ones."""
    for seed, start in enumerate((COUNT[1], COUNT[2], SHARED)):
        pace = 0.6 if start is SHARED else 0.06
        make_run(tmp_path, ENV, "cem-rl", seed, [0, 1, 2], seconds_per_step=pace, start=start)
        make_run(tmp_path, ENV, "aes-rl", seed, [0, 1, 3], seconds_per_step=0.6, start=SHARED)
    return find_runs([tmp_path], pytest.fail)


def test_minutes_count_on_cores_of_their_own_in_a_model_and_where_nothing_is_recorded(tmp_path):
    for number, (start, simulated) in enumerate([*((start, False) for start in COUNT), (SHARED, True)]):
        path = make_run(tmp_path / str(number), ENV, "cem", 0, [0, 1], start=start, simulated=simulated)
        (run,) = find_rows([tmp_path / str(number)], pytest.fail)
        assert (run.seconds, run.timed, minutes_per_million(run)) == (10, True, pytest.approx(1000 / 6))
        assert Results((path,)).cells["shared_cores"].tolist() == [start is SHARED if start else None]
    starts = [COUNT[1], {}, SHARED]  # one start on shared cores is enough
    assert [shared_cores({"starts": starts[:number]}) for number in range(4)] == [None, False, False, True]
    assert shared_cores({"starts": [{"cells_at_once": "3"}, {"cells_at_once": True}, 7]}) is None


def test_no_table_has_minutes_of_shared_cores(runs):
    (page,) = make_study_pages(make_study("time", "Table 1"), runs, None, pytest.fail)
    table = times_table(page, pytest.fail)
    cem, aes = (next(r for r in table.records if (r["env"], r["name"]) == (ENV, n)) for n in ("cem-rl", "aes-rl"))
    for part in ("whole", "after_warmup"):
        assert cem[f"measured_{part}_min_per_million"] == pytest.approx(1000)
        assert aes[f"measured_{part}_min_per_million"] is aes[f"{part}_vs_baseline_pct"] is None
    assert "No minutes of 4 runs that shared cores" in " ".join(table.notes)
    rows = {row["name"]: row for row in reach_table(everything(runs), (1.0,), pytest.fail).records}
    assert rows["cem-rl"]["measured_minutes_median"] == 1.0
    assert rows["aes-rl"]["measured_minutes_median"] is None
    assert rows["aes-rl"]["steps"] == "1000 1000 1000"
    hours = [row["hours"] for row in checklist([], list(runs.itertuples()), [])["compute"].rows]
    assert hours == pytest.approx([5400 / 3600, 2160 / 3600, 7560 / 3600])  # hours of computing count all the same


def test_no_verdict_has_minutes_of_shared_cores(runs):
    (group,) = score_page(everything(runs), FINAL).groups
    minutes = {cell.name: make_sample(cell).measured_minutes for cell in group.cells}
    assert minutes["cem-rl"] == 2.0
    assert math.isnan(minutes["aes-rl"])


def test_no_run_on_shared_cores_is_cut_after_minutes(runs):
    warnings = []
    cut = cut_runs(runs, Moment(1, minutes=True), warnings.append)
    assert [*zip(cut["name"], cut["seed"], strict=True)] == [("cem-rl", 0), ("cem-rl", 1)]
    assert warnings[-1].startswith(f"{runs.path.iloc[-1]}: other cells ran on its cores")
    with pytest.raises(UsageError):
        cut_runs(runs[runs["name"] == "aes-rl"], Moment(1, minutes=True), warnings.append)
    assert len(cut_runs(runs, Moment(1000), pytest.fail)) == 6


def test_no_curve_over_time_shows_runs_on_shared_cores(runs, tmp_path):
    figure = curves_of(page_of(tmp_path))
    assert figure.paper == ["timesteps", "time"]
    counts = [{group: len(names) for group, names in runs_of(figure, axis).items()} for axis in figure.paper]
    assert counts == [{"aes-rl": 3, "cem-rl": 3}, {"cem-rl": 2}]
    assert "Not drawn over training time: aes-rl, cem-rl (seed 2)" in " ".join(figure.caption)
    page = score_page(everything(runs[runs["name"] == "aes-rl"]), FINAL)
    assert curves_of(page).paper == ["timesteps"]
    assert curves_of(page, x="time") is None
