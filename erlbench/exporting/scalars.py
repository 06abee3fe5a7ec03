"""The curves of a run as (name, step, value): what TensorBoard and Weights & Biases draw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from erlbench.exporting.runs import ExportedRun
from erlbench.records.tags import EVALUATION, KEYS, SEARCH, TRAINING
from erlbench.records.training import running_means, thinned

MOST_POINTS = 1000  # of the training returns


def rows(run: ExportedRun) -> Iterator[tuple[int, float, dict[str, float]]]:
    """(training steps, seconds of training, name -> value), in the order of the steps."""
    found = [*_rows(run.rows("evaluations"), EVALUATION)]
    generations = run.rows("generations")
    columns = {f"{SEARCH}{column}": column for column in generations.columns if column not in KEYS}
    found += _rows(generations, columns)
    episodes = run.rows("episodes")
    if not episodes.empty:
        means = (
            running_means(episodes).rename(columns={"t": "train_time_s"}).dropna(subset=["timesteps", "train_time_s"])
        )
        found += _rows(means.iloc[thinned(len(means), MOST_POINTS)], {TRAINING: "mean"})
    yield from sorted(found, key=lambda row: row[0])


def _rows(frame: pd.DataFrame, columns: Mapping[str, str]) -> Iterator[tuple[int, float, dict[str, float]]]:
    for row in frame.to_dict("records"):
        values = {name: float(row[column]) for name, column in columns.items() if row[column] == row[column]}
        yield int(row["timesteps"]), float(row["train_time_s"]), values
