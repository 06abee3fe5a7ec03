"""Tables of scores, of all cells, for a paper and of folders side by side: numbers, what is bold, what is missing."""

import math
import subprocess

import numpy as np
import pytest

from erlbench.experiment.study import Entry, Profile
from erlbench.reporting import statistics
from erlbench.reporting.differences import make_sides_page, read_sides
from erlbench.reporting.documents import BOLD, to_latex
from erlbench.reporting.matrix import overview, overview_table, paper_table
from erlbench.reporting.options import PaperStyle
from tests.files import edit_rows
from tests.reporting.compare import comparison_of, page_of, rank_p, rows_of, scores_of
from tests.reporting.make_runs import make_cells, make_run
from tests.reporting.make_studies import make_study

CHEETAH = "HalfCheetah-v5"


def texts(row, *names):
    return [row[name] for name in names]


def test_score_table_by_hand_where_missing_cells_are_never_zero(tmp_path):
    make_cells(tmp_path, CHEETAH, {"cem-rl": [100, 200, 300], "aes-rl": [120, 240, 390]}, before=(0, 50))
    make_run(tmp_path, "Walker2d-v5", "cem-rl", 0, [0, 1], total=2000, status="running")
    make_run(tmp_path, "Walker2d-v5", "cem-rl", 1, [0], total=2000, status="failed", message="out of memory")
    rows = rows_of(scores_of(comparison_of(tmp_path)))
    assert rows[CHEETAH, "AES-RL"].items() >= {
        "n": "3/3", "Mean": "250.0", "Std": "135.3", "vs CEM-RL": "+25.0 %", "Status": "done",
        "Published": "12,550 ± 187", "Published after (steps)": "1M",
    }.items()  # fmt: skip
    cem, aes, sac = (rows["Walker2d-v5", name] for name in ("CEM-RL", "AES-RL", "SAC"))
    assert texts(cem, "n", "Mean", "Std") == ["0/3", "–", "–"]
    assert all(word in cem["Status"] for word in ("seed 0 running", "out of memory", "1 not run"))
    assert texts(aes, "n", "Mean", "vs CEM-RL", "Status") == ["0/3", "–", "–", "not run"]
    assert texts(sac, "n", "Mean") == ["–", "–"]
    assert sac["Published"] == "4,268 ± 435"


def test_bold_only_after_holm_above_the_margin_and_of_whole_samples(tmp_path):
    returns = {
        "cem-rl": range(100, 110), "aes-rl": range(200, 210), "worse": range(10), "near": range(111, 121),
        "survivors": range(300, 306),
    }  # fmt: skip
    make_cells(tmp_path, CHEETAH, returns)
    for seed in range(6, 10):
        make_run(tmp_path, CHEETAH, "survivors", seed, [0, 0], total=2000, status="failed")
    study = make_study(
        entries=tuple(Entry(name, name, label=name) for name in returns), not_run=(),
        profiles={"p": Profile(tuple(range(10)), 2000, (CHEETAH,))},
    )  # fmt: skip
    table = scores_of(comparison_of(tmp_path, study))
    p_values = {row["name"]: row["p_holm"] for row in table.records}
    assert p_values["aes-rl"] == pytest.approx(3 * 2 / math.comb(20, 10))  # all ten above; three are tested
    assert p_values["cem-rl"] is None
    assert {cells[1].text: cells[3][:2] for cells in table.cells} == {
        "cem-rl": ("104.5", ""), "aes-rl": ("204.5", "bold"), "worse": ("4.50", "italic"),
        "near": ("115.5", ""),  # 3 % of the way from a random policy
        "survivors": ("302.5", ""),
    }  # fmt: skip
    rows = rows_of(table)
    assert texts(rows[CHEETAH, "near"], "n", "p") == ["10/10", "<0.001"]
    assert texts(rows[CHEETAH, "survivors"], "n", "p") == ["6/10", "–"]  # not comparable, so not tested


def test_a_column_has_the_mean_at_equal_steps(tmp_path):
    """Of 2,000 steps of the budget AES-RL has learnt from 6,000: a third of its training fits."""
    make_run(tmp_path, CHEETAH, "cem-rl", 0, [0, 50, 100])
    run = make_run(tmp_path, CHEETAH, "aes-rl", 0, [0, 40, 80, 200], steps=[0, 600, 700, 2000], fitness=2)
    means = {row["name"]: row["mean_at_equal_steps"] for row in scores_of(page_of(tmp_path)).records}
    assert means == {"aes-rl": 40.0, "cem-rl": None}
    edit_rows(run / "eval.csv", success="1 0")
    cells = {row["name"]: row for row in scores_of(page_of(tmp_path, metric="success")).records}
    assert cells["aes-rl"]["mean"] == 0.5
    assert cells["aes-rl"]["mean_at_equal_steps"] is None  # of the last row alone


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


def test_the_matrix_is_bold_where_decided_and_has_steps_and_updates_where_they_differ(tmp_path):
    for env, level in (("Ant-v5", FAR), ("Hopper-v5", 1.0)):
        write(tmp_path, env, {"cem": level}, fitness=2)
        write(tmp_path, env, {"td3": 1.5})
    table = overview_table(page_of(tmp_path))
    assert bold(table) == {("cem", "Ant-v5, 2k steps")}
    place = table.header.index("Steps learnt from")
    assert [cells[place].text for cells in table.cells] == ["6k", "2k"]


@pytest.mark.parametrize(("environments", "listed"), [(8, False), (9, True)])
def test_more_than_eight_environments_that_share_no_algorithm_are_a_list(tmp_path, environments, listed):
    for number in range(environments):
        write(tmp_path, f"Env{number}-v5", {f"cem{number}": 1.0}, seeds=1)
    rows = overview(page_of(tmp_path)).rows
    assert ("cem0 1.00" in str(rows)) == listed


@pytest.mark.parametrize(
    ("levels", "options", "style", "best"),
    [
        ({"cem": FAR, "td3": NEAR, "sac": 2 * FAR}, {}, {}, {("sac", "Foo-v5")}),
        ({"cem": 100.0, "td3": 100.5}, {}, {}, set()),
        ({"cem": FAR, "td3": NEAR, "sac": FAR + 0.5}, {}, {"algorithms": ("td3", "cem")}, set()),  # sac counts
        ({"cem": FAR, "td3": NEAR, "failed": 0.0}, {}, {}, set()),
        ({"cem": NEAR, "td3": FAR, "sac": FAR + 0.5}, {"baseline": "cem"}, {}, set()),
    ],
)
def test_a_cell_is_bold_where_the_verdicts_put_it_above_all_others(tmp_path, levels, options, style, best):
    if levels.pop("failed", None) is not None:
        make_run(tmp_path, "Foo-v5", "td3", 9, [0], status="failed", total=2000)
    write(tmp_path, "Foo-v5", levels)
    assert bold(paper_table(page_of(tmp_path, **options), "std", PaperStyle(rows="algorithms", **style))) == best


def test_a_cell_has_the_statistic_its_spread_and_its_seeds(tmp_path):
    write(tmp_path, "Foo-v5", {"cem": FAR})
    write(tmp_path, "Bar-v5", {"cem": NEAR}, seeds=2)
    page, scores = page_of(tmp_path), FAR + np.arange(8)
    mean, iqm = (paper_table(page, name, ROWS).records[0] for name in ("mean", "iqm"))
    assert mean["Foo-v5_n"] == 8
    assert mean["Bar-v5_n"] == 2
    assert mean["Bar-v5_value"] == 10.5
    assert (mean["Foo-v5_low"], mean["Foo-v5_high"]) == statistics.mean_interval(scores)
    assert mean["Bar-v5_low"] is None  # below six seeds
    assert iqm["Foo-v5_low"] < iqm["Foo-v5_value"] == statistics.iqm(scores) < iqm["Foo-v5_high"]


def test_the_note_names_the_budgets_of_one_environment_and_no_stretch_of_many(tmp_path):
    for number, steps in enumerate((20_000, 20_020, 20_040, 40_000)):
        points = [*range(0, steps + 1, steps // 20)]
        make_run(tmp_path, f"Env{number % 3}-v5", f"cem{number}", 0, points, steps=points)
    make_run(tmp_path, f"Env{number % 3}-v5", "td3", 0, points, steps=points)  # too few seeds for a test
    note = " ".join(paper_table(page_of(tmp_path), "mean", ROWS).notes)
    assert "tests of all pairs (0)" in note
    assert note.count("Mean of the evaluation curve") == 1
    assert "15,000" not in note
    assert "20,000 steps (Env0-v5)" in note
    assert "40,000 steps (Env0-v5)" in note


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


BEFORE = [100.0, 110.0, 90.0, 105.0, 95.0, 98.0, 102.0, 100.5]
AFTER = [130.0, 120.0, 140.0, 125.0, 150.0, 109.5, 145.0, 144.5]
SIDES = {"before": {"td3": BEFORE}, "after": {"td3": AFTER, "sac": [7]}, "third": {"td3": np.add(BEFORE, 1.01)}}


def test_cells_by_hand_and_three_folders_share_one_correction(tmp_path):
    for name, scores in SIDES.items():
        make_cells(tmp_path / name, "Ant-v5", scores, before=(0,))
    folders = [tmp_path / name for name in SIDES]
    for count in (2, 3):
        table = make_sides_page(read_sides(folders[:count], pytest.fail), "final").tables[0]
        rows = {(row["name"], row["folder"]): row for row in table.records}
        after, sac = rows["td3", "after"], rows["sac", "after"]
        sizes = {"env": "Ant-v5", "total_timesteps": 1000, "n_first": 8, "n": 8, "mean_first": 100.0625, "mean": 133.0}
        assert after.items() >= sizes.items()
        assert after["difference"] == pytest.approx(133 - 100.0625)
        assert after["p_holm"] == pytest.approx((count - 1) * rank_p(AFTER, BEFORE))
        assert [sac[name] for name in ("n_first", "mean", "difference")] == [None, 7.0, None]
    assert rows["td3", "third"]["p_holm"] == pytest.approx(rank_p(SIDES["third"]["td3"], BEFORE))
