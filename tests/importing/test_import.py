"""`erlbench convert --from`: what each program wrote is read back to the number, and all else stays unknown."""

import math
import shutil
from pathlib import Path

import numpy as np
import pytest

import erlbench
from erlbench.records.run import EVALUATIONS, TRAINING, UNSAID
from erlbench.verification import AGREES, DIFFERS, UNKNOWN
from tests.calls import call, refuse, succeed
from tests.importing.files import read_events, write_monitor
from tests.reporting.compare import find_rows
from tests.runs import verify

DATA = Path(__file__).parent / "data"
SB3, CLEANRL = DATA / "sb3", DATA / "cleanrl"
LAYOUT = "{algo}/{env}_{seed}"


@pytest.fixture
def taken(tmp_path):
    def take(*words):
        output = succeed("convert", *words, "--origin", "Jane Doe", "--out", folder := tmp_path / "my results")
        assert f"; next: erlbench report '{folder}'\n" in output
        return folder

    return take


def runs_in(folder):
    return find_rows([folder], lambda said: None)


def test_evaluations_of_stable_baselines3_are_read_to_the_number(taken, tmp_path):
    out = taken(SB3, "--layout", LAYOUT, "--total-timesteps", 3000, "--licence", "MIT")
    one, two = runs_in(out)
    saved = np.load(SB3 / "ppo/Pendulum-v1_1/evaluations.npz")
    assert one.env == "Pendulum-v1"
    assert one.name == "sb3-ppo"
    assert one.seed == 1
    assert two.seed == 2
    np.testing.assert_array_equal(one.evaluations.timesteps, saved["timesteps"])
    np.testing.assert_allclose(one.evaluations.return_mean, saved["results"].mean(axis=1), rtol=1e-15)
    np.testing.assert_array_equal(one.evaluations.evaluation_timesteps, saved["ep_lengths"].sum(axis=1).cumsum())
    assert one.imported.returns == EVALUATIONS
    assert one.imported.origin == "Jane Doe"
    assert one.imported.licence == "MIT"
    assert one.done
    assert one.total_timesteps == 3000
    for name, column in (("results", "returns"), ("ep_lengths", "lengths")):
        np.testing.assert_array_equal(saved[name], [*erlbench.load_results(one.path).evaluations[column]])
    page = erlbench.report(out, out=tmp_path / "report").with_name("all-runs")
    assert "Jane Doe" in (page / "imported.csv").read_text()
    words = "run --algo cem --name sb3-ppo --env Pendulum-v1 --seeds 1, --out"
    assert call(*words.split(), out).exit_code == 2
    refuse("", "play", one.path, "--no-video")


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
    *_, short = runs_in(taken(SB3, "--layout", LAYOUT, "--total-timesteps", 10_000, "--name", "short"))
    assert short.name == "short"
    assert short.status == "interrupted"
    assert not short.done


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
    assert one.env == "Pendulum-v1"
    assert one.name == "cleanrl-ppo_continuous_action"
    assert one.seed == 1
    assert two.seed == 2
    events = read_events(CLEANRL / "Pendulum-v1__ppo_continuous_action__1__1795658158")
    scalars = events.Scalars("charts/episodic_return")
    episodes = erlbench.load_results(one.path).episodes
    assert episodes["r"].tolist() == [scalar.value for scalar in scalars]
    assert episodes["timesteps"].tolist() == [scalar.step for scalar in scalars]
    assert episodes["t"].tolist() == [scalar.wall_time - events.FirstEventTimestamp() for scalar in scalars]
    assert one.imported.returns == TRAINING
    assert math.isnan(one.evaluations.all_steps[-1])
    assert one.total_timesteps == 6000  # of the settings that CleanRL writes as a text
    assert one.status == "done"
    refuse("budget is 6000 and 7000", "convert", CLEANRL, "--origin", "us", "--total-timesteps", 7000)


def test_a_csv_has_any_number_of_runs_and_evaluations_of_several_episodes(taken, tmp_path):
    lines = [f"A-v1,{algo},{seed},{step}" for algo in ("mine", "their (own)") for seed in range(2) for step in (0, 500)]
    text = "\n".join(f"{line},{number}\n{line},{number + 3}" for number, line in enumerate(lines))
    (tmp_path / "scores.csv").write_text(f"env,algo,seed,step,return\n{text}\n")
    out = taken(tmp_path / "scores.csv")
    runs = find_rows([out], pytest.fail)
    assert [(run.name, run.seed) for run in runs] == [
        ("imported-mine", 0), ("imported-mine", 1), ("imported-their (own)", 0), ("imported-their (own)", 1)
    ]  # fmt: skip
    assert runs[1].evaluations.return_mean.tolist() == [3.5, 4.5]
    assert erlbench.load_results(runs[1].path).evaluations["returns"].tolist() == [(2.0, 5.0), (3.0, 6.0)]
    assert runs[0].imported.returns == UNSAID
    assert np.isnan(runs[0].evaluations.learning_steps).all()


def test_verify_finds_no_difference_in_what_another_program_may_write(taken, tmp_path):
    """Equal returns and a mean near 0, training beyond the last evaluation, and evaluations that miss the budget."""
    path = write_monitor(tmp_path / "logs/monitor.csv")
    returns = [[0.1, 0.1, 0.1], [0.1, 0.2, -0.3], [1.0, 2.0, 4.0]]
    np.savez(path.parent / "evaluations.npz", timesteps=[10, 20, 28], results=returns, ep_lengths=np.ones((3, 3)))
    out = taken(path.parent, "--algo", "ppo", "--seed", 0, "--total-timesteps", 30)
    checks = {check.name: check.outcome for check in verify(out / "A-v1/sb3-ppo/seed-000")}
    assert DIFFERS not in checks.values()
    assert {checks[name] for name in ("status", "evaluations", "scores")} == {AGREES}
    assert checks["episodes"] == UNKNOWN


@pytest.mark.parametrize(("steps", "status"), [
    ([600], "interrupted"), ([1000], "done"), ([0, 300, 600], "interrupted"), ([0, 400, 800], "done"),
])  # fmt: skip
def test_a_run_is_done_where_no_further_row_is_within_the_budget(taken, tmp_path, steps, status):
    (tmp_path / "scores.csv").write_text("env,algo,seed,step,return\n" + "".join(f"A-v1,x,0,{n},1\n" for n in steps))
    out = taken(tmp_path / "scores.csv", "--total-timesteps", 1000)
    assert erlbench.load_results(out).cells["status"].tolist() == [status]


def test_a_budget_below_the_steps_of_the_files_is_refused(tmp_path):
    words = ("convert", DATA / SB3, "--layout", LAYOUT, "--origin", "me", "--out", tmp_path / "out")
    refuse("--total-timesteps", *words, "--total-timesteps", 1000)
    assert not (tmp_path / "out").exists()
