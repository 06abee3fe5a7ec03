"""Pages by questions: sections.toml names their folders, and all other runs stand on the last page."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.reporting import build_report
from erlbench.reporting.data.runs import find_runs
from erlbench.reporting.data.sections import pages_of_runs
from erlbench.reporting.tables.overview import overview
from tests.reporting.compare import page_of
from tests.reporting.make_runs import make_run

ROOT = Path(__file__).parents[3]
SECTIONS = """
[first]
title = "Is cem good?"
folders = ["one"]

[second]
title = "At 100 steps"
folders = ["one", "two"]
envs = ["Hopper-v5"]
at = 100
"""


@pytest.fixture
def results(tmp_path):
    for folder, env, name in (("one", "Ant-v5", "cem"), ("one", "Hopper-v5", "cem"), ("two", "Hopper-v5", "td3"),
                              ("three", "Ant-v5", "td3")):  # fmt: skip
        make_run(tmp_path / folder, env, name, 0, [1.0, 2.0, 3.0], steps=(0, 100, 200))
    return tmp_path


def pages(results: Path):
    said: list[object] = []
    return pages_of_runs([results], find_runs([results], said.append), said.append), said


def test_each_section_is_a_page_and_other_runs_come_last(results):
    (results / "sections.toml").write_text(SECTIONS)
    found, said = pages(results)
    assert [(page.name, page.title, len(page.runs)) for page in found] == [
        ("question-first", "Is cem good?", 2), ("question-second", "At 100 steps", 2), ("all-runs", "All other runs", 1)
    ]  # fmt: skip
    assert {run.evaluations.timesteps[-1] for run in found[1].runs} == {100}
    assert said == []


def test_without_the_file_all_runs_are_one_page(results):
    (page,), _ = pages(results)
    assert (page.name, len(page.runs)) == ("all-runs", 4)


@pytest.mark.parametrize("text", [
    "[first", "first = 1", "[first]\ntitle = 1", '[first]\ntitle = "x"\nfolders = 1', '["../x"]\ntitle = "x"',
    '[first]\ntitle = "x"\nfolders = ["one"]\nat = -1', '[first]\ntitle = "x"\nfolders = ["one"]\nat = "x"',
])  # fmt: skip
def test_a_mistake_is_named_and_the_report_is_written(results, text):
    (results / "sections.toml").write_text(text)
    (page,), said = pages(results)
    assert page.name == "all-runs"
    assert any("sections.toml" in str(one) for one in said)


def test_a_section_reads_no_folder_outside(results, tmp_path_factory):
    """A folder that a section names gives no runs; it only chooses among those of the results."""
    other = tmp_path_factory.mktemp("other")
    make_run(other, "Ant-v5", "sac", 0, [1.0, 2.0])
    (results / "sections.toml").write_text(f'[first]\ntitle = "x"\nfolders = ["{other}", "one"]\n')
    found, _ = pages(results)
    assert {run.name for run in found[0].runs} == {"cem"}


def test_the_report_opens_with_a_matrix_for_each_question(results):
    (results / "sections.toml").write_text(SECTIONS)
    out = results / "report"
    build_report([results], out, {}, None, lambda said: None)
    text = (out / "index.md").read_text()
    assert text.index("**Is cem good?**") < text.index("**At 100 steps**") < text.index("**All other runs**")
    assert (out / "question-first/index.md").is_file()


def test_a_sparse_matrix_becomes_a_list_of_environments(tmp_path):
    for number in range(12):
        make_run(tmp_path, f"Task{number}-v0", f"algorithm-{number}", 0, [1.0, 2.0])
    table = overview(page_of(tmp_path))
    assert [column.title for column in table.columns] == ["Environment", "Algorithms"]
    assert len(table.rows) == 12
    for number in range(12):
        make_run(tmp_path, f"Task{number}-v0", "all", 0, [1.0, 2.0])
        make_run(tmp_path, f"Task{number}-v0", "every", 0, [1.0, 2.0])
        make_run(tmp_path, f"Task{number}-v0", "each", 0, [1.0, 2.0])
    assert overview(page_of(tmp_path)).columns[0].title == "Algorithm"


def test_each_folder_of_the_reference_results_belongs_to_a_question():
    reference = ROOT / "results" / "reference"
    sections = tomllib.loads((reference / "sections.toml").read_text())
    named = {folder for section in sections.values() for folder in section["folders"]}
    with_runs = {path.relative_to(reference).parts[0] for path in reference.rglob("eval.csv")}
    assert with_runs <= named
    assert all((reference / folder).is_dir() for folder in named)
    assert list(sections)[-1] == "appendix"


def test_the_terminal_names_the_question_of_each_result(tmp_path):
    for seed, folder in enumerate(("one", "two")):
        for name in ("cem", "td3"):
            make_run(tmp_path / "results" / folder, "Hopper-v5", name, seed, [1.0, 2.0, 3.0], steps=(0, 100, 200))
    two = '[{0}]\ntitle = "{0}?"\nfolders = ["{1}"]\n'
    text = two.format("first", "one") + two.format("second", "two")
    (tmp_path / "results" / "sections.toml").write_text(text)
    done = CliRunner().invoke(cli, ["report", str(tmp_path / "results"), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert [line.partition(":")[0] for line in done.stdout.splitlines() if "No comparison can be decided" in line] == [
        "first", "second"
    ]  # fmt: skip
    overview = (tmp_path / "out" / "index.md").read_text().partition("Contents")[0]
    assert overview.count("No comparison can be decided") == 2
