"""references.bib: what a report cites, and that the suite has an entry for all that it can show."""

import re

import pytest

from erlbench.algorithms import registry
from erlbench.envs.catalogue import LISTED
from erlbench.reporting.citations import read_entries
from tests.reporting.compare import read, write_report
from tests.reporting.make_runs import make_run

OWN = {"function to be minimised"}  # the suite's


def test_every_algorithm_and_every_environment_has_something_to_cite():
    cited = set().union(*(names for names, _ in read_entries()))
    assert cited | OWN == {*registry.ALGORITHMS, *(row.source for row in LISTED.values())}


@pytest.mark.parametrize(
    ("env", "name", "keys"),
    [
        ("Hopper-v5", "cma-es", ["erlbench", "hansen2016cma", "towers2024gymnasium", "todorov2012mujoco"]),
        ("function:sphere", "openai-es", ["erlbench", "salimans2017evolution"]),
    ],
)
def test_runs_are_cited_by_what_they_used(tmp_path, env, name, keys):
    make_run(tmp_path / "results", env, name, 0, [0, 1])
    references = read(write_report(tmp_path / "results") / "references.bib")
    assert re.findall(r"^@\w+\{(\w+),", references, flags=re.MULTILINE) == keys
