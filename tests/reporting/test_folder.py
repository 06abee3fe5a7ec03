"""A report's folder that somebody else has filled: nothing but an old report's own files goes."""

import shutil

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.reporting.folder import MANIFEST
from tests.reporting.make_runs import make_run


@pytest.fixture
def place(tmp_path):
    """Results, a folder for a report, and a file of the user's beside them."""
    make_run(tmp_path / "results", "Hopper-v5", "td3", 0, [1.0, 2.0])
    (tmp_path / "report").mkdir()
    (tmp_path / "thesis.tex").write_text("thesis")
    return tmp_path


def report(place):
    return CliRunner().invoke(cli, ["report", str(place / "results"), "--out", str(place / "report")])


@pytest.mark.parametrize("name", ["{place}/thesis.tex", "../thesis.tex", "a/../../thesis.tex", "link/thesis.tex"])
@pytest.mark.parametrize("said", ["", "6:c5b5a4b8 "])
def test_a_list_removes_nothing_outside(place, name, said):
    (place / "report" / MANIFEST).write_text(f"{said}{name.format(place=place)}\n")
    if name.startswith("link"):
        (place / "report" / "link").symlink_to(place)
    result = report(place)
    assert (place / "thesis.tex").read_text() == "thesis"
    assert result.exit_code == (2 if name.startswith("link") else 0), result.output


def test_a_list_removes_nothing_that_the_report_did_not_write(place):
    (place / "report" / "thesis.tex").write_text("thesis")
    for said in ("", "6:00000000 "):
        (place / "report" / MANIFEST).write_text(f"{said}thesis.tex\n")
        assert report(place).exit_code == 0
        assert (place / "report" / "thesis.tex").read_text() == "thesis"
    assert "thesis.tex" not in (place / "report" / MANIFEST).read_text()


@pytest.mark.parametrize("name", ["index.html", MANIFEST, "cells.csv", "a-folder"])
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


def test_files_of_the_report_before_go_and_edited_ones_stay(place):
    assert report(place).exit_code == 0
    listed = [line.partition(" ")[2] for line in (place / "report" / MANIFEST).read_text().splitlines()]
    assert {"index.html", "cells.csv"} <= set(listed)
    (old,) = [place / "report" / name for name in listed if name == "cells.csv"]
    shutil.copy(old, place / "report" / "old.csv")
    (place / "report" / "page").mkdir()
    shutil.copy(old, place / "report" / "page" / "old.csv")
    text = (place / "report" / MANIFEST).read_text()
    said = next(line.partition(" ")[0] for line in text.splitlines() if line.endswith(" cells.csv"))
    (place / "report" / MANIFEST).write_text(f"{text}{said} old.csv\n{said} page/old.csv\n{said} mine.csv\n")
    (place / "report" / "mine.csv").write_text("edited")
    assert report(place).exit_code == 0
    assert not (place / "report" / "old.csv").exists()
    assert not (place / "report" / "page").exists(), "nothing is left in this folder"
    assert (place / "report" / "mine.csv").read_text() == "edited"
