"""Writing rows: files that go back to a saved length, in the columns that they began with."""

from pathlib import Path

import numpy as np
import pytest

from erlbench.records.read import read_rows
from erlbench.records.schema import (
    COUNTED,
    ROWS,
    EpisodeRow,
    EvaluationRow,
    EventRow,
    GenerationRow,
    TaskRow,
    declared,
    header,
    list_columns,
    make_row,
)
from erlbench.records.training import TrainingReturns, running_means
from erlbench.records.write import RowFile, RowFiles
from tests.runs import complete, interrupt, make_cell, status

EPISODE = EpisodeRow(0.1 + 0.2, 20, 0.5, "es", 0, 1, 20)
TASK = TaskRow(1, "es", 0, 3, 0.5, 1.0, 20, 0, 0, 0.25, 2, None, 0.125)


def test_a_file_goes_back_to_a_saved_length(tmp_path):
    file = RowFile(tmp_path, EpisodeRow, comment='{"env_id": 1}')
    file.start()
    file.write(EPISODE)
    saved = file.state()
    file.write(EPISODE)
    file.flush()
    file.close()
    text = (
        '#{"env_id": 1}\nr,l,t,kind,individual,task,timesteps,success,success_ever,info\n'
        "0.30000000000000004,20,0.5,es,0,1,20,,,\n"
    )
    assert file.path.read_text() == text + text.splitlines()[-1] + "\n"
    again = RowFile(tmp_path, EpisodeRow)
    assert again.matches(saved)
    again.restore(saved)
    again.close()
    assert file.path.read_text() == text


def test_rows_wait_for_a_flush_and_events_do_not(tmp_path):
    files = RowFiles(tmp_path, "Hopper-v5")
    files.start()
    files.write(EPISODE)
    files.write(EventRow(0.5, "worker died", "task 1"))
    lines = [(tmp_path / name).read_text().splitlines() for name in ("episodes.csv", "events.csv")]
    assert [*map(len, lines)] == [2, 2]  # a comment and a header; a header and the event
    files.flush()
    files.write(EPISODE)
    saved = files.state()
    assert saved["episodes"]["length"] == (tmp_path / "episodes.csv").stat().st_size
    files.write(EPISODE)
    files.restore(saved)  # forgets what was not written
    assert len((tmp_path / "episodes.csv").read_text().splitlines()) == 4
    files.close()
    (tmp_path / "events.csv").unlink()
    files = RowFiles(tmp_path, "Hopper-v5")
    files.restore(saved)
    files.write(EventRow(1.0, "resumed", ""))
    files.close()
    assert (tmp_path / "events.csv").read_text() == "time_s,event,message\n1.0,resumed,\n"


def test_what_is_written_is_what_is_read(tmp_path):
    evaluation = {"timesteps": 7, "train_time_s": 0.1, "return_mean": 1.5, "returns": [1.0, 2.0], "lengths": [3, 4]}
    event = EventRow(1.5, "worker died", 'task 1, "hung"')
    for row in (EPISODE, TASK, event, make_row(EvaluationRow, evaluation)):
        file = RowFile(tmp_path, type(row))
        file.start()
        file.write(row)
        file.flush()
        file.close()
        (values,) = read_rows(tmp_path, type(row), pytest.fail).to_dict("records")
        for name in header(type(row)):
            value = getattr(row, name)
            if value not in (None, ""):
                assert values[name] == (tuple(value) if isinstance(value, list) else value), name


def test_the_algorithm_s_own_columns_come_from_the_first_row(tmp_path):
    def row(number, **own):
        values = {"generation": number, "timesteps": 10 * number, "train_time_s": 0.5, "metrics": own}
        return make_row(GenerationRow, values)

    file = RowFile(tmp_path, GenerationRow)
    file.start()
    assert file.path.read_text() == ""
    file.write(row(1, p=0.5, n=3))
    file.write(row(2, n=4, p=None))
    file.flush()
    file.close()
    first, *lines = [line.split(",")[5:8] for line in file.path.read_text().splitlines()]
    assert first == ["actor_updates", "p", "n"]
    assert lines == [["", "0.5", "3"], ["", "", "4"]]
    frame = read_rows(tmp_path, GenerationRow, pytest.fail)
    assert (list(frame), frame["n"].tolist()) == ([*header(GenerationRow, ("p", "n"))], [3, 4])


PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()


@pytest.mark.parametrize("row", ROWS)
def test_each_column_is_explained_and_no_two_share_a_name(row):
    names = [name for column in list_columns(row) for name in (column.name, *column.was)]
    assert len(set(names)) == len(names)
    assert all(column.help for column in list_columns(row))
    assert {row.grows, row.unique} - {""} <= declared(row).keys()
    assert f"<!-- columns: {row.file} -->" in PAGE.partition(f"### {row.file}\n")[2]  # where the site's hook puts them


def test_equal_runs_may_differ_in_what_a_clock_measured_alone():
    measured = {column.name for row in COUNTED for column in list_columns(row) if column.measured}
    assert measured == {
        "train_time_s", "total_time_s", "t", "ready_s", "start_s", "end_s", "cpu_s", "paused_s",
        "process", "queueing_median_s", "queueing_90_s", "busy_processes",
    }  # fmt: skip


def test_only_training_episodes_count_and_only_the_last_hundred():
    returns = TrainingReturns()
    assert returns.mean is None
    for value in range(250):
        for number, kind in ((float(value), ("es", "rl", "random")[value % 3]), (-1e9, "mean"), (1e9, "validation")):
            returns.add(make_row(EpisodeRow, {"r": number, "l": 10, "kind": kind}))
    assert returns.mean == pytest.approx(np.mean(range(150, 250)))


@pytest.mark.parametrize(("algo", "steps"), [("cem", 2500), ("aes-rl", 700)])  # the latter has episodes of its mean
def test_the_mean_of_a_run_is_that_of_its_file_also_after_an_interruption(tmp_path, algo, steps):
    cell = interrupt(make_cell(algo, tmp_path, steps=steps), 30, 10)
    for _ in range(2):
        rows = read_rows(cell.directory, EpisodeRow)
        values = rows[~rows["kind"].isin(("mean", "validation"))]["r"].to_numpy()
        assert status(cell)["training_return"] == pytest.approx(values[-100:].mean())
        means = [values[max(0, end - 100) : end].mean() for end in range(1, len(values) + 1)]
        np.testing.assert_allclose(running_means(rows)["mean"], means)
        complete(cell)
    assert len(values) > 100 or algo != "cem"
