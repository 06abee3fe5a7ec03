"""Edits of finished runs, and what of `erlbench verify` finds each: docs/data/edits.csv."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

AGAIN = "only `--again`"
NOTHING = "nothing"


@dataclass(frozen=True, kw_only=True)
class Edit:
    """An edit of a run of TD3; which checks differ without and with renewed checksums.

    `renewed` may be `AGAIN` or `NOTHING`. `make` edits the run's folder, and returns the folder where it is then.
    """

    what: str
    make: Callable[[Path], Path | None]
    found: str  # names of checks
    renewed: str


# -- how a file is edited -------------------------------------------------------------------------------------------


def text(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / name
    before = path.read_text()
    assert re.search(old, before), (old, before)
    path.write_text(re.sub(old, new, before, count=1))


def rows(folder: Path, name: str, change: Callable[[int, dict[str, str]], dict[str, str] | None]) -> None:
    """Have `change` replace each row of a CSV file, None for leaving it out; its number counts from 0."""
    path = folder / name
    lines = path.read_text().splitlines(keepends=True)
    comments = [line for line in lines if line.startswith("#")]
    reader = csv.DictReader(line for line in lines if not line.startswith("#"))
    changed = [new for number, row in enumerate(reader) if (new := change(number, row)) is not None]
    out = io.StringIO()
    writer = csv.DictWriter(out, reader.fieldnames, lineterminator="\n")
    writer.writeheader()
    writer.writerows(changed)
    assert "".join(comments) + out.getvalue() != path.read_text(), "the edit changes nothing"
    path.write_text("".join(comments) + out.getvalue())


def cells(folder: Path, name: str, change: Callable[[str], str], *columns: str, only: int | None = None) -> None:
    """Change cells of some columns, in all rows or in one (negative: from the end)."""
    number = sum(not line.startswith("#") for line in (folder / name).read_text().splitlines()) - 1
    wanted = None if only is None else only % number
    rows(folder, name, lambda index, row: {
        key: change(value) if key in columns and wanted in (None, index) and value else value
        for key, value in row.items()
    })  # fmt: skip


def half(value: str) -> str:
    return repr(float(value) / 2)


def double(value: str) -> str:
    return str(2 * int(value))


def more(value: str) -> str:
    return str(int(value) + 1)


def returns(folder: Path, row: int, by: float = 1.0) -> None:
    """Raise all returns of an evaluation, and its mean with them."""
    cells(folder, "eval.csv", lambda cell: " ".join(repr(float(one) + by) for one in cell.split()), "returns", only=row)
    cells(folder, "eval.csv", lambda cell: repr(float(cell) + by), "return_mean", only=row)
    if row == -1:
        edit_json(folder, "status.json", lambda status: status.update(return_mean=status["return_mean"] + by))


def edit_json(folder: Path, name: str, change: Callable[[dict], object]) -> None:
    values = json.loads((folder / name).read_text())
    change(values)
    (folder / name).write_text(json.dumps(values, indent=2) + "\n")


def renew(folder: Path) -> None:
    """Have all hashes and checksums be those of the files as they are."""
    digest = hashlib.sha256((folder / "config.toml").read_bytes()).hexdigest()

    def of_config(meta: dict) -> None:
        meta["config_sha256"] = meta["starts"][-1]["config_sha256"] = digest

    edit_json(folder, "meta.json", of_config)
    sums = {}
    for name in json.loads((folder / "status.json").read_text()).get("files", {}):
        data = (folder / name).read_bytes()
        sums[name] = f"{len(data)}:{zlib.crc32(data):08x}"
    edit_json(folder, "status.json", lambda status: status.update(files=sums) if sums else None)


def move(folder: Path, target: str) -> Path:
    """Move the run to `target`, ENV/NAME/SEED with "." for what it has."""
    old = folder.parts[-3:]
    new = folder.parents[2].joinpath(*(b if a == "." else a for a, b in zip(target.split("/"), old, strict=True)))
    new.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.move(folder, new))


def status(change: Callable[[dict], object]) -> Callable[[Path], None]:
    return lambda folder: edit_json(folder, "status.json", change)


def config(old: str, new: str) -> Callable[[Path], None]:
    return lambda folder: text(folder, "config.toml", old, new)


def drop(name: str, row: int) -> Callable[[Path], None]:
    """Leave out one row."""

    def make(folder: Path) -> None:
        number = sum(not line.startswith("#") for line in (folder / name).read_text().splitlines()) - 1
        rows(folder, name, lambda index, one: None if index == row % number else one)

    return make


def other_seed(name: str) -> Callable[[Path], None]:
    """A file of the run with the next seed, which lies beside the run's folders."""

    def make(folder: Path) -> None:
        (source,) = folder.parents[3].glob(f"other/*/*/seed-001/{name}")
        shutil.copy(source, folder / name)

    return make


# -- the edits -------------------------------------------------------------------------------------------------------

EDITS = (
    Edit(what="learning rate in config.toml", make=config(r"learning_rate = [\d.e-]+", "learning_rate = 0.01"),
         found="checksums, config", renewed=AGAIN),
    Edit(what="a larger budget in config.toml", make=config("total_timesteps = 1000", "total_timesteps = 2000"),
         found="checksums, config, scores", renewed="scores"),
    Edit(what="environment in config.toml",
         make=config('env = "InvertedPendulum-v5"', 'env = "InvertedDoublePendulum-v5"'),
         found="checksums, config, policy, policies", renewed="policy, policies"),
    Edit(what="seed in config.toml", make=config("seed = 0", "seed = 1"),
         found="checksums, config, folder, policy, policies", renewed="folder, policy, policies"),
    Edit(what="the seed's folder renamed", make=lambda folder: move(folder, "././seed-001"),
         found="folder", renewed="folder"),
    Edit(what="returns of the final evaluation", make=lambda folder: returns(folder, -1),
         found="checksums, policy", renewed="policy"),
    Edit(what="returns of an evaluation whose policy is kept", make=lambda folder: returns(folder, -2),
         found="checksums, policies", renewed="policies"),
    Edit(what="returns of an evaluation without policy", make=lambda folder: returns(folder, 1),
         found="checksums", renewed=AGAIN),
    Edit(what="a row of eval.csv left out", make=drop("eval.csv", 3),
         found="checksums, evaluations, policies", renewed="evaluations, policies"),
    Edit(what="score in status.json", make=status(lambda values: values.update(return_mean=1e4)),
         found="scores", renewed="scores"),
    Edit(what="training return in status.json", make=status(lambda values: values.update(training_return=1e4)),
         found="episodes", renewed="episodes"),
    Edit(what="a row of tasks.csv left out", make=drop("tasks.csv", 5),
         found="checksums, tasks", renewed="tasks"),
    Edit(what="times of eval.csv halved",
         make=lambda folder: cells(folder, "eval.csv", half, "train_time_s", "total_time_s"),
         found="checksums", renewed=NOTHING),
    Edit(what="the policy of another seed", make=other_seed("policy.safetensors"),
         found="checksums, policy", renewed="policy"),
    Edit(what="a digest of eval.csv", make=lambda folder: cells(
             folder, "eval.csv", lambda cell: "0" * len(cell), "digest", only=2), found="checksums", renewed=AGAIN),
    Edit(what="all digests of eval.csv deleted",
         make=lambda folder: cells(folder, "eval.csv", lambda cell: "", "digest"),
         found="checksums, version", renewed="version"),
    Edit(what="all checksums deleted", make=status(lambda values: values.pop("files")),
         found="version", renewed="version"),
    Edit(what="the format in meta.json deleted",
         make=lambda folder: edit_json(folder, "meta.json", lambda values: values.pop("format")),
         found="checksums, version", renewed="version"),
)  # fmt: skip


def table() -> list[list[str]]:
    """The rows of docs/data/edits.csv."""
    return [["edit", "found by", "with renewed checksums"], *([edit.what, edit.found, edit.renewed] for edit in EDITS)]
