"""Writing rows: files that go back to a saved length, in the columns that they began with."""

from __future__ import annotations

import pytest

from erlbench.records.read import read_rows
from erlbench.records.schema import EpisodeRow, EvaluationRow, EventRow, GenerationRow, TaskRow, header, row_of
from erlbench.records.write import RowFile

EPISODE = EpisodeRow(0.1 + 0.2, 20, 0.5, "es", 0, 1, 20)
TASK = TaskRow(1, "es", 0, 3, 0.5, 1.0, 20, 0, 0, 0.25, 2, None, 0.125)


def test_a_file_goes_back_to_a_saved_length(tmp_path):
    file = RowFile(tmp_path, EpisodeRow, comment='{"env_id": 1}')
    file.start()
    file.write(EPISODE)
    saved = file.state()
    file.write(EPISODE)
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


def test_what_is_written_is_what_is_read(tmp_path):
    rows = {
        EpisodeRow: EPISODE,
        TaskRow: TASK,
        EventRow: EventRow(1.5, "worker died", 'task 1, "hung"'),
        EvaluationRow: row_of(EvaluationRow, {
            "timesteps": 7, "train_time_s": 0.1, "return_mean": 1.5, "returns": [1.0, 2.0], "lengths": [3, 4],
            "digest": "d",
        }),
    }  # fmt: skip
    for kind, row in rows.items():
        file = RowFile(tmp_path, kind)
        file.start()
        file.write(row)
        file.close()
        (found,) = read_rows(tmp_path, kind, pytest.fail).to_dict("records")
        for name in header(kind):
            value = getattr(row, name)
            if value not in (None, ""):
                assert found[name] == (tuple(value) if isinstance(value, list) else value), name


def test_the_algorithm_s_own_columns_come_from_the_first_row(tmp_path):
    def row(**own):
        return row_of(GenerationRow, {"generation": 1, "timesteps": 10, "train_time_s": 0.5, "metrics": own})

    file = RowFile(tmp_path, GenerationRow)
    file.start()
    assert file.path.read_text() == ""
    file.write(row(p=0.5, n=3))
    file.write(row(n=4, p=None))
    file.close()
    first, *lines = [line.split(",")[5:8] for line in file.path.read_text().splitlines()]
    assert first == ["actor_updates", "p", "n"]
    assert lines == [["", "0.5", "3"], ["", "", "4"]]


def test_a_file_that_an_older_version_began_goes_on_with_its_columns(tmp_path):
    columns = ["task", "kind", "process", "worker", "start_s", "end_s"]
    (tmp_path / "tasks.csv").write_text(",".join(columns) + "\n")
    file = RowFile(tmp_path, TaskRow)
    file.restore({"length": (tmp_path / "tasks.csv").stat().st_size, "crc": 0, "columns": columns})
    file.write(TASK)
    file.close()
    assert file.path.read_text().splitlines()[1] == "1,es,0,3,0.5,1.0"


def test_a_column_that_the_schema_does_not_have_is_empty_and_a_text_stays_on_its_line(tmp_path):
    file = RowFile(tmp_path, EventRow)
    file.restore({"length": 0, "crc": 0, "columns": ["time_s", "{1/0}", "event", "message"]})
    file.write(EventRow(0.5, "failed", "one\ntwo, three"))
    file.close()
    assert file.path.read_text() == '0.5,,failed,"one two, three"\n'
