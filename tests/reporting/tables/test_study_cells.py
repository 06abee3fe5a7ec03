"""Which runs are cells of a study: settings, budgets, seeds; and what stands beside those that differ."""

from __future__ import annotations

from itertools import product

import pytest

from erlbench.experiment.study import Entry, Profile
from erlbench.reporting.page_cells import everything, score_page
from erlbench.reporting.pairs import aggregate_tables
from erlbench.reporting.runs import find_runs
from erlbench.reporting.scores import scores_table
from erlbench.reporting.studies import make_study_pages
from tests.reporting.compare import comparison_of, curves_of, page_of, rows_of
from tests.reporting.make_runs import make_run
from tests.reporting.make_studies import make_study


def test_profiles_of_one_study_come_on_pages_of_their_own(tmp_path):
    make_run(tmp_path / "a", "HalfCheetah-v5", "cem-rl", 0, [0, 1, 2])
    make_run(tmp_path / "b", "HalfCheetah-v5", "cem-rl", 0, [1], steps=[1_000_000])
    runs = find_runs([tmp_path], pytest.fail)
    found = make_study_pages(make_study(), runs, None, pytest.fail)
    assert [one.name for one in found] == ["study-short", "study-paper"]
    (only,) = make_study_pages(make_study(), runs, "paper", pytest.fail)
    assert only.name == "study"
    assert [run.total_timesteps for run in only.runs] == [1_000_000]


def test_all_runs_stand_together_whatever_study_they_belong_to(tmp_path):
    make_run(tmp_path, "HalfCheetah-v5", "cem-rl", 0, [0, 1, 2])
    make_run(tmp_path, "HalfCheetah-v5", "mine", 0, [0, 1, 3])
    make_run(tmp_path, "HalfCheetah-v5", "mine", 1, [0, 1], total=9000, status="running")
    page = page_of(tmp_path)
    assert [(group.total_timesteps, [run_set.name for run_set in group.cells]) for group in page.groups] == [
        (2000, ["cem-rl", "mine"]), (9000, ["mine"]),
    ]  # fmt: skip


def test_runs_with_other_settings_are_not_the_studys(tmp_path):
    warnings = []
    make_run(tmp_path, "HalfCheetah-v5", "cem-rl", 0, [0, 1, 2])
    make_run(tmp_path, "HalfCheetah-v5", "aes-rl", 0, [0, 1, 2], workers=9)
    plan = Profile((0,), 2000, ("HalfCheetah-v5",), settings={"initial_variance": 0.5})
    runs = find_runs([tmp_path], pytest.fail)
    assert make_study_pages(make_study(profiles={"p": plan}), runs, None, warnings.append) == []
    assert ["other settings (initial_variance, workers)" in text for text in warnings] == [True, False]
    assert "other settings (initial_variance)" in warnings[1]


@pytest.fixture
def nominal(tmp_path):
    """A study of ESAC and SAC whose second environment has ten times the budget, and its runs."""
    for env, budget in (("HalfCheetah-v5", 2000), ("Humanoid-v5", 20_000)):
        make_run(tmp_path, env, "sac", 0, [0, 80], steps=[0, budget])
        make_run(
            tmp_path, env, "esac", 0, [0, 100], steps=[0, 7 * budget], total=60 * budget, generations=budget // 1000
        )
    return make_study(
        published_source="ESAC paper", table="Table 1", baseline="sac", not_run=(),
        entries=(Entry("sac", "sac", published="SAC", label="SAC"),
                 Entry("esac", "esac", published="ESAC", label="ESAC", nominal=60)),
        envs_published={"HalfCheetah-v5": "HalfCheetah-v2", "Humanoid-v5": "Humanoid-v2"},
        profiles={"p": Profile((0,), 2000, ("HalfCheetah-v5", "Humanoid-v5"), env_timesteps={"Humanoid-v5": 20_000})},
    )  # fmt: skip


def test_budgets_by_environment_and_by_generations(tmp_path, nominal):
    table = scores_table(comparison_of(tmp_path, nominal))
    rows = rows_of(table)
    assert {key[0] for key in rows} == {"HalfCheetah-v5, 2k steps", "Humanoid-v5, 20k steps"}
    assert rows["Humanoid-v5, 20k steps", "ESAC"]["n"] == "1/1"
    assert rows["Humanoid-v5, 20k steps", "ESAC"]["Published after (steps)"] == "10M"
    assert table.notes[0].endswith("after the budget named with the environment.")
    assert table.notes[1] == (
        "ESAC: that budget is counted as in the paper, a generation as one episode of full length, however many it "
        "plays; they took 14,000 to 140,000 training steps."
    )
    group = comparison_of(tmp_path, nominal).groups[0]
    caption = curves_of(comparison_of(tmp_path, nominal), group).caption
    assert "budget 2,000 steps" in caption[0]
    assert caption[1] == "ESAC: that budget counts a generation as one episode of full length."
    budgets = [note for note in table.notes if note.startswith("Different budgets")]
    assert [note.partition(". ")[0] for note in budgets] == [
        "Different budgets: published after 1,000,000 training steps, ours after 2,000",
        "Different budgets: published after 10,000,000 training steps, ours after 20,000",
    ]


def test_an_entry_with_a_budget_of_its_own_is_compared_at_that_budget(tmp_path):
    make_run(tmp_path, "HalfCheetah-v5", "cem-rl", 0, [0, 1], steps=[0, 1_000_000])
    make_run(tmp_path, "HalfCheetah-v5", "erl", 0, [0, 2], steps=[0, 2_000_000])
    budgets = {"erl": {"HalfCheetah-v5": 2_000_000}}
    study = make_study(
        not_run=(), entries=(Entry("cem-rl", "cem-rl", published="CEM-RL", label="CEM-RL"),
                             Entry("erl", "erl", published="ERL", label="ERL")),
        profiles={"p": Profile((0,), 1_000_000, ("HalfCheetah-v5",), entry_timesteps=budgets)},
    )  # fmt: skip
    table = scores_table(comparison_of(tmp_path, study))
    assert rows_of(table)["HalfCheetah-v5", "ERL"]["n"] == "1/1"
    assert "ERL has budgets of its own: 2,000,000 on HalfCheetah-v5." in table.notes
    assert not [note for note in table.notes if note.startswith("Different budgets")]


def test_a_run_with_another_number_of_generations_is_not_the_studys(tmp_path):
    make_run(tmp_path, "HalfCheetah-v5", "cem-rl", 0, [0, 1, 2], generations=2)
    make_run(tmp_path, "HalfCheetah-v5", "aes-rl", 0, [0, 1, 2], generations=3)
    plan = Profile((0,), 2000, ("HalfCheetah-v5",), total_generations=2)
    comparison = comparison_of(tmp_path, make_study(profiles={"p": plan}))
    assert [run.name for run in comparison.runs] == ["cem-rl"]
    assert comparison.budget == "2 generations or 2,000 training steps (2,000 steps)"


def test_unplanned_seeds_stay_out_of_the_study(tmp_path):
    for seed in (0, 7):
        make_run(tmp_path, "HalfCheetah-v5", "cem-rl", seed, [0, 1, 2])
    found = comparison_of(tmp_path)
    assert [run.seed for run in found.runs] == [0]


def test_budgets_are_never_pooled(tmp_path):
    """Over all environments, one table for each budget; an environment with settings counts once."""
    for total, env, name, seed in product((1000, 9000), ("Swimmer-v5", "Hopper-v5"), ("td3", "cem"), range(2)):
        run = make_run(tmp_path / str(total), env, name, seed, [0, total + seed], steps=[0, total])
        with (run / "config.toml").open("a") as file:
            file.write("\n[env_settings]\nframe_skip = 2\nreset_noise_scale = 0.1\n")
    runs = find_runs([tmp_path / "1000", tmp_path / "9000"], pytest.fail)
    tables = list(aggregate_tables(score_page(everything(runs), baseline="td3")))
    assert [table.name for table in tables] == ["aggregate-1", "aggregate-2"]
    assert [table.cells[0][0].text for table in tables] == ["2 environments"] * 2
    assert ["after 1,000 training" in tables[0].notes[0], "after 9,000 training" in tables[1].notes[0]] == [True] * 2


def test_generations_are_a_budget_and_other_settings_are_another_cell(tmp_path):
    make_run(tmp_path, "Foo-v5", "cem", 0, [0, 10], total=90_000, generations=5)
    make_run(tmp_path, "Foo-v5", "cem", 1, [0, 1000], total=90_000, generations=500)
    changed = make_run(tmp_path, "Foo-v5", "cem", 2, [0, 1000], total=90_000, generations=500, workers=9)
    text = (changed / "config.toml").read_text()
    (changed / "config.toml").write_text(text.replace("initial_variance = 0.001", "initial_variance = 77"))
    page = page_of(tmp_path)
    cells = [[run_set.name for run_set in group.cells] for group in page.groups]
    assert cells == [["cem"], ["cem", "cem (initial_variance=77, workers=9)"]]
    assert len({group.slug for group in page.groups}) == 2
