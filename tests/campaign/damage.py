"""Damaged run folders: they are named, the reading of others goes on, and no row is computed over."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
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
    ["verify", "{run}"],
    ["play", "{run}", "--no-video", "--steps", "3"],
    ["convert", "{out}/results", "--to", "sb3", "--out", "{out}/export"],
)  # fmt: skip


def trial(trial: Trial) -> None:
    """One change to one file of a finished or a half-done run; then it is shown, reported and continued."""
    draw = trial.random
    template, expected = _templates(trial.shared)
    done = draw.random() < 0.5
    shutil.copytree(template[done].out, trial.folder / "results", symlinks=True)
    cell = replace(template[done], out=trial.folder / "results")
    files = sorted(path for path in cell.directory.rglob("*") if path.is_file() and path.name != "lock")
    path = draw.choice(files)
    act: Callable[[Path, random.Random], None] = draw.choice(ACTS)
    act(path, draw)
    what = f"{path.relative_to(cell.directory)} of a {'finished' if done else 'half-done'} run, {act.__name__}"
    trial.counts[f"{'finished' if done else 'half-done'} runs"] += 1
    for words in (["show", trial.folder / "results"], ["show", cell.directory]):
        check_message(*invoke(*words), f"show, {what}")
    reader = [word.format(run=cell.directory, out=trial.folder) for word in draw.choice(READERS)]
    check_message(*invoke(*reader), f"{reader[0]}, {what}")
    if draw.random() < 0.05:
        out = trial.folder / "report"
        check_message(*invoke("report", trial.folder / "results", "--out", out), f"report, {what}")
        trial.counts["reports"] += 1
    rows = {name: _bytes(cell.directory / name) for name in ROWS}
    try:
        code = run(cell)
    except ErlbenchError as error:
        code, rows_now = error.exit_code, {name: _bytes(cell.directory / name) for name in ROWS}
        check(rows_now == rows, f"rows have changed, {what}: {error}")
    trial.counts[f"starts that end with {code}"] += 1
    check(code in (0, 1, 2), f"exit code {code}, {what}")
    if code == 0:
        found = all_rows(cell.directory)
        differing = [name for name in expected if found[name] != expected[name]]
        check(not differing, f"other rows in {', '.join(differing)}, {what}")
    elif done:
        check({name: _bytes(cell.directory / name) for name in ROWS} == rows, f"rows have changed, {what}")


def _templates(shared: Path) -> tuple[dict[bool, Cell], dict[str, list[dict[str, str]]]]:
    """A finished and a half-done run, to be copied, and the rows of the first."""
    folder = once(shared / "damage", _make_templates)
    cells = _cells(folder)
    return cells, all_rows(cells[True].directory)


def _cells(folder: Path) -> dict[bool, Cell]:
    return {done: make_cell("td3", folder / str(done), steps=700, seed=1) for done in (True, False)}


def _make_templates(folder: Path) -> None:
    cells = _cells(folder)
    assert run(cells[True]) == 0
    interrupt(cells[False], 30, 10)


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def flip(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes()) or bytearray(1)
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def cut(path: Path, draw: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: draw.randrange(len(data) + 1)])


def zero(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    place = draw.randrange(len(data) + 1)
    data[place : place + 64] = bytes(len(data[place : place + 64]))
    path.write_bytes(data)


def remove(path: Path, draw: random.Random) -> None:
    path.unlink()


def overwrite(path: Path, draw: random.Random) -> None:
    path.write_bytes(draw.choice(TEXTS))


def append(path: Path, draw: random.Random) -> None:
    with open(path, "ab") as file:
        file.write(draw.choice(TEXTS))


def fifo(path: Path, draw: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def device(path: Path, draw: random.Random) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def folder(path: Path, draw: random.Random) -> None:
    path.unlink()
    path.mkdir()


def circle(path: Path, draw: random.Random) -> None:
    path.unlink()
    path.symlink_to(path.name)
    (path.parent / "round").symlink_to(path.parent)


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


ACTS = (flip, flip, cut, cut, zero, remove, overwrite, append, fifo, device, folder, circle, sparse, wrong_json)
