"""`erlbench report`: what the command makes of its options."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.options import list_options
from erlbench.reporting import request
from erlbench.reporting.options import PaperStyle, ReportOptions
from erlbench.reporting.score import Moment


def invoke(*words: object):
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture
def built(monkeypatch) -> list[tuple]:
    calls: list[tuple] = []

    def build(results, out, studies, profile, warn, options, reference, *, named):
        warn("one cell is missing")
        calls.append((tuple(results), out, list(studies), profile, named, options))
        return out / "index.html"

    monkeypatch.setattr(request, "build_report", build)
    return calls


def test_report_takes_the_profile_from_the_folder(built, tmp_path):
    (tmp_path / "smoke").mkdir()
    result = invoke("report", tmp_path / "smoke", "--study", "aes-rl-table-1,aes-rl-figure-1")
    assert result.exit_code == 0
    assert result.stdout == "report/index.html\n"
    assert result.stderr == "erlbench: one cell is missing\n"
    assert [call[:5] for call in built] == [
        ((tmp_path / "smoke",), Path("report"), ["aes-rl-table-1", "aes-rl-figure-1"], "smoke", True)
    ]


@pytest.mark.parametrize("name", ["all-runs", "reference", "reference-mine"])
def test_a_study_with_the_name_of_another_page_is_refused(built, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "studies.toml").write_text(
        f'[studies.{name}]\ntitle = "Mine"\nkind = "scores"\nentries = [{{ algo = "td3" }}]\n'
        f'[studies.{name}.profiles.smoke]\nseeds = 1\ntotal_timesteps = 1000\nenvs = ["Hopper-v5"]\n'
    )
    result = invoke("report", tmp_path)
    assert result.exit_code == 2
    assert f"study '{name}'" in result.stderr


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--reach"], {"reach": ()}),
        (["--reach", "--out", "report"], {"reach": ()}),
        (["--reach", "20,3.5"], {"reach": (3.5, 20.0)}),
        (["--reach=-150"], {"reach": (-150.0,)}),
        (["--at", "3e5"], {"at": Moment(300_000)}),
        (["--at", "2.5min"], {"at": Moment(2.5, minutes=True)}),
        (["--paper"], {"paper": PaperStyle()}),
        (["--columns", "a,b+c", "--x", "generation"], {"columns": (("a",), ("b", "c")), "x": "generation"}),
        (
            ["--baseline", "td3", "--metric", "area", "--checklist"],
            {"baseline": "td3", "metric": "area", "checklist": True},
        ),
    ],
)
def test_report_options(built, tmp_path, words, options):
    assert invoke("report", tmp_path, *words).exit_code == 0
    assert built[0][5] == ReportOptions(results=(tmp_path,), **options)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{tmp}/none"], "there is no folder"),
        (["--reach", "{tmp}"], "is no score; give numbers such as --reach=250,475.5, or --reach=published (folders"),
        (["{tmp}", "--x", "generations"], "did you mean 'generation'?"),
        (["{tmp}", "--metric", "finals"], "did you mean 'final'?"),
        (["{tmp}", "--paper", "{tmp}/none.toml"], "none.toml cannot be read: No such file or directory"),
        (["{tmp}", "--at", "inf"], "--at inf: no training steps or minutes; give 300000, 3e5 or 30min"),
        (["{tmp}", "--at", "1.5"], "--at 1.5: no training steps or minutes"),
        (["{tmp}", "--at", "3e5", "--columns", "sigma"], "--columns draws whole runs; leave --at out"),
        (["{tmp}", "--study", "aes-rl-tabel-1"], "did you mean 'aes-rl-table-1'?"),
        (["{tmp}", "--side-by-side", "--at", "3e5"], "leave --study, --at, --baseline, --reference out"),
        (["{tmp}", "{tmp}", "--side-by-side"], "the same folder twice"),
    ],
)
def test_report_with_bad_input(built, tmp_path, words, message):
    result = invoke("report", *(word.format(tmp=tmp_path) for word in words))
    assert result.exit_code == 2
    assert message in result.stderr
    assert built == []


def test_the_options_are_few():
    assert len(list_options(ReportOptions)) <= 14
    result = invoke("report", "--help")
    assert [
        f"--{name}" for name in ("smooth", "band", "profile", "studies", "failed") if f"--{name}" in result.stdout
    ] == []
