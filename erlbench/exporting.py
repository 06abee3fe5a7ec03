"""Results in the files of other programs: TensorBoard, Stable-Baselines3 and CSV.

Exports by run write to ENV/NAME/seed-NNN below the export's folder, as in a folder of results.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from erlbench.api import Results
from erlbench.errors import UsageError
from erlbench.experiment.cells import folder_name
from erlbench.files import place_below, reason
from erlbench.records.training import EVALUATION, KEYS, SEARCH, TRAINING, running_means, thinned

FRAMES = ("cells", "evaluations", "episodes", "tasks", "generations")
MOST_POINTS = 1000  # of the curve of training returns


def export_results(results: Results, target: str, out: Path) -> list[Path]:
    """Write `results` for `target`, a key of `TARGETS`, below the folder `out`; the files that were written.

    Raises `UsageError` for a missing package, two runs of one name, and a folder that cannot be written.
    """
    if target == "tensorboard" and importlib.util.find_spec(target) is None:
        raise UsageError(f"--to {target} needs a package: pip install 'erlbench[exports]'")
    try:
        written = TARGETS[target](results, out)
    except OSError as error:
        text = f"the export cannot be written to {out}: {reason(error)}; choose another folder by --out"
        raise UsageError(text) from error
    if not written:
        place = os.path.commonpath(results.runs) if results.runs else "the folders"
        raise UsageError(f"no run in {place} has the rows that --to {target} takes; look at: erlbench show {place}")
    return written


def runs_by_place(results: Results) -> dict[tuple[str, ...], Results]:
    """Each run by the folders of its files in the export. Raises `UsageError` where two have the same."""
    runs: dict[tuple[str, ...], Results] = {}
    for env, name, seed, path in results.cells[["env", "name", "seed", "path"]].itertuples(index=False):
        run = Results((Path(path),))
        if (other := runs.setdefault((folder_name(env), name, f"seed-{seed:03d}"), run)) is not run:
            both = f"{other.runs[0]} and {path} are both {name} on {env}, seed {seed}"
            raise UsageError(f"{both}; export their folders one by one")
    return runs


def make_place(out: Path, *parts: str) -> Path:
    """The path of a file to write, whose folders are there then. Raises `UsageError` for a link below `out`."""
    path = place_below(out, *parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def export_sb3(results: Results, out: Path) -> list[Path]:
    """Per run `evaluations.npz` and `final_evaluation.npz` as EvalCallback's file, `monitor.csv` as Monitor's.

    The rows of evaluations.npz have as many episodes as the evaluation on the way that has fewest. Where the final one
    has another number, final_evaluation.npz has all its episodes. Evaluations without episodes are left out.
    """
    written = []
    for parts, run in runs_by_place(results).items():
        rows = run.evaluations
        rows = rows[rows[["returns", "lengths"]].map(len).min(axis=1) > 0] if len(rows) else rows
        if len(rows):
            counts, is_final = rows["returns"].map(len), rows["final"] == 1
            fewest = int((counts if is_final.all() else counts[~is_final]).min())
            paths = [make_place(out, *parts, name) for name in ("evaluations.npz", "final_evaluation.npz")]
            written.append(_save_evaluations(paths[0], rows[counts >= fewest], fewest))
            paths[1].unlink(missing_ok=True)  # of an earlier export
            if len(last := rows[is_final & (counts != fewest)]):
                written.append(_save_evaluations(paths[1], last))
        rows = run.episodes
        if len(rows):
            path = make_place(out, *parts, "monitor.csv")
            columns = ["r", "l", "t", *(["success"] if rows["success"].notna().any() else [])]
            text = rows[columns].rename(columns={"success": "is_success"}).to_csv(index=False)
            path.write_text(f"#{json.dumps({'t_start': 0.0, 'env_id': rows['env'].iloc[0]})}\n{text}", encoding="utf-8")
            written.append(path)
    return written


def _save_evaluations(path: Path, rows: pd.DataFrame, episodes: int | None = None) -> Path:
    """Write `timesteps` (e,); `results`, `ep_lengths` and, where an environment has them, `successes` (e, episodes)."""
    arrays: dict[str, Any] = {"timesteps": rows["timesteps"].to_numpy()}
    for column, name in (("returns", "results"), ("lengths", "ep_lengths"), ("success", "successes")):
        if rows[column].map(len).any():
            cells = [cell or (np.nan,) * len(returns) for cell, returns in zip(rows[column], rows["returns"])]
            arrays[name] = np.array([cell[:episodes] for cell in cells])
    if "successes" in arrays and not np.isnan(arrays["successes"]).any():
        arrays["successes"] = arrays["successes"].astype(bool)
    np.savez(path, **arrays)
    return path


def export_tensorboard(results: Results, out: Path) -> list[Path]:
    """Event files whose steps are training steps; their clock begins at 0 with the training.

    Raises `UsageError` where a run's folder has event files already, as TensorBoard would draw both.
    """
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    folders = {make_place(out, *parts): run for parts, run in runs_by_place(results).items()}
    for folder in folders:
        if any(folder.glob("events.out.tfevents.*")):
            raise UsageError(
                f"{folder} has event files already, and TensorBoard would draw each curve twice; remove the folder or "
                "choose another by --out"
            )
    for folder, run in folders.items():
        writer = EventFileWriter(str(folder))
        for steps, seconds, values in sorted(_read_curves(run), key=lambda point: point[0]):
            summary = Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])
            writer.add_event(Event(step=steps, wall_time=seconds, summary=summary))
        writer.close()
    return [*folders]


def _read_curves(run: Results) -> Iterator[tuple[int, float, dict[str, float]]]:
    """Training steps, seconds of training and tag -> value of each evaluation, generation and training return."""
    generations, means = run.generations, running_means(run.episodes).rename(columns={"t": "train_time_s"})
    means = means.dropna(subset=["timesteps", "train_time_s"])
    for table, columns in (
        (run.evaluations, EVALUATION),
        (generations, {f"{SEARCH}{name}": name for name in generations if name not in KEYS}),
        (means.iloc[thinned(len(means), MOST_POINTS)], {TRAINING: "mean"}),
    ):
        for row in table.to_dict("records"):
            values = {tag: float(row[column]) for tag, column in columns.items() if row[column] == row[column]}
            yield int(row["timesteps"]), float(row["train_time_s"]), values


def export_frames(results: Results, out: Path) -> list[Path]:
    """Each frame of `Results` as a CSV; cells with several numbers have spaces between them."""
    paths = [make_place(out, f"{name}.csv") for name in FRAMES]
    for path in paths:
        frame = getattr(results, path.stem)
        texts = frame.map(lambda cell: " ".join(map(str, cell)) if isinstance(cell, tuple) else cell)
        texts.to_csv(path, index=False)
    return paths


TARGETS: dict[str, Callable[[Results, Path], list[Path]]] = {
    "tensorboard": export_tensorboard,
    "sb3": export_sb3,
    "csv": export_frames,
}
