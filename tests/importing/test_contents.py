"""What files hold: several starts of a run, successes, and tables as spreadsheets write them."""

import math

import numpy as np
import pytest

import erlbench
from erlbench.conversion import import_runs
from erlbench.errors import UsageError
from tests.files import edit
from tests.importing.files import write_evaluations, write_events, write_monitor

NAMES = {"env": "A-v1", "algo": "ppo", "seed": 0}


@pytest.fixture
def results(tmp_path):
    """Import a file; its evaluations and episodes."""

    def call(path, **names):
        import_runs([path], tmp_path / "out", origin="Jane Doe", **names)
        return erlbench.load_results(tmp_path / "out")

    return call


@pytest.mark.parametrize(("steps", "counted"), [
    ((100, 200, 100, 200, 100), (100, 200, 300, 400, 500)), ((0, 100, 0, 50), (0, 100, 150)),
])  # fmt: skip
def test_steps_of_evaluations_go_on_at_each_start(results, tmp_path, steps, counted):
    evaluations = results(write_evaluations(tmp_path / "evaluations.npz", steps), **NAMES).evaluations
    assert tuple(evaluations["timesteps"]) == counted


def test_monitors_of_several_workers_that_started_twice_are_merged_by_the_clock(results, tmp_path):
    for number, rows in enumerate(("1,10,1\n2,10,4\n3,10,1\n", "4,5,2\n5,5,3.5\n6,5,2\n")):
        write_monitor(tmp_path / f"logs/{number}.monitor.csv", rows=rows)
    episodes = results(tmp_path / "logs", **NAMES).episodes
    assert episodes["r"].tolist() == [1, 4, 5, 2, 3, 6]
    assert episodes["t"].tolist() == [1, 2, 3.5, 4, 5, 5.5]
    assert episodes["timesteps"].tolist() == [10, 15, 20, 30, 40, 45]


def test_files_of_other_programs_beside_those_of_a_run_are_left_out(results, tmp_path):
    write_evaluations(tmp_path / "logs/evaluations.npz")
    (tmp_path / "logs/._0.monitor.csv").write_bytes(b"\0\5\x16\7")  # as macOS packs them
    (tmp_path / "logs/weights").mkdir()
    np.savez(tmp_path / "logs/weights/layer.npz", bias=[1.0])
    assert len(results(tmp_path / "logs", **NAMES).evaluations) == 2


def test_a_worker_whose_first_episode_goes_on_has_no_row(results, tmp_path):
    for number, rows in enumerate(("1,10,1\n", "", "2,")):
        write_monitor(tmp_path / f"logs/{number}.monitor.csv", rows=rows)
    assert results(tmp_path / "logs", **NAMES).episodes["r"].tolist() == [1]


def test_event_files_of_two_starts_are_one_run(results, tmp_path):
    folder = tmp_path / "A-v1__ppo__1__5"
    for clock, steps in ((0, (10, 20, 30)), (500, (10, 20))):
        write_events(folder, steps, {"seed": 1, "total_timesteps": 50}, clock)
    found = results(folder)
    assert found.cells["total_timesteps"].tolist() == [50]
    assert found.episodes["timesteps"].tolist() == [10, 20, 30, 40, 50]
    assert found.episodes["t"].tolist() == [0, 1, 2, 2, 3]  # the pause is no training time


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[True, False], [True, True]], [(1.0, 0.0), (1.0, 1.0)]),
        ([[0.3, 0.0], [1.0, 1.0]], [(1.0, 0.0), (1.0, 1.0)]),
        ([[True, False]], [(), ()]),  # the callback writes them from the first on whose environment gives one
    ],
)
def test_successes_of_evaluations_are_those_of_the_suite(results, tmp_path, values, expected):
    path = tmp_path / "evaluations.npz"
    np.savez(path, timesteps=[1, 2], results=[[1.0, 2.0]] * 2, successes=np.array(values))
    assert results(path, **NAMES).evaluations["success"].tolist() == expected


@pytest.mark.parametrize("column", ["is_success", "success"])
def test_columns_of_a_monitor_may_be_successes(results, tmp_path, column):
    rows = "1,1,1,[ True]\n2,1,2,\n3,1,3,0.3\n4,1,4,False\n5,1,5,None\n"
    path = write_monitor(tmp_path / "monitor.csv", rows=rows, more=f",{column}")
    success = results(path, **NAMES).episodes["success"].tolist()
    assert [None if math.isnan(value) else value for value in success] == [1, None, 1, 0, None]
    edit(path, ",0.3", ",maybe")
    with pytest.raises(UsageError, match=rf"line 5: its column {column} has 'maybe'"):
        results(path, **NAMES)


HEAD = "env,algo,seed,step,return\n"


@pytest.mark.parametrize("text", [
    "\ufeffEnv; Algo;SEED;Step;Return;Note\r\nA-v1;x;0;1000;1,5;hé, ho\r\n\r\nA-v1;x;0;2000;-1,5e1;\r\n",
    "env;algo;seed;step;return\nA-v1;x;0;1000,0;1,5\nA-v1;x;0,0;2000;-15,0\n",
    "env,algo,seed,step,return\rA-v1,x,0,1000,1.5\rA-v1,x,0,2000,-15\r",
    '"env", "algo", "seed", "step", "return"\n"A-v1", "x", "0", "1000", "1.5"\n"A-v1", "x", "0", "2000", "-15"\n',
    "STEP,Other,Return,seed,algo,env\n1000,step,1.5,0,x,A-v1\n2000,,-15,0,x,A-v1\n",
])  # fmt: skip
def test_tables_of_spreadsheets_are_read(results, tmp_path, text):
    (tmp_path / "scores.csv").write_text(text, encoding="utf-8", newline="")
    evaluations = results(tmp_path / "scores.csv").evaluations
    assert evaluations[["timesteps", "return_mean"]].to_numpy().tolist() == [[1000, 1.5], [2000, -15]]


@pytest.mark.parametrize(("text", "words"), [
    ("env;algo;seed;step;return\nA-v1;x;0;1.000;12,5\n", "line 2.*step.*'1.000'"),
    ("env;algo;seed;step;return\nA-v1;x;0;10;1,5\nA-v1;x;0;20;1.5\n", "line 3.*return.*'1.5'"),
    (HEAD + "A-v1,x,0,1,3\n\nA-v1,x,0,2\n", "line 4 has 4 cells, the header 5"),
    (HEAD.replace("step", "steps") + "A-v1,x,0,1,3\n", "no column step; did you mean 'steps'"),
    ("Env,Algo,Seed,Step,STEP,Return\nA-v1,x,0,1,2,3\n", "several columns step"),
])  # fmt: skip
def test_what_a_table_may_mean_in_two_ways_or_in_none_is_refused(results, tmp_path, text, words):
    (tmp_path / "scores.csv").write_text(text)
    with pytest.raises(UsageError, match=words):
        results(tmp_path / "scores.csv")
