"""The frame of runs, with the machine, the versions and the starts that meta.json records."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from erlbench import files
from erlbench.envs.catalogue import FRESH, frames_of_step
from erlbench.errors import UsageError
from erlbench.records.older import LEARNERS
from erlbench.records.read import read_columns
from erlbench.records.run import (
    CONFIG,
    EDITED,
    META,
    NEVER_TRAINED,
    ROWS,
    STATUS,
    RunFiles,
    admission_marks,
    folders,
    is_as_written,
    is_environment,
    is_name,
    later_version,
    read_config,
    read_imported,
    read_repeats,
    shared_cores,
    starts,
)
from erlbench.records.schema import EvaluationRow, list_columns
from erlbench.reporting.cells import LEFT_OUT, Warn, list_rows, select_counted_runs
from erlbench.reporting.documents import Record
from erlbench.reporting.formats import slug
from erlbench.reporting.statistics import Array
from erlbench.work.identity import list_identities

TEXTS = {  # columns, and the entries of meta.json's last start that they hold
    "cpu": "cpu", "cores": "cores", "memory": "memory_gib", "gpus": "gpus", "device": "device",
    "processes": "processes", "jobs": "jobs", "python": "python", "commit": "commit", "command": "command_line",
}  # fmt: skip


def parse_machine(meta: Record) -> Record:
    """Where and how a run ran, at its last start; keys that are absent or of another shape are empty texts.

    `memory` in GiB; `jobs`: cells that ran at once by --jobs; `shared_cores`: None where not recorded; `threads` per
    process; `kernels`: BLAS, kernel and instruction sets, and `identities` of software, both of all starts, each once;
    `study_hashes`: of the studies that starts named, name and SHA-256; `marks`: why it may not be repeatable.
    """
    all_starts = starts(meta)
    last = {**meta, **(all_starts[-1] if all_starts else {})}
    run_starts = all_starts or [last]
    record: Record = {column: _text(last, key) for column, key in TEXTS.items()}
    named = [names for start in all_starts if isinstance(names := start.get("studies"), list | Mapping)]
    hashes = [pair for names in named if isinstance(names, Mapping) for pair in names.items()]
    identities = list_identities(meta)
    versions = tuple((str(name), str(version)) for name, version in files.table_in(last, "versions").items())
    # Other programs record only the kernel of the machine.
    usual = ", ".join(filter(None, (_text(last, "blas"), _text(last, "kernel"))))
    hardware = f"{record['cpu'] or 'CPU not recorded'}, {record['cores'] or '?'} cores, {record['gpus'] or 'no GPU'}"
    software = ", ".join(" ".join(pair) for pair in (("Python", record["python"]), *versions) if pair[1])
    record |= {
        "threads": _text(last, "threads") or _text(last, "threads_per_process"),  # the name of 0.2
        "shared_cores": shared_cores(meta),
        "versions": versions,
        "started": tuple(filter(None, (_text(start, "started") for start in run_starts))),
        "kernels": tuple(sorted(filter(None, {_text(start, "arithmetic") or usual for start in run_starts}))),
        "studies": tuple(dict.fromkeys(str(name) for names in named for name in names)),
        "study_hashes": tuple(dict.fromkeys((str(name), str(digest)) for name, digest in hashes)),
        "identities": tuple(item for number, item in enumerate(identities) if item not in identities[:number]),
        "marks": tuple(admission_marks(meta)),
        "hardware": hardware if record["cpu"] or record["cores"] else "not recorded",
        "software": (software or "not recorded") + (f", commit {record['commit'][:12]}" if record["commit"] else ""),
    }
    return record


def _text(values: Record, key: str) -> str:
    value = values.get(key)
    if isinstance(value, list):
        return ", ".join(f"{value.count(item)} x {item}" for item in dict.fromkeys(map(str, value)))
    return "" if value is None or isinstance(value, Mapping) else str(value)


FILES = (CONFIG, STATUS, META, EvaluationRow.file)
MODELLED = ("simulated_processes", "simulated_critic")  # of config.toml, in addition to the costs
UNFINISHED = ("running", "interrupted")  # whose evaluations may come after the training
# Of eval.csv; NaN where a file lacks it
COLUMNS = [column.name for column in list_columns(EvaluationRow) if column.numeric]
DAMAGE = (ValueError, TypeError, KeyError, OverflowError, RecursionError)  # of files that no run wrote
_SEED = re.compile(r"seed-(\d+)")


def find_runs(roots: Sequence[Path], warn: Warn) -> pd.DataFrame:
    """The runs below the folders `roots` that count (`cells.py`), ordered by environment, name and seed.

    Raises `UsageError` when a folder does not exist or there is no run at all.
    """
    records: dict[Path, Record] = {}
    for folder in roots:
        if not folder.is_dir():
            raise UsageError(f"{folder} is no directory; name a results directory that 'erlbench run' wrote")
        for path in _run_folders(folder, warn):
            try:
                record = read_run(path, warn)
            except DAMAGE as error:
                warn(f"{path}{LEFT_OUT}{str(error)[:300]}")
                continue
            if record is not None:
                records.setdefault(path.resolve(), record)
    if not records:
        names = ", ".join(map(str, roots)) or "the given folders"
        raise UsageError(f"no run found in {names}; start one with 'erlbench run', or name another results directory")
    runs = runs_frame(records.values())
    ours = set(runs.env[runs.imported.isna()])
    runs["env"] = [next(filter(ours.__contains__, run.labels), run.env) for run in list_rows(runs)]
    return select_counted_runs(runs, warn)


def runs_frame(records: Iterable[Record]) -> pd.DataFrame:
    """The frame of the records of `read_run`.

    Of an evaluation `learning_steps` are training and fitness steps, all that the algorithm learns from; `all_steps`
    are simulator steps; `frames` are NaN but for Atari; `seconds` is the training time without pauses, NaN where
    it is not known, as of a run.
    """
    runs = pd.DataFrame(list(records))
    counts = [len(columns["timesteps"]) for columns in runs.evaluations]
    table = pd.DataFrame({name: np.concatenate([columns[name] for columns in runs.evaluations]) for name in COLUMNS})
    imported, timed = (np.repeat(values.to_numpy(bool), counts) for values in (runs.imported.notna(), runs.timed))
    fitness, evaluation = (  # older versions did not count these steps, as they played none
        steps.where(imported, steps.fillna(0.0)) for steps in (table.fitness_timesteps, table.evaluation_timesteps)
    )
    table["learning_steps"] = table.timesteps + fitness
    table["all_steps"] = table.learning_steps + (evaluation + table.replayed_timesteps.fillna(0.0))
    table["frames"] = table.timesteps * np.repeat(runs.frames_of_step.to_numpy(float), counts)
    table["seconds"] = (table.train_time_s - table.paused_s.fillna(0.0)).where(timed)
    rows = table.to_records(index=False)
    views: list[Any] = [rows[end - count : end] for count, end in zip(counts, np.cumsum(counts))]
    runs["evaluations"] = views
    last = [rows[-1].paused_s if len(rows) else 0.0 for rows in runs.evaluations]
    runs["paused_s"] = np.nan_to_num(last)
    runs["seconds"] = (runs.train_time_s - runs.paused_s).where(runs.timed)
    runs["done"] = (runs.status == "done") & (np.array(counts) > 0)
    return runs


def read_run(path: Path, warn: Warn) -> Record | None:
    """The run in a directory `<env>/<name>/seed-NNN`; None with a warning when it holds no file of a run.

    `env` has its preset and its settings (`env_label`). `status` is from status.json, or "incomplete" (done, no
    final score), "altered" (done, and eval.csv edited since), `NEVER_TRAINED`. `total_timesteps` is 0 where no file
    has the budget, `total_generations` and `total_minutes` where there is no such limit; `budget` is the
    budget at the start, also where the run is cut later.
    """
    if not any((path / name).exists() for name in FILES):
        warn(f"{path}: holds none of {', '.join(FILES)}; not a run, left out")
        return None
    for name in dict.fromkeys((*FILES, *ROWS)):  # of which some are read when there is no leaving out any more
        if (path / name).is_dir():
            raise files.Unusable(f"{name} is a folder")
        with contextlib.suppress(OSError):
            files.read_bytes(path / name, first=0, inside=1)
    config = _read(path / CONFIG, warn)
    run, env_settings, settings, costs = (
        {**files.table_in(config, section)} for section in ("run", "env_settings", "settings", "costs")
    )
    state, meta = _read(path / STATUS, warn), _read(path / META, warn)
    for edit in RunFiles(path).list_edits(CONFIG, META):
        warn(edit)
    if later := later_version(meta):
        warn(f"{path}: {later} wrote it, whose files may mean something else; install that version to read them")
    env, name, seed = _read_identity(path, run, warn)
    total = _int(run.get("total_timesteps")) or _int(state.get("total_timesteps"))
    evaluations, last, as_written = _read_evaluations(path, files.table_in(state, "files"), warn)
    machine = parse_machine(meta)
    simulated, imported = run.get("simulated_time") is True, read_imported(config)
    steps, times = evaluations["timesteps"], evaluations["train_time_s"]
    minutes, train_time = _float(run.get("total_minutes")), state.get("train_time_s")
    record: Record = {
        **machine, **last, "path": path, "env": env_label(env, env_settings), "name": name,
        "frames_of_step": frames_of_step(env, env_settings),
        **{key: str(run.get(key) or "") for key in ("algo", "workers", "eval_episodes")}, "seed": seed,
        "final_episodes": str(run.get("final_episodes") or run.get("eval_episodes") or ""),
        "total_timesteps": total, "budget": total, "total_generations": _int(run.get("total_generations")),
        "total_minutes": minutes if math.isfinite(minutes) else 0.0,
        "timesteps": _int(state.get("timesteps")) or (int(steps[-1]) if len(steps) else 0),
        "updated": str(state.get("updated", "")), "evaluations": evaluations,
        "simulated_time": simulated, "timed": simulated or not machine["shared_cores"],
        "settings": settings,
        "costs": {key: run[key] for key in MODELLED if key in run} | costs,
        "total_time_s": _float(state.get("total_time_s")),
        "run_config": run, "imported": imported, "repeats": tuple(read_repeats(path, meta)),
        "labels": env_labels(env, env_settings) if imported else (),
    }  # fmt: skip
    if not isinstance(train_time, int | float):
        train_time = times[-1] if len(times) else math.nan
    record["train_time_s"] = float(train_time)
    record["status"], record["message"] = _judge_status(record, state, as_written, warn)
    return record


def _judge_status(record: Record, state: Record, as_written: bool, warn: Warn) -> tuple[str, str]:
    """The status of a run, and its message: one that is done counts only with a whole, unchanged final evaluation."""
    path, evaluations, timesteps = record["path"], record["evaluations"], record["timesteps"]
    status, message = str(state.get("status", "unknown")), str(state.get("message") or "")
    steps, final = evaluations["timesteps"], evaluations["final"]
    if not len(steps) and status not in UNFINISHED and (path / EvaluationRow.file).is_file():
        warn(f"{path / EvaluationRow.file}: no evaluation yet")
    if status != "done":
        return status, message
    # The last row is marked as the final evaluation or, in a file without that column, has the steps.
    if not len(steps) or steps[-1] < min(record["total_timesteps"], timesteps) or final[-1] == 0:
        last = f"the last one is at {int(steps[-1]):,} steps" if len(steps) else "there is none"
        status, message = "incomplete", f"the final evaluation is missing ({last}, the run has {timesteps:,})"
    elif not as_written:
        status = "altered"
        message = f"{EvaluationRow.file} {EDITED}"
    elif problem := disagreement(evaluations["return_mean"][-1], record["last_returns"]):
        status, message = "incomplete", f"the last row of eval.csv is damaged: {problem}"
    elif state.get("never_trained", _never_trained(record)):
        warn(
            f"{path}: made no gradient step, as its budget is not above its warm-up; it has no score and is compared "
            "with nothing"
        )
        return NEVER_TRAINED, "it made no gradient step: its budget is not above its warm-up"
    if status != "done":
        warn(f"{path}: {message}; the run does not count")
    return status, message


def _never_trained(record: Record) -> bool:
    """Whether a run of an older version ended before its first gradient step, by the counts of its last row."""
    updates = (record["evaluations"][f"{network}_updates"][-1] for network in ("critic", "actor"))
    return record["run_config"].get("algo") in LEARNERS and not any(updates)


def disagreement(return_mean: float, returns: Sequence[float]) -> str:
    """How an evaluation contradicts the returns of its episodes; an empty text where it does not."""
    if returns and not math.isclose(return_mean, sum(returns) / len(returns), rel_tol=1e-6, abs_tol=1e-6):
        return f"return_mean is {return_mean:g}, but its returns have the mean {sum(returns) / len(returns):g}"
    return ""


def env_label(env: str, settings: Record) -> str:
    """An environment with what its settings change: "Ant-v5 (frame_skip=2)"; apart from others in every table."""
    listed = ", ".join(f"{name}={value}" for name, value in sorted(settings.items()))
    return f"{env} ({listed})" if listed else env


def env_labels(env: str, settings: Record) -> tuple[str, ...]:
    """The labels of runs of an environment with the settings that were typed.

    The check before a run may have added one, `fresh`, which makes episodes repeatable.
    """
    chosen = [] if "fresh" in settings else [{"fresh": fresh} for fresh in FRESH]
    return tuple(env_label(env, {**settings, **added}) for added in ({}, *chosen))


def run_tables(run: Any) -> dict[str, Record]:
    """The configuration of a run as a fairness sheet reads it, under the name and the algorithm of the report."""
    return {"run": {**run.run_config, "name": run.name, "algo": run.algo}, "settings": run.settings}


def _run_folders(folder: Path, warn: Warn) -> list[Path]:
    is_run = _SEED.fullmatch(folder.resolve().name)
    return [folder] if is_run else sorted(path for path in folders(folder, warn) if _SEED.fullmatch(path.name))


def _read_identity(path: Path, run: Record, warn: Warn) -> tuple[str, str, int]:
    """Environment, name and seed of config.toml, else of the folders."""
    places = (path.resolve(), Path(os.path.abspath(path)))  # a link's target may have no such name
    folder = next(place for place in places if _SEED.fullmatch(place.name))
    from_path = (folder.parent.parent.name, folder.parent.name, int(_SEED.fullmatch(folder.name)[1]))  # type: ignore[index]
    name = str(run.get("name") or "@".join(str(run[k]) for k in ("algo", "preset") if run.get(k)) or from_path[1])
    seed = run.get("seed")
    seed = from_path[2] if not isinstance(seed, int) else seed
    if (slug(name), seed) != (slug(from_path[1]), from_path[2]):  # an import replaces what no folder has
        warn(f"{path}: config.toml has {name[:200]}, seed {seed}: the report uses these, not the folder's name")
    env = str(run.get("env") or from_path[0])
    for what, text in (("environment", env), ("name", name)):
        if not (is_name if what == "name" else is_environment)(text):
            raise ValueError(f"its {what} is none that a run can have: {text[:80]!r}")
    return env, name, seed


def _read_evaluations(path: Path, sums: Mapping[str, Any], warn: Warn) -> tuple[dict[str, Array], Record, bool]:
    """The columns of eval.csv, the last row's episodes, and whether the file has its checksum of status.json."""
    try:
        data = files.read_bytes(path / EvaluationRow.file, inside=1)
    except OSError:
        data = None
    rows = read_columns(path, EvaluationRow, warn, data)
    as_written = data is None or is_as_written(data, sums.get(EvaluationRow.file))
    last: Record = {"last_returns": (), "last_success": (), "last_success_ever": ()}
    if rows is None:
        return {name: np.empty(0) for name in COLUMNS}, last, as_written
    if len(rows["returns"]):
        last["last_returns"] = rows["returns"][-1]
    for name in ("success", "success_ever"):
        last[f"last_{name}"] = _last_successes(rows[name], last["last_returns"])
    return {name: np.asarray(rows[name], np.float64) for name in COLUMNS}, last, as_written


def _last_successes(rows: Sequence[tuple[float, ...]], returns: tuple[float, ...]) -> tuple[float, ...]:
    """1 or 0 for each of the last evaluation's episodes; an environment may omit it without success."""
    if not any(value == value for row in rows for value in row):
        return ()
    last = rows[-1] or (math.nan,) * len(returns)
    return tuple(0.0 if math.isnan(value) else value for value in last)


def _read(path: Path, warn: Warn) -> Record:
    try:
        value = read_config(path) if path.suffix == ".toml" else files.read_json(path, inside=1)
    except files.Unusable as error:
        raise files.Unusable(f"{path.name}: {error}") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        warn(f"{path}: cannot be read ({reason}); its values are missing from the report")
        return {}
    if not isinstance(value, dict):
        warn(f"{path}: not a JSON object; its values are missing from the report")
        return {}
    if path.suffix == ".toml" and not files.table_in(value, "run"):
        warn(f"{path}: without a table [run]; its values are missing from the report")
    return value


def _int(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 0


def _float(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
