"""Which runs are cells of a study: settings, budgets, seeds; and what stands beside those that differ."""

import shutil
from itertools import product
from pathlib import Path
from unittest.mock import Mock

import pandas as pd
import pytest

from erlbench.algorithms.aes_rl import AESRLSettings
from erlbench.conversion import import_runs
from erlbench.experiment.cells import folder_name
from erlbench.experiment.studies import load_studies
from erlbench.experiment.study import Entry, Profile
from erlbench.records.read import ignore
from erlbench.reporting.page_cells import score_page
from erlbench.reporting.pairs import aggregate_tables
from erlbench.reporting.runs import env_label, env_labels, find_runs
from erlbench.reporting.significance import Case
from erlbench.reporting.studies import add_departures, make_study_pages
from tests.reporting.compare import comparison_of, find_rows, page_of, pairs_of, read, rows_of, scores_of, write_report
from tests.reporting.make_runs import make_cells, make_run
from tests.reporting.make_studies import make_study

CHEETAH = "HalfCheetah-v5"
HIDDEN = "hidden = [32, 32]\n"
OTHER = "OTHER SETTINGS than the study's"


def test_profiles_of_one_study_come_on_pages_of_their_own_without_unplanned_seeds(tmp_path):
    for seed in (0, 7):
        make_run(tmp_path / "a", CHEETAH, "cem-rl", seed, [0, 1, 2])
    make_run(tmp_path / "b", CHEETAH, "cem-rl", 0, [1], steps=[1_000_000])
    runs = find_runs([tmp_path], pytest.fail)
    pages = make_study_pages(make_study(), runs, None, pytest.fail)
    listed = [(page.name, [(run.seed, run.total_timesteps) for run in page.runs]) for page in pages]
    assert listed == [("study-short", [(0, 2000)]), ("study-paper", [(0, 1_000_000)])]
    assert [page.name for page in make_study_pages(make_study(), runs, "paper", pytest.fail)] == ["study"]


def test_runs_with_other_settings_or_generations_are_not_the_studys(tmp_path):
    warnings = []
    for folder, limits in (("steps", (0, 0)), ("generations", (2, 3))):
        make_run(tmp_path / folder, CHEETAH, "cem-rl", 0, [0, 1, 2], generations=limits[0])
        make_run(tmp_path / folder, CHEETAH, "aes-rl", 0, [0, 1, 2], workers=9, generations=limits[1])
    runs = find_runs([tmp_path / "steps"], pytest.fail)
    plan = Profile((0,), 2000, (CHEETAH,), settings={"initial_variance": 0.5})
    assert make_study_pages(make_study(profiles={"p": plan}), runs, None, warnings.append) == []
    assert ["workers" in warning for warning in warnings] == [True, False]
    plan = Profile((0,), 2000, (CHEETAH,), total_generations=2)
    page = comparison_of(tmp_path / "generations", make_study(profiles={"p": plan}))
    assert [run.name for run in page.runs] == ["cem-rl"]


def test_budgets_by_environment_and_by_generations(tmp_path):
    """A study of ESAC and SAC whose second environment has ten times the budget."""
    for env, budget in ((CHEETAH, 2000), ("Humanoid-v5", 20_000)):
        make_run(tmp_path, env, "sac", 0, [0, 80], steps=[0, budget])
        generations = budget // 1000
        make_run(tmp_path, env, "esac", 0, [0, 100], steps=[0, 7 * budget], total=60 * budget, generations=generations)
    page = comparison_of(tmp_path, make_study(
        published_source="ESAC paper", table="Table 1", baseline="sac", not_run=(),
        entries=(Entry("sac", "sac", published="SAC", label="SAC"),
                 Entry("esac", "esac", published="ESAC", label="ESAC", nominal=60)),
        envs_published={CHEETAH: "HalfCheetah-v2", "Humanoid-v5": "Humanoid-v2"},
        profiles={"p": Profile((0,), 2000, (CHEETAH, "Humanoid-v5"), env_timesteps={"Humanoid-v5": 20_000})},
    ))  # fmt: skip
    table = scores_of(page)
    rows = rows_of(table)
    assert {env for env, _ in rows} == {f"{CHEETAH}, 2k steps", "Humanoid-v5, 20k steps"}
    assert rows["Humanoid-v5, 20k steps", "ESAC"].items() >= {"n": "1/1", "Published after (steps)": "10M"}.items()
    assert "they took 14,000 to 140,000 training steps" in table.notes[1]
    assert [note.startswith("Different budgets") for note in table.notes].count(True) == 2


def test_an_entry_with_a_budget_of_its_own_is_compared_at_that_budget(tmp_path):
    make_run(tmp_path, CHEETAH, "cem-rl", 0, [0, 1], steps=[0, 1_000_000])
    make_run(tmp_path, CHEETAH, "erl", 0, [0, 2], steps=[0, 2_000_000])
    entries = tuple(Entry(name, name, published=name.upper(), label=name.upper()) for name in ("cem-rl", "erl"))
    plan = Profile((0,), 1_000_000, (CHEETAH,), entry_timesteps={"erl": {CHEETAH: 2_000_000}})
    table = scores_of(comparison_of(tmp_path, make_study(not_run=(), entries=entries, profiles={"p": plan})))
    assert rows_of(table)[CHEETAH, "ERL"]["n"] == "1/1"
    assert not [note for note in table.notes if note.startswith("Different budgets")]


def test_where_all_entries_have_budgets_of_their_own_the_least_is_that_of_the_comparison(tmp_path):
    make_cells(tmp_path, CHEETAH, {"cem": range(2)}, before=range(10))
    make_cells(tmp_path, CHEETAH, {"td3": range(2)}, before=range(20))
    entries = (Entry("cem", "cem", total_timesteps=10_000), Entry("td3", "td3", total_timesteps=20_000))
    profiles = {"own": Profile((0, 1), 0, (CHEETAH,))}
    study = make_study(entries=entries, profiles=profiles, not_run=(), published_source="", table="", baseline="")
    (page,) = make_study_pages(study, find_runs([tmp_path], pytest.fail), "own", pytest.fail)
    (pair,) = pairs_of(score_page(page))
    assert pair.case == Case.TOO_FEW
    assert pair.budget == "10,000 steps"
    assert pair.reason == ""


def test_over_all_environments_budgets_are_never_pooled(tmp_path):
    """One table for each budget; an environment with settings counts once."""
    settings = "[env_settings]\nframe_skip = 2\nreset_noise_scale = 0.1\n"
    for total, env, name, seed in product((1000, 9000), ("Swimmer-v5", "Hopper-v5"), ("td3", "cem"), range(2)):
        make_run(tmp_path / str(total), env, name, seed, [0, total + seed], steps=[0, total], settings=settings)
    page = page_of(tmp_path, baseline="td3")
    assert page.groups[0].env == "Hopper-v5 (frame_skip=2, reset_noise_scale=0.1)"
    tables = [(table.name, table.cells[0][0].text, table.notes[0]) for table in aggregate_tables(page)]
    assert [(name, envs) for name, envs, _ in tables] == [(f"aggregate-{i}", "2 environments") for i in (1, 2)]
    assert [f"after {budget} training" in note for (*_, note), budget in zip(tables, ("1,000", "9,000"))] == [True] * 2


def test_steps_and_generations_are_budgets(tmp_path):
    make_run(tmp_path, "Foo-v5", "cem", 0, [0, 10], total=90_000, generations=5)
    make_run(tmp_path, "Foo-v5", "cem", 1, [0, 1000], total=90_000, generations=500)
    make_run(tmp_path, "Foo-v5", "mine", 0, [0, 1, 3], generations=5)
    groups = page_of(tmp_path).groups
    assert [[cell.name for cell in group.cells] for group in groups] == [["mine"], ["cem"], ["cem"]]
    assert len({group.slug for group in groups}) == 3


def test_environments_whose_names_differ_in_punctuation_alone_have_separate_figures(tmp_path):
    for env in ("My+env", "My env", "My-env"):
        make_run(tmp_path, env, "cem", 0, [0, 10])
    slugs = [group.slug for group in page_of(tmp_path).groups]
    assert len({*slugs}) == 3
    assert "My-env-1000" in slugs


def entries(algo, **settings):
    return {"entries": (Entry("cem-rl", "cem-rl"), Entry("aes-rl", algo, workers=5, **settings))}


def report(tmp_path, settings, kind="scores", study=None):
    """The text of a study's page whose AES-RL runs have these settings in config.toml."""
    more = {"starts": [{"studies": ["study"]}], "tasks": [("es", 0, 0.0, 1.0, 0)] if kind == "timeline" else ()}
    for seed in range(3):
        make_run(tmp_path / "runs", CHEETAH, "cem-rl", seed, [0, 1, 2], **more)
        make_run(tmp_path / "runs", CHEETAH, "aes-rl", seed, [0, 1, 2], settings=settings, **more)
    out = write_report(tmp_path / "runs", studies={"study": make_study(kind, **study or {})}, profile="short")
    return read(out / "study/index.md").replace("\\", "")


@pytest.mark.parametrize("kind", ["scores", "time", "timeline"])
def test_other_settings_are_named_beside_the_published_numbers(tmp_path, kind):
    """As `erlbench run --study ... --set hidden=32-32` leaves them, or a version with other defaults."""
    text = report(tmp_path, f"{HIDDEN}batch_size = 64\ntau = 0.005\n", kind)
    words = f"AES-RL on {CHEETAH} (hidden 32-32, not 400-300; batch_size 64, not 256)"
    assert text.count(f"{OTHER}: {words}.") == text.count(OTHER) == 1


@pytest.mark.parametrize(
    ("settings", "study", "departure"),
    [
        ("hidden = [400, 300]\nbatch_size = 256\n", {}, ""),
        ("gone_since = 3\n", {}, ""),
        (f"{HIDDEN}batch_size = 64\n", entries("aes-rl", settings={"batch_size": 64}), "hidden 32-32, not 400-300"),
        ("", entries("erl"), "algo aes-rl, not erl"),
    ],
)
def test_what_is_a_departure(tmp_path, settings, study, departure):
    text = report(tmp_path, settings, study=study)
    assert f"aes-rl on {CHEETAH} ({departure})." in text if departure else OTHER not in text


def test_no_code_of_others_is_run(tmp_path, monkeypatch):
    """A plug-in may fail when it is imported or not be there; a settings class may ask a package that fails."""
    (tmp_path / "a_plugin.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(AESRLSettings, "__post_init__", Mock(side_effect=RuntimeError("no licence")), raising=False)
    algorithms = (Entry("cem-rl", "a_plugin:Search"), Entry("aes-rl", "aes-rl", workers=5))
    text = report(tmp_path / "broken", HIDDEN, study={"entries": algorithms})
    assert f"aes-rl on {CHEETAH} (hidden 32-32, not 400-300)" in text
    assert "hidden 32-32" not in report(tmp_path / "absent", HIDDEN, study=entries("of-a-plugin"))


ANT = Path(__file__).parents[3] / "results/reference/goodai-ant"
ENV, TYPED = "pybullet_envs_gymnasium:AntBulletEnv-v0", {"max_episode_steps": 501}
FRESH = env_label(ENV, {**TYPED, "fresh": "reset"})  # the check before the run added it


def test_runs_with_a_fresh_environment_belong_to_their_study_and_runs_without_it_are_a_group_of_their_own():
    """A used object gives other numbers than a fresh one, so their scores have no common mean."""
    runs, study = find_runs([ANT], ignore), load_studies()["goodai-ant"]
    (page,) = make_study_pages(study, runs, None, ignore)
    assert {run.path for run in page.runs} == {*runs.path}
    assert [group.env for group in page.groups] == [FRESH]
    assert not any(cell.departures for cell in add_departures(page, study).rows)
    other = runs[:1].assign(env=env_label(ENV, TYPED), seed=1)
    (page,) = make_study_pages(study, pd.concat([runs[:1], other]), None, ignore)
    assert [len(group.cells[-1].runs) for group in page.groups] == [1, 1]
    assert env_labels(ENV, {"fresh": "object"}) == (f"{ENV} (fresh=object)",)  # what was typed is not chosen again


def test_imported_runs_stand_beside_those_with_a_fresh_environment(tmp_path):
    """No other program has the setting, so that their user cannot type it."""
    (tmp_path / "scores.csv").write_text("env,algo,seed,step,return\nA-v1,x,0,10,1\n")
    for name, settings in (("beside", TYPED), ("apart", {})):
        import_runs([tmp_path / "scores.csv"], tmp_path / "out", origin="me", env=ENV, env_set=settings, name=name)
        shutil.move(tmp_path / "out" / folder_name(ENV), tmp_path / "results" / name)
    envs = {run.name: run.env for run in find_rows([ANT, tmp_path / "results"], ignore)}
    assert envs.pop("apart") == ENV
    assert envs["beside"] == FRESH
    assert set(envs.values()) == {FRESH}
