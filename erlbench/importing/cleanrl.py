"""CleanRL: TensorBoard event files with `charts/episodic_return` of each training episode, by global step.

CleanRL names a run's folder `ENV__ALGORITHM__SEED__TIME`, and writes its settings as a text. Its global step counts all
steps of training, so there are no fitness steps; it evaluates no policy.
"""

from __future__ import annotations

import importlib.util
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.errors import UsageError
from erlbench.files import printable
from erlbench.importing.source import (
    MOST_ROWS,
    ForeignRun,
    TrainingEpisodes,
    checked_returns,
    checked_steps,
    content,
    refuse,
)

PROGRAM = "cleanrl"
RETURN, LENGTH = "charts/episodic_return", "charts/episodic_length"
SETTINGS = "hyperparameters/text_summary"
BUDGET = re.compile(rb"^\|total_timesteps\|([1-9]\d{0,14})\|$", re.MULTILINE)  # a line of that text
FOLDER = re.compile(r"(?P<env>.+)__(?P<algo>.+)__(?P<seed>\d{1,9})__\d+")
HEADER, FOOTER = 12, 4  # bytes around a record: its length with a checksum, a checksum


def read_events(paths: Sequence[Path]) -> ForeignRun:
    """The event files of one run, in the order of their names, which begin with a time."""
    if importlib.util.find_spec("tensorboard") is None:
        raise UsageError(f"{paths[0]} needs a package: pip install 'erlbench[exports]'")
    rows: dict[str, list[tuple[float, float, float]]] = {RETURN: [], LENGTH: []}
    digests: dict[str, str] = {}
    tags: set[str] = set()
    cut: list[str] = []
    settings = b""
    for path in paths:
        data, digests[path.name] = content(path)
        try:
            for event in _events(path, data, cut):
                for value in event.summary.value:
                    tags.add(value.tag)
                    if value.tag == SETTINGS and value.tensor.string_val:
                        settings = value.tensor.string_val[0]
                    if value.tag in rows and value.HasField("simple_value"):
                        rows[value.tag].append((event.step, value.simple_value, event.wall_time))
        except Exception as error:  # protobuf's own, of which there are several
            if isinstance(error, UsageError):
                raise
            refuse(path, f"it holds no events of TensorBoard ({type(error).__name__})")
    path = paths[0]
    if not rows[RETURN]:
        there = ", ".join(sorted(printable(tag) for tag in tags)[:5])
        refuse(path, f"it has no {RETURN}; its scalars are {there or 'none'}")
    if len(rows[RETURN]) > MOST_ROWS:
        refuse(path, f"it has more than {MOST_ROWS:,} episodes")
    table = np.array(rows[RETURN], np.float64)
    lengths = np.array([length for _, length, _ in rows[LENGTH]]) if len(rows[LENGTH]) == len(table) else None
    if lengths is not None and (lengths < 1).any():
        refuse(path, f"a {LENGTH} is below 1")
    budget, called = BUDGET.search(settings), FOLDER.fullmatch(path.resolve().parent.name)
    return ForeignRun(
        path,
        "CleanRL's event files",
        program=PROGRAM,
        digests=digests,
        env=called["env"] if called else "",
        algo=called["algo"] if called else "",
        seed=int(called["seed"]) if called else None,
        total_timesteps=int(budget[1]) if budget else None,
        played=TrainingEpisodes(
            returns=checked_returns(path, table[:, 1]),
            lengths=np.full(len(table), np.nan) if lengths is None else lengths,
            seconds=table[:, 2] - table[0, 2],
            timesteps=checked_steps(path, table[:, 0]),
        ),
        fitness_timesteps=0.0,
        note="; ".join(cut),
    )


def _events(path: Path, data: bytes, cut: list[str]) -> Iterator[Any]:
    """The events of a file; one that is still written, or was cut off, ends with its last whole record."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

    start = 0
    while start < len(data):
        head = data[start : start + HEADER]
        whole = len(head) == HEADER
        if whole and _sum(head, 8) != masked_crc32c(head[:8]):
            refuse(path, f"it holds no records of TensorBoard from byte {start} on")
        end = start + HEADER + struct.unpack_from("<Q", head)[0] if whole else len(data)
        if end + FOOTER > len(data):
            cut.append(f"{path.name} ends within a record")
            return
        record = data[start + HEADER : end]
        if _sum(data, end) != masked_crc32c(record):
            refuse(path, f"the record at byte {start} has another checksum")
        yield Event.FromString(record)
        start = end + FOOTER


def _sum(data: bytes, start: int) -> int:
    return int.from_bytes(data[start : start + FOOTER], "little")
