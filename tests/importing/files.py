"""Files as other programs write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

HEADER = '#{{"t_start": 0.0, "env_id": "{}"}}\nr,l,t\n'


def write_monitor(path: Path, env: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER.format(env) + "1.0,10,0.1\n2.0,20,0.3\n")
    return path


def write_evaluations(path: Path, steps: tuple[int, ...] = (100, 200)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, timesteps=steps, results=np.arange(2.0 * len(steps)).reshape(-1, 2))
    return path


def read_events(folder: Path) -> Any:
    """TensorBoard's own reader of a folder's event files."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reader = EventAccumulator(str(folder))
    reader.Reload()
    return reader


def write_events(folder: Path, steps: tuple[int, ...], settings: dict[str, object], clock: float = 0.0) -> Path:
    """An event file as CleanRL writes it."""
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(folder), filename_suffix=f".{clock:g}")
    writer.add_text(
        "hyperparameters", "\n".join(["|param|value|", "|-|-|", *(f"|{k}|{v}|" for k, v in settings.items())])
    )
    for index, step in enumerate(steps):
        writer.add_scalar("charts/episodic_return", float(step), step, walltime=1000.0 + clock + index)
        writer.add_scalar("charts/episodic_length", 10.0, step, walltime=1000.0 + clock + index)
    writer.close()
    (file,) = folder.glob(f"*.{clock:g}")
    file.rename(folder / f"events.out.tfevents.{1000 + clock:g}.{clock:g}")  # a later start has a later name
    return folder
