"""Folders that somebody else may have written, before every command that reads one: one message, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
import tomli_w
from click.testing import CliRunner

import erlbench
from erlbench.cli import cli
from erlbench.errors import ErlbenchError
from erlbench.files import read_toml
from erlbench.records.run import POLICY
from tests.runs import make_cell, run

SECONDS = 60  # for one command: a FIFO or a device would have it wait for ever
EVERY = 13  # attacks that a reader meets: one of so many
FILES = ("config.toml", "status.json", "meta.json", "eval.csv", "episodes.csv", "tasks.csv", "train.csv", POLICY)
CONTENTS = {
    "empty": b"",
    "not UTF-8": b"\xff\xfe\x00",
    "a list": b"[]",
    "null": b"null",
    "deep": b"[" * 50_000,
    "deep TOML": b"a = " + b"[" * 50_000,
    "400 digits": b'{"status": ' + b"9" * 400 + b"}",
    "400 digits in TOML": b"a = " + b"9" * 400,
    "a long line": b"a,b\n" + b"x" * 200_000 + b",1\n",
    "columns that are unknown": b"a,b\n1,2\n",
    "more fields than columns": b"a,b\n1,2,3,4\n1,2\n",
    "a quote that does not end": b'a,b\n"1,2\n',
    "a header of safetensors that is too long": b"\xff" * 8 + b"{}",
}
VALUES = (None, [], {}, "x", "", -1, 1e308, float("nan"), True, [[1]], "\x1b[31m", 2**62, "9" * 400, {"a": {"b": []}})


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def circle(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)
    (path.parent / "round").symlink_to(path.parent)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def sparse(path: Path) -> None:
    with open(path, "r+b") as file:
        file.truncate(3 << 30)


def missing(path: Path) -> None:
    path.unlink()


ACTS = (fifo, device, circle, folder, sparse, missing)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """The folder of a run that is done."""
    cell = make_cell("cem", tmp_path_factory.mktemp("whole"), steps=200, settings={"population": 4, "elites": 2})
    assert run(cell) == 0
    return cell.directory


COMMANDS = {
    "show": ["show", "{run}"],
    "show all": ["show", "{out}"],
    "verify": ["verify", "{run}"],
    "verify all": ["verify", "{out}"],
    "verify --same-as": ["verify", "{run}", "--same-as", "{run}"],
    "play": ["play", "{run}", "--no-video", "--steps", "3"],
    "convert": ["convert", "{out}", "--to", "sb3", "--out", "{out}/../export"],
    "convert to a bundle": ["convert", "{out}", "--out", "{out}/../export.zip"],
}  # fmt: skip
PLAYING = ("verify", "verify all", "play")  # they take longer than all others together


def share(whole: Path, out: Path, reader: int):
    """The attacks of one reader, each in a new copy of the run: (what was done, the folder that it was done to).

    All readers together meet all attacks; each meets one of `EVERY`.
    """
    place = out / "InvertedPendulum-v5" / "cem" / "seed-000"
    for number, (what, attack) in enumerate(attacks(whole)):
        if number % EVERY == reader % EVERY:
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(whole, place)
            attack(place)
            yield what, place


def attacks(whole: Path):
    """(what is done, a function that does it to a run's folder)."""

    for name in FILES:
        for act in ACTS:
            yield f"{act.__name__} for {name}", lambda run, name=name, act=act: act(run / name)
        for what, content in CONTENTS.items():
            yield f"{what} in {name}", lambda run, name=name, content=content: (run / name).write_bytes(content)
    for name in ("status.json", "meta.json"):
        values = json.loads((whole / name).read_text())
        for key in values:
            for value in VALUES:
                text = json.dumps(values | {key: value})
                yield f"{key} = {value!r:.40} in {name}", lambda run, name=name, text=text: write(run / name, text)
    config = read_toml(whole / "config.toml")
    for table in ("run", "settings"):
        for key in config[table]:
            for value in VALUES[1:]:
                text = tomli_w.dumps({**config, table: {**config[table], key: value}})
                yield f"{table}.{key} = {value!r:.40}", lambda run, text=text: write(run / "config.toml", text)
    for name in FILES[3:7]:
        *lines, last = (whole / name).read_text().splitlines()
        for value in ("", "x", "nan", "1e400", "-1", "9" * 400, "=1", "\x1b[2J"):
            text = "\n".join([*lines, ",".join([value] * len(last.split(",")))]) + "\n"
            yield f"{value:.20} in the last row of {name}", lambda run, name=name, text=text: write(run / name, text)


def write(path: Path, text: str) -> None:
    path.write_text(text)


@pytest.fixture
def no_waiting():
    def late(number, frame):
        raise TimeoutError(f"no end after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    yield lambda: signal.alarm(SECONDS)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in PLAYING else name for name in COMMANDS]
)
def test_a_command_that_reads_a_folder_gives_one_message(whole, tmp_path, name, no_waiting):
    wrong = []
    for what, place in share(whole, tmp_path / "results", [*COMMANDS].index(name)):
        words = [word.format(run=place, out=tmp_path / "results") for word in COMMANDS[name]]
        no_waiting()
        result = CliRunner().invoke(cli, words)
        fine = result.exit_code in (0, 1, 2) and not any(
            text in result.output for text in ("Traceback", "unexpected ", "\x1b", "\x07")
        )
        if not fine:
            wrong.append(f"{what}: exit code {result.exit_code}: {result.output[-300:]}{result.exception!r:.200}")
    assert wrong == []


FRAMES = ("cells", "evaluations", "episodes", "tasks", "generations")


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_is_made_or_refused_with_one_message(whole, tmp_path, frame, no_waiting):
    wrong = []
    for what, _ in share(whole, tmp_path / "results", FRAMES.index(frame)):
        no_waiting()
        try:
            found = getattr(erlbench.load_results(tmp_path / "results"), frame)
            text = found.to_string()
            if "\x1b" in text:
                wrong.append(f"{what}: a text that commands the terminal")
        except ErlbenchError as error:
            if not str(error).isprintable():
                wrong.append(f"{what}: {error!r}")
        except Exception as error:
            wrong.append(f"{what}: {error!r:.300}")
    assert wrong == []
