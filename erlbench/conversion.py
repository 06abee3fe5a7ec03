"""Runs of other programs as runs of a results folder, and curves of results for TensorBoard.

Of an imported run, what neither files nor user name stays empty. An export writes to ENV/NAME/seed-NNN below its
folder, as in a folder of results.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import tomli_w

from erlbench import __version__
from erlbench.algorithms import registry
from erlbench.api import Results
from erlbench.envs.options import checked_settings
from erlbench.errors import UsageError, warn
from erlbench.experiment.cells import folder_name, run_folder
from erlbench.files import Table, Unusable, Values, place_below, printable, refuse_links, writable
from erlbench.foreign_files import SB3, TABLE, ForeignRun, read_content, read_runs, refuse
from erlbench.options import option, toml_assignments
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
from erlbench.records.training import points, running_means, thinned

MOST_POINTS = 200  # of a curve of training returns
LONGEST = 200  # characters of a text
LAYOUT = "{env}__{algo}__{seed}__{time}"  # CleanRL's
WORDS = {"env": "environment", "algo": "algorithm", "seed": "seed", "total_timesteps": "budget"}
RETURNS = {"": UNSAID, "evaluations": EVALUATIONS, "training": TRAINING}
EVENTS = "events.out.tfevents.*"
OVERSHOOT = 1.1  # a program may end its last iteration beyond the budget, by this factor at most


@dataclass(frozen=True, kw_only=True)
class UserFacts:
    """The user's facts on the runs in files of other programs.

    `env`, `algo` and `seed` win over the text of the files, which wins over their folders' names by `layout`; there
    any other {word} names nothing. A file that names a budget must have the same as `total_timesteps`.
    """

    origin: str = option("", "who made the runs; reports show it", "WORDS", section="With --from")
    licence: str = option("", "licence of the data", "WORDS")
    env: str = option("", "environment of the runs, if the files do not name it or name another", "ENV")
    env_set: Values = option(
        {}, "setting of this environment, such as max_episode_steps=200", "KEY=VALUE", parse=toml_assignments
    )
    algo: str = option("", "algorithm of the runs, likewise", "ALGO")
    seed: int | None = option(None, "seed of the run, likewise", minimum=0, maximum=2**31 - 1)
    layout: str = option("", "their places in folder names, such as '{algo}/{env}_{seed}'", "PATTERN")
    name: str = option("", "name of the runs [default: PROGRAM-ALGO]", "NAME")
    total_timesteps: int | None = option(None, "budget of each run in training steps", minimum=1)
    returns: str = option(
        "", "kind of the returns in a CSV [default: not recorded]", choices=("evaluations", "training")
    )

    def __post_init__(self) -> None:
        if self.name.partition("@")[0] in registry.names():
            text = f"--name {self.name} is an algorithm of this suite, and the runs are not"
            raise UsageError(f"{text}; give another, sb3-{self.name}")
        for name in ("origin", "licence"):
            text = getattr(self, name)
            if len(text) > LONGEST or not text.isprintable():
                raise UsageError(f"--{name} is one line of at most {LONGEST} characters")


def import_runs(paths: Sequence[Path], out: Path, *, source: str = "", **facts: Any) -> pd.DataFrame:
    """Write the runs in files of other programs as runs below the folder `out`, after all files are read.

    `paths` are files, and folders that are searched with all below them, for Stable-Baselines3's evaluations.npz and
    monitor.csv and CleanRL's event files; a CSV with the columns env, algo, seed, step and return is named as a file.
    `source`, which is sb3, cleanrl or csv, takes the files of one program alone. `facts` are fields of `UserFacts`.

    The frame has a row for each run: folder, format, returns, rows, timesteps. What was overruled or left out is a
    warning. Raises `UsageError` for a file that cannot be read, for a run without a name, and for one that is there
    already; then nothing is written.
    """
    stated = UserFacts(**facts)
    env, settings = stated.env, dict(stated.env_set)
    if env in gymnasium.registry:  # else its budget is unknown
        checked_settings(env, settings)
    runs = [
        _complete_run(run, stated, settings)
        for path in dict.fromkeys(paths)
        for run in read_runs(path)
        if source in ("", "csv" if run.program == TABLE else run.program)
    ]
    if not runs:
        raise UsageError(f"{paths[0]} has no files of --from {source}; without --from, all known files are read")
    named = ((run.paths[0], *(run.config["run"][key] for key in ("env", "name", "seed"))) for run in runs)
    advice = "leave --env, --algo or --seed out, or give them one by one with another --seed or --name"
    places = _find_places(named, out, advice)
    if existing := [place for place in places if place.exists()]:
        raise UsageError(f"{existing[0]} is there already; give another --out or --name, or move it away")
    rows, notes = [], dict[str, list[Path]]()
    for folder, run in zip(places, runs):
        _write(run, folder)
        steps, table = run.evaluations["timesteps"], run.config[KIND]
        rows.append((folder, table["format"], table["returns"], len(steps), steps.max()))
        for note in run.notes:
            notes.setdefault(note, []).append(run.paths[0])
    for note, (path, *others) in notes.items():
        warn(f"{path}: {note}{f' (the same for {len(others)} more)' if others else ''}")
    return pd.DataFrame(rows, columns=["folder", "format", "returns", "rows", "timesteps"])


def _find_places(runs: Iterable[tuple[Path, str, str, int]], out: Path, advice: str) -> list[Path]:
    """The folder below `out` of each run, given by where it comes from, its environment, name and seed.

    Raises `UsageError`, which ends with `advice`, where two have one, and where it lies behind a link.
    """
    places: dict[Path, Path] = {}
    for path, env, name, seed in runs:
        place = place_below(out, *run_folder(Path(), env, folder_name(name), seed).parts)
        if place in places:
            raise UsageError(f"{places[place]} and {path} have two runs that become {place}; {advice}")
        places[place] = path
    return [*places]


def _complete_run(run: ForeignRun, stated: UserFacts, settings: Values) -> ForeignRun:
    """The run with the tables of its config.toml and the rows of its eval.csv."""
    path = run.paths[0]
    placed = _read_layout(path, stated.layout or LAYOUT)
    env, algo, seed, budget = (_choose(option, run, stated, placed) for option in WORDS)
    algo = f"{run.program}-{algo}"
    table = {"env": env, "algo": algo, "name": stated.name or algo, "seed": seed}
    try:
        check_called({"run": table})
    except Unusable as error:
        raise UsageError(f"{path}: {printable(str(error))}; give --env, --algo, --seed or --name") from error
    table |= {"kind": KIND} | ({"total_timesteps": budget} if budget else {})
    rows, kind = run.evaluations, EVALUATIONS if run.program == SB3 else RETURNS[stated.returns]
    if rows.empty:  # running means of the training returns; the last one is over the last episodes
        rows, kind = running_means(run.episodes.assign(kind="")), TRAINING
        rows = rows.rename(columns={"t": "train_time_s", "mean": "return_mean"}).drop(columns="success")
        rows["episodes"] = range(1, len(rows) + 1)
        rows = rows.iloc[thinned(len(rows), MOST_POINTS)].drop_duplicates("timesteps", keep="last")
    else:
        counts = set(rows["returns"].map(len)) - {0}
        table |= {"eval_episodes": min(counts)} if kind == EVALUATIONS and len(counts) == 1 else {}
        steps = rows["lengths"].map(sum).cumsum()
        deviations = rows["returns"].map(lambda values: np.std(values, ddof=len(values) > 1) if values else None)
        texts = rows[["returns", "lengths", "success"]].map(lambda values: " ".join(map(str, values)))
        steps = steps.where(steps > 0).astype("Int64")
        rows = rows.assign(**texts, evaluation_timesteps=steps, return_std=deviations)
    if (typed := stated.total_timesteps) and (last := rows["timesteps"].max()) > OVERSHOOT * typed:
        refuse(path, f"it goes on to {last:,} steps, and --total-timesteps is {typed:,}; give the budget of its run")
    imported = Imported(
        format=run.format,
        origin=stated.origin.strip(),
        licence=stated.licence.strip(),
        returns=kind,
        sources={printable(path.name): hashlib.sha256(read_content(path)).hexdigest() for path in run.paths},
    )
    config = {"run": table, KIND: imported.table()} | ({"env_settings": settings} if settings else {})
    # Other programs count all steps as steps of training; a table may count others.
    rows = rows.assign(evaluation=range(len(rows)), fitness_timesteps=None if run.program == TABLE else 0)
    return replace(run, config=config, evaluations=rows)


def _read_layout(path: Path, layout: str) -> Table:
    """What the path to a file names; empty where the layout is another one."""
    kinds = {"seed": r"(?P<seed>\d{1,9})", "env": "(?P<env>[^/]+)", "algo": "(?P<algo>[^/]+)"}
    pattern = re.sub(r"\\\{(\w*)\\\}", lambda word: kinds.get(word[1], "[^/]+"), re.escape(layout.strip("/")))
    try:
        places = (Path(os.path.abspath(path)), path.resolve())  # a link may have the names, or its target
        matches = [re.search(f"(?:^|/){pattern}$", place.parent.as_posix(), re.ASCII) for place in places]
    except re.error:
        raise UsageError(f"--layout {layout!r} names one of its parts twice") from None
    names = next((match.groupdict() for match in matches if match), {})
    return {name: int(text) if name == "seed" else text for name, text in names.items()}


def _choose(option: str, run: ForeignRun, stated: UserFacts, placed: Values) -> Any:
    """What the user names, else the files' text, else their folders; None for a budget without a source.

    Raises `UsageError` where the files do not agree, or the budget that the user names is another one: it would change
    which runs count.
    """
    typed, path, flag = getattr(stated, option), run.paths[0], f"--{option.replace('_', '-')}"
    is_typed, is_budget = typed not in (None, ""), option == "total_timesteps"
    texts = sorted({names[option] for names in run.names if names.get(option) not in (None, "")}, key=str)
    for text in map(str, texts):  # a path to elsewhere, an option, or control characters
        if not text.isprintable() or text.startswith(("-", "/")) or ".." in re.split(r"[/\\]", text):
            refuse(path, f"{printable(text[:80])!r} cannot be a run's {option}")
    if is_typed and not is_budget:
        return typed
    values = [typed] * is_typed + [text for text in texts if text != typed]
    if len(values) > 1:
        advice = f"{flag} and the files do not agree" if is_typed else f"the files do not agree; give {flag}"
        words = " and ".join(sorted(printable(str(value)[:80]) for value in values))
        raise UsageError(f"{path}: its {WORDS[option]} is {words}; {advice}")
    value = values[0] if values else placed.get(option)
    if value is None and not is_budget:
        raise UsageError(f"{path} does not name the {WORDS[option]} of its run; give {flag} or --layout")
    return value


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
    (folder / META).write_text(f"{json.dumps(about, indent=1)}\n", encoding="utf-8")
    last, steps = rows.iloc[-1:].to_dict("records")[0], rows["timesteps"]
    # Done where one more row, as far from the last one as rows lie apart (else 1 step), would be beyond the budget.
    done = budget is None or last["timesteps"] + steps.diff().fillna(1).max() > budget
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
    recorded = {key: value for key, value in status.items() if value is not None}
    (folder / STATUS).write_text(f"{json.dumps(recorded, indent=1)}\n", encoding="utf-8")


def export_events(results: Results, out: Path) -> list[Path]:
    """Write the curves of `results` as event files of TensorBoard below the folder `out`; the folders of the runs.

    A run that cannot be read is left out with a warning. Raises `UsageError` for a missing package, no run that can be
    read, two runs of one name, a folder that cannot be written, a link below `out`, and event files in a run's folder,
    as TensorBoard would draw both.
    """
    if importlib.util.find_spec("tensorboard") is None:
        raise UsageError("--to tensorboard needs a package: pip install 'erlbench[exports]'")
    cells = [*results.cells[["path", "env", "name", "seed"]].itertuples(index=False, name=None)]
    if not cells:
        raise UsageError("nothing to export: none of the runs can be read")
    with writable(out, "; choose another folder by --out"):
        places = _find_places(cells, out, "export their folders one by one")
        for folder in places:
            folder.mkdir(parents=True, exist_ok=True)
            refuse_links(folder)
            if any(folder.glob(EVENTS)):
                raise UsageError(f"{folder} has event files already; remove them, or give another folder by --out")
        for (path, *_), folder in zip(cells, places):
            _write_events(Results((Path(path),)), folder)
    return places


def _write_events(run: Results, folder: Path) -> None:
    """An event file whose steps are training steps; its clock begins at 0 with the training."""
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder)) as writer:
        for point in points(run.evaluations, run.generations, run.episodes):
            writer.add_scalar(*point)  # with its time, else it were the clock's
