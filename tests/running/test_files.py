"""The files of a run: one that was edited is noticed."""

from erlbench.records.schema import EpisodeRow, EventRow
from erlbench.records.write import RowFiles

ROW = EpisodeRow(12.5, 20, 0.1, "es", 0, 1, 20)


def test_events_that_were_removed_begin_anew_with_their_header(tmp_path):
    files = RowFiles(tmp_path, "Hopper-v5")
    files.start()
    saved = files.state()
    files.close()
    (tmp_path / "events.csv").unlink()
    files = RowFiles(tmp_path, "Hopper-v5")
    files.restore(saved)
    files.write(EventRow(1.0, "resumed", ""))
    files.restore(saved)
    assert (tmp_path / "events.csv").read_text() == "time_s,event,message\n1.0,resumed,\n"
    files.close()


def test_rows_wait_for_a_flush_and_events_do_not(tmp_path):
    files = RowFiles(tmp_path, "Hopper-v5")
    files.start()
    files.write(ROW)
    files.write(EventRow(0.5, "worker died", "task 1"))
    lines = [(tmp_path / name).read_text().splitlines() for name in ("episodes.csv", "events.csv")]
    assert [len(found) for found in lines] == [2, 2]  # a comment and a header; a header and the event
    files.flush()
    assert (tmp_path / "episodes.csv").read_text().splitlines()[2] == "12.5,20,0.1,es,0,1,20,,,"
    files.write(ROW)
    saved = files.state()
    assert saved["episodes"]["length"] == (tmp_path / "episodes.csv").stat().st_size
    files.write(ROW)
    files.restore(saved)  # forgets what was not written
    files.close()
    assert len((tmp_path / "episodes.csv").read_text().splitlines()) == 4
