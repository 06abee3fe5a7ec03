"""The matrix of all cells: what most is known of stands first."""

from __future__ import annotations

from erlbench.reporting.tables.overview import overview_table
from tests.reporting.compare import page_of
from tests.reporting.make_runs import make_run


def test_the_columns_with_most_finished_runs_come_first(tmp_path):
    for env, seeds, unfinished in (("Ant-v5", 1, 3), ("Hopper-v5", 2, 0), ("Swimmer-v5", 2, 0)):
        for seed in range(seeds + unfinished):
            make_run(tmp_path, env, "cem", seed, [1.0, 2.0], status="done" if seed < seeds else "interrupted")
    table = overview_table(page_of(tmp_path))
    assert [column.title.partition(",")[0] for column in table.columns] == [
        "Algorithm", "Hopper-v5", "Swimmer-v5", "Ant-v5",
    ]  # fmt: skip
    cells = [cell.text for cell in table.cells[0][1:]]
    assert cells == ["2.00 (2/2)", "2.00 (2/2)", "2.00 (1/4)"]
