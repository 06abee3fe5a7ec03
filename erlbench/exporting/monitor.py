"""Stable-Baselines3's Monitor: `monitor.csv` with r, l and t of each training episode."""

from __future__ import annotations

import json
from pathlib import Path

from erlbench.api import Results
from erlbench.exporting.runs import exported


def export(results: Results, out: Path) -> list[Path]:
    """One file a run, `monitor.csv`; t is seconds of training."""
    paths = []
    for run in exported(results):
        rows = run.rows("episodes")
        if rows.empty:
            continue
        path = out / run.folder / "monitor.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(f"#{json.dumps({'t_start': 0.0, 'env_id': run.env})}\n")
            rows[["r", "l", "t"]].to_csv(file, index=False)
        paths.append(path)
    return paths
