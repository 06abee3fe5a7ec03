"""The matrix of all cells: what most is known of stands first."""

from __future__ import annotations

from erlbench.reporting.matrix import overview_table
from tests.reporting.compare import page_of
from tests.reporting.make_runs import make_run


def test_the_columns_with_most_finished_runs_come_first(tmp_path):
    for env, seeds, unfinished in (("Ant-v5", 1, 3), ("Hopper-v5", 2, 0), ("Swimmer-v5", 2, 0)):
        for seed in range(seeds + unfinished):
            make_run(tmp_path, env, "cem", seed, [1.0, 2.0], status="done" if seed < seeds else "interrupted")
    table = overview_table(page_of(tmp_path))
    assert [title.partition(",")[0] for title in table.header] == [
        "Algorithm", "Hopper-v5", "Swimmer-v5", "Ant-v5",
    ]  # fmt: skip
    cells = [cell.text for cell in table.cells[0][1:]]
    assert cells == ["2.00 (2/2)", "2.00 (2/2)", "2.00 (1/4)"]


def test_the_matrix_is_bold_where_decided_and_has_steps_and_updates_where_they_differ(tmp_path):
    for env, far in (("Ant-v5", 1000.0), ("Hopper-v5", 1.0)):
        for seed in range(8):
            make_run(tmp_path, env, "cem", seed, [0, 10 + seed, far + seed], fitness=2)
            make_run(tmp_path, env, "td3", seed, [0, 10 + seed, 1.5 + seed])
    table = overview_table(page_of(tmp_path))
    assert table.header[:2] == ["Algorithm", "Ant-v5, 2k steps"]
    assert "Steps learnt from" in table.header
    bold = {(cells[0].text, title) for cells in table.cells for cell, title in zip(cells, table.header, strict=True)
            if "bold" in cell.style}  # fmt: skip
    assert bold == {("cem", "Ant-v5, 2k steps")}
    cem, td3 = ({title: cell.text for title, cell in zip(table.header, cells, strict=True)} for cells in table.cells)
    assert (cem["Steps learnt from"], td3["Steps learnt from"]) == ("6k", "2k")
