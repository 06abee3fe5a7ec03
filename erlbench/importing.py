"""Runs of other programs become runs of a results folder; what neither files nor user name stays empty."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from erlbench.files import place_below, printable, reason
from erlbench.foreign_files import CLEANRL, SB3, TABLE, ForeignRun, read_content, read_runs, refuse
from erlbench.records.config import EVALUATIONS, KIND, TRAINING, UNSAID, Imported, is_environment, is_name
from erlbench.records.run import CONFIG, META, STATUS, file_checksum
from erlbench.records.schema import EpisodeRow, EvaluationRow, Row, header
from erlbench.records.training import WINDOW, thinned

MOST_POINTS = 200  # of a curve of training returns
LONGEST = 200  # characters of a text
LAYOUT = "{env}__{algo}__{seed}__{time}"  # CleanRL's
SEED = re.compile(r"\d{1,10}")
WORDS = {"env": "environment", "algo": "algorithm", "seed": "seed", "total_timesteps": "budget"}
PROGRAMS = {"sb3": SB3, "cleanrl": CLEANRL, "csv": TABLE}
RETURNS = {"": UNSAID, "evaluations": EVALUATIONS, "training": TRAINING}


@dataclass(frozen=True, kw_only=True)
class ImportedRun:
    """A run, ready to be written: the tables of config.toml, and the rows of eval.csv."""

    config: Mapping[str, Any]
    evaluations: pd.DataFrame
    files: ForeignRun
    notes: Sequence[str]

    @property
    def parts(self) -> tuple[str, str, str]:
        """The folders of its place in a folder of results."""
        run = self.config["run"]
        return folder_name(run["env"]), folder_name(run["name"]), f"seed-{run['seed']:03d}"


def import_runs(
    paths: Sequence[Path],
    out: Path,
    *,
    origin: str,
    licence: str = "",
    env: str = "",
    env_settings: Mapping[str, Any] | None = None,
    algo: str = "",
    seed: int | None = None,
    layout: str = "",
    name: str = "",
    total_timesteps: int | None = None,
    returns: str = "",
    source: str = "",
    warn: Callable[[str], None] = errors.warn,
) -> pd.DataFrame:
    """Write the runs in files of other programs as runs below the folder `out`, after all files are read.

    `paths` are files, and folders that are searched with all below them, for Stable-Baselines3's evaluations.npz and
    monitor.csv and CleanRL's event files; a CSV with the columns env, algo, seed, step and return is named as a file.

    `origin` names the owner of the data; reports show it. `env`, `algo` and `seed` win over the text of the files,
    which wins over their folders' names; the run records what was overruled. `layout` says where these names stand in a
    path: "{algo}/{env}_{seed}", with any other {word} for a part that names nothing. `env_settings` are what the
    program changed in the environment, as of `erlbench run --env-set`. `name` is the runs' name in reports, else
    PROGRAM-ALGO. `total_timesteps` is the budget in training steps; a file that names one must have the same. `returns`
    are "evaluations" or "training": what the returns of a CSV are of. `source`, a key of `PROGRAMS`, takes the files of
    one program alone.

    The frame has a row for each run: folder, format, returns, rows, timesteps. `warn` gets what was overruled or left
    out. Raises `UsageError` for a file that cannot be read, for a run that nobody names, and for one that is there
    already; then nothing is written.
    """
    typed = {"env": env, "algo": algo, "seed": seed, "total_timesteps": total_timesteps}
    if name.partition("@")[0] in registry.names():
        raise UsageError(f"--name {name} is an algorithm of this suite, and the runs are not; give another, sb3-{name}")
    about = {"origin": _check_line("origin", origin), "licence": _check_line("licence", licence)}
    about["returns"] = RETURNS[returns]
    settings = _check_settings(env, env_settings or {})
    runs = [
        _describe_run(files, typed, layout, name, settings, about)
        for path in dict.fromkeys(paths)
        for files in read_runs(path)
        if files.program == PROGRAMS.get(source, files.program)
    ]
    if not runs:
        raise UsageError(f"{paths[0]} has no files of --from {source}; without --from, all known files are read")
    places = _find_places(runs, out)
    for folder, run in places.items():
        _write(run, folder)
    noted: dict[str, list[Path]] = {}
    for run in runs:
        for note in run.notes:
            noted.setdefault(note, []).append(run.files.paths[0])
    for note, (path, *others) in noted.items():
        warn(f"{path}: {note}{f' (the same for {len(others)} more)' if others else ''}")
    rows = []
    for folder, run in places.items():
        about, steps = run.config[KIND], run.evaluations["timesteps"]
        rows.append((folder, about["format"], about["returns"], len(steps), steps.max()))
    return pd.DataFrame(rows, columns=["folder", "format", "returns", "rows", "timesteps"])


def _check_line(option: str, text: str) -> str:
    if len(text) > LONGEST or not text.isprintable():
        raise UsageError(f"--{option} is one line of at most {LONGEST} characters")
    return text.strip()


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


def _find_places(runs: Sequence[ImportedRun], out: Path) -> dict[Path, ImportedRun]:
    """The runs by their folders. Raises `UsageError` where two have one, or it is there already or behind a link."""
    places: dict[Path, ImportedRun] = {}
    for run in runs:
        folder = place_below(out, *run.parts)
        if (other := places.setdefault(folder, run)) is not run:
            called = "{name} on {env}, seed {seed}".format_map(run.config["run"])
            raise UsageError(
                f"{other.files.paths[0]} and {run.files.paths[0]} have two runs that become {called}; leave --env, "
                "--algo or --seed out, or give them one by one with another --seed or --name"
            )
        if folder.exists():
            raise UsageError(f"{folder} is there already; give another --out or --name, or move it away")
    return places


def _describe_run(
    files: ForeignRun,
    typed: Mapping[str, Any],
    layout: str,
    name: str,
    settings: Mapping[str, Any],
    about: Mapping[str, str],
) -> ImportedRun:
    """What config.toml and eval.csv hold of a run."""
    path, program = files.paths[0], files.program
    placed = _read_layout(path, layout or LAYOUT)
    chosen = {option: _choose(option, typed[option], files, placed, layout) for option in WORDS}
    env, algo, seed, budget = (value for value, _ in chosen.values())
    name = name or f"{program}-{algo}"
    for option, text, valid in (
        ("env", env, is_environment), ("algo", algo, is_environment), ("name", name, is_name),
        ("seed", str(seed), SEED.fullmatch),
    ):  # fmt: skip
        if not valid(text):
            raise UsageError(f"{path}: {printable(text[:80])!r} cannot be a run's {option}; give --{option}")
    overruled = printable(
        ", ".join(f"{WORDS[option]} {value}" for option, (_, others) in chosen.items() for value in others)
    )
    run = {"env": env, "algo": f"{program}-{algo}", "name": name, "seed": seed, "kind": KIND}
    run |= {"total_timesteps": budget} if budget else {}
    if files.evaluations is None:
        kind, rows = TRAINING, _describe_curve(files.episodes)
    else:
        kind, rows = EVALUATIONS if program == SB3 else about["returns"], _describe_evaluations(files)
        counts = set(files.evaluations["returns"].map(len))
        run |= {"eval_episodes": min(counts)} if kind == EVALUATIONS and len(counts) == 1 and counts != {0} else {}
    imported = Imported(
        **{**about, "returns": kind},
        format=files.format,
        sources={printable(path.name): hashlib.sha256(read_content(path)).hexdigest() for path in files.paths},
        overruled=overruled[:LONGEST],
    )
    config = {"run": run, **({"env_settings": settings} if settings else {}), KIND: imported.table()}
    notes = [*files.notes, *([f"overruled, and recorded so: {overruled}"] if overruled else [])]
    return ImportedRun(config=config, evaluations=rows, files=files, notes=notes)


def _read_layout(path: Path, layout: str) -> dict[str, Any]:
    """What the path to a file names; empty where the layout is another one."""
    kinds = {"seed": r"(?P<seed>\d{1,9})", "env": "(?P<env>[^/]+)", "algo": "(?P<algo>[^/]+)"}
    pattern = re.sub(r"\\\{(\w*)\\\}", lambda word: kinds.get(word[1], "[^/]+"), re.escape(layout.strip("/")))
    try:
        match = re.search(f"(?:^|/){pattern}$", path.resolve().parent.as_posix(), re.ASCII)
    except re.error:
        raise UsageError(f"--layout {layout!r} names one of its parts twice") from None
    names: dict[str, Any] = match.groupdict() if match else {}
    return names | ({"seed": int(names["seed"])} if "seed" in names else {})


def _choose(
    option: str, typed: Any, files: ForeignRun, placed: Mapping[str, Any], layout: str
) -> tuple[Any, list[Any]]:
    """What the user names, else the files' text, else their folders; and what is overruled.

    None where nobody names the budget; `UsageError` for the rest, and where the files do not agree.
    """
    path, flag, texts = files.paths[0], f"--{option.replace('_', '-')}", [names.get(option) for names in files.names]
    for text in map(str, texts):  # a path to elsewhere, an option, or control characters
        if not text.isprintable() or text.startswith(("-", "/")) or ".." in re.split(r"[/\\]", text):
            refuse(path, f"{printable(text[:80])!r} cannot be a run's {option}")
    # A budget that differs would change which runs count.
    levels = ([typed, *texts],) if option == "total_timesteps" else ([typed], texts, [placed.get(option)])
    ranked = [sorted({value for value in level if value not in (None, "")}, key=str) for level in levels]
    value, *several = next(filter(None, ranked), [None])
    if several:
        values = " and ".join(printable(str(each)[:80]) for each in (value, *several))
        advice = f"the files do not agree; give {flag}" if typed in (None, "") else f"{flag} and the files do not agree"
        raise UsageError(f"{path}: its {WORDS[option]} is {values}; {advice}")
    if value is None and option != "total_timesteps":
        where = f" and does not lie as --layout {layout!r} says" if layout and not placed else ""
        advice = f"give {flag} or {'another ' * bool(layout)}--layout"
        raise UsageError(f"{path} does not say the {WORDS[option]} of its run{where}; {advice}")
    others = dict.fromkeys(other for level in ranked for other in level if other != value)
    return value, [other for other in others if other in texts or not _spells(str(other), str(value))]


def _spells(folder: str, name: str) -> bool:
    """Whether a folder's name is an id, or its end, whose "/" and ":" no folder can have."""
    return re.sub(r"\W", "-", name).endswith(re.sub(r"\W", "-", folder))


def _describe_evaluations(files: ForeignRun) -> pd.DataFrame:
    frame = files.evaluations
    assert frame is not None
    steps = frame["lengths"].map(sum).cumsum()
    return frame.assign(
        **frame[["returns", "lengths", "success"]].map(lambda values: " ".join(map(str, values))),
        evaluation=range(len(frame)),
        fitness_timesteps=None if files.program == TABLE else 0,  # the others count all steps of training
        evaluation_timesteps=steps.where(steps > 0).astype("Int64"),
        return_std=frame["returns"].map(
            lambda values: np.std(values, ddof=1) if len(values) > 1 else 0.0 if values else None
        ),
    )


def _describe_curve(episodes: pd.DataFrame | None) -> pd.DataFrame:
    """At most `MOST_POINTS` running means of the training returns; the last one is that of the last episodes."""
    assert episodes is not None
    means = episodes["r"].rolling(WINDOW, min_periods=1).mean()
    rows = pd.DataFrame({
        "timesteps": episodes["timesteps"], "fitness_timesteps": 0, "episodes": range(1, len(episodes) + 1),
        "train_time_s": episodes["t"], "return_mean": means,
    })  # fmt: skip
    rows = rows.iloc[thinned(len(rows), MOST_POINTS)].drop_duplicates("timesteps", keep="last")
    return rows.assign(evaluation=range(len(rows)))


def _write(run: ImportedRun, folder: Path) -> None:
    """Write the run's folder, whole or not at all."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".import-", dir=folder.parent, ignore_cleanup_errors=True) as place:
            new = Path(place) / "run"
            new.mkdir()
            _fill(new, run)
            new.rename(folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {reason(error)}; choose another folder by --out") from error


def _fill(folder: Path, run: ImportedRun) -> None:
    _write_rows(folder, EvaluationRow, run.evaluations)
    episodes = run.files.episodes
    if episodes is not None and episodes["l"].notna().all():
        episodes = episodes.astype({"l": int, "success": "Int64"})
        _write_rows(folder, EpisodeRow, episodes, f"#{json.dumps({'env_id': run.config['run']['env']})}\n")
    (folder / CONFIG).write_text(tomli_w.dumps(run.config), encoding="utf-8")
    now, budget = datetime.now(UTC).isoformat(timespec="seconds"), run.config["run"].get("total_timesteps")
    _write_object(folder / META, {"imported": now, "erlbench": __version__})
    last, steps = run.evaluations.iloc[-1:].to_dict("records")[0], run.evaluations["timesteps"]
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
    _write_object(folder / STATUS, {key: value for key, value in status.items() if value is not None})


def _write_rows(folder: Path, kind: type[Row], frame: pd.DataFrame, comment: str = "") -> None:
    text = frame.reindex(columns=list(header(kind))).to_csv(index=False, lineterminator="\n")
    (folder / kind.file).write_text(comment + text, encoding="utf-8")


def _write_object(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
