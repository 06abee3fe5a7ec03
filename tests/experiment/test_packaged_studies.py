"""The studies that the suite comes with: what stands beside a published number is what was published."""

from __future__ import annotations

import math

import pytest

from erlbench.algorithms import registry
from erlbench.envs.catalogue import LISTED, Preset, split_preset
from erlbench.envs.registry import problem
from erlbench.experiment.arguments import arguments
from erlbench.experiment.command import requested_cells
from erlbench.experiment.estimate import estimate
from erlbench.experiment.studies import load_studies
from erlbench.reporting.data.published import load_published
from erlbench.settings import resolve

PACKAGED = {  # seeds of the profile `paper`
    "aes-rl-table-1": 10,
    "aes-rl-table-2": 10,
    "aes-rl-table-3": 10,
    "aes-rl-appendix-d": 10,
    "aes-rl-appendix-f": 10,
    "aes-rl-figure-1": 1,
    "aes-rl-figure-3": 3,
    "esac-table-1": 5,
    "esac-figure-2-left": 3,
    "esac-figure-2-center": 3,
    "esac-figure-2-right": 3,
    "esac-figure-5": 1,
    "esac-figure-6-left": 5,
    "esac-figure-7": 5,
    "esac-figure-8": 3,
    "openai-es-table-3": 6,
    "openai-es-figure-1": 7,
    "openai-es-quadratic": 10,
    "goodai-lander": 5,
    "goodai-ant": 5,
    "goodai-pendulum": 5,
}


def test_the_packaged_studies():
    studies = load_studies()
    seeds = {name: len(study.profiles["paper"].seeds) for name, study in studies.items()}
    assert {name: count for name, count in seeds.items() if not studies[name].claim} == PACKAGED
    assert {count for name, count in seeds.items() if studies[name].claim} == {6, 10}
    for name, study in studies.items():
        assert set(study.profiles) == {"smoke", "laptop", "paper"}
        assert len(study.entries) == 1 or study.baseline in {entry.name for entry in study.entries}
        if name.startswith("aes-rl"):
            assert study.profiles["paper"].total_timesteps == 1_000_000
    assert len(studies["aes-rl-table-2"].entries) == 10
    assert [entry.name for entry in studies["aes-rl-table-3"].entries] == [
        "multi-actor-td3@one-actor", "td3@cem-rl", "td3", "sac", "cem", "erl", "cem-rl", "aes-rl",
    ]  # fmt: skip
    assert studies["aes-rl-table-3"].not_run == ()
    assert len(studies["aes-rl-table-3"].profiles["paper"].envs) == 6


def cells_of(study, profile):
    """Of the first seed."""
    return requested_cells(arguments({"study": (study,), "profile": profile, "seeds": "0,"}))


@pytest.mark.parametrize("profile", ["smoke", "laptop", pytest.param("paper", marks=pytest.mark.slow)])
@pytest.mark.parametrize("study", PACKAGED)
def test_each_study_can_be_estimated(study, profile):
    """As is done for a dry run, and before the first cell of a run."""
    for cell in cells_of(study, profile):
        assert 0 < estimate(cell, problem(cell.env, cell.env_settings), 1).core_seconds < math.inf


def entries_of(study):
    return {entry.name: entry for entry in load_studies()[study].entries}


def test_published_lander_rows_are_those_algorithms():
    """ES and CMA of the document are nevergrad's; pycma's CMA-ES with fresh starts stands beside nothing published."""
    lander = entries_of("goodai-lander")
    shown = {entry.published: resolved("goodai-lander", entry.name) for entry in lander.values() if entry.published}
    assert {name: (values.episodes, values.population) for name, values in shown.items()} == {
        "CMA 1ep": (1, 20), "CMA 5ep": (5, 20), "ES 1ep": (1, 20), "ES 5ep": (5, 20),
        "OptimES 1ep pop20": (1, 20), "OptimES 5ep pop20": (5, 20), "OptimES 1ep pop200": (1, 200),
    }  # fmt: skip
    assert [shown[name].optimizer for name in ("CMA 1ep", "ES 5ep")] == ["CMA2020", "ES"]
    assert {name for name, entry in lander.items() if not entry.published} == {"cma-es-1ep", "cma-es-5ep"}


def resolved(study, name, env="HalfCheetah-v5"):
    entry = entries_of(study)[name]
    settings_type = registry.find(entry.algo).settings_type
    return resolve(settings_type, env, registry.preset(entry.algo, entry.preset), entry.settings)


@pytest.mark.parametrize("profile", ["smoke", "laptop", "paper"])
@pytest.mark.parametrize("study", ["aes-rl-table-1", "aes-rl-appendix-f", "aes-rl-figure-1", "aes-rl-figure-3"])
def test_p_cem_rl_stands_beside_aes_rl_with_the_same_batch(study, profile):
    batches = {cell.name: cell.settings.batch_size for cell in cells_of(study, profile)}
    assert batches.pop("cem-rl", 100) == 100
    assert set(batches.values()) == {256}
    assert "256 for AES-RL and P-CEM-RL" in load_studies()[study].note


def test_quoted_columns_are_the_quoted_algorithms():
    table = entries_of("aes-rl-table-3")
    assert [name for name, entry in table.items() if entry.published == "TD3"] == ["multi-actor-td3@one-actor"]
    quoted = resolved("aes-rl-table-3", "multi-actor-td3@one-actor")
    assert (quoted.hidden, quoted.activation, quoted.batch_size) == ((400, 300), "tanh", 100)
    assert (quoted.actors, quoted.update_ratio) == (1, 1.0)


def test_erl_has_the_budgets_of_its_paper():
    study = load_studies()["aes-rl-table-3"]
    paper, erl = study.profiles["paper"], entries_of("aes-rl-table-3")["erl"]
    published = {
        number.env: number.steps
        for number in load_published()._numbers.values()
        if (number.source, number.table, number.algorithm) == ("AES-RL paper", "Section 4.3", "ERL")
    }
    assert {study.envs_published[env]: paper.timesteps(env, erl) for env in paper.envs} == published
    assert {paper.timesteps(env, study.entries[0]) for env in paper.envs} == {1_000_000}
    assert study.profiles["laptop"].timesteps("Hopper-v5@paper", erl) == 22_000


def test_the_es_of_esac_is_that_of_its_authors_program():
    es = resolved("esac-table-1", "openai-es@esac")
    assert (es.normalise_observations, es.action_noise, es.l2, es.initialisation) == (False, 0, 0, "pytorch")
    assert (es.hidden, es.population, es.sigma, es.shaping) == ((512, 512), 50, 5e-3, "centred-ranks")


@pytest.mark.parametrize("profile", ["smoke", "laptop", "paper"])
def test_times_of_esac_have_no_validations_in_them(profile):
    """The authors time the members' and SAC's episodes; nothing is validated there."""
    cells = [
        cell
        for cell in requested_cells(arguments({"study": ("esac-figure-5",), "profile": profile}))
        if cell.algo == "esac"
    ]
    assert cells
    assert all(cell.settings.validation_every > (cell.total_generations or math.inf) for cell in cells)


def test_the_axes_of_esacs_figures_are_those_of_its_authors_notebooks():
    """A perturbation plays with both signs, so n of them are 2 n evaluations of ES; ESAC counts n."""
    for study in ("esac-figure-2-center", "esac-figure-5"):
        assert load_studies()[study].statistic == "seconds_per_generation"
        entries = entries_of(study)
        assert {name.split("-")[1] for name in entries} == {"n5", "n10", "n20", "n50"}
        for name in entries:
            n, settings = int(name.split("-")[1][1:]), resolved(study, name)
            assert settings.population == (n if name.startswith("esac") else 2 * n)
            assert getattr(settings, "sampling", "pairs") == "pairs"
    sigmas = {resolved("esac-figure-2-right", name).sigma for name in entries_of("esac-figure-2-right")}
    assert sigmas == {0.001, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.5, 1.0}
    paper = load_studies()["esac-figure-2-right"].profiles["paper"]
    assert (paper.total_generations, paper.total_timesteps) == (100, 100 * 50 * 2000)
    assert set(load_studies()["esac-figure-5"].profiles["paper"].env_timesteps) == set()


def test_figures_of_papers_name_themselves():
    studies = load_studies()
    found = {name: (study.item, study.table, study.x) for name, study in studies.items() if study.item}
    assert found == {
        "aes-rl-appendix-d": ("Appendix D", "Table 2", "timesteps"),
        "aes-rl-appendix-f": ("Appendix F", "Table 1", "timesteps"),
        "esac-figure-6-left": ("Figure 6, left", "Table 1", "timesteps"),
        "esac-figure-7": ("Figure 7", "Table 1", "timesteps"),
        "esac-figure-8": ("Figures 6, right, and 8", "Table 1", "timesteps"),
        "openai-es-figure-1": ("Figure 1", "Fig1", "timesteps"),
    }


def test_studies_run_the_papers_environments():
    """Where a preset undoes a change of version 5, studies name it; before MuJoCo 2.0 there were contact forces."""
    for study in load_studies().values():
        for env in {env for profile in study.profiles.values() for env in profile.envs}:
            row = LISTED[split_preset(env)[0]]
            changed = [name for name, preset in row.presets.items() if preset != Preset()]
            forces = study.published_source in ("ESAC paper", "OpenAI-ES paper")
            wanted = changed[-1 if forces else 0] if changed else ""
            assert split_preset(env)[1] == wanted, f"{env} of {study.name}"


def test_published_names_are_those_of_the_table():
    """Each entry on each environment of the profile `paper` finds its number, or the paper has none there."""
    published = load_published()
    without = set()
    for study in load_studies().values():
        if study.kind in ("scores", "curves"):
            for env in study.envs_published:
                for entry in (entry for entry in study.entries if entry.published):
                    where = (study.published_source, study.table, study.envs_published[env], entry.published)
                    if published.find(*where, study.statistic) is None:
                        without.add((study.name, entry.published, env))
    pendulum = "erlbench/PartiallyObservablePendulum-v0"
    assert without == {
        ("aes-rl-table-3", "CEM", "Humanoid-v5@paper"),
        ("goodai-pendulum", "ES 5ep", pendulum),  # its runs ended at generation 560
    }


def test_the_tasks_and_budgets_of_esac():
    study = load_studies()["esac-table-1"]
    paper = study.profiles["paper"]
    published = {number.env: number.steps for number in load_published()._numbers.values() if _is_of(number, study)}
    assert {study.envs_published[env]: paper.timesteps(env) for env in paper.envs} == published
    assert len(published) == 15


def _is_of(number, study):
    return (number.source, number.table) == (study.published_source, study.table)


@pytest.mark.parametrize("profile", ["smoke", "laptop", "paper"])
def test_studies_share_the_cells_that_have_one_folder(profile):
    """Two different ones would be refused."""
    assert requested_cells(arguments({"study": tuple(load_studies()), "profile": profile}))
