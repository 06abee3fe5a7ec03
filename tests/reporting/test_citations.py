"""A report's references.bib and CITATION.cff: every algorithm and environment has its papers, and both say the same."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from erlbench.algorithms import registry
from erlbench.cli import cli
from erlbench.envs.catalogue import LISTED
from erlbench.reporting.checklist import read_entries
from tests.reporting.make_runs import make_run

OWN = {"function to be minimised", "erlbench, for measuring the pool"}  # the suite's
CFF = Path(__file__).parents[2] / "CITATION.cff"


def test_every_algorithm_and_every_environment_has_something_to_cite():
    cited = set().union(*(names for names, _ in read_entries()))
    assert cited | OWN == {*registry.ALGORITHMS, *(row.source for row in LISTED.values())}


def test_the_citation_file_has_all_papers():
    """A letter with an accent stands as LaTeX writes it."""
    accents = dict(
        zip(('\\"', "\\'", "\\`", "\\^", "\\~", "\\v "), "\u0308\u0301\u0300\u0302\u0303\u030c", strict=True)
    )
    found = {one["title"]: one for one in yaml.safe_load(CFF.read_text())["references"]}
    titles = set()
    for _, entry in read_entries():
        entry = re.sub(r"\{(\\(?:v |\W))(\w)\}", lambda accent: accent[2] + accents[accent[1]], entry)
        fields = dict(re.findall(r"^  (\w+) = \{+(.*?)\}+,$", unicodedata.normalize("NFC", entry), re.MULTILINE))
        paper = found[fields["title"].replace("\\", "")]
        names = [
            f"{author.get('name-particle', '')} {author['family-names']}, {author['given-names']}".strip()
            for author in paper["authors"]
        ]
        assert (names, str(paper["year"])) == (fields["author"].split(" and "), fields["year"])
        titles.add(paper["title"])
    assert titles == found.keys()


def references(results: Path) -> str:
    """What the report of the runs below a folder has in references.bib."""
    done = CliRunner().invoke(cli, ["report", str(results), "--out", str(results / "report")])
    assert done.exit_code == 0, done.output
    return (results / "report" / "references.bib").read_text()


@pytest.mark.parametrize(
    ("env", "name", "keys"),
    [
        ("Hopper-v5", "cma-es", ["erlbench", "hansen2016cma", "towers2024gymnasium", "todorov2012mujoco"]),
        ("function:sphere", "openai-es", ["erlbench", "salimans2017evolution"]),
    ],
)
def test_runs_are_cited_by_what_they_used(tmp_path, env, name, keys):
    make_run(tmp_path, env, name, 0, [0, 1])
    assert re.findall(r"^@\w+\{(\w+),", references(tmp_path), flags=re.MULTILINE) == keys
