"""`erlbench show`, `list` and `report`."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench import reporting
from erlbench.cli import cli, show
from erlbench.envs import catalogue
from erlbench.envs.options import plain_values
from erlbench.experiment.studies import load_studies
from erlbench.frames import find_run_folders
from erlbench.reporting.options import ReportOptions
from erlbench.running.results import RunDirectory

CONFIG = """\
[run]
env = "Hopper-v5"
algo = "td3"
seed = 0

[settings]
hidden = [400, 300]
"""
EVAL = """\
evaluation,timesteps,return_mean,return_std,train_time_s
0,0,10.5,1.0,0.1
1,5000,2000,20.25,50
2,10000,3000.125,20.25,10
3,150"""


def invoke(*words: object):
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "Hopper-v5" / "td3" / "seed-000"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(CONFIG)
    status = {
        "status": "running",
        "timesteps": 10500,
        "total_timesteps": 1000000,
        "train_time_s": 200.0,
        "return_mean": 3000.125,
    }
    (folder / "status.json").write_text(json.dumps(status))
    (folder / "meta.json").write_text('{"cpu": "a CPU", "cores": 2}')
    (folder / "eval.csv").write_text(EVAL)
    return folder


def test_show_a_run(run):
    result = invoke("show", run, "--last", 2)
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "env Hopper-v5" in lines
    assert "hidden 400-300" in lines
    assert "status killed" in lines  # it says running, but nobody holds it
    assert "steps 10,500 of 1,000,000" in lines
    assert "train time 3 min" in lines
    assert lines[-2:] == ["5,000 50 2,000 20.25", "10,000 10 3,000.12 20.25"]  # the cut line is left out


@pytest.mark.parametrize(
    ("status", "steps", "shown"),
    [("done", 900, "900"), ("done", 1100, "1,100 of 1,000"), ("interrupted", 900, "900 of 1,000")],
)
def test_show_leaves_out_a_budget_that_generations_have_ended(run, tmp_path, status, steps, shown):
    (run / "status.json").write_text(json.dumps({"status": status, "timesteps": steps, "total_timesteps": 1000}))
    assert re.search(rf"{status} +{shown} +-", invoke("show", tmp_path).stdout)
    assert re.search(rf"steps +{shown} *\n", invoke("show", run).stdout)


def test_show_tells_the_updates_per_step(run):
    (run / "eval.csv").write_text("evaluation,timesteps,critic_updates,actor_updates\n0,0,0,0\n1,5000,1200,25000\n")
    lines = [" ".join(line.split()) for line in invoke("show", run).stdout.splitlines()]
    assert "critic updates per step 0.24" in lines
    assert "actor updates per step 5.00" in lines
    (run / "eval.csv").write_text("evaluation,timesteps,critic_updates,actor_updates\n0,0,0,0\n1,5000,0,0\n")
    assert "per step" not in invoke("show", run).stdout


def test_show_a_run_that_has_just_begun(run):
    for name in ("status.json", "meta.json", "eval.csv"):
        (run / name).unlink()
    result = invoke("show", run)
    assert result.exit_code == 0
    assert "No evaluation yet." in result.stdout


def test_show_scores_that_are_no_numbers(run):
    (run / "eval.csv").write_text(EVAL.replace("2000,20.25", "nan,inf"))
    result = invoke("show", run)
    assert result.exit_code == 0
    assert "5,000 50 nan inf" in [" ".join(line.split()) for line in result.stdout.splitlines()]


def test_show_damaged_files(run):
    (run / "status.json").write_text("{")
    assert invoke("show", run).exit_code == 0
    (run / "config.toml").write_text("= 3")
    result = invoke("show", run)
    assert result.exit_code == 2
    assert "config.toml cannot be read" in result.stderr


def test_show_all_runs_of_a_folder(run, tmp_path):
    result = invoke("show", tmp_path)
    assert result.exit_code == 0
    assert "Hopper-v5/td3/seed-000  killed  10,500 of 1,000,000  3,000.12" in result.stdout


def test_a_run_that_was_moved_aside_is_not_listed(run, tmp_path):
    RunDirectory(Path(shutil.copytree(run, run.with_name("seed-001")))).move_aside()
    result = invoke("show", tmp_path)
    assert "seed-000" in result.stdout
    assert "seed-001" not in result.stdout
    assert find_run_folders([tmp_path]) == [run]


def test_show_the_runs_of_several_folders(run, tmp_path):
    other = tmp_path / "other" / "cem" / "seed-001"
    shutil.copytree(run, other)
    (other / "status.json").write_text('{"status": "done", "timesteps": 5, "total_timesteps": 5, "return_mean": 7.0}')
    result = invoke("show", tmp_path / "Hopper-v5", tmp_path / "other")
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [line[:2] for line in lines[1:3]] == [[str(run), "killed"], [str(other), "done"]]
    assert "1 killed, 1 done" in result.stdout
    assert "none does not exist" in invoke("show", tmp_path, tmp_path / "none").stderr


SQUEUE = """#!/bin/sh
echo "$@" >> {calls}
[ $(wc -l < {calls}) -eq 1 ] && printf 'RUNNING\nPENDING\nPENDING\n'
exit 0
"""


def test_show_follows_while_slurm_has_jobs(run, tmp_path, monkeypatch):
    """Jobs that wait, or were preempted and wait again, are no reason to stop looking."""
    (tmp_path / ".jobs").mkdir()
    for job in ("17_0", "17_1", "17_2"):
        (tmp_path / ".jobs" / f"{job}_submitted.pkl").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "squeue").write_text(SQUEUE.format(calls=tmp_path / "calls"))
    (tmp_path / "bin" / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(show, "PAUSE", 0.0)
    result = invoke("show", tmp_path, "--follow")
    assert result.exit_code == 0
    assert "Jobs in Slurm: 1 running, 2 pending" in result.stdout
    assert result.stdout.count("1 killed") == 2, "it looked again while there were jobs"
    asked = set(re.search("--jobs=(.*)", (tmp_path / "calls").read_text())[1].split(","))
    assert asked == {"17_0", "17_1", "17_2"}


def test_show_nothing(tmp_path):
    result = invoke("show", tmp_path / "none")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"erlbench: {tmp_path / 'none'} does not exist; give a folder such as")
    assert "holds no runs" in invoke("show", tmp_path).stderr


@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_file_is_no_run(command, run):
    result = invoke(command, run / "config.toml")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"erlbench: {run / 'config.toml'} is a file; name a run's folder")


def test_list_algorithms():
    result = invoke("list", "algos")
    assert result.exit_code == 0
    rows = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert {"td3", "cem", "cem-rl", "p-cem-rl", "aes-rl"} <= set(rows)
    one = [" ".join(line.split()) for line in invoke("list", "algos", "aes-rl").stdout.splitlines()]
    assert "workers 5 (--workers)" in one
    assert "Presets of aes-rl (--algo aes-rl@PRESET)" in one
    assert any(line.startswith("batch_size ") for line in one)
    assert not any("td3 (--set" in line for line in one)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["algos", "cma-es", "cem"], ["cma-es", "cem"]),
        (["algos", "CEM-RL"], ["cem-rl", "p-cem-rl", "multi-actor-td3"]),
        (["envs", "hopper"], ["Hopper-v4", "Hopper-v5"]),
        (["studies", "table", "aes-rl"], ["aes-rl-table-1", "aes-rl-table-2", "aes-rl-table-3"]),
    ],
)
def test_words_filter_a_list(words, names):
    lines = invoke("list", *words).stdout.splitlines()
    assert [name for name in names if any(line.startswith(f"{name} ") for line in lines)] == names
    assert not any(line.startswith(("td3 ", "Ant-v5 ")) for line in lines)


def test_a_word_that_nothing_has():
    result = invoke("list", "envs", "Hoper-v5")
    assert result.exit_code == 2
    assert "no environment has Hoper-v5 in its name or description; did you mean 'Hopper-v5'?" in result.stderr


def test_list_environments():
    result = invoke("list", "envs")
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "Walker2d-v5 17 6 1000 @paper" in lines
    assert "erlbench/CyclicMDP-v0 3 3 2000 discrete" in lines
    verbose = invoke("list", "envs", "-v").stdout
    assert "Settings of Hopper-v5 (--env-set)" in verbose
    assert "healthy_z_range" in verbose


def test_defaults_of_an_environment_are_shown_as_they_are_given():
    lines = [
        " ".join(line.split())
        for line in invoke("list", "envs", "Walker2d-v5", "HumanoidStandup-v5").stdout.splitlines()
    ]
    assert "healthy_z_range [0.8,2.0]" in lines
    assert "impact_cost_range [-inf,10.0]" in lines
    assert "exclude_current_positions_from_observation true" in lines
    assert "camera_name" in lines  # None is nothing that can be given
    shown = dict(line.split(" ", 1) for line in lines if line.startswith(("healthy", "impact", "exclude", "xml_file")))
    assert plain_values(shown)["healthy_z_range"] == [0.8, 2.0]
    assert plain_values(shown)["impact_cost_range"] == [-math.inf, 10.0]
    assert plain_values(shown)["exclude_current_positions_from_observation"] is True


@pytest.mark.parametrize(
    ("name", "row", "changes"),
    [
        ("Hopper-v5@paper", "Hopper-v5@paper 11 3 1000", "paper reward +1 on the step that terminates an episode"),
        (
            "Ant-v5@paper",
            "Ant-v5@paper 111 8 1000",
            "paper include_cfrc_ext_in_observation=false, contact_cost_weight=0.0, "
            "reward +1 on the step that terminates an episode, 84 observations added, always 0",
        ),
        (
            "Reacher-v5@paper",
            "Reacher-v5@paper 11 2 50",
            "paper a step pays for the state that it starts from, 1 observation added, always 0",
        ),
        ("Swimmer-v5@v5", "Swimmer-v5 8 2 1000", "v5 nothing"),
    ],
)
def test_an_environment_with_its_preset_is_listed_with_what_that_changes(name, row, changes):
    result = invoke("list", "envs", name)
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[1].startswith(row)
    assert changes in lines
    assert ("contact_cost_weight 0.0" in lines) == name.startswith("Ant")
    assert sum(line.startswith("paper ") for line in lines) == 1


def test_a_preset_that_an_environment_lacks_is_not_listed():
    result = invoke("list", "envs", "Hopper-v5@papre")
    assert result.exit_code == 2
    assert "environment 'Hopper-v5' has no preset 'papre'; did you mean 'paper'?" in result.stderr
    assert "did you mean 'Hopper-v5'?" in invoke("list", "envs", "Hoper-v5@paper").stderr


@pytest.mark.parametrize(
    ("name", "dimension", "domain"), [("rastrigin", 10, "-5.12 to 5.12"), ("quadratic", 3, "-2 to 2")]
)
def test_a_function_is_listed_with_its_dimension_and_its_domain(name, dimension, domain):
    lines = [" ".join(line.split()) for line in invoke("list", "envs", f"function:{name}").stdout.splitlines()]
    assert f"dimension {dimension}" in lines
    assert f"Domain, where a search starts: {domain} in each dimension" in lines


def test_a_missing_extra_does_not_keep_environments_from_being_listed(monkeypatch):
    monkeypatch.setattr(catalogue, "find_spec", lambda module: None)
    result = invoke("list", "envs", "-v")
    assert result.exit_code == 0
    assert "extra box2d (not installed)" in result.stdout
    assert "extra dm-control (not installed)" in result.stdout
    assert "Settings of dm_control" not in result.stdout


def test_list_studies():
    result = invoke("list", "studies", "-v")
    assert result.exit_code == 0
    assert "aes-rl-table-3" in result.stdout
    assert "Profiles of aes-rl-figure-3" in result.stdout
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert any(line.startswith("paper 5 1,000,000; Humanoid-v5@paper-mujoco-1.50: ") for line in lines)
    assert any(line.startswith("paper 5 300 generations LunarLanderContinuous-v3") for line in lines)


def test_a_study_is_listed_with_its_source_not_with_the_table_of_its_published_numbers():
    lines = invoke("list", "studies").stdout.splitlines()
    assert re.split(" {2,}", lines[0]) == ["study", "source", "title"]
    rows = {name: source for name, source, _ in (re.split(" {2,}", line) for line in lines[1:-1])}
    assert rows["aes-rl-appendix-d"] == "AES-RL paper"
    assert rows["esac-figure-6-left"] == rows["esac-figure-7"] == "ESAC paper"
    assert rows["openai-es-figure-1"] == "OpenAI-ES paper"


def test_list_nothing_known():
    assert invoke("list", "algorithms").exit_code == 2


@pytest.fixture
def built(monkeypatch) -> list[tuple]:
    calls: list[tuple] = []

    def build(results, out, studies, profile, warn, options, reference, *, named):
        warn("one cell is missing")
        calls.append((tuple(results), out, list(studies), profile, options, named))
        return out / "index.html"

    monkeypatch.setattr(reporting, "build_report", build)
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
        (
            ["--columns", "a,b+c", "--x", "generation", "--smooth", 20, "--band", "range"],
            ReportOptions((("a",), ("b", "c")), x="generation", smooth=20, band="range"),
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


def test_show_follows_until_nothing_runs(run, monkeypatch):
    looks = []
    monkeypatch.setattr(show, "_status", lambda path: {"status": "running" if len(looks) < 2 else "done"})
    monkeypatch.setattr(show.time, "sleep", looks.append)
    result = invoke("show", run.parents[2], "--follow")
    assert result.exit_code == 0
    assert [line for line in result.stdout.splitlines() if line[0].isdigit()] == ["1 running", "1 running", "1 done"]
    assert looks == [show.PAUSE] * 2


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
