"""Edits of finished runs, and what of `erlbench verify` finds each: the table of docs/reproducibility.md."""

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

TD3, CEM, AES = "td3", "cem", "aes-rl"
AGAIN = "only `--again`"
NOTHING = "nothing"


@dataclass(frozen=True, kw_only=True)
class Edit:
    """An edit of a run of `algo`; which checks differ without and with renewed checksums.

    `renewed` may be `AGAIN` or `NOTHING`. `make` edits the run's folder, and returns the folder where it is then.
    """

    what: str
    make: Callable[[Path], Path | None]
    found: str  # names of checks
    renewed: str
    algo: str = TD3


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


def edit_json(folder: Path, name: str, change: Callable[[dict], None]) -> None:
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
    for name in json.loads((folder / "status.json").read_text())["files"]:
        data = (folder / name).read_bytes()
        sums[name] = f"{len(data)}:{zlib.crc32(data):08x}"
    edit_json(folder, "status.json", lambda status: status.update(files=sums))


def move(folder: Path, target: str) -> Path:
    """Move the run to `target`, ENV/NAME/SEED with "." for what it has."""
    old = folder.parts[-3:]
    new = folder.parents[2].joinpath(*(b if a == "." else a for a, b in zip(target.split("/"), old, strict=True)))
    new.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.move(folder, new))


def both(*steps: Callable[[Path], Path | None]) -> Callable[[Path], Path | None]:
    """One edit after the other."""

    def make(folder: Path) -> Path:
        for step in steps:
            folder = step(folder) or folder
        return folder

    return make


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


def all_times(folder: Path) -> None:
    cells(folder, "eval.csv", half, "train_time_s", "total_time_s", "paused_s")
    cells(folder, "train.csv", half, "train_time_s", "paused_s")
    cells(folder, "tasks.csv", half, "start_s", "end_s", "ready_s", "cpu_s", "second_core_s")
    cells(folder, "episodes.csv", half, "t")


def updates_everywhere(folder: Path) -> None:
    for name in ("eval.csv", "train.csv", "tasks.csv"):
        cells(folder, name, double, "critic_updates")


def event(folder: Path) -> None:
    with (folder / "events.csv").open("a") as file:
        file.write("1.0,paused,nothing ran for 9 s\n")


def command_line(folder: Path) -> None:
    def change(meta: dict) -> None:
        meta["command_line"] = meta["starts"][-1]["command_line"] = "erlbench run --seed 7"

    edit_json(folder, "meta.json", change)


def without_repeats(folder: Path) -> None:
    """The run moved aside before this one vanishes, and its entry."""
    shutil.rmtree(folder.with_name("seed-000.old-1"), ignore_errors=True)
    edit_json(folder, "meta.json", lambda meta: meta.update(other=meta.pop("repeats", None)))


# -- the edits -------------------------------------------------------------------------------------------------------

EDITS = (
    Edit(what="learning rate in config.toml", make=config(r"learning_rate = [\d.e-]+", "learning_rate = 0.01"),
         found="checksums, config", renewed=AGAIN),
    Edit(what="discount in config.toml", make=config(r"discount = [\d.]+", "discount = 0.9"),
         found="checksums, config", renewed=AGAIN),
    Edit(what="initial variance in config.toml (CEM)", algo=CEM,
         make=config(r"initial_variance = [\d.e-]+", "initial_variance = 0.5"),
         found="checksums, config, beginning", renewed="beginning"),
    Edit(what="hidden layers in config.toml", make=config(r"hidden = \[[^\]]*\]", "hidden = [8, 8]"),
         found="checksums, config, beginning", renewed="beginning"),
    Edit(what="name in config.toml", make=config('name = "td3"', 'name = "sac"'),
         found="checksums, config, folder", renewed="folder"),
    Edit(what="a smaller budget in config.toml", make=config("total_timesteps = 1000", "total_timesteps = 600"),
         found="checksums, config, asked", renewed="config, asked"),
    Edit(what="a smaller budget in config.toml and status.json",
         make=both(config("total_timesteps = 1000", "total_timesteps = 600"),
                   lambda folder: edit_json(folder, "status.json", lambda s: s.update(total_timesteps=600))),
         found="checksums, config, asked", renewed="asked"),
    Edit(what="a larger budget in config.toml and status.json",
         make=both(config("total_timesteps = 1000", "total_timesteps = 2000"),
                   lambda folder: edit_json(folder, "status.json", lambda s: s.update(total_timesteps=2000))),
         found="checksums, config, asked, scores", renewed="asked, scores"),
    Edit(what="environment in config.toml",
         make=config('env = "InvertedPendulum-v5"', 'env = "InvertedDoublePendulum-v5"'),
         found="checksums, config, folder, policy, policies", renewed="folder, policy, policies"),
    Edit(what="environment in config.toml and in the folder's name",
         make=both(config('env = "InvertedPendulum-v5"', 'env = "InvertedDoublePendulum-v5"'),
                   lambda folder: move(folder, "InvertedDoublePendulum-v5/./.")),
         found="checksums, config, folder, policy, policies", renewed="folder, policy, policies"),
    Edit(what="frequency of evaluations in config.toml", make=config("eval_freq = 100", "eval_freq = 200"),
         found="checksums, config, asked", renewed="asked"),
    Edit(what="episodes of an evaluation in config.toml", make=config("eval_episodes = 2", "eval_episodes = 10"),
         found="checksums, config, asked", renewed="asked"),
    Edit(what="seed in config.toml", make=config("seed = 0", "seed = 1"),
         found="checksums, config, folder, beginning, policy, policies", renewed="folder, beginning, policy, policies"),
    Edit(what="seed in config.toml and in the folder's name",
         make=both(config("seed = 0", "seed = 1"), lambda folder: move(folder, "././seed-001")),
         found="checksums, config, beginning, policy, policies", renewed="beginning, policy, policies"),
    Edit(what="the seed's folder renamed", make=lambda folder: move(folder, "././seed-001"),
         found="folder", renewed="folder"),
    Edit(what="the name's folder renamed", make=lambda folder: move(folder, "./sac/."),
         found="folder", renewed="folder"),
    Edit(what="costs of simulated time in config.toml (AES-RL)", algo=AES,
         make=config(r"timestep = [\d.e-]+", "timestep = 0.5"), found="checksums, config", renewed=AGAIN),
    Edit(what="returns of the final evaluation, its mean, and status.json", make=lambda folder: returns(folder, -1),
         found="checksums, policy", renewed="policy"),
    Edit(what="returns of an evaluation on the way whose policy is kept", make=lambda folder: returns(folder, -2),
         found="checksums, policies", renewed="policies"),
    Edit(what="returns of an evaluation on the way, its policy not kept", make=lambda folder: returns(folder, 1),
         found="checksums", renewed=AGAIN),
    Edit(what="mean of an evaluation", make=lambda folder: cells(folder, "eval.csv", half, "return_mean", only=2),
         found="checksums, evaluations", renewed="evaluations"),
    Edit(what="a row of eval.csv left out", make=drop("eval.csv", 3),
         found="checksums, evaluations, asked, policies", renewed="evaluations, asked, policies"),
    Edit(what="score in status.json",
         make=lambda folder: edit_json(folder, "status.json", lambda status: status.update(return_mean=1e4)),
         found="scores", renewed="scores"),
    Edit(what="training times of eval.csv halved",
         make=lambda folder: cells(folder, "eval.csv", half, "train_time_s", "total_time_s"),
         found="checksums, generations, moments", renewed="generations, moments"),
    Edit(what="training times of eval.csv and train.csv halved",
         make=both(lambda folder: cells(folder, "eval.csv", half, "train_time_s", "total_time_s"),
                   lambda folder: cells(folder, "train.csv", half, "train_time_s")),
         found="checksums, moments", renewed="moments"),
    Edit(what="all times in all files halved alike", make=all_times, found="checksums", renewed=NOTHING),
    Edit(what="critic updates of train.csv doubled",
         make=lambda folder: cells(folder, "train.csv", double, "critic_updates"),
         found="checksums, generations, moments", renewed="generations, moments"),
    Edit(what="critic updates doubled in all files", make=updates_everywhere, found="checksums", renewed=AGAIN),
    Edit(what="training steps of an evaluation",
         make=lambda folder: cells(folder, "eval.csv", more, "timesteps", only=3),
         found="checksums, generations, moments", renewed="generations, moments"),
    Edit(what="a training return of episodes.csv", make=lambda folder: cells(folder, "episodes.csv", half, "r", only=5),
         found="checksums", renewed=AGAIN),
    Edit(what="the length of a training episode",
         make=lambda folder: cells(folder, "episodes.csv", more, "l", only=5),
         found="checksums, episodes, played", renewed="episodes, played"),
    Edit(what="lengths of two training episodes, their sum kept",
         make=both(lambda folder: cells(folder, "episodes.csv", more, "l", only=5),
                   lambda folder: cells(folder, "episodes.csv", lambda cell: str(int(cell) - 1), "l", only=6)),
         found="checksums, played", renewed="played"),
    Edit(what="a row of tasks.csv left out", make=drop("tasks.csv", 5),
         found="checksums, tasks, moments, played", renewed="tasks, moments, played"),
    Edit(what="the policy of another seed", make=other_seed("policy.safetensors"),
         found="checksums, policy", renewed="policy"),
    Edit(what="a kept policy of another seed", make=other_seed("policies/000009.safetensors"),
         found="policies", renewed="policies"),
    Edit(what="a digest of eval.csv", make=lambda folder: cells(
             folder, "eval.csv", lambda cell: "0" * len(cell), "digest", only=2), found="checksums", renewed=AGAIN),
    Edit(what="a row of events.csv added", make=event,
         found="checksums", renewed=NOTHING),
    Edit(what="the command line in meta.json", make=command_line, found="checksums", renewed=NOTHING),
    Edit(what="the hash in the last start of meta.json",
         make=lambda folder: edit_json(folder, "meta.json", lambda m: m["starts"][-1].update(started="2020-01-01")),
         found="checksums, config", renewed="config"),
    Edit(what="the note of an earlier run of the seed deleted, with that run", make=without_repeats,
         found="checksums", renewed=NOTHING),
)  # fmt: skip


def table() -> str:
    """The Markdown table of the documentation."""
    lines = ["| edit | found by | with all checksums and hashes renewed |", "|---|---|---|"]
    lines += [f"| {edit.what} | {edit.found} | {edit.renewed} |" for edit in EDITS]
    return "\n".join(lines)
