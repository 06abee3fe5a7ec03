"""The matrix of all cells, and the table for a paper: what their cells hold, and that bold is what verdicts decide."""

from __future__ import annotations

import csv
import io
import subprocess

import numpy as np
import pytest

from erlbench.reporting import statistics
from erlbench.reporting.documents import BOLD, to_csv, to_latex
from erlbench.reporting.matrix import overview_table, paper_table
from erlbench.reporting.options import PaperStyle
from tests.reporting.compare import page_of
from tests.reporting.make_runs import make_cells, make_run

FAR, NEAR = 1000.0, 10.0  # of two algorithms, whose seeds are 1 apart
ROWS = PaperStyle(rows="algorithms")


def write(folder, env, levels, seeds=8, **how):
    make_cells(folder, env, {name: level + np.arange(seeds) for name, level in levels.items()}, **how)


def bold(table):
    return {
        (cells[0].text, title)
        for cells in table.cells for cell, title in zip(cells[1:], table.header[1:], strict=True)
        if BOLD in cell.style.split()
    }  # fmt: skip


def values(table):
    return list(csv.DictReader(io.StringIO(to_csv(table))))


def test_the_columns_with_most_finished_runs_come_first(tmp_path):
    for env, seeds, unfinished in (("Ant-v5", 1, 3), ("Hopper-v5", 2, 0), ("Swimmer-v5", 2, 0)):
        for seed in range(seeds + unfinished):
            make_run(tmp_path, env, "cem", seed, [1.0, 2.0], status="done" if seed < seeds else "interrupted")
    table = overview_table(page_of(tmp_path))
    titles = [title.partition(",")[0] for title in table.header]
    assert titles == ["Algorithm", "Hopper-v5", "Swimmer-v5", "Ant-v5"]
    assert [cell.text for cell in table.cells[0][1:]] == ["2.00 (2/2)", "2.00 (2/2)", "2.00 (1/4)"]


def test_the_matrix_is_bold_where_decided_and_has_steps_and_updates_where_they_differ(tmp_path):
    for env, level in (("Ant-v5", FAR), ("Hopper-v5", 1.0)):
        write(tmp_path, env, {"cem": level}, fitness=2)
        write(tmp_path, env, {"td3": 1.5})
    table = overview_table(page_of(tmp_path))
    assert bold(table) == {("cem", "Ant-v5, 2k steps")}
    place = table.header.index("Steps learnt from")
    assert [cells[place].text for cells in table.cells] == ["6k", "2k"]


@pytest.mark.parametrize(
    ("levels", "seeds", "options", "style", "best"),
    [
        ({"cem": FAR, "td3": NEAR, "sac": 2 * FAR}, 8, {}, {}, {("sac", "Foo-v5")}),
        ({"cem": 100.0, "td3": 100.5}, 8, {}, {}, set()),
        ({"cem": FAR, "td3": NEAR}, 5, {}, {}, set()),  # too few for a verdict, however far
        ({"cem": FAR, "td3": NEAR, "sac": FAR + 0.5}, 8, {}, {"algorithms": ("td3", "cem")}, set()),  # sac counts
        ({"cem": FAR, "td3": NEAR, "failed": 0.0}, 8, {}, {}, set()),
        ({"cem": NEAR, "td3": FAR, "sac": FAR + 0.5}, 8, {"baseline": "cem"}, {}, set()),
    ],
)
def test_a_cell_is_bold_where_the_verdicts_put_it_above_all_others(tmp_path, levels, seeds, options, style, best):
    if levels.pop("failed", None) is not None:
        make_run(tmp_path, "Foo-v5", "td3", 9, [0], status="failed", total=2000)
    write(tmp_path, "Foo-v5", levels, seeds)
    assert bold(paper_table(page_of(tmp_path, **options), "std", PaperStyle(rows="algorithms", **style))) == best


def test_a_cell_has_the_statistic_its_spread_and_its_seeds(tmp_path):
    write(tmp_path, "Foo-v5", {"cem": FAR})
    write(tmp_path, "Bar-v5", {"cem": NEAR}, seeds=2)
    page = page_of(tmp_path)
    scores = FAR + np.arange(8)
    std, mean, iqm = (values(paper_table(page, name, ROWS))[0] for name in ("std", "mean", "iqm"))
    assert [float(std[f"Foo-v5_{name}"]) for name in ("value", "std")] == [scores.mean(), scores.std(ddof=1)]
    assert (std["Foo-v5_n"], std["Bar-v5_n"], std["Bar-v5_value"]) == ("8", "2", "10.5")
    assert (float(mean["Foo-v5_low"]), float(mean["Foo-v5_high"])) == statistics.mean_interval(scores)
    assert mean["Bar-v5_low"] == ""  # below six seeds
    assert float(iqm["Foo-v5_low"]) < float(iqm["Foo-v5_value"]) == statistics.iqm(scores) < float(iqm["Foo-v5_high"])


def test_the_longer_side_stands_in_rows_and_labels_are_those_of_the_style(tmp_path):
    for env in ("Foo-v5", "Bar-v5", "Baz-v5"):
        write(tmp_path, env, {"cem": FAR}, seeds=1)
    write(tmp_path, "Foo-v5", {"td3": FAR}, seeds=1)
    style = PaperStyle(labels={"cem": "CEM", "Foo-v5": "Foo"}, environments=("Foo-v5", "Bar-v5"))
    table = paper_table(page_of(tmp_path), "std", style)
    assert (table.header, [cells[0].text for cells in table.cells]) == (["Algorithm", "Foo", "Bar-v5"], ["CEM", "td3"])
    table = paper_table(page_of(tmp_path), "std", PaperStyle())
    assert table.header == ["Environment", "cem", "td3"]
    absent = values(table)[0]
    assert (absent["environment"], absent["td3_value"], absent["td3_n"]) == ("Bar-v5", "", "0")


@pytest.mark.needs("pdflatex")
def test_the_table_for_a_paper_compiles(tmp_path):
    for number in range(9):
        write(tmp_path / "runs", f"Env{number}-v5", {"cem_rl": FAR, "td3@x": NEAR, "cma-es": 0.0})
    text = to_latex(paper_table(page_of(tmp_path / "runs"), "iqm", ROWS), "paper")
    assert text.count("textbf") == 9
    start = "\\documentclass[twocolumn]{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs}"
    page = "\\columnsep=0.2in\\usepackage[letterpaper,textwidth=6.8in]{geometry}\\begin{document}x"
    (tmp_path / "paper.tex").write_text(f"{start}{page}\n{text}\n\\clearpage\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
