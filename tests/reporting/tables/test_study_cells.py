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

CHEETAH = "HalfCheetah-v5"


def test_profiles_of_one_study_come_on_pages_of_their_own_without_unplanned_seeds(tmp_path):
    for seed in (0, 7):
        make_run(tmp_path / "a", CHEETAH, "cem-rl", seed, [0, 1, 2])
    make_run(tmp_path / "b", CHEETAH, "cem-rl", 0, [1], steps=[1_000_000])
    runs = find_runs([tmp_path], pytest.fail)
    pages = make_study_pages(make_study(), runs, None, pytest.fail)
    listed = [(page.name, [(run.seed, run.total_timesteps) for run in page.runs]) for page in pages]
    assert listed == [("study-short", [(0, 2000)]), ("study-paper", [(0, 1_000_000)])]
    (only,) = make_study_pages(make_study(), runs, "paper", pytest.fail)
    assert only.name == "study"


def test_runs_with_other_settings_or_generations_are_not_the_studys(tmp_path):
    warnings = []
    make_run(tmp_path, CHEETAH, "cem-rl", 0, [0, 1, 2], generations=2)
    make_run(tmp_path, CHEETAH, "aes-rl", 0, [0, 1, 2], workers=9, generations=3)
    runs = find_runs([tmp_path], pytest.fail)
    plan = Profile((0,), 2000, (CHEETAH,), settings={"initial_variance": 0.5})
    assert make_study_pages(make_study(profiles={"p": plan}), runs, None, warnings.append) == []
    assert ["other settings (initial_variance, workers" in text for text in warnings] == [True, False]
    assert "other settings (initial_variance)" in warnings[1]
    plan = Profile((0,), 2000, (CHEETAH,), total_generations=2)
    page = comparison_of(tmp_path, make_study(profiles={"p": plan}))
    assert [run.name for run in page.runs] == ["cem-rl"]
    assert page.budget == "2 generations or 2,000 training steps (2,000 steps)"


def test_budgets_by_environment_and_by_generations(tmp_path):
    """A study of ESAC and SAC whose second environment has ten times the budget."""
    for env, budget in ((CHEETAH, 2000), ("Humanoid-v5", 20_000)):
        make_run(tmp_path, env, "sac", 0, [0, 80], steps=[0, budget])
        make_run(
            tmp_path, env, "esac", 0, [0, 100], steps=[0, 7 * budget], total=60 * budget, generations=budget // 1000
        )
    page = comparison_of(tmp_path, make_study(
        published_source="ESAC paper", table="Table 1", baseline="sac", not_run=(),
        entries=(Entry("sac", "sac", published="SAC", label="SAC"),
                 Entry("esac", "esac", published="ESAC", label="ESAC", nominal=60)),
        envs_published={CHEETAH: "HalfCheetah-v2", "Humanoid-v5": "Humanoid-v2"},
        profiles={"p": Profile((0,), 2000, (CHEETAH, "Humanoid-v5"), env_timesteps={"Humanoid-v5": 20_000})},
    ))  # fmt: skip
    table = scores_table(page)
    rows = rows_of(table)
    assert {env for env, _ in rows} == {f"{CHEETAH}, 2k steps", "Humanoid-v5, 20k steps"}
    assert rows["Humanoid-v5, 20k steps", "ESAC"].items() >= {"n": "1/1", "Published after (steps)": "10M"}.items()
    assert table.notes[0].endswith("after the budget named with the environment.")
    assert "they took 14,000 to 140,000 training steps" in table.notes[1]
    caption = curves_of(page).caption
    assert "budget 2,000 steps" in caption[0]
    assert caption[1] == "ESAC: that budget counts a generation as one episode of full length."
    budgets = [note.partition(". ")[0] for note in table.notes if note.startswith("Different budgets")]
    assert budgets == [
        "Different budgets: published after 1,000,000 training steps, ours after 2,000",
        "Different budgets: published after 10,000,000 training steps, ours after 20,000",
    ]


def test_an_entry_with_a_budget_of_its_own_is_compared_at_that_budget(tmp_path):
    make_run(tmp_path, CHEETAH, "cem-rl", 0, [0, 1], steps=[0, 1_000_000])
    make_run(tmp_path, CHEETAH, "erl", 0, [0, 2], steps=[0, 2_000_000])
    budgets = {"erl": {CHEETAH: 2_000_000}}
    table = scores_table(comparison_of(tmp_path, make_study(
        not_run=(), entries=(Entry("cem-rl", "cem-rl", published="CEM-RL", label="CEM-RL"),
                             Entry("erl", "erl", published="ERL", label="ERL")),
        profiles={"p": Profile((0,), 1_000_000, (CHEETAH,), entry_timesteps=budgets)},
    )))  # fmt: skip
    assert rows_of(table)[CHEETAH, "ERL"]["n"] == "1/1"
    assert f"ERL has budgets of its own: 2,000,000 on {CHEETAH}." in table.notes
    assert not [note for note in table.notes if note.startswith("Different budgets")]


def test_over_all_environments_budgets_are_never_pooled(tmp_path):
    """One table for each budget; an environment with settings counts once."""
    for total, env, name, seed in product((1000, 9000), ("Swimmer-v5", "Hopper-v5"), ("td3", "cem"), range(2)):
        run = make_run(tmp_path / str(total), env, name, seed, [0, total + seed], steps=[0, total])
        with (run / "config.toml").open("a") as file:
            file.write("\n[env_settings]\nframe_skip = 2\nreset_noise_scale = 0.1\n")
    runs = find_runs([tmp_path / "1000", tmp_path / "9000"], pytest.fail)
    tables = list(aggregate_tables(score_page(everything(runs), baseline="td3")))
    assert [(table.name, table.cells[0][0].text) for table in tables] == [
        ("aggregate-1", "2 environments"), ("aggregate-2", "2 environments"),
    ]  # fmt: skip
    assert ["after 1,000 training" in tables[0].notes[0], "after 9,000 training" in tables[1].notes[0]] == [True] * 2


def test_steps_and_generations_are_budgets_and_other_settings_are_another_cell(tmp_path):
    make_run(tmp_path, "Foo-v5", "cem", 0, [0, 10], total=90_000, generations=5)
    make_run(tmp_path, "Foo-v5", "cem", 1, [0, 1000], total=90_000, generations=500)
    make_run(tmp_path, "Foo-v5", "mine", 0, [0, 1, 3], generations=5)
    changed = make_run(tmp_path, "Foo-v5", "cem", 2, [0, 1000], total=90_000, generations=500, workers=9)
    text = (changed / "config.toml").read_text()
    (changed / "config.toml").write_text(text.replace("initial_variance = 0.001", "initial_variance = 77"))
    groups = page_of(tmp_path).groups
    assert [[cell.name for cell in group.cells] for group in groups] == [
        ["mine"], ["cem"], ["cem", "cem (initial_variance=77, workers=9)"],
    ]  # fmt: skip
    assert len({group.slug for group in groups}) == 3
