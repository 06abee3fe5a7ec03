import re

import pytest

from erlbench.errors import UsageError
from erlbench.reporting.runs import find_runs
from tests.files import edit, edit_json
from tests.reporting.compare import find_rows, load_run, page_of
from tests.reporting.make_runs import make_run


@pytest.fixture
def warnings():
    return []


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path, "Ant-v5", "cem", 4, [1, 2, 3])


def test_a_run_is_read_whole(tmp_path, warnings):
    make_run(tmp_path, "Hopper-v5", "cem-rl", 3, [1, 2, 4], warmup=1000, workers=1, starts=[{"device": "cuda"}])
    (run,) = find_rows([tmp_path], warnings.append)
    assert run.env == "Hopper-v5"
    assert run.name == "cem-rl"
    assert run.seed == 3
    assert run.status == "done"
    assert run.done
    assert run.total_timesteps == 2000
    assert run.timesteps == 2000
    assert run.workers == "1"
    assert run.evaluations.critic_updates.tolist() == [0, 0, 1000]
    assert run.train_time_s == pytest.approx(11.0)
    assert run.hardware == "Test CPU, 8 cores, no GPU"
    assert run.device == "cuda"
    assert run.processes == "5"
    assert run.jobs == "1"
    assert run.command == "erlbench run cem-rl Hopper-v5 --seed 3"
    assert run.eval_episodes == "2"
    assert run.final_episodes == "2"  # its config.toml knows no final_episodes
    assert warnings == []


def test_a_run_of_a_later_version_is_named_and_counts(tmp_path, run, warnings):
    edit_json(run / "meta.json", format=99)
    assert find_rows([tmp_path], warnings.append)[0].done
    assert len(warnings) == 1
    assert "format 99" in warnings[0]


def test_an_identity_whose_versions_are_no_table_leaves_no_run_out(tmp_path, run, warnings):
    edit_json(run / "meta.json", starts=[{"identity": {"versions": None, "files": {"own": "a"}}}])
    assert find_rows([tmp_path], warnings.append)[0].done


def test_runs_are_found_below_profiles_and_from_a_single_cell(tmp_path, warnings):
    for profile, returns in (("laptop", [1, 2, 3]), ("smoke", [1, 2])):
        path = make_run(tmp_path / profile, "Ant-v5", "cem", 0, returns)
    assert [run.total_timesteps for run in find_rows([tmp_path], warnings.append)] == [1000, 2000]
    assert len(find_runs([path, tmp_path / "smoke"], warnings.append)) == 1
    assert warnings == []
    for folder, words in ((path / "nothing", str(path / "nothing")), (tmp_path / "empty", "erlbench run")):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(UsageError, match=re.escape(words)):
            find_runs([folder], warnings.append)


def test_a_link_to_a_folder_of_another_name_is_a_run(tmp_path, run, warnings):
    link = tmp_path / "Hopper-v5/td3/seed-004"
    link.parent.mkdir(parents=True)
    link.symlink_to(run.rename(tmp_path / "moved"))
    (row,) = find_rows([tmp_path], warnings.append)
    assert row.path == link
    assert row.env == "Ant-v5"
    assert row.name == "cem"
    assert row.seed == 4


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("\n2,1,2000,", "\n2,1,", "the last one is at 1,000 steps, the run has 2,000"),
        ("\n2,1,2000,", "\n2,0,2000,", "the final evaluation is missing"),
        (",3.0,1.0,", ",300.0,1.0,", "return_mean is 300, but its returns have the mean 3"),
    ],
)
def test_a_finished_run_needs_the_whole_row_that_says_it_is_the_final_one(run, warnings, old, new, words):
    edit(run / "eval.csv", old, new)
    row = load_run(run, warnings.append)
    assert row.status == "incomplete"
    assert not row.done
    assert words in row.message
    assert warnings[-1] == f"{run}: {row.message}; the run does not count"


@pytest.mark.parametrize(("status", "told"), [("running", False), ("interrupted", False), ("failed", True)])
def test_a_header_alone_is_no_evaluation_yet(tmp_path, warnings, status, told):
    """Of a run that trains this is no news: its evaluations come after the training."""
    path = make_run(tmp_path, "Ant-v5", "cem", 0, [], status=status, total=2000)
    assert load_run(path, warnings.append).status == status
    assert warnings == [f"{path / 'eval.csv'}: no evaluation yet"] * told


def test_unreadable_files_are_told(run, warnings):
    for name in ("meta.json", "status.json", "config.toml"):
        (run / name).write_text("[not this")
    (run / "eval.csv").unlink()
    row = load_run(run, warnings.append)
    assert row.env == "Ant-v5"
    assert row.name == "cem"
    assert row.seed == 4
    assert row.status == "unknown"
    assert len(row.evaluations) == 0
    told = {warning.split(":")[0].rpartition("/")[2] for warning in warnings}
    assert told == {"config.toml", "status.json", "meta.json", "eval.csv"}


@pytest.mark.parametrize("budget", ["", "total_minutes = nan\n", "total_minutes = inf\n"])
def test_budgets_and_steps_that_no_run_has_leave_no_run_out(run, tmp_path, budget):
    edit(run / "config.toml", "total_timesteps = 2000\n", budget)
    for steps in (2000, 1e300, -5, "many", None):
        edit_json(run / "status.json", total_timesteps=steps, timesteps=steps)
        assert [row.seed for row in page_of(tmp_path, warn=lambda _: None).runs] == [4]
