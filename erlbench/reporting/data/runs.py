"""Finds the run directories and reads what tables and curves need of them."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erlbench import files
from erlbench.envs.catalogue import FRESH
from erlbench.errors import UsageError
from erlbench.records.config import Imported, imported_of, is_environment, is_name, read_config
from erlbench.records.older import LEARNERS
from erlbench.records.read import parse_columns, read_columns
from erlbench.records.run import CONFIG, META, NEVER_TRAINED, ROWS, STATUS, folders, is_as_written, repeats_of
from erlbench.records.schema import EvaluationRow
from erlbench.reporting.data.cells import cells_of
from erlbench.reporting.data.machine import Machine, parse_machine
from erlbench.reporting.data.remarks import RemarkKind, Warn, remark

Array = NDArray[np.float64]
Key = tuple[str, str, int, int, int, float]  # environment, name, seed; steps, generations and minutes of the budget
FILES = (CONFIG, STATUS, META, EvaluationRow.file)
MODELLED = ("simulated_processes", "simulated_critic")  # of config.toml, beside the costs


@dataclass(frozen=True, kw_only=True)
class StoredEvaluations:
    """The evaluations of one run, all arrays (evaluations,), in the order of their training steps."""

    timesteps: Array
    train_time_s: Array
    return_mean: Array
    critic_updates: Array
    fitness_timesteps: Array
    generation: Array
    episodes: Array  # of training
    actor_updates: Array
    evaluation_timesteps: Array
    final: Array  # 1 for the evaluation of the saved policy, else 0; NaN where the file does not say
    replayed_timesteps: Array  # made again to get back into an open episode
    paused_s: Array  # of the training time, when the whole run stood still; NaN where the file does not say
    last_returns: tuple[float, ...] = ()  # of the last row's episodes
    last_success: tuple[float, ...] = ()  # the same, 1 or 0, at the last step
    last_success_ever: tuple[float, ...] = ()  # the same, at any step
    imported: bool = False  # another program wrote them: what they do not say is not known, and not 0
    timed: bool = True  # False: other cells ran on the run's cores, so that its time says nothing

    @cached_property
    def learning_steps(self) -> Array:
        """Training steps and fitness steps: all that the algorithm learns from."""
        return self.timesteps + self._counted(self.fitness_timesteps)

    @cached_property
    def seconds(self) -> Array:
        """Training time without pauses; NaN where it says nothing."""
        return self.train_time_s - np.nan_to_num(self.paused_s) if self.timed else np.full(len(self), math.nan)

    @cached_property
    def all_steps(self) -> Array:
        """All steps of the simulator."""
        more = self._counted(self.evaluation_timesteps) + np.nan_to_num(self.replayed_timesteps)
        return np.asarray(self.learning_steps + more, dtype=np.float64)

    def _counted(self, steps: Array) -> Array:
        """Steps that older versions of this suite did not count, as they did not play any."""
        return steps if self.imported else np.nan_to_num(steps)

    def __len__(self) -> int:
        return len(self.timesteps)

    def head(self, count: int) -> StoredEvaluations:
        """The first `count` evaluations."""
        arrays: dict[str, Any] = {name: getattr(self, name)[:count] for name in ARRAYS}
        return replace(self, **arrays)


UNFINISHED = ("running", "interrupted")  # whose evaluations may come after the training
ARRAYS = tuple(item.name for item in fields(StoredEvaluations) if item.default is MISSING)  # columns of eval.csv


@dataclass(frozen=True, kw_only=True)
class StoredRun:
    """One cell: an algorithm with a preset, an environment, a seed."""

    path: Path
    env: str  # with its preset and its settings, see `env_label`
    name: str
    algo: str  # the algorithm of config.toml; empty where it does not say
    seed: int
    total_timesteps: int  # the budget; 0 when nothing says it
    total_generations: int  # that end the run before its budget; 0 for no such limit
    total_minutes: float  # modelled minutes that the training has to pass besides its steps; 0 for no such budget
    status: str  # "done", "running", "failed", "interrupted", "unknown", "incomplete" (done, no final score),
    # "altered" (done, and eval.csv edited since), `NEVER_TRAINED`
    message: str
    timesteps: int
    train_time_s: float
    updated: str
    workers: str
    eval_episodes: str
    final_episodes: str  # of the evaluation that gives the score
    simulated_time: bool  # times are modelled durations, not the clock's
    evaluations: StoredEvaluations
    machine: Machine
    settings: Mapping[str, Any]  # hyper-parameters of config.toml
    costs: Mapping[str, Any]  # of simulated time
    budget: int  # training steps for which it was started; `total_timesteps` also where the run is cut
    total_time_s: float = math.nan  # with evaluations after the training
    training_return: float = math.nan  # mean of the last training episodes; of a run that is not finished
    asked: Mapping[str, Any] = field(default_factory=dict)  # its table [run]
    imported: Imported | None = None  # whose it is, where another program made it
    labels: tuple[str, ...] = ()  # of an imported run: `env_labels`

    @property
    def key(self) -> Key:
        """What runs share only where they are several draws of one seed."""
        return self.env, self.name, self.seed, self.total_timesteps, self.total_generations, self.total_minutes

    @property
    def config(self) -> dict[str, Mapping[str, Any]]:
        """Its configuration as a fairness sheet reads it, under the name and the algorithm of the report."""
        return {"run": {**self.asked, "name": self.name, "algo": self.algo}, "settings": self.settings}

    @property
    def paused_s(self) -> float:
        """Seconds of the training in which the whole run stood still."""
        paused = self.evaluations.paused_s
        return float(np.nan_to_num(paused[-1])) if len(paused) else 0.0

    @property
    def timed(self) -> bool:
        """Whether its time is that of its algorithm, and not that of cores that other cells used, too."""
        return self.evaluations.timed

    @property
    def seconds(self) -> float:
        """Training time without pauses; NaN where it says nothing."""
        return self.train_time_s - self.paused_s if self.timed else math.nan

    @property
    def done(self) -> bool:
        """Whether the run reached its budget and its last evaluation is there: only then it counts in tables."""
        return self.status == "done" and len(self.evaluations) > 0


def find_runs(roots: Sequence[Path], warn: Warn) -> list[StoredRun]:
    """The runs below the folders `roots` that count (`cells.py`), ordered by environment, name and seed.

    Raises `UsageError` when a folder does not exist or there is no run at all.
    """
    runs: dict[Path, StoredRun] = {}
    for folder in roots:
        if not folder.is_dir():
            raise UsageError(f"{folder} is no directory; name a results directory that 'erlbench run' wrote")
        for path in _run_folders(folder):
            try:
                run = load_run(path, warn)
            except (
                ValueError,
                TypeError,
                KeyError,
                OverflowError,
                RecursionError,
            ) as error:  # nothing that a run wrote
                warn(remark(RemarkKind.LEFT_OUT, path, reason=str(error)[:300]))
                continue
            if run is not None:
                runs.setdefault(path.resolve(), run)
    if not runs:
        names = ", ".join(map(str, roots)) or "the given folders"
        raise UsageError(f"no run found in {names}; start one with 'erlbench run', or name another results directory")
    ours = {run.env for run in runs.values() if not run.imported}
    labelled = (replace(run, env=next(filter(ours.__contains__, run.labels), run.env)) for run in runs.values())
    return cells_of(list(labelled), warn)


def load_run(path: Path, warn: Warn) -> StoredRun | None:
    """The run in a directory `<env>/<name>/seed-NNN`; None with a warning when it holds no file of a run."""
    if not any((path / name).exists() for name in FILES):
        warn(f"{path}: holds none of {', '.join(FILES)}; not a run, left out")
        return None
    for name in dict.fromkeys((*FILES, *ROWS)):  # of which some are read when there is no leaving out any more
        if (path / name).is_dir():
            raise files.Unusable(f"{name} is a folder")
        with contextlib.suppress(OSError):
            files.read_bytes(path / name, first=0, inside=1)
    config = _read(path / CONFIG, warn)
    run_config = _mapping(config.get("run"))
    state, meta = _read(path / STATUS, warn), _read(path / META, warn)
    env, name, seed = _identity(path, run_config, warn)
    status = str(state.get("status", "unknown"))
    total = _int(run_config.get("total_timesteps")) or _int(state.get("total_timesteps"))
    evaluations, as_written = _evaluations(path, _mapping(state.get("files")).get(EvaluationRow.file), warn)
    imported = imported_of(config)
    machine = replace(parse_machine(meta), repeats=tuple(repeats_of(path, meta)))
    timed = run_config.get("simulated_time") is True or not machine.shared_cores
    evaluations = replace(evaluations, imported=imported is not None, timed=timed)
    if not len(evaluations) and status not in UNFINISHED and (path / EvaluationRow.file).is_file():
        warn(f"{path / EvaluationRow.file}: no evaluation yet")
    timesteps = _int(state.get("timesteps")) or (int(evaluations.timesteps[-1]) if len(evaluations) else 0)
    message = str(state.get("message") or "")
    if status == "done" and not _has_final(evaluations, min(total, timesteps)):
        last = f"the last one is at {int(evaluations.timesteps[-1]):,} steps" if len(evaluations) else "there is none"
        message = f"the final evaluation is missing ({last}, the run has {timesteps:,})"
        warn(f"{path}: {message}; the run does not count")
        status = "incomplete"
    elif status == "done" and not as_written:
        message = f"{EvaluationRow.file} was edited after the run: it has not the checksum of {STATUS}"
        warn(f"{path}: {message}; the run does not count")
        status = "altered"
    elif status == "done" and (problem := disagreement(evaluations)):
        message = f"the last row of eval.csv is damaged: {problem}"
        warn(f"{path}: {message}; the run does not count")
        status = "incomplete"
    elif status == "done" and (state.get("never_trained") is True or _never_trained(run_config, evaluations)):
        status, message = NEVER_TRAINED, "it made no gradient step: its budget is not above its warm-up"
        warn(remark(RemarkKind.NEVER_TRAINED, path))
    train_time = state.get("train_time_s")
    if not isinstance(train_time, int | float):
        train_time = float(evaluations.train_time_s[-1]) if len(evaluations) else math.nan
    return StoredRun(
        path=path,
        env=env_label(env, _mapping(config.get("env_settings"))),
        name=name,
        algo=str(run_config.get("algo") or ""),
        seed=seed,
        total_timesteps=total,
        total_generations=_int(run_config.get("total_generations")),
        total_minutes=float(minutes) if isinstance(minutes := run_config.get("total_minutes"), int | float) else 0.0,
        status=status,
        message=message,
        timesteps=timesteps,
        train_time_s=float(train_time),
        updated=str(state.get("updated", "")),
        workers=str(run_config.get("workers") or ""),
        eval_episodes=str(run_config.get("eval_episodes") or ""),
        final_episodes=str(run_config.get("final_episodes") or run_config.get("eval_episodes") or ""),
        simulated_time=run_config.get("simulated_time") is True,
        evaluations=evaluations,
        machine=machine,
        settings=_mapping(config.get("settings")),
        costs={**{name: run_config[name] for name in MODELLED if name in run_config}, **_mapping(config.get("costs"))},
        budget=total,
        total_time_s=_float(state.get("total_time_s")),
        training_return=_float(state.get("training_return")),
        asked=run_config,
        imported=imported,
        labels=env_labels(env, _mapping(config.get("env_settings"))) if imported else (),
    )


def env_label(env: str, settings: Mapping[str, Any]) -> str:
    """An environment with what its settings change: "Ant-v5 (frame_skip=2)"; apart from others in every table."""
    listed = ", ".join(f"{name}={value}" for name, value in sorted(settings.items()))
    return f"{env} ({listed})" if listed else env


def env_labels(env: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The labels of runs of an environment with the settings that were typed.

    The check before a run may have added one, `fresh`, which makes episodes repeatable.
    """
    chosen = [] if "fresh" in settings else [{"fresh": fresh} for fresh in FRESH]
    return tuple(env_label(env, {**settings, **more}) for more in ({}, *chosen))


def _run_folders(folder: Path) -> list[Path]:
    if _SEED.fullmatch(folder.resolve().name):
        return [folder]
    return sorted(path for path in folders(folder) if _SEED.fullmatch(path.name))


def _identity(path: Path, run: Mapping[str, Any], warn: Warn) -> tuple[str, str, int]:
    folder = path.resolve()
    from_path = (folder.parent.parent.name, folder.parent.name, int(_SEED.fullmatch(folder.name)[1]))  # type: ignore[index]
    name = str(run.get("name") or "@".join(str(run[k]) for k in ("algo", "preset") if run.get(k)) or from_path[1])
    seed = run.get("seed")
    seed = from_path[2] if not isinstance(seed, int) else seed
    if (name, seed) != from_path[1:]:
        warn(f"{path}: config.toml says {name[:200]}, seed {seed}: the report goes by that, not by the folder's name")
    env = str(run.get("env") or from_path[0])
    for what, text in (("environment", env), ("name", name)):
        if not (is_name if what == "name" else is_environment)(text):
            raise ValueError(f"its {what} is none that a run can have: {text[:80]!r}")
    return env, name, seed


def _evaluations(path: Path, said: Any, warn: Warn) -> tuple[StoredEvaluations, bool]:
    """The rows of eval.csv, and whether the file has the checksum that status.json says."""
    file = path / EvaluationRow.file
    try:
        data = files.read_bytes(file, inside=1)
    except OSError:
        data = None
    rows = read_columns(path, EvaluationRow, warn) if data is None else parse_columns(data, EvaluationRow, file, warn)
    as_written = data is None or is_as_written(data, said)
    if rows is None:
        return StoredEvaluations(**{name: np.empty(0) for name in ARRAYS}), as_written  # type: ignore[arg-type]
    arrays: dict[str, Any] = {name: np.asarray(rows[name], np.float64) for name in ARRAYS}
    last: dict[str, Any] = {"last_returns": rows["returns"][-1] if len(rows["returns"]) else ()}
    last |= {f"last_{name}": _last_successes(rows[name], last["last_returns"]) for name in ("success", "success_ever")}
    return StoredEvaluations(**arrays, **last), as_written


def _last_successes(rows: Sequence[tuple[float, ...]], returns: tuple[float, ...]) -> tuple[float, ...]:
    """1 or 0 for each of the last evaluation's episodes; an environment may say nothing where there is no success."""
    if not any(value == value for row in rows for value in row):
        return ()
    last = rows[-1] or (math.nan,) * len(returns)
    return tuple(0.0 if math.isnan(value) else value for value in last)


def _has_final(evaluations: StoredEvaluations, timesteps: int) -> bool:
    """Whether the last row is the final evaluation: it says so or, in a file without that column, has the steps."""
    return len(evaluations) > 0 and evaluations.timesteps[-1] >= timesteps and evaluations.final[-1] != 0


def disagreement(evaluations: StoredEvaluations) -> str:
    """How the last row contradicts itself; an empty text where it does not."""
    return_mean, values = float(evaluations.return_mean[-1]), evaluations.last_returns
    if values and not math.isclose(return_mean, sum(values) / len(values), rel_tol=1e-6, abs_tol=1e-6):
        return f"return_mean is {return_mean:g}, but its returns have the mean {sum(values) / len(values):g}"
    return ""


def _never_trained(run: Mapping[str, Any], evaluations: StoredEvaluations) -> bool:
    """Whether a run of an older version ended before its first gradient step, by the counts of its last row."""
    return run.get("algo") in LEARNERS and not evaluations.critic_updates[-1] and not evaluations.actor_updates[-1]


def _read(path: Path, warn: Warn) -> Mapping[str, Any]:
    try:
        return _mapping(read_config(path) if path.suffix == ".toml" else files.read_json(path, inside=1), path, warn)
    except files.Unusable as error:
        raise files.Unusable(f"{path.name}: {error}") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        warn(f"{path}: cannot be read ({reason}); what it says is missing from the report")
        return {}


def _mapping(value: Any, path: Path | None = None, warn: Warn | None = None) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    if path and warn:
        warn(f"{path}: not a JSON object; what it says is missing from the report")
    return {}


def _int(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 0


def _float(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


_SEED = re.compile(r"seed-(\d+)")
