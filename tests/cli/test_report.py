"""`erlbench report`: what the command makes of its options."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.experiment.studies import load_studies
from erlbench.reporting import request
from erlbench.reporting.data.cut import Moment
from erlbench.reporting.options import ReportOptions


def invoke(*words: object):
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture
def built(monkeypatch) -> list[tuple]:
    calls: list[tuple] = []

    def build(results, out, studies, profile, warn, options, reference, *, named, counting):
        assert {*studies} <= {study.name for study in counting}
        warn("one cell is missing")
        calls.append((tuple(results), out, list(studies), profile, options, named))
        return out / "index.html"

    monkeypatch.setattr(request, "build_report", build)
    return calls


def test_report_takes_the_profile_from_the_folder(built, tmp_path):
    (tmp_path / "smoke").mkdir()
    result = invoke("report", tmp_path / "smoke", "--study", "aes-rl-table-1,aes-rl-figure-1")
    assert result.exit_code == 0
    assert result.stdout == "report/index.html\n"
    assert result.stderr == "erlbench: one cell is missing\n"
    assert built == [
        ((tmp_path / "smoke",), Path("report"), ["aes-rl-table-1", "aes-rl-figure-1"], "smoke", ReportOptions(), True)
    ]


@pytest.mark.parametrize("name", ["all-runs", "reference", "reference-mine"])
def test_a_study_with_the_name_of_another_page_is_refused(built, tmp_path, name):
    (tmp_path / "mine.toml").write_text(
        f'[studies.{name}]\ntitle = "Mine"\nkind = "scores"\nentries = [{{ algo = "td3" }}]\n'
        f'[studies.{name}.profiles.smoke]\nseeds = 1\ntotal_timesteps = 1000\nenvs = ["Hopper-v5"]\n'
    )
    result = invoke("report", tmp_path, "--studies", tmp_path / "mine.toml")
    assert result.exit_code == 2
    assert f"study '{name}'" in result.stderr


def test_report_draws_the_formats_that_are_asked_for(built, tmp_path):
    assert invoke("report", tmp_path, "--formats", "png, svg,png").exit_code == 0
    assert built[0][4].formats == ("png", "svg")
    result = invoke("report", tmp_path, "--formats", "png,jpg")
    assert result.exit_code == 2
    assert all(name in result.stderr for name in ("jpg", "png", "svg", "pdf"))


def test_report_without_a_profile(built, tmp_path):
    result = invoke("report", tmp_path, "--out", tmp_path / "out", "--columns", "sigma,best+mean")
    assert result.exit_code == 0
    assert built[0][4].panels == (("sigma",), ("best", "mean"))
    assert built[0][1] == tmp_path / "out"
    assert built[0][2] == list(load_studies())
    assert built[0][3] is None
    assert not built[0][5]  # no study was named


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--reach"], ReportOptions(reach=())),
        (["--reach", "--out", "elsewhere"], ReportOptions(reach=())),
        (["--reach", "20,3.5"], ReportOptions(reach=(3.5, 20.0))),
        (["--reach=-150"], ReportOptions(reach=(-150.0,))),
        (["--at", "3e5"], ReportOptions(at=Moment(300_000))),
        (["--at", "2.5min"], ReportOptions(at=Moment(2.5, minutes=True))),
        (["--table", "--statistic", "iqm", "--grid"], ReportOptions(table=True, statistic="iqm", grid=True)),
        (
            ["--columns", "a,b+c", "--x", "generation", "--smooth", 20, "--band", "range"],
            ReportOptions(panels=(("a",), ("b", "c")), x="generation", smooth=20, band="range"),
        ),
    ],
)
def test_report_options(built, tmp_path, words, options):
    assert invoke("report", tmp_path, *words).exit_code == 0
    assert built[0][4] == options


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{tmp}/none"], "there is no folder"),
        (["--reach", "{tmp}"], "is no score; give numbers such as --reach=250,475.5, or --reach=published (folders"),
        (["{tmp}", "--x", "generations"], "did you mean 'generation'?"),
        (["{tmp}", "--band", "interval"], "there are auto, range"),
        (["{tmp}", "--smooth", "0"], "1 leaves curves as is"),
        (["{tmp}", "--table", "--statistic", "iqr"], "--statistic iqr: no such choice; did you mean 'iqm'?"),
        (["{tmp}", "--grid", "--style", "{tmp}/none.toml"], "none.toml cannot be read: No such file or directory"),
        (["{tmp}", "--at", "inf"], "--at inf: no training steps or minutes; give 300000, 3e5 or 30min"),
        (["{tmp}", "--at", "1.5"], "--at 1.5: no training steps or minutes"),
        (["{tmp}", "--at", "3e5", "--columns", "sigma"], "--columns draws whole runs; leave --at out"),
        (["{tmp}", "--study", "aes-rl-tabel-1"], "did you mean 'aes-rl-table-1'?"),
        (
            ["{tmp}", "--study", "aes-rl-table-1", "--profile", "lapton"],
            "unknown profile 'lapton' of study 'aes-rl-table-1'; did you mean 'laptop'?",
        ),
    ],
)
def test_report_with_bad_input(built, tmp_path, words, message):
    result = invoke("report", *(word.format(tmp=tmp_path) for word in words))
    assert result.exit_code == 2
    assert message in result.stderr
    assert built == []


OWN_STUDY = """\
[studies.mine]
title = "Mine"
kind = "scores"
baseline = "cem"
entries = [{ name = "cem", algo = "cem" }, { name = "openai-es", algo = "openai-es" }]

[studies.mine.profiles.quick]
seeds = [0, 1]
total_timesteps = 3000
envs = ["CartPole-v1"]
"""


def test_the_profile_of_a_study_of_ones_own(built, tmp_path):
    """No other study needs to have it, unless it is named."""
    (tmp_path / "mine.toml").write_text(OWN_STUDY)
    words = ["report", tmp_path, "--studies", tmp_path / "mine.toml", "--profile", "quick"]
    result = invoke(*words)
    assert (result.exit_code, [call[3] for call in built]) == (0, ["quick"]), result.stderr
    assert "unknown profile 'quick'" in invoke(*words, "--study", "aes-rl-table-1").stderr
