"""Runs of other programs become runs of a results folder; what neither files nor user name stays empty."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import tomli_w

from erlbench import __version__, errors
from erlbench.algorithms import registry
from erlbench.envs.options import OWN, checked_settings, plain_values
from erlbench.errors import UsageError, nearest
from erlbench.experiment.cells import folder_name
from erlbench.files import Unusable, place_below, printable, writable
from erlbench.foreign_files import CLEANRL, SB3, TABLE, ForeignRun, read_content, read_runs, refuse
from erlbench.records.run import (
    CONFIG,
    EVALUATIONS,
    KIND,
    META,
    STATUS,
    TRAINING,
    UNSAID,
    Imported,
    check_called,
    file_checksum,
)
from erlbench.records.schema import EpisodeRow, EvaluationRow, Row, header
from erlbench.records.training import WINDOW, thinned

MOST_POINTS = 200  # of a curve of training returns
LONGEST = 200  # characters of a text
LAYOUT = "{env}__{algo}__{seed}__{time}"  # CleanRL's
WORDS = {"env": "environment", "algo": "algorithm", "seed": "seed", "total_timesteps": "budget"}
PROGRAMS = {"sb3": SB3, "cleanrl": CLEANRL, "csv": TABLE}
RETURNS = {"": UNSAID, "evaluations": EVALUATIONS, "training": TRAINING}


@dataclass(frozen=True, kw_only=True)
class UserFacts:
    """What the user says of the runs in files of other programs."""

    origin: str  # the owner of the data; reports show it
    licence: str = ""
    env: str = ""  # this and the next two win over the text of the files, which wins over their folders' names
    algo: str = ""
    seed: int | None = None
    layout: str = ""  # where the three stand in a path: "{algo}/{env}_{seed}"; any other {word} names nothing
    name: str = ""  # the runs' name in reports [default: PROGRAM-ALGO]
    env_settings: Mapping[str, Any] | None = None  # what the program changed in the environment
    total_timesteps: int | None = None  # the budget; a file that names one must have the same
    returns: str = ""  # "evaluations" or "training": what the returns of a CSV are of

    def __post_init__(self) -> None:
        if self.name.partition("@")[0] in registry.names():
            text = f"--name {self.name} is an algorithm of this suite, and the runs are not"
            raise UsageError(f"{text}; give another, sb3-{self.name}")
        for option in ("origin", "licence"):
            text = getattr(self, option)
            if len(text) > LONGEST or not text.isprintable():
                raise UsageError(f"--{option} is one line of at most {LONGEST} characters")


def import_runs(
    paths: Sequence[Path], out: Path, *, source: str = "", warn: Callable[[str], None] = errors.warn, **facts: Any
) -> pd.DataFrame:
    """Write the runs in files of other programs as runs below the folder `out`, after all files are read.

    `paths` are files, and folders that are searched with all below them, for Stable-Baselines3's evaluations.npz and
    monitor.csv and CleanRL's event files; a CSV with the columns env, algo, seed, step and return is named as a file.
    `source`, a key of `PROGRAMS`, takes the files of one program alone. `facts` are fields of `UserFacts`.

    The frame has a row for each run: folder, format, returns, rows, timesteps. `warn` gets what was overruled or left
    out. Raises `UsageError` for a file that cannot be read, for a run that nobody names, and for one that is there
    already; then nothing is written.
    """
    stated = UserFacts(**facts)
    settings = _check_settings(stated.env, stated.env_settings or {})
    runs = [
        _describe_run(run, stated, settings)
        for path in dict.fromkeys(paths)
        for run in read_runs(path)
        if run.program == PROGRAMS.get(source, run.program)
    ]
    if not runs:
        raise UsageError(f"{paths[0]} has no files of --from {source}; without --from, all known files are read")
    places = _find_places(runs, out)
    rows, notes = [], dict[str, list[Path]]()
    for folder, run in places.items():
        _write(run, folder)
        steps, table = run.evaluations["timesteps"], run.config[KIND]
        rows.append((folder, table["format"], table["returns"], len(steps), steps.max()))
        for note in run.notes:
            notes.setdefault(note, []).append(run.paths[0])
    for note, (path, *others) in notes.items():
        warn(f"{path}: {note}{f' (the same for {len(others)} more)' if others else ''}")
    return pd.DataFrame(rows, columns=["folder", "format", "returns", "rows", "timesteps"])


def _check_settings(env: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as config.toml has them, checked where the user names an environment that can be found here.

    The module of MODULE:ID is imported for that; no module that a file names is.
    """
    values = plain_values(settings)
    try:
        gymnasium.spec(env)
    except Exception:  # of the module that the user named, or not installed
        for name in values:
            if name not in OWN and (hint := nearest(name, OWN)):
                raise UsageError(f"--env-set {name}: no setting of an environment{hint}") from None
    else:
        checked_settings(env, values)
    return values


def _find_places(runs: Sequence[ForeignRun], out: Path) -> dict[Path, ForeignRun]:
    """The runs by their folders. Raises `UsageError` where two have one, or it is there already or behind a link."""
    places: dict[Path, ForeignRun] = {}
    for run in runs:
        table = run.config["run"]
        folder = place_below(out, folder_name(table["env"]), folder_name(table["name"]), f"seed-{table['seed']:03d}")
        if (other := places.setdefault(folder, run)) is not run:
            raise UsageError(
                f"{other.paths[0]} and {run.paths[0]} have two runs that become {folder}; leave --env, --algo or "
                "--seed out, or give them one by one with another --seed or --name"
            )
        if folder.exists():
            raise UsageError(f"{folder} is there already; give another --out or --name, or move it away")
    return places


def _describe_run(run: ForeignRun, stated: UserFacts, settings: Mapping[str, Any]) -> ForeignRun:
    """The run with the tables of its config.toml and the rows of its eval.csv."""
    path, notes = run.paths[0], [*run.notes]
    placed = _read_layout(path, stated.layout or LAYOUT)
    env, algo, seed, budget = (_choose(option, run, stated, placed, notes) for option in WORDS)
    algo = f"{run.program}-{algo}"
    table = {"env": env, "algo": algo, "name": stated.name or algo, "seed": seed}
    try:
        check_called({"run": table})
    except Unusable as error:
        raise UsageError(f"{path}: {printable(str(error))}; give --env, --algo, --seed or --name") from error
    table |= {"kind": KIND} | ({"total_timesteps": budget} if budget else {})
    rows, kind = run.evaluations, EVALUATIONS if run.program == SB3 else RETURNS[stated.returns]
    if rows.empty:
        rows, kind = _describe_curve(run.episodes), TRAINING
    else:
        counts = set(rows["returns"].map(len)) - {0}
        table |= {"eval_episodes": min(counts)} if kind == EVALUATIONS and len(counts) == 1 else {}
        steps = rows["lengths"].map(sum).cumsum()
        rows = rows.assign(
            **rows[["returns", "lengths", "success"]].map(lambda values: " ".join(map(str, values))),
            evaluation_timesteps=steps.where(steps > 0).astype("Int64"),
            return_std=rows["returns"].map(
                lambda values: np.std(values, ddof=1) if len(values) > 1 else 0.0 if values else None
            ),
        )
    imported = Imported(
        format=run.format,
        origin=stated.origin.strip(),
        licence=stated.licence.strip(),
        returns=kind,
        sources={printable(path.name): hashlib.sha256(read_content(path)).hexdigest() for path in run.paths},
    )
    config = {"run": table, **({"env_settings": settings} if settings else {}), KIND: imported.table()}
    # Other programs count all steps as steps of training; of a table nobody knows.
    rows = rows.assign(evaluation=range(len(rows)), fitness_timesteps=None if run.program == TABLE else 0)
    return replace(run, config=config, evaluations=rows, notes=notes)


def _read_layout(path: Path, layout: str) -> dict[str, Any]:
    """What the path to a file names; empty where the layout is another one."""
    kinds = {"seed": r"(?P<seed>\d{1,9})", "env": "(?P<env>[^/]+)", "algo": "(?P<algo>[^/]+)"}
    pattern = re.sub(r"\\\{(\w*)\\\}", lambda word: kinds.get(word[1], "[^/]+"), re.escape(layout.strip("/")))
    try:
        match = re.search(f"(?:^|/){pattern}$", path.resolve().parent.as_posix(), re.ASCII)
    except re.error:
        raise UsageError(f"--layout {layout!r} names one of its parts twice") from None
    names = match.groupdict() if match else {}
    return {name: int(text) if name == "seed" else text for name, text in names.items()}


def _choose(option: str, run: ForeignRun, stated: UserFacts, placed: Mapping[str, Any], notes: list[str]) -> Any:
    """What the user names, else the files' text, else their folders; None for a budget that nobody names.

    Raises `UsageError` where the files do not agree, or the budget that the user names is another one: it would change
    which runs count.
    """
    typed, layout = getattr(stated, option), stated.layout
    path, flag = run.paths[0], f"--{option.replace('_', '-')}"
    texts = sorted({names[option] for names in run.names if names.get(option) not in (None, "")}, key=str)
    for text in map(str, texts):  # a path to elsewhere, an option, or control characters
        if not text.isprintable() or text.startswith(("-", "/")) or ".." in re.split(r"[/\\]", text):
            refuse(path, f"{printable(text[:80])!r} cannot be a run's {option}")
    is_typed = typed not in (None, "")
    others = [text for text in texts if text != typed]
    if is_typed and others and option != "total_timesteps":
        notes.append(f"{flag} overrules {printable(', '.join(map(str, others))[:LONGEST])}")
        return typed
    values = [typed, *others] if is_typed else others
    if len(values) > 1:
        advice = f"{flag} and the files do not agree" if is_typed else f"the files do not agree; give {flag}"
        words = " and ".join(sorted(printable(str(value)[:80]) for value in values))
        raise UsageError(f"{path}: its {WORDS[option]} is {words}; {advice}")
    value = values[0] if values else placed.get(option)
    if value is None and option != "total_timesteps":
        where = f" and does not lie as --layout {layout!r} says" if layout and not placed else ""
        advice = f"give {flag} or {'another ' * bool(layout)}--layout"
        raise UsageError(f"{path} does not say the {WORDS[option]} of its run{where}; {advice}")
    return value


def _describe_curve(episodes: pd.DataFrame) -> pd.DataFrame:
    """At most `MOST_POINTS` running means of the training returns; the last one is that of the last episodes."""
    means = episodes["r"].rolling(WINDOW, min_periods=1).mean()
    rows = episodes.rename(columns={"t": "train_time_s"}).drop(columns="success")  # of single episodes
    rows = rows.assign(episodes=range(1, len(rows) + 1), return_mean=means)
    return rows.iloc[thinned(len(rows), MOST_POINTS)].drop_duplicates("timesteps", keep="last")


def _write(run: ForeignRun, folder: Path) -> None:
    """Write the run's folder, whole or not at all."""
    with writable(folder, "; choose another folder by --out"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".import-", dir=folder.parent, ignore_cleanup_errors=True) as place:
            new = Path(place) / "run"
            new.mkdir()
            _fill(new, run)
            new.rename(folder)


def _fill(folder: Path, run: ForeignRun) -> None:
    rows, episodes, table = run.evaluations, run.episodes, run.config["run"]
    frames: dict[type[Row], pd.DataFrame] = {EvaluationRow: rows}
    if not episodes.empty and episodes["l"].notna().all():
        frames[EpisodeRow] = episodes.astype({"l": int, "success": "Int64"})
    for kind, frame in frames.items():
        text = frame.reindex(columns=list(header(kind))).to_csv(index=False, lineterminator="\n")
        comment = f"#{json.dumps({'env_id': table['env']})}\n" if kind is EpisodeRow else ""
        (folder / kind.file).write_text(comment + text, encoding="utf-8")
    (folder / CONFIG).write_text(tomli_w.dumps(run.config), encoding="utf-8")
    now, budget = datetime.now(UTC).isoformat(timespec="seconds"), table.get("total_timesteps")
    about = {"imported": now, "erlbench": __version__}
    (folder / META).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    last, steps = rows.iloc[-1:].to_dict("records")[0], rows["timesteps"]
    # Done where one more row, as far from the last one as rows lie apart, would be beyond the budget.
    done = budget is None or last["timesteps"] + steps.diff().fillna(steps).max() > budget
    status = {
        "status": "done" if done else "interrupted",
        "timesteps": last["timesteps"],
        "return_mean": last["return_mean"],
        "updated": now,
        "total_timesteps": budget,
        "train_time_s": last.get("train_time_s"),
        "message": None if done else "its files end before the budget that was given",
        "files": {path.name: file_checksum(path) for path in sorted(folder.iterdir())},
    }
    known = {key: value for key, value in status.items() if value is not None}
    (folder / STATUS).write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
