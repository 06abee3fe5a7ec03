"""The scores of stored runs by task and by algorithm, which `python -m benchmarks.results_matrix` writes.

In docs/data/matrix.csv a row is a task and a budget; a cell has the mean final score ± its standard deviation over
seeds, and their number. docs/data/scores.csv has a row for each cell, with the median of the training's minutes over
the runs of one process that shared no core and simulated no time. The finished runs of the suite's algorithms and
presets count, from `LEAST` training steps on, without those that modelled minutes ended. Runs of several folders are
not pooled: those of the folder with most seeds count, of two such folders those of the last in alphabetical order.
Bold: verdict.json has the algorithm above each other one of the row.
"""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from statistics import fmean

import pandas as pd

import erlbench
from erlbench.algorithms import registry
from erlbench.envs.catalogue import LISTED
from erlbench.records.older import DEFAULT_PRESET
from erlbench.records.run import RunFiles

ROOT = Path(__file__).parents[1]
MATRIX, SCORES = (ROOT / "docs" / "data" / name for name in ("matrix.csv", "scores.csv"))
LEAST = 100_000  # training steps; fewer where a task has no more
ROW = ["env", "total_timesteps"]
VERDICTS = ROOT / "results" / "reference" / "verdict.json"


def read_scores() -> pd.DataFrame:
    """A row for each cell: `env`, `total_timesteps`, `name`, `score` and `minutes` as texts (empty where none is)."""
    runs = erlbench.load_results(ROOT / "results").cells
    suite = {name if preset == DEFAULT_PRESET else f"{name}@{preset}"
             for name in registry.ALGORITHMS for preset in registry.presets(name)}  # fmt: skip
    runs["folder"] = [str(Path(path).parents[2]) for path in runs["path"]]
    runs = runs[runs["name"].isin(suite) & (runs["status"] == "done") & runs["score"].notna()]
    files = runs["path"].map(Path).map(RunFiles)
    config = files.map(lambda run: run.run_config()["run"])
    is_timed = files.map(lambda run: run.meta().get("processes") == 1) & ~runs["shared_cores"].astype(bool)
    is_timed &= ~config.map(lambda run: bool(run.get("simulated_time")))
    runs["minutes"] = runs["train_time_s"].where(is_timed) / 60
    runs = runs[config.map(lambda run: "total_minutes" not in run)]
    most = runs.groupby("env")["total_timesteps"].transform("max")
    runs = runs[runs["total_timesteps"] >= most.clip(upper=LEAST)]
    keys = [*ROW, "name", "folder"]
    cells = runs.drop_duplicates([*keys, "seed"]).groupby(keys)
    scores = cells["score"].agg(["mean", "std", "count"]).assign(minutes=cells["minutes"].median()).reset_index()
    scores = scores.sort_values(["count", "folder"]).drop_duplicates([*ROW, "name"], keep="last")
    spreads = scores["std"].map(lambda std: f" ± {_round(std)}", na_action="ignore").fillna("")
    scores["score"] = scores["mean"].map(_round) + spreads + scores["count"].map(" ({})".format)
    minutes = scores["minutes"].map(lambda value: f"{value:.{int(value < 10)}f}", na_action="ignore").fillna("")
    return scores[[*ROW, "name", "score"]].assign(minutes=minutes)


def read_decided() -> dict[tuple[str, str, str], set[str]]:
    """Environment, budget and algorithm -> the algorithms that it is decided to score above."""
    beaten: dict[tuple[str, str, str], set[str]] = {}
    for verdict in chain(*json.loads(VERDICTS.read_text(encoding="utf-8"))["verdicts"].values()):
        if verdict["case"] == "decided":
            loser, winner = sorted((verdict["first"], verdict["second"]), key=lambda side: fmean(side["scores"]))
            key = verdict["env"], verdict["budget"], winner["name"]
            beaten.setdefault(key, set()).add(loser["name"])
    return beaten


def make_matrix() -> pd.DataFrame:
    """A row for each task and budget, in the order of the listed environments; empty cells where nobody has run it."""
    scores, beaten, envs = read_scores(), read_decided(), [*LISTED]
    rivals = scores.groupby(ROW)["name"].transform("nunique") - 1
    keys = zip(scores["env"], scores["total_timesteps"].map("{:,.0f} steps".format), scores["name"])
    is_best = [len(beaten.get(key, ())) == count > 0 for key, count in zip(keys, rivals, strict=True)]
    scores["score"] = scores["score"].mask(is_best, "**" + scores["score"] + "**")
    matrix = scores.pivot(index=ROW, columns="name", values="score").fillna("").reset_index()
    matrix = matrix.iloc[matrix["env"].map(lambda env: envs.index(env.partition("@")[0])).argsort(kind="stable")]
    return _with_titles(matrix)


def make_scores() -> pd.DataFrame:
    """A row for each algorithm, task and budget."""
    scores = read_scores().sort_values(["name", *ROW])
    titles = {"name": "algorithm", "score": "score (seeds)", "minutes": "minutes a run"}
    return _with_titles(scores[["name", *ROW, "score", "minutes"]].rename(columns=titles))


def _with_titles(table: pd.DataFrame) -> pd.DataFrame:
    steps = table["total_timesteps"].map("{:,.0f}".format)
    return table.assign(total_timesteps=steps).rename(columns={"env": "task", "total_timesteps": "training steps"})


def _round(value: float) -> str:
    """Whole numbers from 100 on, else three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def main() -> None:
    """Write both files."""
    make_matrix().to_csv(MATRIX, index=False)
    make_scores().to_csv(SCORES, index=False)


if __name__ == "__main__":
    main()
