"""CSV files that go back to a checkpoint."""

from erlbench.running.csv_file import CsvFile


def test_a_csv_file_goes_back_to_a_saved_length(tmp_path):
    file = CsvFile(tmp_path / "x.csv", ("a", "b"))
    file.start()
    file.write({"a": 1, "b": 0.1 + 0.2})
    saved = file.state()
    file.write({"a": 2, "b": [1.5, 2.0]})
    file.close()
    assert (tmp_path / "x.csv").read_text() == "a,b\n1,0.30000000000000004\n2,1.5 2.0\n"
    again = CsvFile(tmp_path / "x.csv", ("a", "b"))
    assert again.matches(saved)
    again.restore(saved)
    again.write({"a": 3, "b": None})
    again.close()
    assert (tmp_path / "x.csv").read_text() == "a,b\n1,0.30000000000000004\n3,\n"


def test_columns_may_come_from_the_first_row(tmp_path):
    file = CsvFile(tmp_path / "x.csv", None, comment='{"env": 1}')
    file.start()
    file.write({"p": 0.5, "n": 3})
    file.write({"n": 4, "p": 0.25})
    file.close()
    assert (tmp_path / "x.csv").read_text() == '#{"env": 1}\np,n\n0.5,3\n0.25,4\n'
