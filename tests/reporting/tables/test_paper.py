"""The table for a paper: what its cells hold, and that bold is what the verdicts decide."""

from __future__ import annotations

import csv
import io
import subprocess

import pytest

from erlbench.reporting import statistics
from erlbench.reporting.documents import BOLD, to_csv, to_latex
from erlbench.reporting.matrix import paper_table
from erlbench.reporting.options import PaperStyle
from erlbench.reporting.significance import Case
from erlbench.reporting.statistics import mean_interval
from tests.reporting.compare import page_of, pairs_of
from tests.reporting.make_runs import make_run

FAR, NEAR = 1000.0, 10.0  # between two algorithms, whose seeds are 1 apart


def write(folder, env, name, level, seeds=8, **how):
    for seed in range(seeds):
        make_run(folder, env, name, seed, [0, level + seed / 2, level + seed], **how)


def bold(table):
    return {
        (cells[0].text, title)
        for cells in table.cells for cell, title in zip(cells[1:], table.header[1:], strict=True) if cell.style == BOLD
    }  # fmt: skip


def values(table):
    return list(csv.DictReader(io.StringIO(to_csv(table))))


def test_a_cell_is_bold_where_the_verdicts_put_it_above_all_others(tmp_path):
    write(tmp_path, "Foo-v5", "cem", FAR)
    write(tmp_path, "Foo-v5", "td3", NEAR)
    write(tmp_path, "Foo-v5", "sac", 2 * FAR)
    page = page_of(tmp_path)
    assert {one.case for one in pairs_of(page)} == {Case.DECIDED}
    assert bold(paper_table(page, "std", PaperStyle(rows="algorithms"))) == {("sac", "Foo-v5")}


def test_the_best_mean_alone_is_not_bold(tmp_path):
    write(tmp_path, "Foo-v5", "cem", 100.0)
    write(tmp_path, "Foo-v5", "td3", 100.5)
    write(tmp_path, "Bar-v5", "cem", FAR, seeds=5)  # too few for a verdict, however far
    write(tmp_path, "Bar-v5", "td3", NEAR, seeds=5)
    assert bold(paper_table(page_of(tmp_path), "std", PaperStyle())) == set()


def test_a_rival_that_the_table_leaves_out_still_counts(tmp_path):
    write(tmp_path, "Foo-v5", "cem", FAR)
    write(tmp_path, "Foo-v5", "td3", NEAR)
    write(tmp_path, "Foo-v5", "sac", FAR + 0.5)
    page = page_of(tmp_path)
    assert bold(paper_table(page, "std", PaperStyle(algorithms=("td3", "cem")))) == set()


def test_failed_runs_of_either_side_leave_nothing_bold(tmp_path):
    write(tmp_path, "Foo-v5", "cem", FAR)
    write(tmp_path, "Foo-v5", "td3", NEAR)
    make_run(tmp_path, "Foo-v5", "td3", 9, [0], status="failed", total=2000)
    assert bold(paper_table(page_of(tmp_path), "std", PaperStyle())) == set()


def test_a_baseline_does_not_hide_the_other_pairs(tmp_path):
    write(tmp_path, "Foo-v5", "cem", NEAR)
    write(tmp_path, "Foo-v5", "td3", FAR)
    write(tmp_path, "Foo-v5", "sac", FAR + 0.5)
    page = page_of(tmp_path, baseline="cem")
    assert len(pairs_of(page)) == 2
    assert bold(paper_table(page, "std", PaperStyle())) == set()  # td3 and sac are not told apart


def test_a_cell_has_the_statistic_its_spread_and_its_seeds(tmp_path):
    write(tmp_path, "Foo-v5", "cem", FAR)
    write(tmp_path, "Bar-v5", "cem", NEAR, seeds=2)
    page = page_of(tmp_path)
    bar, foo = ({one.name: one.scores for one in group.cells}["cem"] for group in page.groups)
    (row,) = values(paper_table(page, "std", PaperStyle(rows="algorithms")))
    assert float(row["Foo-v5_value"]) == statistics.mean(foo)
    assert float(row["Foo-v5_std"]) == statistics.std(foo)
    assert (row["Foo-v5_n"], row["Bar-v5_n"]) == ("8", "2")
    (row,) = values(paper_table(page, "mean", PaperStyle(rows="algorithms")))
    assert (float(row["Foo-v5_low"]), float(row["Foo-v5_high"])) == mean_interval(foo)
    assert float(row["Bar-v5_value"]) == statistics.mean(bar)
    assert row["Bar-v5_low"] == ""  # below six seeds
    (row,) = values(paper_table(page, "iqm", PaperStyle(rows="algorithms")))
    assert float(row["Foo-v5_low"]) < float(row["Foo-v5_value"]) == statistics.iqm(foo) < float(row["Foo-v5_high"])


def test_the_longer_side_stands_in_rows_and_labels_are_those_of_the_style(tmp_path):
    for env in ("Foo-v5", "Bar-v5", "Baz-v5"):
        write(tmp_path, env, "cem", FAR, seeds=1)
    write(tmp_path, "Foo-v5", "td3", FAR, seeds=1)
    page = page_of(tmp_path)
    table = paper_table(
        page, "std", PaperStyle(labels={"cem": "CEM", "Foo-v5": "Foo"}, environments=("Foo-v5", "Bar-v5"))
    )
    assert table.header == ["Algorithm", "Foo", "Bar-v5"]
    assert [cells[0].text for cells in table.cells] == ["CEM", "td3"]
    table = paper_table(page, "std", PaperStyle())
    assert table.header == ["Environment", "cem", "td3"]
    absent = values(table)[0]
    assert (absent["environment"], absent["td3_value"], absent["td3_n"]) == ("Bar-v5", "", "0")


@pytest.mark.needs("pdflatex")
@pytest.mark.parametrize(("environments", "statistic"), [(2, "std"), (9, "iqm")])
def test_the_table_for_a_paper_compiles(tmp_path, environments, statistic):
    for number in range(environments):
        for name, level in (("cem_rl", FAR), ("td3@x", NEAR), ("cma-es", 0.0)):
            write(tmp_path / "runs", f"Env{number}-v5", name, level)
    table = paper_table(page_of(tmp_path / "runs"), statistic, PaperStyle(rows="algorithms"))
    text = to_latex(table, "paper")
    assert text.count("textbf") == environments
    start = "\\documentclass[twocolumn]{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs}"
    page = "\\columnsep=0.2in\\usepackage[letterpaper,textwidth=6.8in]{geometry}\\begin{document}x"
    (tmp_path / "paper.tex").write_text(f"{start}{page}\n{text}\n\\clearpage\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
