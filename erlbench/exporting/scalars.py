"""The curves of a run as (name, step, value): what TensorBoard and Weights & Biases draw."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from erlbench.exporting.runs import ExportedRun

EVALUATION = {
    "eval/mean_reward": "return_mean",
    "eval/std_reward": "return_std",
    "time/train_time_s": "train_time_s",
    "train/critic_updates": "critic_updates",
    "train/actor_updates": "actor_updates",
    "train/episodes": "episodes",
}
KEYS = {"env", "name", "seed", "generation", "timesteps", "train_time_s", "critic_updates", "actor_updates"}


def rows(run: ExportedRun) -> Iterator[tuple[int, float, dict[str, float]]]:
    """(training steps, seconds of training, name -> value), in the order of the steps."""
    found = [*_rows(run.rows("evaluations"), EVALUATION)]
    generations = run.rows("generations")
    columns = {f"search/{column}": column for column in generations.columns if column not in KEYS}
    found += _rows(generations, columns)
    yield from sorted(found, key=lambda row: row[0])


def _rows(frame: pd.DataFrame, columns: dict[str, str]) -> Iterator[tuple[int, float, dict[str, float]]]:
    for row in frame.to_dict("records"):
        values = {name: float(row[column]) for name, column in columns.items() if row[column] == row[column]}
        yield int(row["timesteps"]), float(row["train_time_s"]), values
