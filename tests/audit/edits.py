"""Edits of finished runs, and what of `erlbench verify` finds each: docs/data/edits.csv."""

import hashlib
import re
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from tests.files import edit_json, read_json
from tests.runs import csv_rows

AGAIN = "only `--again`"
NOTHING = "nothing"


class Edit(NamedTuple):
    """An edit of a run of TD3; which checks differ without and with renewed checksums.

    `renewed` may be `AGAIN` or `NOTHING`. `make` edits the run's folder, and returns the folder if it is moved.
    """

    what: str
    make: Callable[[Path], Path | None]
    differing: str  # names of checks
    renewed: str


def config(old, new):
    def make(folder):
        path = folder / "config.toml"
        text, count = re.subn(old, new, path.read_text(), count=1)
        assert count
        path.write_text(text)

    return make


def rows(name, change):
    """Have `change` edit the rows of a CSV file in their list."""

    def make(folder):
        listed = csv_rows(folder / name)
        change(listed)
        pd.DataFrame(listed).to_csv(folder / name, index=False)

    return make


def update(listed, **changes):
    """Change columns of rows; a value is made of the cell."""
    for row in listed:
        row.update({name: change(row[name]) for name, change in changes.items() if row[name]})


def higher(cells):
    return " ".join(repr(float(cell) + 1) for cell in cells.split())


def zeros(cell):
    return "0" * len(cell)


def half(cell):
    return repr(float(cell) / 2)


def returns(number):
    """Raise all returns of an evaluation, and its mean with them."""
    return rows("eval.csv", lambda listed: update([listed[number]], returns=higher, return_mean=higher))


def final_returns(folder):
    returns(-1)(folder)
    status(lambda values: values.update(return_mean=values["return_mean"] + 1))(folder)


def status(change):
    return lambda folder: edit_json(folder / "status.json", change)


def renew(folder):
    """Have all hashes and checksums be those of the files as they are."""
    digest = hashlib.sha256((folder / "config.toml").read_bytes()).hexdigest()
    edit_json(
        folder / "meta.json", lambda meta: [part.update(config_sha256=digest) for part in (meta, meta["starts"][-1])]
    )
    names = filter(lambda name: (folder / name).is_file(), read_json(folder / "status.json").get("files", ()))
    contents = {name: (folder / name).read_bytes() for name in names}
    sums = {name: f"{len(data)}:{zlib.crc32(data):08x}" for name, data in contents.items()}
    status(lambda values: values.update(files=sums) if sums else None)(folder)


def move(folder, seed):
    """Move the run to the folder of another seed."""
    return Path(shutil.move(folder, folder.with_name(seed)))


def other_policy(folder):
    """That of the run with the next seed, which lies beside the run's folders."""
    (source,) = folder.parents[3].glob("other/*/*/seed-001/policy.safetensors")
    shutil.copy(source, folder)


EDITS = (
    Edit("learning rate in config.toml", config(r"learning_rate = [\d.e-]+", "learning_rate = 0.01"),
         "checksums, config", AGAIN),
    Edit("a larger budget in config.toml", config("total_timesteps = 1000", "total_timesteps = 2000"),
         "checksums, config, scores", "scores"),
    Edit("environment in config.toml", config('env = "InvertedPendulum-v5"', 'env = "InvertedDoublePendulum-v5"'),
         "checksums, config, policy, policies", "policy, policies"),
    Edit("seed in config.toml", config("seed = 0", "seed = 1"),
         "checksums, config, folder, policy, policies", "folder, policy, policies"),
    Edit("the seed's folder renamed", lambda folder: move(folder, "seed-001"), "folder", "folder"),
    Edit("returns of the final evaluation", final_returns, "checksums, policy", "policy"),
    Edit("returns of an evaluation whose policy is kept", returns(-2), "checksums, policies", "policies"),
    Edit("returns of an evaluation without policy", returns(1), "checksums", AGAIN),
    Edit("a row of eval.csv left out", rows("eval.csv", lambda listed: listed.pop(3)),
         "checksums, evaluations, policies", "evaluations, policies"),
    Edit("score in status.json", status(lambda values: values.update(return_mean=1e4)), "scores", "scores"),
    Edit("training return in status.json", status(lambda values: values.update(training_return=1e4)),
         "episodes", "episodes"),
    Edit("a row of tasks.csv left out", rows("tasks.csv", lambda listed: listed.pop(5)), "checksums, tasks", "tasks"),
    Edit("times of eval.csv halved",
         rows("eval.csv", lambda listed: update(listed, train_time_s=half, total_time_s=half)), "checksums", NOTHING),
    Edit("the policy of another seed", other_policy, "checksums, policy", "policy"),
    Edit("a digest of eval.csv", rows("eval.csv", lambda listed: update(listed[2:3], digest=zeros)),
         "checksums", AGAIN),
    Edit("all digests of eval.csv deleted", rows("eval.csv", lambda listed: update(listed, digest=lambda cell: "")),
         "checksums, version", "version"),
    Edit("all checksums deleted", status(lambda values: values.pop("files")), "version", "version"),
    Edit("the format in meta.json deleted",
         lambda folder: edit_json(folder / "meta.json", lambda meta: meta.pop("format")),
         "checksums, version", "version"),
)  # fmt: skip


def table():
    """The rows of docs/data/edits.csv."""
    return [
        ["edit", "found by", "with renewed checksums"],
        *([edit.what, edit.differing, edit.renewed] for edit in EDITS),
    ]
