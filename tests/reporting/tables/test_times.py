from __future__ import annotations

import pytest

from erlbench.reporting.runs import find_runs
from erlbench.reporting.studies import make_study_pages
from erlbench.reporting.timeline import load_timeline
from erlbench.reporting.times import times_table
from tests.reporting.make_runs import make_run
from tests.reporting.make_studies import make_study

CHEETAH = "HalfCheetah-v5"


def page_of(folder):
    (page,) = make_study_pages(make_study("time", "Table 1"), find_runs([folder], pytest.fail), None, pytest.fail)
    return page


def records(table):
    rows = {(record["env"], record["name"]): record for record in table.records}
    return rows[CHEETAH, "cem-rl"], rows[CHEETAH, "aes-rl"]


def test_minutes_per_million_against_baseline_and_paper(tmp_path):
    steps = [0, 500, 1000, 1500, 2000]
    for seed, pace in ((0, 0.06), (1, 0.08)):
        make_run(tmp_path, CHEETAH, "cem-rl", seed, [0] * 5, steps=steps, warmup=500, seconds_per_step=pace, workers=10)
        make_run(tmp_path, CHEETAH, "aes-rl", seed, [0] * 5, steps=steps, warmup=500, seconds_per_step=pace / 4)
    table = times_table(page_of(tmp_path), pytest.fail)
    cem, aes = records(table)
    assert cem["measured_after_warmup_min_per_million"] == pytest.approx(0.07 * 1e6 / 60)
    assert cem["measured_whole_min_per_million"] == pytest.approx((1500 + 50) * 0.07 / 2000 * 1e6 / 60)
    assert (aes["after_warmup_vs_baseline_pct"], aes["whole_vs_baseline_pct"]) == pytest.approx((-75, -75))
    assert (aes["published_min"], aes["published_change_pct"], aes["published_min"]) == (83, -82.1, 83)
    assert (cem["workers"], cem["processes"], aes["workers"]) == ("10", "5", "5")
    notes = " ".join(table.notes)
    assert "Extrapolated to 1,000,000 training steps from runs of 2,000 steps." in notes
    assert "Measured on Test CPU, 8 cores, no GPU, 1 thread(s) per process." in notes
    row = next(row for row in ([cell.text for cell in cells] for cells in table.cells) if row[1] == "AES-RL")
    assert row[-8:-5] == ["83", "−82.1 %", "0.75 + 0.75"]  # 1,500 updates in 2,000 steps
    assert row[-5:] == ["–"] * 4 + ["1 not run"]  # no tasks are asked for


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

    _, record = records(times_table(page_of(tmp_path), pytest.fail, tasks))
    assert record["utilisation"] == pytest.approx((7.5 + 7.5) / 20)
    late = {"staleness": (1.5, 2.7), "critic_lag": (15, 27), "queueing": (0.5, 1.7)}
    for name, expected in late.items():
        assert (record[f"{name}_median"], record[f"{name}_90"]) == pytest.approx(expected)


def test_modelled_and_measured_minutes_have_columns_of_their_own(tmp_path):
    """Neither is in the other's column, and neither is a percentage of the other."""
    for seed, pace in enumerate((0.06, 0.06, 0.6)):  # the third run stood still
        make_run(tmp_path, CHEETAH, "cem-rl", seed, [0, 0, 0], seconds_per_step=pace)
        make_run(tmp_path, CHEETAH, "aes-rl", seed, [0, 0, 0], seconds_per_step=pace / 2, simulated=True)
    table = times_table(page_of(tmp_path), pytest.fail)
    cem, aes = records(table)
    assert (cem["measured_whole_median"], aes["modelled_whole_median"]) == (pytest.approx(1000), pytest.approx(500))
    assert cem["measured_whole_min_per_million"] == pytest.approx(4000)
    assert cem["modelled_whole_median"] is aes["measured_whole_median"] is aes["whole_vs_baseline_pct"] is None
    assert {"Measured, whole run (min)", "Modelled, after warm-up, median (min)"} <= set(table.header)


def test_a_missing_train_csv_falls_back_to_the_evaluations(tmp_path):
    path = make_run(tmp_path, CHEETAH, "cem-rl", 0, [0] * 3, seconds_per_step=0.06)
    (path / "train.csv").unlink()
    warnings, page = [], page_of(tmp_path)
    for warn in (warnings.append, pytest.fail):
        cem, _ = records(times_table(page, warn))
        assert cem["measured_after_warmup_min_per_million"] == pytest.approx(1000)
        (path / "train.csv").write_text("")  # no generation has ended: nothing is wrong
    assert "train.csv" in warnings[0]
