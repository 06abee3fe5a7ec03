"""The studies that the suite comes with: what stands beside a published number is what was published."""

import csv
import math
import re
from dataclasses import fields
from itertools import product
from pathlib import Path

import pytest

from erlbench.envs.catalogue import find_extra
from erlbench.envs.registry import problem
from erlbench.experiment.estimate import estimate
from erlbench.experiment.studies import STUDY_KEYS, load_studies
from erlbench.experiment.study import PLACES, Entry, Pair, Profile, Study
from erlbench.experiment.toml_file import toml_key
from erlbench.reporting.published import read_published
from tests.experiment.requested import cells_of
from tests.experiment.study_cell_list import cell_lines, stored_lines, table_studies
from tests.programs import needed_extra


def _need_extras(study):
    for env in {env for profile in table_studies()[study].profiles.values() for env in profile.envs}:
        needed_extra(find_extra(env))


@pytest.mark.parametrize("profile", ["smoke", "laptop", pytest.param("paper", marks=pytest.mark.slow)])
@pytest.mark.parametrize("study", table_studies())
def test_each_study_can_be_estimated(study, profile):
    """As is done for a dry run, and before the first cell of a run."""
    _need_extras(study)
    for cell in cells_of(study=study, profile=profile, seeds="0,"):
        assert 0 < estimate(cell, problem(cell.env, cell.env_settings), 1).core_seconds < math.inf


def test_published_names_are_those_of_the_table():
    """Each entry on each environment of the profile `paper` finds its number, or the paper has none there."""
    published = read_published()
    without = set()
    for study in (study for study in load_studies().values() if study.kind in ("scores", "curves")):
        for (env, theirs), entry in product(study.envs_published.items(), study.entries):
            where = (study.published_source, study.table, theirs, entry.published, study.statistic)
            if entry.published and where not in published:
                without.add((study.name, entry.published, env))
    pendulum = "erlbench/PartiallyObservablePendulum-v0"
    assert without == {
        ("aes-rl-table-3", "CEM", "Humanoid-v5@paper"),
        ("goodai-pendulum", "ES 5ep", pendulum),  # its runs ended at generation 560
    }


def test_the_list_has_no_other_study():
    assert {line.split()[0] for line in stored_lines()} == {*table_studies()}


@pytest.mark.parametrize("study", table_studies())
def test_the_cells_of_a_study_are_those_of_the_list(study):
    _need_extras(study)
    lines = [line for profile in table_studies()[study].profiles for line in cell_lines(study, profile)]
    assert lines == [line for line in stored_lines() if line.startswith(f"{study} ")]


def test_all_keys_are_documented():
    """The table of docs/studies.md has each key of a study, a profile, an entry and a pair, and says of which it is."""
    with open(Path(__file__).parents[2] / "docs/data/study-keys.csv", encoding="utf-8", newline="") as file:
        rows = [*csv.reader(file)][1:]
    listed = {(name, of) for row in rows for name in re.findall(r"`([\w-]+)`", row[0]) for of in row[1].split(", ")}
    kinds = {"study": Study, "profile": Profile, "entry": Entry, "pair": Pair}
    keys = {(toml_key(item), of) for of, kind in kinds.items() for item in fields(kind)}
    keys |= {(key, "study") for key in STUDY_KEYS}
    assert listed == keys - {(name, "study") for name in PLACES}
