"""`erlbench report`: what the command makes of its options."""

from pathlib import Path

import pytest

import erlbench.reporting
from erlbench.reporting.options import PaperStyle, ReportOptions
from tests.calls import call, refuse, succeed
from tests.reporting.make_runs import make_run


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
    assert (result.stdout, result.stderr) == ("report/index.html\n", "erlbench: one cell is missing\n")
    studies = ("aes-rl-table-1", "aes-rl-figure-1")
    options = ReportOptions(results=(tmp_path / "smoke",), out=Path("report"), study=studies)
    assert built == [(options, [*studies], "smoke")]


def test_a_tilde_that_no_shell_expanded_is_the_home_folder(built, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "runs").mkdir()
    succeed("report", "~/runs", "--out", "~/report")
    assert (built[0][0].results, built[0][0].out) == ((tmp_path / "runs",), tmp_path / "report")


def test_a_study_with_the_name_of_another_page_is_refused(built, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("all-runs", "reference", "reference-mine"):
        (tmp_path / "studies.toml").write_text(
            f'[studies.{name}]\ntitle = "Mine"\nentries = [{{ algo = "td3" }}]\nseeds = 1\n'
            'total_timesteps = 1000\nenvs = ["Hopper-v5"]\n'
        )
        refuse(f"study '{name}'", "report", tmp_path)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--reach"], {"reach": ()}),
        (["--reach", "20,3.5"], {"reach": (3.5, 20.0)}),
        (["--paper"], {"paper": PaperStyle()}),
        (["--columns", "a,b+c", "--x", "generation"], {"columns": (("a",), ("b", "c")), "x": "generation"}),
        (["--baseline", "td3", "--metric", "area"], {"baseline": "td3", "metric": "area"}),
    ],
)
def test_report_options(built, tmp_path, words, options):
    succeed("report", tmp_path, *words)
    assert built[0][0] == ReportOptions(results=(tmp_path,), **options)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{tmp}/none"], "there is no folder"),
        (["--reach", "{tmp}"], "is no score"),
        (["{tmp}", "--paper", "{tmp}/none.toml"], "none.toml cannot be read: No such file or directory"),
        (["{tmp}", "--at", "3e5", "--columns", "sigma"], "--columns draws whole runs; leave --at out"),
        (["{tmp}", "--side-by-side", "--at", "3e5"], "leave --study, --at, --baseline, --reference out"),
        (["{tmp}", "{tmp}", "--side-by-side"], "the same folder twice"),
        (["{tmp}", "--side-by-side"], "report A B --side-by-side"),
    ],
)
def test_report_with_bad_input(built, tmp_path, words, message):
    refuse(message, "report", *(word.format(tmp=tmp_path) for word in words))
    assert built == []


def test_folders_are_compared_side_by_side(tmp_path):
    for folder, score in (("a", 10), ("b", 12)):
        for seed in range(6):
            make_run(tmp_path / folder, "Ant-v5", "td3", seed, [0, score + seed])
    output = succeed("report", tmp_path / "a", tmp_path / "b", "--side-by-side", "--out", tmp_path / "out")
    rows = {" ".join(line.split()) for line in output.splitlines()}
    assert "td3 b 12.5 ± 1.87 14.5 ± 1.87 +16.0 % unknown equal 0.126" in rows
    assert output.endswith(f"{tmp_path / 'out' / 'index.html'}\n")
