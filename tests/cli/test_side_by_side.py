"""`erlbench report --side-by-side` at a terminal."""

from __future__ import annotations

from click.testing import CliRunner

from erlbench.cli import cli
from tests.reporting.make_runs import make_run


def test_the_table_and_the_page(tmp_path):
    for folder, score in (("a", 10), ("b", 12)):
        for seed in range(6):
            make_run(tmp_path / folder, "Ant-v5", "td3", seed, [0, score + seed])
    words = ["report", tmp_path / "a", tmp_path / "b", "--side-by-side", "--out", tmp_path / "out"]
    result = CliRunner().invoke(cli, list(map(str, words)))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Nothing is decided")
    table = lines[lines.index("Ant-v5, 1k steps") :]
    assert table[1].split() == [
        "Algorithm",
        "Compared",
        "with",
        "Mean",
        "a",
        "Mean",
        "b",
        "Change",
        "Identity",
        "Settings",
        "p",
    ]
    assert table[2].split() == [
        "td3",
        "b",
        "12.5",
        "±",
        "1.87",
        "14.5",
        "±",
        "1.87",
        "+16.0",
        "%",
        "unknown",
        "equal",
        "0.126",
    ]
    assert lines[-1] == str(tmp_path / "out" / "index.html")


def test_budgets_that_differ_are_told(tmp_path):
    make_run(tmp_path / "a", "Ant-v5", "td3", 0, [0, 1])
    make_run(tmp_path / "b", "Ant-v5", "td3", 0, [0, 1, 2])
    words = ["report", tmp_path / "a", tmp_path / "b", "--side-by-side", "--out", tmp_path / "out"]
    lines = CliRunner().invoke(cli, list(map(str, words))).stdout.splitlines()
    told = "Not compared, for their budgets differ: td3 on Ant-v5 (1k steps in a, 2k steps in b)."
    assert lines[-2] == told
    assert any(told in page.read_text() for page in (tmp_path / "out" / "all-runs").glob("*.md"))


def test_one_folder_is_a_mistake(tmp_path):
    result = CliRunner().invoke(cli, ["report", str(tmp_path), "--side-by-side"])
    assert result.exit_code == 2
    assert "erlbench report A B --side-by-side" in result.stderr
