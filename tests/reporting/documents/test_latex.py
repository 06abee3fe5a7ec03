"""LaTeX tables: compiled in two columns, without scaling, nothing wider than a column."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from erlbench.reporting.data.comparison import everything
from erlbench.reporting.data.published import load_published
from erlbench.reporting.data.runs import find_runs
from erlbench.reporting.data.study_comparisons import comparisons_of
from erlbench.reporting.data.timeline import load_timeline
from erlbench.reporting.documents import latex
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.documents.widths import stacked, width
from erlbench.reporting.options import ReportOptions
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
    (scores,) = comparisons_of(make_study(), runs, None, pytest.fail)
    (times,) = comparisons_of(make_study("time", "Table 1"), runs, None, pytest.fail)
    page = ReportOptions(baseline="cem-rl").judged(everything(runs))
    timelines = [load_timeline(run_set.runs[0], pytest.fail) for run_set in page.groups[0].run_sets]
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


@pytest.mark.slow
@pytest.mark.needs("pdflatex")
def test_widths_are_those_of_the_print(tmp_path):
    """Estimates that are too small overflow the column; those that are too large leave it half empty."""
    texts = ["aes-rl, fitness steps counted", "cem@no-extra-division", "−4,678 ± 1,087", "[0.10, 0.70]", "Environment",
             "LQNew: Spinning Up rerun (TF1)", "HalfCheetah-v5, 30k steps", "0.67 + 3.33", "100.0 %"]  # fmt: skip
    lines = [f"\\sbox0{{{latex.escape(text)}}}\\typeout{{W \\the\\wd0}}" for text in texts]
    start = "\\documentclass{article}\\usepackage[T1]{fontenc}\\begin{document}\\footnotesize"
    (tmp_path / "w.tex").write_text("\n".join([start, *lines, "\\end{document}"]))
    command = ["pdflatex", "-interaction=nonstopmode", "w.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=60)
    printed = [float(points) for points in re.findall(r"W ([\d.]+)pt", done.stdout)]
    assert [width(text) / points for text, points in zip(texts, printed, strict=True)] == pytest.approx(
        [1.03] * len(texts), abs=0.05
    )


def test_a_header_takes_as_few_lines_as_its_column_is_wide():
    assert stacked("Reference runs", width("2,294 ± 672.0 (8)")) == ["Reference runs"]
    assert stacked("Steps learnt from", width("1.004M")) == ["Steps", "learnt", "from"]


def test_a_row_is_named_in_every_panel():
    """Where the first column does not tell rows apart, so many columns stand above them as are needed for that."""
    rows = [(env, algo, source) for env in ("Ant", "Hopper") for algo in ("sac", "td3") for source in ("one", "two")]
    columns = [Column[tuple[str, str, str]](name, lambda row, i=i: row[i]) for i, name in enumerate(("E", "A", "S"))]
    numbers = [
        Column[tuple[str, str, str]](f"N{i}", lambda row: 0, lambda value: "1,234,567.8 ± 1.25") for i in range(4)
    ]
    text = latex.table(Table("t", "Numbers", [*columns, *numbers], rows), "label")
    panels = text.split("\\begin{tabular}")[1:]
    assert len(panels) == 2
    for panel in panels:
        assert re.findall(r"textit\{(.*?)\}", panel) == ["Ant: sac", "Ant: td3", "Hopper: sac", "Hopper: td3"]
        assert re.findall(r"^(one|two) &", panel, re.M) == ["one", "two"] * 4


def test_headings_panels_and_what_all_rows_share():
    columns = [
        Column[int]("Environment", lambda row: f"Env{row // 2}"),
        Column[int]("Algorithm", lambda row: f"algo-{row % 2}"),
        *(Column[int](f"Number {i}", lambda row: row, lambda value: f"{value:,.3f} ± 0.125") for i in range(5)),
        Column[int]("Status", lambda row: "done"),
    ]  # fmt: skip
    text = latex.table(Table("t", "Numbers", columns, range(4)), "label")
    assert text.count("\\begin{tabular}") == 2  # panels of three and of two numbers
    assert text.count("\\textit{Env1}") == 2
    assert text.count("algo-0 & ") == 4
    assert "done" not in text.replace("Status: done in all rows.", "")
    assert "Algorithm & Number 3 & Number 4 \\\\" in text
    short = Table("t", "Numbers", [Column[int]("Square of it", lambda row: row, str), columns[1]], range(4))
    assert "\\shortstack[r]{Square \\\\ of it}" in latex.table(short, "label")


def test_a_long_table_becomes_several_floats():
    columns = [Column[int]("Row", lambda row: row, str), Column[int]("Square", lambda row: row * row, str)]
    text = latex.table(Table("t", "Squares", columns, range(100)), "label")
    assert text.count("\\begin{table}") == text.count("\\end{table}") == 3
    assert text.count("(continued)") == 2
    assert text.count("\\label") == 1
