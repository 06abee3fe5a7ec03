"""`erlbench run`: bad input, what reaches the runner, and exit codes."""

import re
import resource
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from erlbench.cli import show
from erlbench.cli import start as command
from erlbench.errors import Interrupted
from tests.calls import call, python, refuse, succeed
from tests.reporting.make_runs import make_run
from tests.runs import write_options
from tests.tables import cells

MISTAKES = """
-q                                        | nothing to run
--algo td4 --env Hopper-v5                | did you mean 'td3'?
--algo td3@paper --env Hopper-v5          | 'default'
--algo td3 --env Hoper-v5                 | 'Hoper-v5' cannot be made
--algo cem --env CartPole-v1 --set bins=5 | bins=5
--algo td3 --env Hopper-v5 --workers 2    | --workers
--algo td3,cem --env Hopper-v5 --name a   | --name
--env Hopper-v5 --total-timesteps 1M      | write 1e6
--study aes-rl-tabel-1                    | did you mean 'aes-rl-table-1'?
--study aes-rl-table-1 --profile smok     | 'smok'
"""


@pytest.mark.parametrize(("words", "message"), cells(MISTAKES))
def test_bad_input_gets_one_message_and_exit_code_2(words, message):
    refuse(message, "run", *words.split())


@pytest.mark.parametrize("words", ["show", "run --algo cem --env Pendulum-v1 --dry-run --out"])
def test_an_empty_text_is_not_the_current_folder(words, tmp_path, monkeypatch):
    """A shell gives it for a variable that is not set."""
    make_run(tmp_path, "Foo-v5", "cem", 0, [0, 10])
    monkeypatch.chdir(tmp_path)
    refuse("needs a value", *words.split(), "")


def test_settings_are_checked_for_every_environment(monkeypatch):
    """Eight bins fit the first one only, and nothing has begun when the second is refused."""
    monkeypatch.setattr(command, "run_cells", lambda cells, options, schedule: pytest.fail("began"))
    refuse("CartPole-v1 has discrete", "run", "--algo", "cem", "--env", "Hopper-v5,CartPole-v1", "--set", "bins=8")


def test_an_unexpected_error_has_its_traceback_with_v(monkeypatch):
    broken = Mock(side_effect=RuntimeError("broken"))
    monkeypatch.setattr(command, "run_cells", broken)
    for flag, traceback in (("--quiet", False), ("-v", True)):
        result = call("run", "--algo", "cem", "--env", "Hopper-v5", flag)
        assert result.exit_code == 1
        assert ("Traceback" in result.stderr) == traceback
        assert "RuntimeError: broken" in result.stderr
        assert traceback or "-v" in result.stderr
    monkeypatch.setattr(show, "open_bundles", broken)
    assert call("show", "results").stderr == "erlbench: unexpected RuntimeError: broken\n"  # it has no -v


@pytest.mark.parametrize(
    ("outcome", "code"), [(0, 0), (130, 130), (Interrupted("saved"), 130), (KeyboardInterrupt(), 130)]
)
def test_exit_codes(monkeypatch, outcome, code):
    monkeypatch.setattr(command, "run_cells", Mock(side_effect=[outcome]))
    assert call("run", "--algo", "cem", "--env", "Hopper-v5").exit_code == code


def test_cells_and_options_reach_the_runner(monkeypatch, tmp_path):
    config = write_options(tmp_path / "config.toml", checkpoint_every=5, task_timeout=60, evaluate="after")
    seen = []
    monkeypatch.setattr(command, "run_cells", lambda cells, options, schedule: seen.append((cells, options)) or 0)
    words = (
        "run --algo aes-rl,cem@no-extra-division --env Hopper-v5 --env Humanoid-v5 --seeds 0,7 --total-timesteps 2e4 "
        "--workers 3 --processes 4 --jobs 2 --device cpu --simulated-time --out there --force -q --eval-freq 100 "
        "--eval-episodes 2 --one-core --config"
    )
    succeed(*words.split(), config)
    [(cells, options)] = seen
    assert len(cells) == 8
    first, second = cells[0], cells[2]
    assert first.name == "aes-rl"
    assert first.workers == 3
    assert first.simulated_time
    assert second.name == "cem@no-extra-division"
    assert second.workers == 0
    assert second.simulated_time
    assert first.directory == Path("there/Hopper-v5/aes-rl/seed-000")
    assert first.total_timesteps == 20_000
    assert first.eval_freq == 100
    assert first.eval_episodes == 2
    assert first.evaluate == "after"
    assert options.processes == 4
    assert options.jobs == 2
    assert options.device == "cpu"
    assert options.force
    assert options.verbosity == -1
    assert options.checkpoint_every == 5.0
    assert options.task_timeout == 60.0
    assert options.one_core
    assert tuple(options.studies) == ()
    succeed("run", "--study", "aes-rl-table-1,aes-rl-figure-3", "-q")
    assert tuple(seen[-1][1].studies) == ("aes-rl-table-1", "aes-rl-figure-3")
    warned = call("run", "--algo", "cem,td3", "--env", "Hopper-v5", "--save-replay").stderr
    assert re.findall(r"warning: (\w+): --save-replay", warned) == ["td3"]


def test_a_gpu_that_is_not_there_is_refused_before_anything_runs(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    words = "run --algo td3 --env Pendulum-v1 --dry-run --device"
    succeed(*words.split(), "cuda")
    refuse("--device cuda:1: ", *words.split(), "cuda:1")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    refuse("PyTorch finds none here", *words.split(), "cuda")


def test_a_trial_whose_answer_a_limit_of_file_sizes_cuts_off_is_a_line(tmp_path):
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1024, 1024))
    words = "-m erlbench run --algo cem --env Pendulum-v1 --total-timesteps 100 -q --out"
    done = python(*words.split(), tmp_path, preexec_fn=limit)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "ulimit -f" in done.stderr
