"""`erlbench convert --from`: what each program wrote is read back to the number, and all else stays unknown."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import erlbench
from erlbench.cli import cli
from erlbench.records.run import EVALUATIONS, TRAINING, UNSAID
from erlbench.reporting import build_report
from erlbench.verification import AGREES, DIFFERS, UNKNOWN, verify
from tests.reporting.compare import find_rows, page_of

DATA = Path(__file__).parent / "data"
SB3, CLEANRL = DATA / "sb3", DATA / "cleanrl"
LAYOUT = "{algo}/{env}_{seed}"
PPO = "Pendulum-v1/sb3-ppo/seed-001"


def take(out: Path, *arguments: object) -> object:
    command = ["convert", *map(str, arguments), "--origin", "Jane Doe", "--out", str(out)]
    return CliRunner().invoke(cli, command)


@pytest.fixture
def taken(tmp_path):
    def run(*arguments: object) -> Path:
        result = take(tmp_path / "results", *arguments)
        assert result.exit_code == 0, result.stderr
        return tmp_path / "results"

    return run


def runs_in(folder: Path):
    return find_rows([folder], lambda said: None)


def test_evaluations_of_stable_baselines3_are_read_to_the_number(taken):
    out = taken(SB3, "--layout", LAYOUT, "--total-timesteps", 3000, "--licence", "MIT")
    one, two = runs_in(out)
    saved = np.load(SB3 / "ppo/Pendulum-v1_1/evaluations.npz")
    assert (one.env, one.name, one.seed, two.seed) == ("Pendulum-v1", "sb3-ppo", 1, 2)
    np.testing.assert_array_equal(one.evaluations.timesteps, saved["timesteps"])
    np.testing.assert_allclose(one.evaluations.return_mean, saved["results"].mean(axis=1), rtol=1e-15)
    np.testing.assert_array_equal(one.evaluations.evaluation_timesteps, saved["ep_lengths"].sum(axis=1).cumsum())
    assert one.imported.returns == EVALUATIONS
    assert (one.imported.origin, one.imported.licence) == ("Jane Doe", "MIT")
    assert one.done
    assert one.total_timesteps == 3000


def test_what_no_file_says_is_unknown_and_not_zero(taken):
    (run, _) = runs_in(taken(SB3, "--layout", LAYOUT))
    last = run.evaluations
    assert run.total_timesteps == 0
    assert math.isnan(run.seconds)
    for column in (last.critic_updates, last.actor_updates, last.generation, last.train_time_s, last.final):
        assert np.isnan(column).all()
    cells = erlbench.load_results(run.path).cells
    assert cells["total_timesteps"].isna().all()
    assert cells["workers"].isna().all()


def test_episodes_of_monitor_are_training_episodes_and_without_evaluations_they_give_the_curve(taken, tmp_path):
    shutil.copy(SB3 / "ppo/Pendulum-v1_1/monitor.csv", tmp_path / "monitor.csv")
    out = taken(tmp_path / "monitor.csv", "--env", "Pendulum-v1", "--algo", "ppo", "--seed", 4)
    (run,) = runs_in(out)
    episodes = erlbench.load_results(out).episodes
    saved = np.loadtxt(tmp_path / "monitor.csv", delimiter=",", skiprows=2)
    np.testing.assert_array_equal(episodes[["r", "l", "t"]], saved)
    np.testing.assert_array_equal(episodes["timesteps"], saved[:, 1].cumsum())
    assert run.imported.returns == TRAINING
    assert run.evaluations.return_mean[-1] == pytest.approx(saved[-100:, 0].mean())
    assert run.seconds == saved[-1, 2]


def test_an_event_file_of_cleanrl_says_its_run(taken):
    one, two = runs_in(taken(CLEANRL))
    assert (one.env, one.name, one.seed, two.seed) == ("Pendulum-v1", "cleanrl-ppo_continuous_action", 1, 2)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(CLEANRL / "Pendulum-v1__ppo_continuous_action__1__1795658158"))
    read.Reload()
    scalars = read.Scalars("charts/episodic_return")
    episodes = erlbench.load_results(one.path).episodes
    assert episodes["r"].tolist() == [scalar.value for scalar in scalars]
    assert episodes["timesteps"].tolist() == [scalar.step for scalar in scalars]
    assert one.imported.returns == TRAINING
    assert math.isnan(one.evaluations.all_steps[-1])
    assert (one.total_timesteps, one.status) == (6000, "done")  # of the settings that CleanRL writes as a text


def test_the_budget_of_an_event_file_and_of_the_command_must_agree(tmp_path):
    result = take(tmp_path / "results", CLEANRL, "--total-timesteps", 7000)
    assert result.exit_code == 2
    assert "budget is 6000 and 7000" in result.stderr
    assert not (tmp_path / "results").exists()


CSV = "env,algo,seed,step,return\n" + "".join(
    f"Hopper-v5,{algo},{seed},{step},{step / 10 + seed * seed + len(algo)}\n"
    for algo in ("mine", "theirs") for seed in range(2) for step in (0, 500, 1000)
)  # fmt: skip


def test_a_csv_has_any_number_of_runs_and_says_nothing_else(taken, tmp_path):
    (tmp_path / "scores.csv").write_text(CSV)
    runs = runs_in(taken(tmp_path / "scores.csv"))
    assert [(run.name, run.seed) for run in runs] == [
        ("imported-mine", 0), ("imported-mine", 1), ("imported-theirs", 0), ("imported-theirs", 1)
    ]  # fmt: skip
    assert runs[1].evaluations.return_mean.tolist() == [5.0, 55.0, 105.0]
    assert runs[0].imported.returns == UNSAID
    assert np.isnan(runs[0].evaluations.learning_steps).all()


def test_several_rows_of_a_step_are_the_episodes_of_an_evaluation(taken, tmp_path):
    (tmp_path / "scores.csv").write_text("env,algo,seed,step,return\nA-v1,x,0,10,1\nA-v1,x,0,10,4\nA-v1,x,0,20,7\n")
    out = taken(tmp_path / "scores.csv")
    rows = erlbench.load_results(out).evaluations
    assert rows["timesteps"].tolist() == [10, 20]
    assert rows["return_mean"].tolist() == [2.5, 7.0]
    assert rows["returns"].tolist() == [(1.0, 4.0), (7.0,)]


def test_a_run_that_ends_before_its_budget_is_not_done(taken):
    (run, _) = runs_in(taken(SB3, "--layout", LAYOUT, "--total-timesteps", 10_000))
    assert run.status == "interrupted"
    assert not run.done


def test_report_export_and_the_plotter_of_stable_baselines3_round_trip(taken, tmp_path):
    import matplotlib as mpl

    mpl.use("Agg")
    from stable_baselines3.common import results_plotter
    from stable_baselines3.common.monitor import load_results

    out = taken(SB3, "--layout", LAYOUT, "--total-timesteps", 3000)
    build_report([out], tmp_path / "report", {}, None)
    page = (tmp_path / "report/all-runs/index.md").read_text()
    assert "Jane Doe" in page
    assert (tmp_path / "report/all-runs/imported.csv").is_file()
    for target in ("sb3", "csv"):
        result = CliRunner().invoke(cli, ["convert", str(out), "--to", target, "--out", str(tmp_path / target)])
        assert result.exit_code == 0, result.stderr
    for seed in (1, 2):
        source, folder = SB3 / f"ppo/Pendulum-v1_{seed}", f"Pendulum-v1/sb3-ppo/seed-00{seed}"
        before, after = np.load(source / "evaluations.npz"), np.load(tmp_path / "sb3" / folder / "evaluations.npz")
        for name in ("timesteps", "results", "ep_lengths"):
            np.testing.assert_array_equal(before[name], after[name])
        read, written = load_results(str(source)), load_results(str(tmp_path / "sb3" / folder))
        np.testing.assert_array_equal(read[["r", "l"]], written[["r", "l"]])
        np.testing.assert_allclose(read["t"], written["t"], atol=1e-6)  # it adds and subtracts the time of day
        for one, two in zip(
            results_plotter.ts2xy(read, "timesteps"), results_plotter.ts2xy(written, "timesteps"), strict=True
        ):
            np.testing.assert_array_equal(one, two)
    results_plotter.plot_results([str(tmp_path / "sb3" / PPO)], 3000, "timesteps", "Pendulum")


def test_training_returns_are_compared_with_no_evaluations(taken, tmp_path):
    from erlbench.reporting.pairs import compare_pairs
    from erlbench.reporting.significance import Case

    out = taken(SB3, "--layout", LAYOUT, "--total-timesteps", 3000)
    for seed in (1, 2):
        taken(SB3 / f"ppo/Pendulum-v1_{seed}/monitor.csv", "--algo", "other", "--seed", seed, "--total-timesteps", 3000)
    (verdict,) = compare_pairs(page_of(out, lambda said: None)).to_dict("records")
    assert verdict["case"] == Case.NOT_COMPARABLE
    assert "training" in verdict["reason"]


def test_verify_checks_the_files_and_says_that_it_can_check_no_more(taken):
    out = taken(SB3, "--layout", LAYOUT)
    checks = {check.name: check for check in verify(out / PPO)}
    assert {checks[name].outcome for name in ("status", "checksums", "damage", "evaluations", "folder")} == {AGREES}
    assert checks["imported"].outcome == UNKNOWN
    assert "Jane Doe" in checks["imported"].text
    path = out / PPO / "eval.csv"
    path.write_text(path.read_text().replace("250,", "251,", 1))
    assert {check.outcome for check in verify(out / PPO) if check.name == "checksums"} == {DIFFERS}


def test_run_refuses_to_go_on_with_an_imported_run(taken):
    out = taken(SB3, "--layout", LAYOUT, "--name", "mine")
    command = ["run", "--algo", "cem", "--name", "mine", "--env", "Pendulum-v1", "--seeds", "2", "--out", str(out),
               "--total-timesteps", "400"]  # fmt: skip
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 2
    assert "imported run" in result.stderr
