"""The files of a run: one that was edited is noticed."""

import pytest

from erlbench.errors import CellError
from erlbench.running.recorder import Recorder


@pytest.mark.parametrize("damage", ["truncate", "edit"])
def test_an_edited_file_is_refused_by_name(tmp_path, damage):
    recorder = Recorder(tmp_path, "Hopper-v5")
    recorder.start()
    recorder.episodes.write({"r": 12.5, "l": 20, "t": 0.1, "kind": "es", "individual": 0, "task": 1, "timesteps": 20})
    saved = recorder.state()
    recorder.check(saved)
    path = tmp_path / "episodes.csv"
    data = path.read_bytes()
    path.write_bytes(data[:-4] if damage == "truncate" else data.replace(b"12.5", b"99.5"))
    with pytest.raises(CellError, match=r"episodes\.csv was edited or truncated"):
        recorder.check(saved)
    recorder.close()


def test_events_that_were_removed_begin_anew_with_their_header(tmp_path):
    recorder = Recorder(tmp_path, "Hopper-v5")
    recorder.start()
    saved = recorder.state()
    recorder.close()
    (tmp_path / "events.csv").unlink()
    recorder = Recorder(tmp_path, "Hopper-v5")
    recorder.restore(saved)
    recorder.event("resumed", "", 1.0)
    recorder.restore(saved)
    assert (tmp_path / "events.csv").read_text() == "time_s,event,message\n1.0,resumed,\n"
    recorder.close()


def test_rows_wait_for_a_flush_and_events_do_not(tmp_path):
    recorder = Recorder(tmp_path, "Hopper-v5")
    recorder.start()
    row = {"r": 12.5, "l": 20, "t": 0.1, "kind": "es", "individual": 0, "task": 1, "timesteps": 20}
    recorder.episodes.write(row)
    recorder.event("worker died", "task 1", 0.5)
    lines = [(tmp_path / name).read_text().splitlines() for name in ("episodes.csv", "events.csv")]
    assert [len(found) for found in lines] == [2, 2]  # a comment and a header; a header and the event
    recorder.flush()
    assert (tmp_path / "episodes.csv").read_text().splitlines()[2] == "12.5,20,0.1,es,0,1,20"
    recorder.episodes.write(row)
    saved = recorder.state()
    assert saved["episodes"]["length"] == (tmp_path / "episodes.csv").stat().st_size
    recorder.episodes.write(row)
    recorder.restore(saved)  # forgets what was not written
    recorder.close()
    assert len((tmp_path / "episodes.csv").read_text().splitlines()) == 4
