"""TensorBoard: event files whose steps are training steps; wall time begins at 0 with the training."""

from __future__ import annotations

from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from erlbench.api import Results
from erlbench.errors import UsageError
from erlbench.exporting.runs import exported
from erlbench.exporting.scalars import rows


def export(results: Results, out: Path) -> list[Path]:
    """One folder a run; a `UsageError` where one has event files already, as TensorBoard would draw both."""
    runs = {out / run.folder: run for run in exported(results)}
    for folder in runs:
        if any(folder.glob("events.out.tfevents.*")):
            raise UsageError(
                f"{folder} has event files already, and TensorBoard would draw each curve twice; remove the folder or "
                "choose another by --out"
            )
    for folder, run in runs.items():
        writer = EventFileWriter(str(folder))
        for steps, seconds, values in rows(run):
            summary = Summary(value=[Summary.Value(tag=name, simple_value=value) for name, value in values.items()])
            writer.add_event(Event(step=steps, wall_time=seconds, summary=summary))
        writer.close()
    return list(runs)
