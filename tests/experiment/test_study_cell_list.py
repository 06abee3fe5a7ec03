"""The suite's studies have the cells that they had when results/reference was run, to the last setting."""

from __future__ import annotations

import pytest

from erlbench.experiment.studies import load_studies
from tests.experiment.study_cell_list import cell_lines, stored_lines


def test_the_list_has_all_profiles_of_all_studies():
    listed = {tuple(line.split()[:2]) for line in stored_lines()}
    assert listed == {(name, profile) for name, study in load_studies().items() for profile in study.profiles}


@pytest.mark.parametrize("study", load_studies())
def test_the_cells_of_a_study_are_those_of_the_list(study):
    lines = [line for profile in load_studies()[study].profiles for line in cell_lines(study, profile)]
    assert lines == [line for line in stored_lines() if line.startswith(f"{study} ")]
