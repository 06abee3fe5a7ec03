"""The scores of stored runs by task and by algorithm, which `python -m benchmarks.results_matrix` writes.

In docs/data/matrix.csv a row is a task and a budget; a cell has the mean final score ± its standard deviation over
seeds, and their number. docs/data/scores.csv has a row for each cell, with the median of the training's minutes over
the runs of one process that shared no core and simulated no time. The finished runs of the suite's algorithms and
presets count, from `LEAST` training steps on, without those that modelled minutes ended. Runs of several folders are
not pooled: those of the folder with most seeds count, of two such folders those of the last in alphabetical order.
Bold: verdict.json has the algorithm above each other one of the row.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Hashable, Mapping
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

import erlbench
from erlbench.algorithms import registry
from erlbench.envs.catalogue import LISTED
from erlbench.records.run import RunFiles

ROOT = Path(__file__).parents[1]
MATRIX, SCORES = (ROOT / "docs" / "data" / name for name in ("matrix.csv", "scores.csv"))
LEAST = 100_000  # training steps; fewer where a task has no more
ROW = ["env", "total_timesteps"]
VERDICTS = ROOT / "results" / "reference" / "verdict.json"


def read_scores() -> pd.DataFrame:
    """A row for each cell: `env`, `total_timesteps`, `name`, `mean`, `std` (NaN for one seed), `count`,
    `minutes` (NaN where no run of one process was timed).
    """
    runs = erlbench.load_results(ROOT / "results").cells
    suite = {name if preset == registry.DEFAULT_PRESET else f"{name}@{preset}"
             for name in registry.ALGORITHMS for preset in registry.presets(name)}  # fmt: skip
    runs["folder"] = [str(Path(path).parents[2]) for path in runs["path"]]
    runs = runs[runs["name"].isin(suite) & (runs["status"] == "done") & runs["score"].notna()]
    config = runs["path"].map(lambda path: RunFiles(Path(path)).run_config()["run"])
    is_timed = runs["path"].map(lambda path: RunFiles(Path(path)).meta().get("processes") == 1)
    is_timed &= ~runs["shared_cores"].astype(bool) & ~config.map(lambda run: bool(run.get("simulated_time")))
    runs["minutes"] = runs["train_time_s"].where(is_timed) / 60
    runs = runs[config.map(lambda run: "total_minutes" not in run)]
    most = runs.groupby("env")["total_timesteps"].transform("max")
    runs = runs[runs["total_timesteps"] >= most.clip(upper=LEAST)]
    keys = [*ROW, "name", "folder"]
    cells = runs.drop_duplicates([*keys, "seed"]).groupby(keys)
    scores = cells["score"].agg(["mean", "std", "count"])
    scores = scores.assign(minutes=cells["minutes"].median()).reset_index()
    return scores.sort_values(["count", "folder"]).drop_duplicates([*ROW, "name"], keep="last")


def read_decided() -> dict[tuple[str, str, str], set[str]]:
    """Environment, budget and algorithm -> the algorithms that it is decided to score above."""
    beaten: dict[tuple[str, str, str], set[str]] = {}
    for verdict in chain(*json.loads(VERDICTS.read_text(encoding="utf-8"))["verdicts"].values()):
        if verdict["case"] == "decided":
            loser, winner = sorted((verdict["first"], verdict["second"]), key=lambda side: fmean(side["scores"]))
            key = verdict["env"], verdict["budget"], winner["name"]
            beaten.setdefault(key, set()).add(loser["name"])
    return beaten


def make_matrix() -> list[list[str]]:
    """The header, and the rows: a text for each algorithm, empty where nobody has run it."""
    scores = read_scores()
    beaten, others = read_decided(), scores.groupby(ROW)["name"].transform("nunique") - 1
    names = sorted(scores["name"].unique())
    rows: dict[tuple[str, float], dict[str, str]] = {}
    for cell, rivals in zip(scores.to_dict("records"), others, strict=True):
        row, name = (cell["env"], cell["total_timesteps"]), cell["name"]
        text = _describe(cell)
        is_best = rivals > 0 and len(beaten.get((row[0], f"{row[1]:,.0f} steps", name), ())) == rivals
        rows.setdefault(row, {})[name] = f"**{text}**" if is_best else text
    envs = [*LISTED]
    order = sorted(rows, key=lambda row: (envs.index(row[0].partition("@")[0]), row))
    return [
        ["task", "training steps", *names],
        *([row[0], f"{row[1]:,.0f}", *(rows[row].get(name, "") for name in names)] for row in order),
    ]


def make_scores() -> list[list[str]]:
    """The header, and a row for each algorithm, task and budget."""
    scores = read_scores().sort_values(["name", "env", "total_timesteps"])
    return [
        ["algorithm", "task", "training steps", "score (seeds)", "minutes a run"],
        *(
            [
                cell["name"],
                cell["env"],
                f"{cell['total_timesteps']:,.0f}",
                _describe(cell),
                "" if pd.isna(cell["minutes"]) else f"{cell['minutes']:.{int(cell['minutes'] < 10)}f}",
            ]
            for cell in scores.to_dict("records")
        ),
    ]


def _describe(cell: Mapping[Hashable, Any]) -> str:
    """Mean ± standard deviation (seeds)."""
    spread = f" ± {_round(cell['std'])}" if cell["count"] > 1 else ""
    return f"{_round(cell['mean'])}{spread} ({cell['count']})"


def _round(value: float) -> str:
    """Whole numbers from 100 on, else three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def main() -> None:
    """Write both files."""
    for path, rows in ((MATRIX, make_matrix()), (SCORES, make_scores())):
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
