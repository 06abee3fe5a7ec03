from __future__ import annotations

import numpy as np
import pytest

from erlbench.reporting.timeline import bars, busy, load_timeline, windows
from tests.reporting.compare import load_run
from tests.reporting.make_runs import make_run, make_tasks


def timeline_of(tmp_path, tasks, seed=0, **more):
    run = load_run(make_run(tmp_path, "Ant-v5", "cem", seed, [0, 1], tasks=tasks, **more), pytest.fail)
    return load_timeline(run, pytest.fail)


def test_utilisation_by_hand(tmp_path):
    tasks = [
        ("es", 0, 1.0, 5.0, 0), ("critic", 0, 6.0, 9.0, 10), ("rl", 1, 1.0, 3.0, 0), ("evaluation", 1, 8.0, 20.0, 0),
    ]  # fmt: skip
    timeline = timeline_of(tmp_path, tasks, processes=3)
    assert timeline.span == (1.0, 9.0)  # the evaluation after training does not stretch it
    assert timeline.processes == [0, 1, 2]
    assert timeline.utilisation() == {0: 7 / 8, 1: 3 / 8, 2: 0.0}
    assert timeline.shares() == {"critic": 0.3, "es": 0.4, "evaluation": 0.1, "rl": 0.2}
    assert timeline.played().staleness.isna().all()  # a run of an older version
    assert busy(np.array([0.0, 1.0, 5.0, 5.5]), np.array([2.0, 3.0, 6.0, 5.7])) == 4.0  # overlaps count once
    assert busy(np.empty(0), np.empty(0)) == 0.0


def test_the_drivers_own_process_and_virtual_ones(tmp_path):
    assert timeline_of(tmp_path, [("es", -1, 0.0, 2.0, 0)], processes=0).processes == [-1]
    virtual = timeline_of(tmp_path, [("es", 7, 0.0, 2.0, 0)], seed=1, processes=2, simulated=True)
    assert virtual.processes == [7]


def test_windows_are_as_wide_and_begin_with_a_task(tmp_path):
    serial = timeline_of(tmp_path, make_tasks(0, "serial", 1, 20), processes=1)
    parallel = timeline_of(tmp_path, make_tasks(0, "asynchronous", 5, 20), seed=1)
    (a, b), (c, d) = windows([serial, parallel])
    assert b - a == pytest.approx(d - c)
    assert a in serial.tasks.start_s.tolist()
    assert c in parallel.tasks.start_s.tolist()


def test_bars_keep_kinds_processes_pauses_and_long_tasks_apart(tmp_path):
    tasks = [
        ("es", 0, 0.0, 0.01, 0), ("es", 0, 0.01, 0.02, 0), ("rl", 0, 0.02, 0.03, 0), ("rl", 0, 0.5, 0.51, 0),
        ("es", 0, 1.0, 3.0, 0), ("es", 0, 3.0, 5.0, 0), ("es", 1, 0.0, 0.01, 0), ("es", 1, 4.0, 9.0, 0),
    ]  # fmt: skip
    drawn = bars(timeline_of(tmp_path, tasks, processes=2), 0.0, 6.0, 0.1)
    assert [*drawn[["process", "kind", "start", "end"]].itertuples(index=False, name=None)] == [
        (0, "es", 0.0, 0.02), (0, "rl", 0.02, 0.03), (0, "rl", 0.5, 0.51), (0, "es", 1.0, 3.0), (0, "es", 3.0, 5.0),
        (1, "es", 0.0, 0.01), (1, "es", 4.0, 6.0),
    ]  # fmt: skip
    assert drawn.share.tolist() == pytest.approx([1.0] * 7)
    # 14 ms of every 20 ms, for 10 s: drawn one by one, their edges hide nearly all of them
    short = [("es", 0, 0.02 * i, 0.02 * i + 0.014, 0) for i in range(500)]
    (bar,) = bars(timeline_of(tmp_path, short, seed=1, processes=1), 0.0, 10.0, 10 / 400).itertuples()
    assert (bar.start, bar.end, bar.share) == (0.0, pytest.approx(9.994), pytest.approx(0.7, abs=1e-3))
