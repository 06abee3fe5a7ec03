"""Numbers over all environments where some lack the baseline or an entry."""

from __future__ import annotations

import pandas as pd
from click.testing import CliRunner

from erlbench.cli import cli
from tests.reporting.make_runs import make_run

SCORES = {
    "Hopper-v5": {"base": 300.0, "aes-rl": 400.0, "cem": 350.0},
    "Swimmer-v5": {"base": 30.0, "aes-rl": 20.0},
    "Reacher-v5": {"aes-rl": -5.0, "cem": -6.0},
}


def test_environments_without_the_baseline_and_entries_without_an_environment_are_left_out(tmp_path):
    for env, entries in SCORES.items():
        for name, score in entries.items():
            for seed in range(6):
                make_run(tmp_path / "runs", env, name, seed, [0.0, 0.0, score + seed / 10])
    command = ["report", tmp_path / "runs", "--baseline", "base", "--out", tmp_path / "report"]
    done = CliRunner().invoke(cli, [*map(str, command)])
    assert done.exit_code == 0, done.output
    table = pd.read_csv(tmp_path / "report" / "all-runs" / "aggregate.csv").set_index("name")
    assert set(table.environments) == {"Hopper-v5, Swimmer-v5"}
    assert table.seeds.to_dict() == {"base": 12, "aes-rl": 12}
    assert table.probability_of_improvement["aes-rl"] == 0.5  # all runs better on one task, all worse on the other
