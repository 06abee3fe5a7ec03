"""A report's folder that somebody else has filled: no file of another program goes, and no link is followed."""

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.reporting import MARKER
from tests.reporting.make_runs import make_run


@pytest.fixture
def place(tmp_path):
    """Results, a folder for a report, and a file of the user's beside them."""
    make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])
    (tmp_path / "report").mkdir()
    (tmp_path / "thesis.tex").write_text("thesis")
    return tmp_path


def report(place, *words):
    return CliRunner().invoke(cli, ["report", str(place / "results"), "--out", str(place / "report"), *words])


def test_a_folder_with_other_files_is_refused_and_one_with_a_report_is_written_again(place):
    (place / "report" / "thesis.tex").write_text("thesis")
    refused = report(place)
    assert (refused.exit_code, [path.name for path in (place / "report").iterdir()]) == (2, ["thesis.tex"])
    assert "holds other files and no report" in " ".join(refused.output.split())
    (place / "report" / MARKER).write_text("../thesis.tex\nthesis.tex\n")  # a stranger's marker names no file to remove
    for _ in range(2):
        assert report(place).exit_code == 0
    assert (place / "report" / "thesis.tex").read_text() == (place / "thesis.tex").read_text() == "thesis"


@pytest.mark.parametrize("name", ["index.html", MARKER, "cells.csv", "a-folder"])
def test_a_link_is_neither_followed_nor_overwritten(place, name):
    assert report(place).exit_code == 0
    path = place / "report" / name
    path.unlink(missing_ok=True)
    path.symlink_to(place / "thesis.tex" if name != "a-folder" else place)
    result = report(place)
    assert result.exit_code == 2
    assert str(path) in "".join(result.output.split("\n"))
    assert (place / "thesis.tex").read_text() == "thesis"
    assert path.is_symlink()
