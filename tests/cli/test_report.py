"""`erlbench report`: what the command makes of its options."""

from pathlib import Path

import pytest

import erlbench.reporting
from erlbench.reporting.checklist import NAME as CHECKLIST
from erlbench.reporting.documents import OVERVIEW
from erlbench.reporting.options import PaperStyle, ReportOptions
from erlbench.reporting.page_cells import ALL_RUNS, REFERENCE
from tests.calls import call, refuse, succeed
from tests.tables import cells


@pytest.fixture
def built(monkeypatch):
    calls = []

    def build(options, studies, profile, warn):
        warn("one cell is missing")
        calls.append((options, list(studies), profile))
        return options.out / "index.html"

    monkeypatch.setattr(erlbench.reporting, "build_report", build)
    return calls


def test_report_takes_the_profile_from_the_folder(built, tmp_path):
    (tmp_path / "smoke").mkdir()
    result = call("report", tmp_path / "smoke", "--study", "aes-rl-table-1,aes-rl-figure-1")
    assert result.stdout == "report/index.html\n"
    assert result.stderr == "erlbench: one cell is missing\n"
    studies = ("aes-rl-table-1", "aes-rl-figure-1")
    options = ReportOptions(results=(tmp_path / "smoke",), out=Path("report"), study=studies)
    assert built == [(options, [*studies], "smoke")]


def test_a_tilde_that_no_shell_expanded_is_the_home_folder_and_no_folder_is_an_option(built, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "runs").mkdir()
    succeed("report", "~/runs", "--out", "~/report")
    assert built[0][0].results == (tmp_path / "runs",)
    assert built[0][0].out == tmp_path / "report"
    monkeypatch.chdir(tmp_path)
    succeed("report", "runs", "--out=-x")
    assert built[1][0].out == tmp_path / "-x"


@pytest.mark.parametrize("name", [ALL_RUNS, CHECKLIST, OVERVIEW, REFERENCE, "reference-mine"])
def test_a_study_with_the_name_of_another_page_is_refused_before_it_runs(name, built, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "studies.toml").write_text(
        f'[studies.{name}]\ntitle = "Mine"\nentries = [{{ algo = "td3" }}]\nseeds = 1\n'
        'total_timesteps = 1000\nenvs = ["Hopper-v5"]\n'
    )
    for result, code in ((call("run", "--study", name, "--dry-run"), 2), (call("report", tmp_path), 0)):
        assert result.exit_code == code
        assert f"studies.toml, line 1: the study '{name}'" in result.stderr


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("--reach", {"reach": ()}),
        ("--reach 20,3.5", {"reach": (3.5, 20.0)}),
        ("--paper", {"paper": PaperStyle()}),
        ("--columns a,b+c --x generation", {"columns": (("a",), ("b", "c")), "x": "generation"}),
        ("--baseline td3 --metric area", {"baseline": "td3", "metric": "area"}),
    ],
)
def test_report_options(built, tmp_path, words, options):
    succeed("report", tmp_path, *words.split())
    assert built[0][0] == ReportOptions(results=(tmp_path,), **options)


MISTAKES = """
none                       | there is no folder
--reach .                  | is no score
. --paper none.toml        | none.toml cannot be read
. --at 3e5 --columns sigma | leave --at out
. --side-by-side --at 3e5  | --at
. . --side-by-side         | the same folder twice
. --side-by-side           | report A B --side-by-side
"""


@pytest.mark.parametrize(("words", "message"), cells(MISTAKES))
def test_report_with_bad_input(built, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    refuse(message, "report", *words.split())
    assert built == []
