"""LaTeX tables: compiled in two columns, without scaling, nothing wider than a column."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from erlbench.reporting.data.comparison import compare, everything, judged
from erlbench.reporting.data.published import load_published
from erlbench.reporting.data.runs import find_runs
from erlbench.reporting.data.timeline import load_timeline
from erlbench.reporting.documents import latex
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.options import Options
from erlbench.reporting.tables.aggregate import aggregate_table
from erlbench.reporting.tables.metrics import metrics_table
from erlbench.reporting.tables.overview import overview_table
from erlbench.reporting.tables.reach import reach_table
from erlbench.reporting.tables.scores import scores_table
from erlbench.reporting.tables.times import times_table
from erlbench.reporting.tables.utilisation import utilisation_table
from tests.reporting.make_runs import make_run, make_tasks
from tests.reporting.make_studies import make_study


def tables(tmp_path: Path) -> list[Table]:
    for env in ("HalfCheetah-v5", "Walker2d-v5"):
        for name in ("cem-rl", "aes-rl", "a_name@of_some-length"):
            for seed in range(5):
                failed = (name, seed) == ("aes-rl", 1) and env == "Walker2d-v5"
                make_run(
                    tmp_path, env, name, seed, [0, 1, 12345.6 + seed], tasks=make_tasks(0, "serial", 2, 1),
                    status="failed" if failed else "done", message="50 % & more: #1 {x} ~ \\ ^ λ" if failed else "",
                )  # fmt: skip
    runs, published = find_runs([tmp_path], pytest.fail), load_published()
    (scores,) = compare(make_study(), runs, None, pytest.fail)
    (times,) = compare(make_study("time", "Table 1"), runs, None, pytest.fail)
    page = judged(everything(runs), Options(baseline="cem-rl"))
    timelines = [load_timeline(cell.runs[0], pytest.fail) for cell in page.groups[0].cells]
    assert all(timelines)
    return [
        scores_table(scores, published), times_table(times, published, pytest.fail), scores_table(page, published),
        metrics_table(page), aggregate_table(page), reach_table(page, (1000.0,), published, pytest.fail),
        replace(overview_table(page), name="overview"), utilisation_table(page, page.groups[0], timelines, "use"),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.needs("pdflatex")
def test_every_table_compiles_and_fits_a_column(tmp_path):
    made = tables(tmp_path / "runs")
    body = "\n".join(latex.table(table, f"t{i}") for i, table in enumerate(made))
    assert "resizebox" not in body
    start = "\\documentclass[twocolumn]{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs}\\columnsep=0.2in"
    page = "\\usepackage[letterpaper,textwidth=6.8in]{geometry}\\begin{document}x"
    (tmp_path / "all.tex").write_text(f"{start}{page}\n{body}\n\\clearpage\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    too_wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", done.stdout)]
    assert max(too_wide, default=0.0) < 1, done.stdout
    assert "Float too large" not in done.stdout
    assert (tmp_path / "all.pdf").stat().st_size > 20_000


def test_headings_panels_and_what_all_rows_share():
    columns = [
        Column[int]("Environment", lambda row: f"Env{row // 2}"),
        Column[int]("Algorithm", lambda row: f"algo-{row % 2}"),
        *(Column[int](f"Number {i}", lambda row: row, lambda value: f"{value:,.3f} ± 0.125") for i in range(5)),
        Column[int]("Status", lambda row: "done"),
    ]  # fmt: skip
    text = latex.table(Table("t", "Numbers", columns, range(4)), "label")
    assert text.count("\\begin{tabular}") == 3  # panels of two numbers each
    assert text.count("\\textit{Env1}") == 3
    assert text.count("algo-0 & ") == 6
    assert "done" not in text.replace("Status: done in all rows.", "")
    assert "\\shortstack[r]{Number \\\\ 4}" in text


def test_a_long_table_becomes_several_floats():
    columns = [Column[int]("Row", lambda row: row, str), Column[int]("Square", lambda row: row * row, str)]
    text = latex.table(Table("t", "Squares", columns, range(100)), "label")
    assert text.count("\\begin{table}") == text.count("\\end{table}") == 3
    assert text.count("(continued)") == 2
    assert text.count("\\label") == 1
