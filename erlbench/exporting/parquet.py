"""Parquet: the frames of `erlbench.load_results`, a file each."""

from __future__ import annotations

from pathlib import Path

from erlbench.api import Results

FRAMES = ("cells", "evaluations", "episodes", "tasks", "generations")


def export(results: Results, out: Path) -> list[Path]:
    """`cells.parquet` and so on; tuples become lists."""
    paths = []
    for name in FRAMES:
        frame = getattr(results, name).copy()
        for column in frame.columns:
            if frame[column].map(lambda value: isinstance(value, tuple)).any():
                frame[column] = frame[column].map(lambda value: list(value) if isinstance(value, tuple) else value)
        frame.to_parquet(out / f"{name}.parquet", engine="pyarrow", index=False)
        paths.append(out / f"{name}.parquet")
    return paths
