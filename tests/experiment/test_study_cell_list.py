"""The suite's studies of tables and figures have the cells of results/reference, to the last setting."""

from __future__ import annotations

import pytest

from tests.experiment.study_cell_list import cell_lines, stored_lines, table_studies


def test_the_list_has_all_profiles_of_all_studies():
    listed = {tuple(line.split()[:2]) for line in stored_lines()}
    assert listed == {(name, profile) for name, study in table_studies().items() for profile in study.profiles}


@pytest.mark.parametrize("study", table_studies())
def test_the_cells_of_a_study_are_those_of_the_list(study):
    lines = [line for profile in table_studies()[study].profiles for line in cell_lines(study, profile)]
    assert lines == [line for line in stored_lines() if line.startswith(f"{study} ")]
