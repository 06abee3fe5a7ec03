"""Reading rows: what counts, what is left out with a warning, and that blocks of any size give the same."""

import os
from pathlib import Path

import pandas as pd
import pytest

from erlbench.files import Unusable
from erlbench.records import read
from erlbench.records.read import NAMED, read_rows
from erlbench.records.run import require_runs, run_folders, starts
from erlbench.records.schema import ROWS, EvaluationRow, EventRow, TaskRow, header  # fmt: skip
from erlbench.reporting.runs import find_runs
from tests.reporting.make_runs import make_run
from tests.tables import cells
from tests.users import FIRST, as_user, needs_root

RESULTS = Path(__file__).parents[2] / "results"
TASKS = "task,kind,process,individual,start_s,end_s\n"


def parsed(text, row=TaskRow):
    warnings = []
    return read_rows(Path(), row, warnings.append, text.encode()), warnings


@pytest.mark.data
def test_every_stored_row_is_read_without_a_warning():
    folders = run_folders(RESULTS)
    assert {path.parent for path in RESULTS.rglob("eval.csv")} <= {*folders} != set()
    for folder in folders:
        for row in ROWS:
            if (folder / row.file).exists():
                frame = read_rows(folder, row, pytest.fail)
                assert frame is not None
                assert [name for name in frame if name in header(row)] == list(header(row))


DAMAGED = """
1,es,0,0,0.5       | 5 cells instead of 6
1,es,0,0,oops,1.0  | start_s is 'oops', not a number
1,es,0,0,,1.0      | start_s is '', not a finite number
1,es,0,0,inf,1.0   | start_s is 'inf', not a finite number
1_0,es,0,0,0.5,1.0 | task is '1_0', not a number
"""


@pytest.mark.parametrize(("line", "problem"), cells(DAMAGED))
def test_a_damaged_row_is_left_out_and_named(line, problem):
    frame, warnings = parsed(f"{TASKS}0,es,0,0,0.0,1.0\n{line}\n2,es,0,0,1.0,2.0\n")
    assert list(frame["task"]) == [0, 2]
    assert warnings == [f"tasks.csv:3: row left out: {problem}"]


@pytest.mark.parametrize(
    ("rows", "kept", "count"),
    [
        ("0,es,0,0,0.0\n1,es,0,0,0.0,1.0,5\n2,es,0,0,1.0,2.0\n", [2], 2),  # a short and a long one are no two rows
        ("oops\n" * 50, [], NAMED + 1),  # the last warning counts the others
        ("0,es,0,0,0.0,1.0\n1,es,0,0,1.0,2", [0], 1),  # its line has no end
        ("0,a,0,0,0.0,1.0\n1,es,0,0,1.0,2.0\n0,b,0,0,0.0,1.0\n", [1, 0], 1),  # of repeated rows the later one counts
    ],
)
def test_what_is_left_out_is_counted(rows, kept, count):
    frame, warnings = parsed(TASKS + rows)
    assert (list(frame["task"]), len(warnings)) == (kept, count)
    assert count <= NAMED or f"{50 - NAMED} more rows left out" in warnings[-1]


def test_of_rows_that_go_back_the_later_ones_count():
    rows = "".join(f"{steps},{n},{n}.0\n" for n, steps in enumerate((0, 10, 20, 10, 30)))
    frame, warnings = parsed(f"timesteps,train_time_s,return_mean\n{rows}", EvaluationRow)
    assert (list(frame["train_time_s"]), len(warnings)) == ([0, 3, 4], 1)


def test_an_empty_cell_and_a_column_that_is_not_there_have_the_default():
    frame, warnings = parsed("task,kind,process,worker,start_s,end_s,staleness\n0,,0,3,0.0,1.0,\n")
    assert (warnings, list(frame)) == ([], list(header(TaskRow)))
    assert (frame.loc[0, "kind"], frame.loc[0, "individual"]) == ("", 3)  # whose older name is `worker`
    assert frame[["staleness", "cpu_s"]].isna().all(axis=None)
    evaluation, _ = parsed("timesteps,train_time_s,return_mean\n0,0.0,1.0\n", EvaluationRow)
    assert (evaluation.loc[0, "returns"], evaluation.loc[0, "digest"]) == ((), "")


@pytest.mark.parametrize(
    "text", ["", "# only a comment\n", "kind,process\nes,0\n", "task,task,process,start_s,end_s\n0,0,0,0,1\n"]
)
def test_a_file_without_its_columns_is_left_out_as_a_whole(text):
    frame, warnings = parsed(text)
    assert (frame, len(warnings)) == (None, 1)


def test_damaged_starts_of_a_run_hide_no_whole_one():
    assert starts({"starts": [True, {"cpu": "a"}, None]}) == [{"cpu": "a"}]
    assert starts({"starts": True}) == []


def test_what_no_run_writes_is_no_missing_file(tmp_path):
    warnings = []
    assert read_rows(tmp_path, TaskRow, warnings.append) is None
    assert len(warnings) == 1
    os.mkfifo(tmp_path / "tasks.csv")  # which an ordinary reader would wait for
    with pytest.raises(Unusable):
        read_rows(tmp_path, TaskRow)


def test_blocks_of_any_size_give_the_same_frames_and_warnings(monkeypatch):
    text = TASKS + "0,es,0,0,0.0,1.0\n1,es,0,0,oops,1\n2,es,0,0,1,2,3\n0,a,0,0,0.0,1.0\n3,es,,0,0,1\n4,es,0,0,1,nan\n"
    expected, warned = parsed(text)
    for size in (2, 1):
        monkeypatch.setattr(read, "BLOCK", size)
        frame, warnings = parsed(text)
        pd.testing.assert_frame_equal(frame, expected)
        assert warnings == warned


def test_texts_are_printable_and_quotes_are_read():
    frame, _ = parsed('time_s,event,message\n1.0,worker died,"task 1, by \x1b[31mhand"\n', EventRow)
    assert frame.loc[0, "message"] == "task 1, by \ufffd[31mhand"


@needs_root
def test_a_folder_that_its_user_may_not_read_is_left_out_and_named(tmp_path, monkeypatch, capfd):
    for seed, mode in ((0, 0o755), (1, 0), (2, 0o644)):
        make_run(tmp_path, "Hopper-v5", "td3", seed, [1.0]).chmod(mode)
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)  # no folder above needs to be readable

    def read():
        reported = []
        runs = find_runs([Path()], reported.append)
        return [run.name for run in require_runs(Path())], runs.seed.tolist(), reported

    named, seeds, reported = as_user(FIRST, read)
    assert (named, seeds) == (["seed-000"], [0])
    for lines in (capfd.readouterr().err.splitlines(), reported):
        assert ["seed-001 cannot be read" in lines[0], "seed-002 cannot be read" in lines[1]] == [True, True]
