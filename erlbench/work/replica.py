"""Copies of a replay on other machines: blocks of its files, appended in order."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from erlbench.work.tasks import ReplayView


@dataclass(frozen=True)
class Extent:
    """How much of a replay there is."""

    transitions: int = 0
    rows: int = 0


@dataclass(frozen=True)
class ReplayBlock:
    """The bytes of transitions from `start` on, and of the observation rows that they need."""

    view: ReplayView
    start: Extent
    observations: bytes
    transitions: bytes
    rows: bytes


def read_block(view: ReplayView, folder: Path, start: Extent) -> tuple[ReplayBlock, Extent]:
    """What a copy that ends at `start` lacks of `view`, whose files are in `folder`, and where it ends then."""
    rows = _read(folder / "rows.i32", 4 * start.transitions, 4 * view.stop)
    stop = Extent(view.stop, int(np.frombuffer(rows[-4:], np.int32)[0]) + 2)  # the last observation has a next one
    row, transition = 4 * view.observation_size, 4 * (view.action_size + 2)
    observations = _read(folder / "observations.f32", row * start.rows, row * stop.rows)
    transitions = _read(folder / "transitions.f32", transition * start.transitions, transition * view.stop)
    return ReplayBlock(view, start, observations, transitions, rows), stop


def write_block(folder: Path, block: ReplayBlock) -> None:
    """Append a block to the copy in `folder`."""
    view, start = block.view, block.start
    folder.mkdir(parents=True, exist_ok=True)
    parts = (
        ("observations.f32", 4 * view.observation_size * start.rows, block.observations),
        ("transitions.f32", 4 * (view.action_size + 2) * start.transitions, block.transitions),
        ("rows.i32", 4 * start.transitions, block.rows),
    )
    for name, offset, data in parts:
        with open(os.open(folder / name, os.O_CREAT | os.O_RDWR), "r+b") as file:
            file.seek(offset)
            file.write(data)


def _read(path: Path, start: int, stop: int) -> bytes:
    with open(path, "rb") as file:
        file.seek(start)
        data = file.read(stop - start)
    if len(data) < stop - start:
        raise OSError(f"{path} ends at byte {start + len(data)}, before {stop}")
    return data
