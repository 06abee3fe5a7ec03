"""Comparisons and tables in a form that tests can ask."""

from __future__ import annotations

import pytest

from erlbench.reporting.data.comparison import comparisons_of
from erlbench.reporting.data.runs import find_runs
from tests.reporting.make_studies import make_study


def comparison_of(tmp_path, study=None, profile=None, warn=pytest.fail):
    (found,) = comparisons_of(study or make_study(), find_runs([tmp_path], warn), profile, warn)
    return found


def rows_of(table):
    printed = [[cell.text for cell in row] for row in table.cells]
    return {(row[0], row[1]): dict(zip(table.header, row, strict=True)) for row in printed}
