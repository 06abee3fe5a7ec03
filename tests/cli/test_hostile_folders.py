"""Folders that somebody else may have written, before every command that reads one: one message, never a traceback."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import tomli_w

import erlbench
from erlbench.errors import ErlbenchError
from erlbench.files import read_toml
from erlbench.records.run import POLICY
from tests.calls import call
from tests.processes import time_limit
from tests.runs import make_cell, run

SECONDS = 60  # for one command: a FIFO or a device would have it wait for ever
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


def replaced(make):
    """Put something else in the place of a file."""
    return lambda path: (path.unlink(), make(path))


ACTS = {
    "a FIFO": replaced(os.mkfifo),
    "a device": replaced(lambda path: path.symlink_to("/dev/zero")),
    "circles": replaced(lambda path: (path.symlink_to(path.name), (path.parent / "round").symlink_to(path.parent))),
    "a folder": replaced(Path.mkdir),
    "nothing": replaced(lambda path: None),
    "3 GiB of nothing": lambda path: os.truncate(path, 3 << 30),
}
READERS = {
    "show": "show {run}",
    "show all": "show {out}",
    "verify": "verify {run}",
    "verify all": "verify {out}",
    "verify --same-as": "verify {run} --same-as {run}",
    "play": "play {run} --no-video --steps 3",
    "convert": "convert {out} --to tensorboard --out {out}/../export",
    "convert to a bundle": "convert {out} --out {out}/../export.zip",
    **dict.fromkeys(("cells", "evaluations", "episodes", "tasks", "generations")),  # frames of erlbench.load_results
}
LONG = ("verify", "verify all", "play", "convert")  # they take longer than all others together


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that is done."""
    cell = make_cell("cem", tmp_path_factory.mktemp("whole"), steps=200, settings={"population": 4, "elites": 2})
    assert run(cell) == 0
    return cell.directory


def attacks(whole):
    """(what is done, to which file of a run, a function that does it)."""
    texts = []
    for name in ("status.json", "meta.json"):
        values = json.loads((whole / name).read_text())
        texts += [
            (f"{key} = {value!r:.40}", name, json.dumps(values | {key: value})) for key in values for value in VALUES
        ]
    config = read_toml(whole / "config.toml")
    for table in ("run", "settings"):
        for key in config[table]:
            for value in VALUES[1:]:
                text = tomli_w.dumps({**config, table: {**config[table], key: value}})
                texts.append((f"{table}.{key} = {value!r:.40}", "config.toml", text))
    for name in FILES[3:7]:
        *lines, last = (whole / name).read_text().splitlines()
        for value in ("", "x", "nan", "1e400", "-1", "9" * 400, "=1", "\x1b[2J"):
            row = ",".join([value] * len(last.split(",")))
            texts.append((f"{value:.20} in the last row", name, "\n".join([*lines, row, ""])))
    for name in FILES:
        yield from ((what, name, act) for what, act in ACTS.items())
        yield from ((what, name, lambda path, data=data: path.write_bytes(data)) for what, data in CONTENTS.items())
    for what, name, text in texts:
        yield what, name, lambda path, text=text: path.write_text(text)


def complaint(reader, place, out, codes=(0, 1, 2)):
    """What a reader of an attacked folder does wrong; empty where it reads or gives one message."""
    if words := READERS[reader]:
        result = call(*(word.format(run=place, out=out) for word in words.split()))
        fine = result.exit_code in codes and not re.search("Traceback|unexpected |[\x1b\x07]", result.output)
        return "" if fine else f"{result.exit_code}: {result.output[-300:]}{result.exception!r:.200}"
    try:
        text = getattr(erlbench.load_results(out), reader).to_string()
        return f"a text that commands the terminal: {text}" if "\x1b" in text else ""
    except ErlbenchError as error:
        return "" if str(error).isprintable() else repr(error)
    except Exception as error:
        return f"{error!r:.300}"


@pytest.mark.parametrize(
    "reader", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in READERS]
)
def test_who_reads_a_folder_reads_it_or_gives_one_message(whole, tmp_path, reader):
    """All readers together meet all attacks, each in a new copy of the run; one that is not attacked is read."""
    out = tmp_path / "results"
    place = out / "InvertedPendulum-v5/cem/seed-000"
    shutil.copytree(whole, place)
    wrong = [*filter(None, [complaint(reader, place, out, codes=(0,))])]
    for what, name, attack in [*attacks(whole)][[*READERS].index(reader) :: len(READERS)]:
        for written in (out, tmp_path / "export"):
            shutil.rmtree(written, ignore_errors=True)
        (tmp_path / "export.zip").unlink(missing_ok=True)
        shutil.copytree(whole, place)
        attack(place / name)
        with time_limit(SECONDS):
            if text := complaint(reader, place, out):
                wrong.append(f"{what} in {name}: {text}")
    assert wrong == []
