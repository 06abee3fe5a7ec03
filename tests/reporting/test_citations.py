"""A report's references.bib and CITATION.cff: every algorithm and environment has its papers, and both say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from erlbench.algorithms import registry
from erlbench.cli import cli
from erlbench.envs.catalogue import LISTED
from erlbench.reporting.citations import Citation, known_citations
from tests.reporting.make_runs import make_run

OWN = {"function to be minimised", "erlbench, for measuring the pool"}  # the suite's
CFF = Path(__file__).parents[2] / "CITATION.cff"


def test_every_algorithm_and_every_environment_has_something_to_cite():
    cited = {name for one in known_citations() for name in one.algorithms}
    assert cited == set(registry.ALGORITHMS)
    assert {name for one in known_citations() for name in one.environments} | OWN == {
        row.source for row in LISTED.values()
    }


def test_the_citation_file_has_all_papers():
    found = {one["title"]: one for one in yaml.safe_load(CFF.read_text())["references"]}
    assert found.keys() == {one.title for one in known_citations()}
    for one in known_citations():
        names = [
            f"{author.get('name-particle', '')} {author['family-names']}, {author['given-names']}".strip()
            for author in found[one.title]["authors"]
        ]
        assert (names, found[one.title]["year"]) == ([*one.authors], one.year)


def test_an_entry_is_what_latex_reads():
    entry = Citation(
        key="a2020b", kind="article", title="A & B_c", authors=("Jérôme, Aloïs", "Čapek, K."), year=2020, venue="J."
    ).bibtex()  # fmt: skip
    assert entry == (
        "@article{a2020b,\n  title = {{A \\& B\\_c}},\n"
        "  author = {J{\\'e}r{\\^o}me, Alo{\\\"i}s and {\\v C}apek, K.},\n"
        "  journal = {J.},\n  year = {2020},\n}"
    )


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


def test_other_peoples_runs_and_unknown_names_are_told(tmp_path):
    make_run(tmp_path, "Hopper-v5", "td3", 0, [0, 1], steps=[0, 1_000_000])
    make_run(tmp_path, "my_envs:Reach", "cem", 0, [0, 1])
    output = references(tmp_path)
    assert re.search(
        r"@misc\{runs1,\n  title = \{Reference runs: .*\},\n  howpublished = \{github.com/.*, commit", output
    )
    assert output.endswith("cite what they are from: my_envs:Reach\n")
