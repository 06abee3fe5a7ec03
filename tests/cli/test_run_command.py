"""`erlbench run`: bad input, what reaches the runner, and exit codes."""

from __future__ import annotations

import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench.cli import cells as command
from erlbench.cli import cli
from erlbench.errors import Interrupted
from erlbench.experiment.cells import Cell, RunOptions
from tests.runs import write_options


def invoke(*words: str):
    return CliRunner().invoke(cli, ["run", *words])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "nothing to run: give --algo and --env, or --study"),
        ("--algo td3", "nothing to run: give --algo and --env, or --study"),
        ("--algo td4 --env Hopper-v5", "unknown algorithm 'td4'; did you mean 'td3'?"),
        ("--algo xyzzy --env Hopper-v5", "unknown algorithm 'xyzzy'; there are td3, "),
        ("--algo td3@defalt --env Hopper-v5", "unknown preset 'defalt' of td3; did you mean 'default'?"),
        ("--algo td3@paper --env Hopper-v5", "unknown preset 'paper' of td3; it is called 'default' now"),
        ("--algo td3 --env Hoper-v5", "environment 'Hoper-v5' cannot be made"),
        ("--algo cem --env CartPole-v1 --set bins=5", "bins=5 is for continuous actions; CartPole-v1 has discrete"),
        ("--algo aes-rl --env CartPole-v1 --set learner=sac", "learner=sac is for continuous actions; CartPole-v1 has"),
        ("--algo openai-es --env Hopper-v5 --set noise_table=99", "noise_table (99) must be at least as long as the "),
        ("--algo cma-es --env Hopper-v5 --set covariance=full --set hidden=9999-9999", "a full covariance matrix of "),
        (
            "--algo nevergrad --env Hopper-v5 --set optimizer=Cobyla --set batch=2",
            "nevergrad's optimizer Cobyla evaluates one candidate after the other; leave batch and num_workers at none",
        ),
        ("--algo td3 --env Hopper-v5@papre", "'Hopper-v5' has no preset 'papre'; did you mean 'paper'?"),
        ("--algo td3 --env Hopper-v5 --env-set frame_skp=2", "no setting 'frame_skp'; did you mean 'frame_skip'?"),
        ("--algo td3 --env Hopper-v5 --env-set frame_skip=0", "must be an integer of at least 1, not 0"),
        ("--algo td3 --env Hopper-v5 --set tua=1", "unknown setting 'tua' of td3; did you mean 'tau'?"),
        ("--algo td3 --env Hopper-v5 --set tau=2", "setting 'tau' of td3 must be at most 1, not '2'"),
        ("--algo td3 --env Hopper-v5 --workers 2", "--workers means nothing to td3"),
        ("--algo aes-rl --env Hopper-v5 --workers 0", "--workers must be at least 1"),
        ("--algo td3 --env Hopper-v5 --profile smoke", "--profile belongs to --study"),
        ("--algo td3,cem --env Hopper-v5 --name a", "--name needs one algorithm"),
        ("--study aes-rl-tabel-1", "unknown study 'aes-rl-tabel-1'; did you mean 'aes-rl-table-1'?"),
        (
            "--study aes-rl-table-1 --profile smok",
            "unknown profile 'smok' of study 'aes-rl-table-1'; did you mean 'smoke'?",
        ),
        ("--study aes-rl-table-1 --name x", "--name cannot be given with --study"),
        ("--study aes-rl-table-1 --workers 3", "--workers cannot be given with --study"),
        ("--study aes-rl-table-1 --algo td3", "--algo td3 is in none of the studies"),
        ("--study aes-rl-table-1 --env Ant-v5", "--env Ant-v5 is in none of the studies"),
        ("--study aes-rl-table-1 --set tua=1", "did you mean 'tau'?"),
    ],
)
def test_bad_input_gets_one_message_and_exit_code_2(words, message):
    result = invoke(*words.split())
    assert result.exit_code == 2
    assert result.stderr.startswith("erlbench: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_settings_are_checked_for_every_environment(monkeypatch):
    """Eight bins fit the first one only, and nothing has begun when the second is refused."""
    monkeypatch.setattr(command, "run_cells", lambda cells, options, schedule: pytest.fail("began"))
    result = invoke("--algo", "cem", "--env", "Hopper-v5,CartPole-v1", "--set", "bins=8")
    assert result.exit_code == 2
    assert "CartPole-v1 has discrete ones" in result.stderr


def test_an_unexpected_error_has_its_traceback_with_v(monkeypatch):
    def broken(cells, options, schedule):
        raise RuntimeError("broken")

    monkeypatch.setattr(command, "run_cells", broken)
    result = invoke("--algo", "cem", "--env", "Hopper-v5", "--quiet")
    assert result.exit_code == 1
    assert result.stderr.startswith("erlbench: unexpected RuntimeError: broken")
    assert result.stderr.endswith(" (run again with -v for the traceback)\n")
    assert "Traceback" not in result.stderr
    result = invoke("--algo", "cem", "--env", "Hopper-v5", "-v")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


@pytest.mark.parametrize(
    ("outcome", "code"), [(0, 0), (1, 1), (130, 130), (Interrupted("saved"), 130), (KeyboardInterrupt(), 130)]
)
def test_exit_codes(monkeypatch, outcome, code):
    def run_cells(cells, options, schedule):
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(command, "run_cells", run_cells)
    assert invoke("--algo", "cem", "--env", "Hopper-v5").exit_code == code


def test_cells_and_options_reach_the_runner(monkeypatch, tmp_path):
    config = write_options(tmp_path / "config.toml", checkpoint_every=5, task_timeout=60, evaluate="after")
    seen: list[tuple[list[Cell], RunOptions]] = []
    monkeypatch.setattr(command, "run_cells", lambda cells, options, schedule: seen.append((cells, options)) or 0)
    result = invoke(
        "--algo", "aes-rl,cem@no-extra-division", "--env", "Hopper-v5", "--env", "Humanoid-v5", "--seeds", "0,7",
        "--total-timesteps", "2e4", "--workers", "3", "--processes", "4", "--jobs", "2", "--device", "cpu",
        "--config", config, "--simulated-time", "--out", "there",
        "--force", "-q", "--eval-freq", "100", "--eval-episodes", "2", "--one-core",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    [(cells, options)] = seen
    assert len(cells) == 8
    first, second = cells[0], cells[2]
    assert (first.algo, first.name, first.workers, first.simulated_time) == ("aes-rl", "aes-rl", 3, True)
    assert (second.name, second.workers, second.simulated_time) == ("cem@no-extra-division", 0, True)
    assert first.directory == Path("there/Hopper-v5/aes-rl/seed-000")
    assert (first.total_timesteps, first.eval_freq, first.eval_episodes, first.evaluate) == (20_000, 100, 2, "after")
    assert first.settings.hidden == (400, 300)
    assert cells[4].settings.hidden == (256, 256)  # the paper's for Humanoid
    assert (options.processes, options.jobs, options.device) == (4, 2, "cpu")
    assert (options.force, options.verbosity) == (True, -1)
    assert (options.checkpoint_every, options.task_timeout, options.one_core) == (5.0, 60.0, True)


def test_the_runner_knows_the_studies_of_the_command(monkeypatch):
    seen: list[RunOptions] = []
    monkeypatch.setattr(command, "run_cells", lambda cells, options, schedule: seen.append(options) or 0)
    assert invoke("--study", "aes-rl-table-1,aes-rl-figure-3", "-q").exit_code == 0
    assert invoke("--algo", "cem", "--env", "Hopper-v5", "-q").exit_code == 0
    assert [tuple(options.studies) for options in seen] == [("aes-rl-table-1", "aes-rl-figure-3"), ()]


def test_a_replay_that_no_extension_could_use_is_named(monkeypatch):
    monkeypatch.setattr(command, "run_cells", lambda cells, options, schedule: 0)
    words = ("--algo", "cem,cem-rl,td3", "--env", "Hopper-v5", "--seeds", "2", "--save-replay")
    warnings = [line for line in invoke(*words).stderr.splitlines() if line.startswith("warning: ")]
    assert warnings == [
        "warning: td3: --save-replay has no effect, as such a run cannot be extended: the last episode ends with the "
        "budget"
    ]
    assert "warning: " not in invoke(*words, "-q").stderr


def test_a_run_is_continued_with_the_same_environment_settings_only(tmp_path):
    words = ["--algo", "cem", "--env", "Pendulum-v1", "--processes", "0", "--eval-episodes", "1", "--quiet"]
    words += ["--out", str(tmp_path), "--total-timesteps", "100", "--set", "hidden=8"]
    words += ["--env-set", "max_episode_steps=20"]
    assert invoke(*words).exit_code == 0
    assert invoke(*words).exit_code == 0
    other = invoke(*words[:-1], "max_episode_steps=10")
    assert other.exit_code == 2
    assert "env_settings.max_episode_steps: 20" in other.stderr
    again = invoke(
        "--config", str(tmp_path / "Pendulum-v1" / "cem" / "seed-000" / "config.toml"), "--out", str(tmp_path)
    )
    assert again.exit_code == 0
    assert "already done" in again.stderr


def test_a_gpu_that_is_not_there_is_refused_before_anything_runs(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    for words, code in (("--device cuda", 0), ("--device cuda:1", 2)):
        result = invoke("--algo", "td3", "--env", "Pendulum-v1", "--dry-run", *words.split())
        assert result.exit_code == code
    assert result.stderr.startswith("erlbench: --device cuda:1: ")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert "PyTorch finds none here" in invoke("--algo", "td3", "--env", "Pendulum-v1", "--device", "cuda").stderr


def test_a_trial_whose_answer_a_limit_of_file_sizes_cuts_off_is_a_line(tmp_path):
    command = [sys.executable, "-m", "erlbench", "run", "--algo", "cem", "--env", "Pendulum-v1"]
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1024, 1024))
    done = subprocess.run(
        [*command, "--total-timesteps", "100", "--out", tmp_path, "-q"],
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "ulimit -f" in done.stderr
