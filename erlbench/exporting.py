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
from erlbench.files import place_below, refuse_links, writable
from erlbench.records.training import EVALUATION, KEYS, SEARCH, TRAINING, running_means, thinned

FRAMES = ("cells", "evaluations", "episodes", "tasks", "generations")
TENSORBOARD = "tensorboard"
EVENTS = "events.out.tfevents.*"
MOST_POINTS = 1000  # of the curve of training returns


def export_results(results: Results, target: str, out: Path) -> list[Path]:
    """Write `results` as `tensorboard`, `sb3` or `csv` below the folder `out`; the files that were written.

    Raises `UsageError` for a missing package, two runs of one name, a folder that cannot be written, a link below
    `out`, and event files in a run's folder, as TensorBoard would draw both.
    """
    if target == TENSORBOARD and importlib.util.find_spec(target) is None:
        raise UsageError(f"--to {target} needs a package: pip install 'erlbench[exports]'")
    with writable(out, "; choose another folder by --out"):
        if target == "csv":  # cells with several numbers have spaces between them
            out.mkdir(parents=True, exist_ok=True)
            files = {name: place_below(out, f"{name}.csv") for name in FRAMES}
            for name, path in files.items():
                frame = getattr(results, name)
                frame.map(lambda cell: " ".join(map(str, cell)) if isinstance(cell, tuple) else cell).to_csv(
                    path, index=False
                )
            return [*files.values()]
        places = _find_places(results, out)
        if target == TENSORBOARD and any(event for place in places for event in place.glob(EVENTS)):
            raise UsageError(
                f"{out} has event files of these runs already; remove them, or give another folder by --out"
            )
        written = [path for place, run in places.items() for path in WRITERS[target](run, place)]
    if not written:
        place = os.path.commonpath(results.runs) if results.runs else "the folders"
        raise UsageError(f"no run in {place} has the rows that --to {target} takes; look at: erlbench show {place}")
    return written


def _find_places(results: Results, out: Path) -> dict[Path, Results]:
    """Each run by its folder in the export, which is there then. Raises `UsageError` where two have the same."""
    places: dict[Path, Results] = {}
    for env, name, seed, path in results.cells[["env", "name", "seed", "path"]].itertuples(index=False):
        place, run = place_below(out, folder_name(env), name, f"seed-{seed:03d}"), Results((Path(path),))
        if (other := places.setdefault(place, run)) is not run:
            both = f"{other.runs[0]} and {path} are both {name} on {env}, seed {seed}"
            raise UsageError(f"{both}; export their folders one by one")
        place.mkdir(parents=True, exist_ok=True)
        refuse_links(place)
    return places


def _write_sb3(run: Results, folder: Path) -> Iterator[Path]:
    """`evaluations.npz` and `final_evaluation.npz` as EvalCallback's file, `monitor.csv` as Monitor's.

    The rows of evaluations.npz have as many episodes as the evaluation on the way that has fewest. Where the final one
    has another number, final_evaluation.npz has all its episodes. Evaluations without episodes are left out.
    """
    rows, episodes = run.evaluations, run.episodes
    rows = rows[(rows["returns"].map(len) > 0) & (rows["lengths"].map(len) > 0)]
    if len(rows):
        counts, is_final = rows["returns"].map(len), rows["final"] == 1
        fewest = int((counts if is_final.all() else counts[~is_final]).min())
        yield _save_evaluations(folder / "evaluations.npz", rows[counts >= fewest], fewest)
        path = folder / "final_evaluation.npz"
        path.unlink(missing_ok=True)  # of an earlier export
        if len(last := rows[is_final & (counts != fewest)]):
            yield _save_evaluations(path, last)
    if len(episodes):
        columns = ["r", "l", "t", *(["success"] if episodes["success"].notna().any() else [])]
        text = episodes[columns].rename(columns={"success": "is_success"}).to_csv(index=False)
        path, header = folder / "monitor.csv", {"t_start": 0.0, "env_id": episodes["env"].iloc[0]}
        path.write_text(f"#{json.dumps(header)}\n{text}", encoding="utf-8")
        yield path


def _save_evaluations(path: Path, rows: pd.DataFrame, episodes: int | None = None) -> Path:
    """Write `timesteps` (e,); `results`, `ep_lengths` and, where an environment has them, `successes` (e, episodes)."""
    arrays: dict[str, Any] = {"timesteps": rows["timesteps"].to_numpy()}
    for column, name in (("returns", "results"), ("lengths", "ep_lengths"), ("success", "successes")):
        if rows[column].map(len).any():
            cells = [cell or (np.nan,) * len(returns) for cell, returns in zip(rows[column], rows["returns"])]
            arrays[name] = np.array([cell[:episodes] for cell in cells])
    np.savez(path, **arrays)
    return path


def _write_events(run: Results, folder: Path) -> Iterator[Path]:
    """An event file whose steps are training steps; its clock begins at 0 with the training."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder))
    generations, means = run.generations, running_means(run.episodes).rename(columns={"t": "train_time_s"})
    means = means.dropna(subset=["timesteps", "train_time_s"])
    for table, columns in (
        (run.evaluations, EVALUATION),
        (generations, {f"{SEARCH}{name}": name for name in generations if name not in KEYS}),
        (means.iloc[thinned(len(means), MOST_POINTS)], {TRAINING: "mean"}),
    ):
        for row in table.to_dict("records"):
            numbers = {tag: row[column] for tag, column in columns.items() if row[column] == row[column]}
            values = [Summary.Value(tag=tag, simple_value=number) for tag, number in numbers.items()]
            time = float(row["train_time_s"])
            writer.add_event(Event(step=int(row["timesteps"]), wall_time=time, summary=Summary(value=values)))
    writer.close()
    yield folder


WRITERS: dict[str, Callable[[Results, Path], Iterator[Path]]] = {TENSORBOARD: _write_events, "sb3": _write_sb3}
