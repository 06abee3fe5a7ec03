"""`erlbench run`: from the command line to the cells, dry runs, and exit codes."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import pytest
import tomli_w
from click.testing import CliRunner

from erlbench.algorithms import registry
from erlbench.cli import cli
from erlbench.cli.dry_run import show_plan
from erlbench.envs import catalogue
from erlbench.envs.registry import problem
from erlbench.errors import Interrupted
from erlbench.experiment.arguments import arguments
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.planning import plan
from erlbench.running import runner


def invoke(*words: str):
    return CliRunner().invoke(cli, ["run", *words])


def cells_of(**given) -> list[Cell]:
    return plan(arguments(given))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "nothing to run: give --algo and --env, or --study"),
        ("--algo td3", "nothing to run: give --algo and --env, or --study"),
        ("--algo td4 --env Hopper-v5", "unknown algorithm 'td4'; did you mean 'td3'?"),
        ("--algo xyzzy --env Hopper-v5", "unknown algorithm 'xyzzy'; there are td3, "),
        ("--algo td3@papr --env Hopper-v5", "unknown preset 'papr' of td3; did you mean 'paper'?"),
        ("--algo td3 --env Hoper-v5", "environment 'Hoper-v5' cannot be made"),
        ("--algo cem --env CartPole-v1 --set bins=5", "bins=5 is for continuous actions; CartPole-v1 has discrete"),
        ("--algo aes-rl --env CartPole-v1 --set learner=sac", "learner=sac is for continuous actions; CartPole-v1 has"),
        ("--algo openai-es --env Hopper-v5 --set noise_table=99", "noise_table (99) must be at least as long as the "),
        ("--algo cma-es --env Hopper-v5 --set covariance=full --set hidden=9999-9999", "a full covariance matrix of "),
        (
            "--algo nevergrad --env Hopper-v5 --set optimizer=Cobyla --set batch=2",
            "nevergrad's optimizer Cobyla evaluates one candidate after the other; leave batch and num_workers at none",
        ),
        ("--algo cem --env Hopper-v5 --total-generations 0", "--total-generations must be at least 1, not '0'"),
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
        ("--study aes-rl-table-1 --preset code", "--preset cannot be given with --study"),
        ("--study aes-rl-table-1 --total-generations 3", "--total-generations cannot be given with --study"),
        ("--study aes-rl-table-1 --workers 3", "--workers cannot be given with --study"),
        ("--study aes-rl-table-1 --algo td3", "--algo td3 is in none of the studies"),
        ("--study aes-rl-table-1 --env Ant-v5", "--env Ant-v5 is in none of the studies"),
        (
            "--study aes-rl-table-1 --set tua=1",
            "--set tua is in none of the studies (profile smoke); did you mean 'tau'?",
        ),
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
    monkeypatch.setattr(runner, "run_cells", lambda cells, options: pytest.fail("began"))
    result = invoke("--algo", "cem", "--env", "Hopper-v5,CartPole-v1", "--set", "bins=8")
    assert result.exit_code == 2
    assert "CartPole-v1 has discrete ones" in result.stderr


def test_an_unexpected_error_leaves_its_traceback_in_a_file(monkeypatch):
    def broken(cells, options):
        raise RuntimeError("broken")

    monkeypatch.setattr(runner, "run_cells", broken)
    result = invoke("--algo", "cem", "--env", "Hopper-v5")
    assert result.exit_code == 1
    assert result.stderr.startswith("erlbench: unexpected RuntimeError: broken (traceback in ")
    path = Path(result.stderr.rpartition("traceback in ")[2].strip().rstrip(")"))
    assert "in broken" in path.read_text()
    path.unlink()
    result = invoke("--algo", "cem", "--env", "Hopper-v5", "-v")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


@pytest.mark.parametrize(
    ("outcome", "code"), [(0, 0), (1, 1), (130, 130), (Interrupted("saved"), 130), (KeyboardInterrupt(), 130)]
)
def test_exit_codes(monkeypatch, outcome, code):
    def run_cells(cells, options):
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(runner, "run_cells", run_cells)
    assert invoke("--algo", "cem", "--env", "Hopper-v5").exit_code == code


def test_cells_and_options_reach_the_runner(monkeypatch):
    seen: list[tuple[list[Cell], RunOptions]] = []
    monkeypatch.setattr(runner, "run_cells", lambda cells, options: seen.append((cells, options)) or 0)
    result = invoke(
        "--algo", "aes-rl,cem@no-extra-division", "--env", "Hopper-v5", "--env", "Humanoid-v5", "--seeds", "0,7",
        "--total-timesteps", "2e4", "--workers", "3", "--processes", "4", "--jobs", "2", "--device", "cpu",
        "--checkpoint-every", "5", "--task-timeout", "60", "--simulated-time", "--evaluate", "after", "--out", "there",
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
    assert (options.processes, options.jobs, options.device, options.force, options.verbosity) == (
        4,
        2,
        "cpu",
        True,
        -1,
    )
    assert (options.checkpoint_every, options.task_timeout, options.one_core) == (5.0, 60.0, True)


def test_the_runner_knows_the_studies_of_the_command(monkeypatch):
    seen: list[RunOptions] = []
    monkeypatch.setattr(runner, "run_cells", lambda cells, options: seen.append(options) or 0)
    assert invoke("--study", "aes-rl-table-1,aes-rl-figure-3", "-q").exit_code == 0
    assert invoke("--algo", "cem", "--env", "Hopper-v5", "-q").exit_code == 0
    assert [options.studies for options in seen] == [("aes-rl-table-1", "aes-rl-figure-3"), ()]


def test_a_preset_holds_for_the_algorithms_without_their_own():
    names = [cell.name for cell in cells_of(algo=("cem", "cem@paper"), env=("Hopper-v5",), preset="no-extra-division")]
    assert names == ["cem@no-extra-division", "cem"]


def test_overrides_win_over_the_preset_even_when_equal_to_the_default():
    [cell] = cells_of(algo=("p-cem-rl@code",), env=("Hopper-v5",), set=("tau_cem=0.95",))
    assert (cell.settings.tau_cem, cell.settings.batch_size) == (0.95, 256)


def test_the_same_cell_asked_for_twice_is_one():
    assert len(cells_of(algo=("td3", "td3@paper"), env=("Hopper-v5",))) == 1


def test_a_study_with_filters():
    cells = cells_of(study=("aes-rl-table-1,aes-rl-figure-3",), profile="paper", env=("Hopper-v5@paper",))
    names = {cell.name for cell in cells}
    assert names == {"cem-rl", "p-cem-rl-b256@barriers", "p-cem-rl-b256", "aes-rl", "aes-rl@fixed-ratio", "aes-rl@w9"}
    assert len(cells) == 60  # ten seeds; figure 3 has three of them
    assert {cell.out for cell in cells} == {Path("results/paper")}
    assert {cell.workers for cell in cells if cell.name == "aes-rl@w9"} == {9}
    assert {cell.processes for cell in cells if cell.name == "cem-rl"} == {1}
    assert {cell.evaluate for cell in cells} == {"after"}
    [cell] = cells_of(
        study=("aes-rl-table-1",), env=("Hopper-v5@paper",), algo=("aes-rl",), out="here", set=("tau=0.1",)
    )
    assert cell.directory == Path("here/Hopper-v5@paper/aes-rl/seed-000")
    assert (cell.settings.tau, cell.settings.start_timesteps) == (0.1, 1000)


def test_cells_of_studies_that_compare_times_use_no_second_core():
    """Also where another study has the same cells; those of no such study may."""
    assert {cell.one_core for cell in cells_of(study=("aes-rl-table-1",), profile="smoke")} == {True}
    found = {cell.name: cell.one_core for cell in cells_of(study=("aes-rl-table-3",), profile="smoke")}
    assert (found["cem-rl"], found["aes-rl"], found["td3"]) == (True, True, False)
    assert not any(cell.one_core for cell in cells_of(algo=("td3",), env=("Hopper-v5",)))


def test_a_generation_of_a_nominal_entry_counts_as_one_episode():
    envs = ("HalfCheetah-v5", "Reacher-v5@paper", "dm_control/humanoid-run-v0")
    cells = cells_of(study=("esac-table-1",), profile="paper", env=envs, seed="0")
    budgets = {(cell.env, cell.name): (cell.total_generations, cell.total_timesteps) for cell in cells}
    assert len(budgets) == 15
    assert budgets["HalfCheetah-v5", "esac"] == (1000, 60_000_000)
    assert budgets["HalfCheetah-v5", "openai-es@esac"] == (1000, 50_000_000)
    assert budgets["HalfCheetah-v5", "sac@esac"] == (None, 1_000_000)
    assert budgets["Reacher-v5@paper", "esac"] == (20_000, 60_000_000)  # episodes of 50 steps
    assert budgets["dm_control/humanoid-run-v0", "esac"] == (10_000, 600_000_000)
    assert budgets["dm_control/humanoid-run-v0", "ppo@esac"] == (None, 10_000_000)
    cells = cells_of(study=("esac-table-1",), profile="paper", env=envs[2:], seed="0", total_timesteps="5000")
    assert {cell.name: (cell.total_generations, cell.total_timesteps) for cell in cells}["esac"] == (5, 300_000)


def test_the_most_steps_of_a_generation_are_within_the_budget():
    """So it is the generations that end the run: all members, and SAC's turn, for episodes of full length."""
    cells = cells_of(study=("esac-table-1",), profile="paper", seed="0")
    for cell in (cell for cell in cells if cell.total_generations is not None):
        episodes = cell.settings.population + getattr(cell.settings, "sac_episodes", 0)
        longest = problem(cell.env).env.max_episode_steps
        assert episodes * longest * cell.total_generations <= cell.total_timesteps


def test_a_study_that_ends_by_generations():
    cells = cells_of(study=("goodai-lander",), profile="paper", seed="1")
    assert {cell.total_generations for cell in cells} == {300}
    assert {cell.settings.population for cell in cells} == {20, 200}
    assert {cell.settings.episodes for cell in cells if cell.name.endswith("5ep")} == {5}


def test_all_extras_that_a_study_needs_are_named_before_anything_starts(tmp_path, monkeypatch):
    absent = {"stable_baselines3", "dm_control", "Box2D"}
    known = registry.importlib.util.find_spec
    for where in (registry.importlib.util, catalogue):
        monkeypatch.setattr(where, "find_spec", lambda name: None if name in absent else known(name))
    words = ["--study", "esac-table-1", "--profile", "paper", "--dry-run", "--out", str(tmp_path)]
    result = invoke(*words)
    assert result.exit_code == 2
    assert result.stderr == (
        "erlbench: packages are missing for ppo, LunarLanderContinuous-v3, dm_control/humanoid-stand-v0; install them "
        "by: pip install 'erlbench[ppo,box2d,dm-control]'\n"
    )
    result = invoke(*words, "--env", "Hopper-v5@paper")
    assert result.exit_code == 2
    assert result.stderr == "erlbench: packages are missing for ppo; install them by: pip install 'erlbench[ppo]'\n"
    assert invoke(*words, "--env", "Hopper-v5@paper", "--algo", "esac").exit_code == 0
    assert list(tmp_path.iterdir()) == []


def test_a_written_configuration_asks_for_the_same_cell(tmp_path):
    [cell] = cells_of(algo=("cem",), env=("Hopper-v5",), seed="3", total_timesteps="500", set=("hidden=8-8",))
    path = tmp_path / "config.toml"
    path.write_text(tomli_w.dumps(cell.config()))
    assert cells_of(config=str(path)) == [cell]
    assert cells_of(config=str(path), seed="4")[0].directory.name == "seed-004"


def test_a_dry_run_shows_everything_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("--algo", "aes-rl", "--env", "Hopper-v5,Walker2d-v5", "--total-timesteps", "20000", "--dry-run")
    assert result.exit_code == 0
    assert "Settings of aes-rl on Hopper-v5, Walker2d-v5\n" in result.stdout
    assert "aes-rl on Hopper-v5    range=600.0, baseline=600.0\n" in result.stdout  # the paper's range differs
    assert "aes-rl on Walker2d-v5  range=800.0, baseline=800.0\n" in result.stdout
    assert "results/Walker2d-v5/aes-rl/seed-000" in result.stdout
    for word in ("memory", "disk", "processes", "Nothing was run or written."):
        assert word in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_prints_each_setting_once_where_cells_agree():
    result = invoke("--algo", "cem,openai-es,cem@no-extra-division", "--env", "Swimmer-v5,Hopper-v5", "--dry-run")
    assert result.exit_code == 0, result.stderr
    names = [line.split()[0] for line in result.stdout.splitlines() if line and not line.startswith("results/")]
    assert [names.count(name) for name in ("episodes", "population", "sigma", "elites")] == [1, 2, 1, 1]
    assert "cem@no-extra-division on Swimmer-v5, Hopper-v5  extra_ke_division=false\n" in result.stdout


@pytest.mark.parametrize(
    ("words", "heading", "wall"),
    [
        ("--seeds 1 --processes 1 --jobs 8", "1 cell", "with 1 process and 1 cell at once"),
        ("--seeds 3 --processes 2 --jobs 8", "3 cells", "with 2 processes and 3 cells at once"),
        ("--seeds 3 --processes 2", "3 cells", "with 2 processes and 1 cell at once"),
    ],
)
def test_a_dry_run_counts_the_cells_that_run_at_once(words, heading, wall):
    result = invoke("--algo", "cem", "--env", "Swimmer-v5", "--dry-run", *words.split())
    assert result.exit_code == 0, result.stderr
    assert heading in result.stdout.splitlines()
    assert wall in result.stdout


@pytest.mark.parametrize("width", [80, 120])
def test_a_dry_run_breaks_no_short_word_on_a_terminal(monkeypatch, capsys, width):
    cells = cells_of(study=("aes-rl-table-1",), profile="laptop")
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    show_plan(cells, RunOptions(processes=2))
    output = click.unstyle(capsys.readouterr().out)
    lines = [line.rstrip() for line in output.splitlines()]
    assert max(map(len, lines)) <= width
    rows = [line for line in lines if line.startswith("results/")]
    assert len(rows) == len(cells)
    assert all(re.search(r" 22,000  [-59] +[12] +[0-9.]+ (s|min|h)$", row) for row in rows)
    folded = {"results/laptop/Hopper-v5@paper/                22,000", "aes-rl@fixed-ratio/seed-000"}
    whole = {"results/laptop/Hopper-v5@paper/aes-rl@fixed-ratio/seed-000"}
    assert all(any(line.startswith(part) for line in lines) for part in (folded if width == 80 else whole))


def test_presets_and_settings_of_environments_are_part_of_the_cell(tmp_path):
    given = {"algo": ("cem",), "env": ("Hopper-v5@v5,Hopper-v5,Hopper-v5@paper",), "out": str(tmp_path)}
    plain, paper = cells_of(**given, env_set=("frame_skip=2", "healthy_z_range=[0.6, 2]"))
    assert (plain.env, paper.env) == ("Hopper-v5", "Hopper-v5@paper")
    assert paper.directory == tmp_path / "Hopper-v5@paper" / "cem" / "seed-000"
    assert paper.config()["env_settings"] == {"frame_skip": 2, "healthy_z_range": [0.6, 2]}
    assert paper.config()["run"]["env"] == "Hopper-v5@paper"


def test_a_run_is_continued_with_the_same_environment_settings_only(tmp_path):
    words = [
        "--algo",
        "cem",
        "--env",
        "Pendulum-v1",
        "--processes",
        "0",
        "--eval-episodes",
        "1",
        "--out",
        str(tmp_path),
    ]
    words += ["--total-timesteps", "100", "--set", "hidden=8", "--quiet", "--env-set", "max_episode_steps=20"]
    assert invoke(*words).exit_code == 0
    assert invoke(*words).exit_code == 0
    other = invoke(*words[:-1], "max_episode_steps=10")
    assert other.exit_code == 2
    assert "env_settings.max_episode_steps: 20 there, 10 now" in other.stderr
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
    assert result.stderr.startswith("erlbench: --device cuda:1: there is no such GPU, PyTorch finds 1 here; see")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert "PyTorch finds none here" in invoke("--algo", "td3", "--env", "Pendulum-v1", "--device", "cuda").stderr


def test_an_empty_part_is_done_at_once(tmp_path):
    for words in ("--dry-run", "", "--launcher local"):
        given = ["--algo", "cem", "--env", "function:sphere", "--shard", "2/2", "--out", str(tmp_path), *words.split()]
        result = invoke(*given)
        assert result.exit_code == 0, result.output
        assert "shard 2/2: 0 of 1 cell\n" in result.stderr


def test_jobs_do_not_share_the_processes_of_a_study(tmp_path):
    given = {"study": ("esac-figure-2-center",), "profile": "smoke", "jobs": "2", "processes": "2"}
    pinned = {cell.processes: runner.processes_for(cell, RunOptions(2, jobs=2)) for cell in cells_of(**given)}
    assert pinned == {1: 1, 4: 4, 8: 8}
