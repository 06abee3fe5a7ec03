"""The studies that the suite comes with: what stands beside a published number is what was published."""

from __future__ import annotations

import math

import pytest

from erlbench.envs.catalogue import LISTED, Preset, split_preset
from erlbench.envs.registry import problem
from erlbench.experiment.arguments import arguments
from erlbench.experiment.command import requested_cells
from erlbench.experiment.estimate import estimate
from erlbench.experiment.studies import load_studies
from erlbench.reporting.published import read_published

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


def cells_of(study, profile):
    """Of the first seed."""
    return requested_cells(arguments({"study": (study,), "profile": profile, "seeds": "0,"}))


@pytest.mark.parametrize("profile", ["smoke", "laptop", pytest.param("paper", marks=pytest.mark.slow)])
@pytest.mark.parametrize("study", PACKAGED)
def test_each_study_can_be_estimated(study, profile):
    """As is done for a dry run, and before the first cell of a run."""
    for cell in cells_of(study, profile):
        assert 0 < estimate(cell, problem(cell.env, cell.env_settings), 1).core_seconds < math.inf


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
    published = read_published()
    without = set()
    for study in load_studies().values():
        if study.kind in ("scores", "curves"):
            for env in study.envs_published:
                for entry in (entry for entry in study.entries if entry.published):
                    where = (study.published_source, study.table, study.envs_published[env], entry.published)
                    if (*where, study.statistic) not in published:
                        without.add((study.name, entry.published, env))
    pendulum = "erlbench/PartiallyObservablePendulum-v0"
    assert without == {
        ("aes-rl-table-3", "CEM", "Humanoid-v5@paper"),
        ("goodai-pendulum", "ES 5ep", pendulum),  # its runs ended at generation 560
    }


def test_the_tasks_and_budgets_of_esac():
    study = load_studies()["esac-table-1"]
    paper = study.profiles["paper"]
    published = {number.env: number.steps for number in read_published().values() if _is_of(number, study)}
    assert {study.envs_published[env]: paper.timesteps(env) for env in paper.envs} == published
    assert len(published) == 15


def _is_of(number, study):
    return (number.source, number.table) == (study.published_source, study.table)
