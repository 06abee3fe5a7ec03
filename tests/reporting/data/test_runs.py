from __future__ import annotations

import json
import re

import pytest
from numpy.testing import assert_array_equal

from erlbench.errors import UsageError
from erlbench.reporting.runs import find_runs
from tests.reporting.compare import find_rows, load_run, page_of
from tests.reporting.make_runs import make_run


@pytest.fixture
def warnings():
    return []


def test_a_run_is_read_whole(tmp_path, warnings):
    make_run(tmp_path, "Hopper-v5", "cem-rl", 3, [1, 2, 4], warmup=1000, workers=1, device="cuda")
    (run,) = find_rows([tmp_path], warnings.append)
    assert (run.env, run.name, run.seed, run.total_timesteps) == ("Hopper-v5", "cem-rl", 3, 2000)
    assert (run.status, run.done, run.timesteps, run.workers) == ("done", True, 2000, "1")
    assert_array_equal(run.evaluations.timesteps, [0, 1000, 2000])
    assert_array_equal(run.evaluations.return_mean, [1, 2, 4])
    assert_array_equal(run.evaluations.critic_updates, [0, 0, 1000])
    assert run.train_time_s == pytest.approx(11.0)
    assert run.hardware == "Test CPU, 8 cores, no GPU"
    assert (run.device, run.processes, run.jobs) == ("cuda", "5", "1")
    assert run.command == "erlbench run cem-rl Hopper-v5 --seed 3"
    assert run.settings == {"initial_variance": 0.001}
    assert (run.eval_episodes, run.final_episodes) == ("2", "2")  # its config.toml knows no final_episodes
    assert warnings == []


def test_runs_are_found_below_profiles_and_from_a_single_cell(tmp_path, warnings):
    for profile in ("smoke", "laptop"):
        path = make_run(tmp_path / profile, "Ant-v5", "cem", 0, [1, 2] if profile == "smoke" else [1, 2, 3])
    assert [run.total_timesteps for run in find_rows([tmp_path], warnings.append)] == [1000, 2000]
    assert len(find_runs([path], warnings.append)) == 1
    assert warnings == []


def test_no_folder_and_no_run_say_what_to_do(tmp_path, warnings):
    with pytest.raises(UsageError, match="erlbench run"):
        find_runs([tmp_path], warnings.append)
    with pytest.raises(UsageError, match=re.escape(str(tmp_path / "nothing"))):
        find_runs([tmp_path / "nothing"], warnings.append)


def test_the_same_cell_twice_counts_once(tmp_path, warnings):
    for folder in ("a", "b"):
        make_run(tmp_path / folder, "Ant-v5", "cem", 0, [1, 2 if folder == "a" else 9])
    (run,) = find_rows([tmp_path / "a", tmp_path / "b", tmp_path / "a"], warnings.append)
    assert run.evaluations.return_mean[-1] == 2
    first, second = (tmp_path / folder / "Ant-v5/cem/seed-000" for folder in ("a", "b"))
    (warning,) = warnings
    assert warning.startswith(f"{second}: repeats seed 0 of {first} ")


def test_a_non_numeric_cell_drops_its_row_and_names_the_line(tmp_path, warnings):
    path = make_run(tmp_path, "Ant-v5", "cem", 0, [1, 2, 3])
    file = path / "eval.csv"
    lines = file.read_text().splitlines()
    lines[2] = lines[2].replace(",2.0,", ",oops,", 1)
    file.write_text("\n".join(lines) + "\n")
    run = load_run(path, warnings.append)
    assert run is not None
    assert_array_equal(run.evaluations.timesteps, [0, 2000])
    assert run.done
    assert warnings == [f"{file}:3: row left out: return_mean is 'oops', not a number"]


def test_a_lost_final_evaluation_makes_a_run_incomplete(tmp_path, warnings):
    path = make_run(tmp_path, "Ant-v5", "cem", 0, [1, 2, 3])
    file = path / "eval.csv"
    file.write_text(file.read_text()[:-4])
    run = load_run(path, warnings.append)
    assert run is not None
    assert (run.status, run.done) == ("incomplete", False)
    assert warnings[0].startswith(f"{file}:4: ")
    assert re.findall(r"\d,\d{3}", str(warnings[1])) == ["1,000", "2,000"]  # steps of the last row, and of the run


def test_a_finished_run_needs_the_row_that_says_it_is_the_final_one(tmp_path, warnings):
    path = make_run(tmp_path, "Ant-v5", "cem", 0, [1, 2, 3])
    file = path / "eval.csv"
    text = file.read_text()
    for flags, done in (((0, 0, 1), True), ((0, 0, 0), False)):
        file.write_text(text.replace("\n2,1,", f"\n2,{flags[-1]},"))
        run = load_run(path, warnings.append)
        assert run is not None
        assert run.done is done
        assert_array_equal(run.evaluations.final, flags)
    (warning,) = warnings
    assert str(path) in str(warning)


@pytest.mark.parametrize("text", ["", "nan", "inf"])
def test_a_return_that_is_not_finite_is_left_out(tmp_path, warnings, text):
    path = make_run(tmp_path, "Ant-v5", "cem", 0, [1, 2])
    file = path / "eval.csv"
    file.write_text(file.read_text().replace(",2.0,1.0,", f",{text},1.0,"))
    run = load_run(path, warnings.append)
    assert run is not None
    assert len(run.evaluations) == 1
    assert warnings[0].startswith(f"{file}:3: ")


def test_an_edited_score_is_noticed(tmp_path, warnings):
    path = make_run(tmp_path, "Ant-v5", "cem", 0, [1, 2])
    file = path / "eval.csv"
    file.write_text(file.read_text().replace(",2.0,1.0,", ",200.0,1.0,"))
    run = load_run(path, warnings.append)
    reason = "the last row of eval.csv is damaged: return_mean is 200, but its returns have the mean 2"
    assert warnings == [f"{path}: {reason}; the run does not count"]
    assert (run.status, run.done, run.message) == ("incomplete", False, reason)


@pytest.mark.parametrize(("content", "message"), [(None, "cannot be read"), ("", "empty"), ("a,b\n1,2\n", "no column")])
def test_files_without_columns_are_told(tmp_path, warnings, content, message):
    path = make_run(tmp_path, "Ant-v5", "cem", 0, [1, 2], status="running")
    (path / "eval.csv").unlink()
    if content is not None:
        (path / "eval.csv").write_text(content)
    run = load_run(path, warnings.append)
    assert run is not None
    assert len(run.evaluations) == 0
    assert message in warnings[0]


@pytest.mark.parametrize(("status", "told"), [("running", False), ("interrupted", False), ("failed", True)])
def test_a_header_alone_is_no_evaluation_yet(tmp_path, warnings, status, told):
    """Of a run that trains this is no news: its evaluations come after the training."""
    path = make_run(tmp_path, "Ant-v5", "cem", 0, [], status=status, total=2000)
    run = load_run(path, warnings.append)
    assert run is not None
    assert run.status == status
    assert warnings == [f"{path / 'eval.csv'}: no evaluation yet"] * told


def test_unreadable_json_and_toml_are_told(tmp_path, warnings):
    path = make_run(tmp_path, "Ant-v5", "cem", 4, [1, 2])
    for name in ("meta.json", "status.json", "config.toml"):
        (path / name).write_text("[not this")
    run = load_run(path, warnings.append)
    assert run is not None
    assert (run.env, run.name, run.seed, run.status) == ("Ant-v5", "cem", 4, "unknown")
    assert [warning.split(":")[0].rpartition("/")[2] for warning in warnings] == [
        "config.toml", "status.json", "meta.json"
    ]  # fmt: skip


def test_repeated_steps_keep_the_later_row(tmp_path, warnings):
    path = make_run(tmp_path, "Ant-v5", "cem", 0, [1, 2, 3, 4], steps=[0, 1000, 1000, 2000])
    run = load_run(path, warnings.append)
    assert run is not None
    assert_array_equal(run.evaluations.return_mean, [1, 3, 4])
    assert warnings[0].startswith(f"{path / 'eval.csv'}: rows that are repeated")


def test_settings_of_the_environment_are_part_of_its_name(tmp_path, warnings):
    plain = make_run(tmp_path / "a", "Ant-v5@paper", "cem", 0, [1, 2])
    other = make_run(tmp_path / "b", "Ant-v5@paper", "cem", 0, [1, 2])
    with open(other / "config.toml", "a") as file:
        file.write("\n[env_settings]\nmax_episode_steps = 500\nframe_skip = 2\n")
    runs = find_rows([plain, other], warnings.append)
    assert [run.env for run in runs] == ["Ant-v5@paper", "Ant-v5@paper (frame_skip=2, max_episode_steps=500)"]


@pytest.mark.parametrize("budget", ["total_minutes = nan", "total_minutes = inf"])
def test_a_budget_that_no_run_has_leaves_no_run_out(tmp_path, budget):
    path = make_run(tmp_path, "Ant-v5", "cem", 0, [0, 1])
    config = path / "config.toml"
    config.write_text(
        config.read_text().replace("total_timesteps = 1000\n", "").replace("workers =", f"{budget}\nworkers =")
    )
    make_run(tmp_path, "Ant-v5", "cem", 1, [0, 1])
    assert sorted(run.seed for run in page_of(tmp_path, lambda _: None).runs) == [0, 1]


def test_steps_of_a_status_that_no_run_has_leave_no_run_out(tmp_path):
    path = make_run(tmp_path, "Ant-v5", "cem", 0, [0, 1])
    (path / "config.toml").write_text((path / "config.toml").read_text().replace("total_timesteps = 1000\n", ""))
    for steps in (1e300, -5, "many", None):
        (path / "status.json").write_text(json.dumps({"status": "done", "total_timesteps": steps, "timesteps": steps}))
        assert [run.seed for run in page_of(tmp_path, lambda _: None).runs] == [0]
