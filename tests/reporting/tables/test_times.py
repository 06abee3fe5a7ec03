"""Minutes, steps to a score, and the use of processes; minutes of runs whose cores other cells used count nowhere."""

import math

import numpy as np
import pytest

from erlbench.api import Results
from erlbench.errors import UsageError
from erlbench.records.run import shared_cores
from erlbench.reporting.options import parse_scores
from erlbench.reporting.pairs import make_sample
from erlbench.reporting.reach import reach_table
from erlbench.reporting.runs import find_runs
from erlbench.reporting.score import Moment, cut_runs
from erlbench.reporting.timeline import bars, busy, load_timeline, windows
from erlbench.reporting.times import times_table
from tests.files import edit_rows
from tests.reporting.compare import comparison_of, curves_of, find_rows, load_run, page_of, rows_of, runs_of
from tests.reporting.make_runs import make_run, make_tasks
from tests.reporting.make_studies import make_study

CHEETAH = "HalfCheetah-v5"


def times_page(folder):
    return comparison_of(folder, make_study("time", "Table 1"))


def records(table):
    rows = {(record["env"], record["name"]): record for record in table.records}
    return rows[CHEETAH, "cem-rl"], rows[CHEETAH, "aes-rl"]


def test_asynchrony_stands_beside_the_times(tmp_path):
    """Two processes for 10 s: 7.5 busy seconds each, four tasks late by 0 to 3 updates; a file of an older version."""
    make_run(tmp_path, CHEETAH, "cem-rl", 0, [0, 1, 2], processes=2)
    path = make_run(tmp_path, CHEETAH, "aes-rl", 0, [0, 1, 2], processes=2)
    header = "task,kind,process,individual,start_s,end_s,timesteps,critic_updates,actor_updates,second_core_s,ready_s,"
    lines = [
        "0,es,0,0,0.0,5.0,100,0,0,0.0,0.0,0,0", "1,es,1,1,0.0,5.0,100,0,0,0.0,0.0,1,10",
        "2,es,0,0,5.0,7.5,100,0,0,0.0,4.0,2,20", "3,es,1,1,7.5,9.0,100,0,0,0.0,5.5,3,30",
        "4,critic,1,0,9.0,10.0,0,100,0,2.0,9.0,0,0", "5,evaluation,1,0,11.0,12.0,100,0,0,0.0,,,",
    ]  # fmt: skip
    (path / "tasks.csv").write_text("\n".join([header + "staleness,critic_lag", *lines]) + "\n")

    def tasks(cell):
        return load_timeline(cell.runs[0], pytest.fail) if cell.name == "aes-rl" and cell.runs else None

    _, record = records(times_table(times_page(tmp_path), pytest.fail, tasks))
    assert record["utilisation"] == pytest.approx((7.5 + 7.5) / 20)
    late = {"staleness": (1.5, 2.7), "critic_lag": (15, 27), "queueing": (0.5, 1.7)}
    for name, expected in late.items():
        assert (record[f"{name}_median"], record[f"{name}_90"]) == pytest.approx(expected)


def test_measured_minutes_against_baseline_and_paper_and_modelled_ones_in_columns_of_their_own(tmp_path):
    """Neither is in the other's column, and neither is a percentage of the other."""
    for seed, pace in enumerate((0.06, 0.06, 0.6)):  # the third run stood still
        for folder, simulated in (("measured", False), ("modelled", True)):
            out, returns = tmp_path / folder, [0, 0, 0]
            make_run(out, CHEETAH, "cem-rl", seed, returns, seconds_per_step=pace)
            make_run(out, CHEETAH, "aes-rl", seed, returns, seconds_per_step=pace / 2, simulated=simulated)
    cem, aes = records(times_table(times_page(tmp_path / "measured"), pytest.fail))
    assert (cem["ms_per_generation"], aes["ms_per_generation"]) == pytest.approx((240_000, 120_000))
    assert (aes["after_warmup_vs_baseline_pct"], aes["whole_vs_baseline_pct"]) == pytest.approx((-50, -50))
    assert aes["published_min"] == 83
    assert aes["published_change_pct"] == -82.1
    cem, aes = records(times_table(times_page(tmp_path / "modelled"), pytest.fail))
    minutes = [f"{kind}_whole_min_per_million" for kind in ("measured", "modelled")]
    assert cem[minutes[0]] == pytest.approx(4000)
    assert aes[minutes[1]] == pytest.approx(2000)
    assert cem[minutes[1]] is aes[minutes[0]] is aes["whole_vs_baseline_pct"] is None


def test_a_missing_train_csv_falls_back_to_the_evaluations(tmp_path):
    path = make_run(tmp_path, CHEETAH, "cem-rl", 0, [0] * 3, seconds_per_step=0.06) / "train.csv"
    path.unlink()
    warnings, page = [], times_page(tmp_path)
    for warn in (warnings.append, pytest.fail):
        cem, _ = records(times_table(page, warn))
        assert cem["measured_after_warmup_min_per_million"] == pytest.approx(1000)
        path.write_text("")  # no generation has ended: nothing is wrong
    assert "train.csv" in warnings[0]


@pytest.mark.parametrize(("evaluations", "minutes"), [(9, 500), (10, 1000)])
def test_train_csv_has_the_minutes_of_fewer_than_ten_evaluations(tmp_path, evaluations, minutes):
    path = make_run(tmp_path, CHEETAH, "cem-rl", 0, range(evaluations + 1), seconds_per_step=0.06, total=2000)
    edit_rows(path / "train.csv", train_time_s=range(0, 30 * evaluations + 1, 30))  # half of the seconds
    cem, _ = records(times_table(times_page(tmp_path), pytest.fail))
    assert cem["measured_after_warmup_min_per_million"] == pytest.approx(minutes)


def reach(results, *scores):
    """The printed rows by the score."""
    rows = rows_of(reach_table(page_of(results), scores, pytest.fail), names=(2,))
    return {score: row for (score,), row in rows.items()}


def test_steps_to_a_score_by_hand(tmp_path):
    """Four finished runs, of which three reach 41.97 at 2000, 3000 and 1000 steps, and one that is running."""
    for seed, returns in enumerate(([0, 10, 41.97, 80], [0, 10, 20, 50], [0, 60, 20, 10], [0, 5, 5, 5])):
        make_run(tmp_path / "a", "Swimmer-v5", "cem", seed, returns, seconds_per_step=0.06)
    make_run(tmp_path / "a", "Swimmer-v5", "cem", 4, [100], total=3000, status="running")
    rows = reach(tmp_path / "a", 0.0, 21.5, 41.97, 70.0)
    assert rows["41.97"].items() >= {
        "Reached": "3/4", "Median": "2,500", "Mean curve": "–", "Measured minutes": "2.50", "Share": "25 % of TRPO",
        "Published TRPO": "1,040,000", "Published OpenAI-ES": "588,000", "/ TRPO": "–",
    }.items()  # fmt: skip
    assert rows["21.5"]["Mean curve"] == "1,508"  # 1000 + 1000 * (21.5 - 21.25) / (21.7425 - 21.25)
    assert [rows["70"][name] for name in ("Reached", "Median", "Mean curve")] == ["1/4", "–", "–"]
    assert rows["0"]["Median"] == "0"
    assert rows["0"]["Measured minutes"] == "0.00"
    make_run(tmp_path / "b", "Swimmer-v5", "cem", 0, [0, 41.97], steps=[0, 520_000])
    row = reach(tmp_path / "b")["41.97"]  # the scores whose steps are published
    assert row["Mean curve"] == "520,000"
    assert row["/ TRPO"] == "0.50"


@pytest.mark.parametrize("text", ["", "nan", "1,inf", "published,3"])
def test_what_is_no_score_to_reach_is_refused(text):
    with pytest.raises(UsageError, match="--reach"):
        parse_scores(text)


def timeline_of(tmp_path, tasks, seed=0, **more):
    run = load_run(make_run(tmp_path, "Ant-v5", "cem", seed, [0, 1], tasks=tasks, **more), pytest.fail)
    return load_timeline(run, pytest.fail)


def test_utilisation_by_hand(tmp_path):
    tasks = [
        ("es", 0, 1.0, 5.0, 0), ("critic", 0, 6.0, 9.0, 10), ("rl", 1, 1.0, 3.0, 0), ("evaluation", 1, 8.0, 20.0, 0),
    ]  # fmt: skip
    timeline = timeline_of(tmp_path, tasks, processes=3)
    assert timeline.span == (1.0, 9.0)  # the evaluation after training does not stretch it
    assert timeline.utilisation() == {0: 7 / 8, 1: 3 / 8, 2: 0.0}
    assert timeline.played().staleness.isna().all()  # a run of an older version
    assert busy(np.array([0.0, 1.0, 5.0, 5.5]), np.array([2.0, 3.0, 6.0, 5.7])) == 4.0  # overlaps count once
    assert busy(np.empty(0), np.empty(0)) == 0.0


def test_the_drivers_own_process_and_virtual_ones(tmp_path):
    assert timeline_of(tmp_path, [("es", -1, 0.0, 2.0, 0)], processes=0).processes == [-1]
    virtual = timeline_of(tmp_path, [("es", 7, 0.0, 2.0, 0)], seed=1, processes=2, simulated=True)
    assert virtual.processes == [7]


def test_a_run_without_processes_that_has_only_evaluated_has_no_task_yet(tmp_path):
    run = make_run(tmp_path, "Ant-v5", "cem", 0, [0], tasks=[("evaluation", -1, 0.0, 1.0, 0)], processes=0)
    told = []
    assert load_timeline(load_run(run, pytest.fail), told.append) is None
    assert len(told) == 1


def test_windows_are_as_wide_and_begin_with_a_task(tmp_path):
    serial = timeline_of(tmp_path, make_tasks(1, 200), processes=1)
    parallel = timeline_of(tmp_path, make_tasks(5, 200), seed=1)
    (a, b), (c, d) = windows([serial, parallel])
    assert b - a == pytest.approx(d - c)
    assert a in serial.tasks.start_s.tolist()
    assert c in parallel.tasks.start_s.tolist()


def test_bars_keep_kinds_processes_pauses_and_long_tasks_apart(tmp_path):
    tasks = [
        ("es", 0, 0.0, 0.01, 0), ("es", 0, 0.01, 0.02, 0), ("rl", 0, 0.02, 0.03, 0), ("rl", 0, 0.5, 0.51, 0),
        ("es", 0, 1.0, 3.0, 0), ("es", 1, 4.0, 9.0, 0),
    ]  # fmt: skip
    drawn = bars(timeline_of(tmp_path, tasks, processes=2), 0.0, 6.0, 0.1)
    apart = [[process, kind, start, min(end, 6.0)] for kind, process, start, end, _ in tasks[2:]]
    assert drawn[["process", "kind", "start", "end"]].values.tolist() == [[0, "es", 0.0, 0.02], *apart]
    assert drawn.share.tolist() == pytest.approx([1.0] * 5)
    # 14 ms of every 20 ms, for 10 s: drawn one by one, their edges hide nearly all of them
    short = [("es", 0, 0.02 * i, 0.02 * i + 0.014, 0) for i in range(500)]
    (bar,) = bars(timeline_of(tmp_path, short, seed=1, processes=1), 0.0, 10.0, 10 / 400).itertuples()
    assert (bar.start, bar.end, bar.share) == (0.0, pytest.approx(9.994), pytest.approx(0.7, abs=1e-3))


SHARED = {"cells_at_once": 3, "exclusive": False}
COUNT = ({}, {"cells_at_once": 1, "exclusive": True}, {"cells_at_once": 3, "exclusive": True})


@pytest.fixture
def runs(tmp_path):
    """CEM-RL: two runs on cores of their own and one on shared ones, ten times as long; AES-RL: all on shared ones."""
    for seed, start in enumerate((COUNT[1], COUNT[2], SHARED)):
        pace = 0.6 if start is SHARED else 0.06
        make_run(tmp_path, CHEETAH, "cem-rl", seed, [0, 1, 2], seconds_per_step=pace, starts=[start])
        make_run(tmp_path, CHEETAH, "aes-rl", seed, [0, 1, 3], seconds_per_step=0.6, starts=[SHARED])
    return tmp_path


@pytest.fixture
def page(runs):
    return page_of(runs)


@pytest.mark.parametrize(("start", "simulated"), [*((start, False) for start in COUNT), (SHARED, True)])
def test_minutes_count_on_cores_of_their_own_in_a_model_and_where_nothing_is_recorded(tmp_path, start, simulated):
    path = make_run(tmp_path, CHEETAH, "cem", 0, [0, 1], starts=[start], simulated=simulated)
    (run,) = find_rows([tmp_path], pytest.fail)
    assert run.seconds == 10
    assert run.timed
    assert Results((path,)).cells["shared_cores"].tolist() == [start is SHARED if start else None]


def test_one_start_on_shared_cores_is_enough():
    starts = [COUNT[1], {}, SHARED]
    assert [shared_cores({"starts": starts[:number]}) for number in range(4)] == [None, False, False, True]
    assert shared_cores({"starts": [{"cells_at_once": "3"}, {"cells_at_once": True}, 7]}) is None


def test_no_table_has_minutes_of_shared_cores(runs, page):
    cem, aes = records(times_table(times_page(runs), pytest.fail))
    for part in ("whole", "after_warmup"):
        assert cem[f"measured_{part}_min_per_million"] == pytest.approx(1000)
        assert aes[f"measured_{part}_min_per_million"] is aes[f"{part}_vs_baseline_pct"] is None
    assert cem["ms_per_generation"] == 60_000
    assert aes["ms_per_generation"] is None
    rows = {row["name"]: row for row in reach_table(page, (1.0,), pytest.fail).records}
    assert [rows[name]["measured_minutes_median"] for name in ("cem-rl", "aes-rl")] == [1.0, None]
    assert rows["aes-rl"]["steps"] == "1000 1000 1000"


def test_no_verdict_has_minutes_of_shared_cores(page):
    minutes = {cell.name: make_sample(cell).measured_minutes for cell in page.groups[0].cells}
    assert minutes["cem-rl"] == 2.0
    assert math.isnan(minutes["aes-rl"])


def test_no_run_on_shared_cores_is_cut_after_minutes(runs):
    warnings = []
    cut = cut_runs(find_runs([runs], pytest.fail), Moment(1, minutes=True), warnings.append)
    columns = ["name", "seed", "timesteps", "total_timesteps"]
    assert cut[columns].values.tolist() == [["cem-rl", 0, 1000, 0], ["cem-rl", 1, 1000, 0]]
    assert warnings[-1].startswith(f"{runs / CHEETAH / 'cem-rl' / 'seed-002'}: other cells ran on its cores")


def test_no_curve_over_time_shows_runs_on_shared_cores(runs, page):
    figure = curves_of(page)
    counts = [{group: len(names) for group, names in runs_of(figure, axis).items()} for axis in ("timesteps", "time")]
    assert counts == [{"aes-rl": 3, "cem-rl": 3}, {"cem-rl": 2}]
    page = page_of(runs / CHEETAH / "aes-rl")
    assert curves_of(page).paper == ["timesteps"]
    assert curves_of(page, x="time") is None
