"""references.bib: what a report cites, and that the suite has an entry for all that it can show."""

import re
import unicodedata
from pathlib import Path

import pytest
import yaml

from erlbench.algorithms import registry
from erlbench.envs.catalogue import LISTED
from erlbench.reporting.citations import read_entries
from tests.reporting.compare import read, write_report
from tests.reporting.make_runs import make_run

OWN = {"function to be minimised"}  # the suite's
ACCENTS = {'\\"': "\u0308", "\\'": "\u0301", "\\`": "\u0300", "\\^": "\u0302", "\\~": "\u0303", "\\v ": "\u030c"}


def test_every_algorithm_and_every_environment_has_something_to_cite():
    cited = set().union(*(names for names, _ in read_entries()))
    assert cited | OWN == {*registry.ALGORITHMS, *(row.source for row in LISTED.values())}


def test_the_citation_file_has_all_papers():
    """A letter with an accent stands as LaTeX writes it."""
    cff = yaml.safe_load((Path(__file__).parents[3] / "CITATION.cff").read_text())
    papers = {paper["title"]: paper for paper in cff["references"]}
    titles = set()
    for _, entry in read_entries():
        entry = re.sub(r"\{(\\(?:v |\W))(\w)\}", lambda accent: accent[2] + ACCENTS[accent[1]], entry)
        fields = dict(re.findall(r"^  (\w+) = \{+(.*?)\}+,$", unicodedata.normalize("NFC", entry), re.MULTILINE))
        paper = papers[fields["title"].replace("\\", "")]
        names = [
            f"{author.get('name-particle', '')} {author['family-names']}, {author['given-names']}".strip()
            for author in paper["authors"]
        ]
        assert (names, str(paper["year"])) == (fields["author"].split(" and "), fields["year"])
        titles.add(paper["title"])
    assert titles == papers.keys()


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
