"""Damaged run folders: they are named, the reading of others goes on, and no row is computed over."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from erlbench.errors import ErlbenchError
from erlbench.experiment.cells import Cell
from erlbench.records.run import ROWS
from tests.campaign.trials import Trial, check, check_message, invoke, once
from tests.runs import all_rows, interrupt, make_cell, run

TEXTS = (
    b"", b"{", b"[]", b"null", b"\xff\xfe\0", b"[" * 5000, b'{"status": ' + b"[" * 2000, b"9" * 400,
    b"a = " + b"9" * 400, b'{"status": "done"}', b"=1+1\n", b"\x1b[2J", b"x" * 200_000,
)  # fmt: skip


READERS = (
    "verify {run}",
    "play {run} --no-video --steps 3",
    "convert {out}/results --to tensorboard --out {out}/export",
    "report {out}/results --out {out}/report",
)


def trial(trial: Trial) -> None:
    """One change to one file of a finished or a half-done run; then it is shown, reported and continued."""
    draw = trial.random
    template = once(trial.shared / "damage", lambda folder: _make(_cells(folder)))
    is_done = draw.random() < 0.5
    cell = _cells(trial.folder / "results")[is_done]
    shutil.copytree(_cells(template)[is_done].out, cell.out, symlinks=True)
    files = sorted(path for path in cell.directory.rglob("*") if path.is_file() and path.name != "lock")
    path = draw.choice(files)
    act: Callable[[Path, random.Random], None] = draw.choice(ACTS)
    act(path, draw)
    what = f"{path.relative_to(cell.directory)} of a {'finished' if is_done else 'half-done'} run, {act.__name__}"
    for place in (cell.out, cell.directory):
        check_message(*invoke("show", place), f"show, {what}")
    reader = draw.choice(READERS).format(run=cell.directory, out=trial.folder)
    check_message(*invoke(*reader.split()), f"{reader}, {what}")
    before, may_change = _rows(cell), not is_done
    try:
        code = run(cell)
    except ErlbenchError as error:
        code, may_change = error.exit_code, False
    trial.counts[f"starts that end with {code}"] += 1
    check(code in (0, 1, 2), f"exit code {code}, {what}")
    if code:
        check(may_change or _rows(cell) == before, f"rows have changed, {what}")
    else:
        check(all_rows(cell.directory) == all_rows(_cells(template)[True].directory), f"other rows, {what}")


def _cells(folder: Path) -> dict[bool, Cell]:
    """A finished and a half-done run."""
    return {done: make_cell("td3", folder / str(done), steps=700, seed=1) for done in (True, False)}


def _make(cells: dict[bool, Cell]) -> None:
    """Run them; whatever reads a folder reads one that is not damaged."""
    assert run(cells[True]) == 0
    interrupt(cells[False], 30, 10)
    shutil.copytree(cells[True].out, cells[True].out.parent / "read" / "results")
    for reader in READERS:
        words = reader.format(run=cells[True].directory, out=cells[True].out.parent / "read")
        code, output = invoke(*words.split())
        check(code == 0, f"{words}: {output[-800:]}")


def _rows(cell: Cell) -> dict[str, bytes | None]:
    paths = {name: cell.directory / name for name in ROWS}
    return {name: path.read_bytes() if path.is_file() else None for name, path in paths.items()}


def flip(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes()) or bytearray(1)
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def cut(path: Path, draw: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: draw.randrange(len(data) + 1)])


def remove(path: Path, draw: random.Random) -> None:
    path.unlink()


def overwrite(path: Path, draw: random.Random) -> None:
    path.write_bytes(draw.choice(TEXTS))


def append(path: Path, draw: random.Random) -> None:
    with open(path, "ab") as file:
        file.write(draw.choice(TEXTS))


def replace_by_no_file(path: Path, draw: random.Random) -> None:
    path.unlink()
    draw.choice((os.mkfifo, Path.mkdir, lambda place: place.symlink_to("/dev/zero")))(path)


def sparse(path: Path, draw: random.Random) -> None:
    with open(path, "r+b") as file:
        file.truncate(3 << 30)


def wrong_json(path: Path, draw: random.Random) -> None:
    """A status or meta file whose values have other types."""
    target = path.parent / draw.choice(["status.json", "meta.json"])
    if target.is_file():
        values = json.loads(target.read_text())
        values[draw.choice(sorted(values))] = draw.choice([None, [], {}, "x", -1, 1e308, True, [[1]], "\x1b[31m"])
        target.write_text(json.dumps(values))


ACTS = (flip, flip, cut, cut, remove, overwrite, append, replace_by_no_file, sparse, wrong_json)
