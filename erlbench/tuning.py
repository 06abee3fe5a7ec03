"""Tuning with Optuna: each trial trains the same settings with several seeds, and all trials have a price together."""

from __future__ import annotations

import dataclasses
import json
import shlex
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import optuna
import tomli_w
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.exceptions import StorageInternalError
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.engine import URL  # of Optuna's storage
from sqlalchemy.exc import SQLAlchemyError

from erlbench.algorithms import registry
from erlbench.errors import ErlbenchError, Interrupted, UsageError
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.records.older import unknown_setting
from erlbench.records.run import STATUS, RunFiles
from erlbench.running.command import run_cells
from erlbench.running.folder import RunFolder
from erlbench.settings import check_value, resolve, setting_text, toml_values
from erlbench.words import counted

STORAGE, BEST = "optuna.db", "best.toml"
FOLDER = "folder"  # attribute of a trial: where its runs are
Space = dict[str, BaseDistribution]  # settings with an interval or a list of values each
INTERVALS: dict[Any, Callable[..., BaseDistribution]] = {  # by the type of a setting
    int: IntDistribution,
    int | None: IntDistribution,
    float: FloatDistribution,
    float | None: FloatDistribution,
}


def parse_space(texts: Mapping[str, str], settings_type: type, owner: str) -> Space:
    """The space of `{"initial_variance": "1e-4..1e-1:log", "hidden": "64-64,400-300"}`; `UsageError` for others."""
    space: Space = {}
    hints = typing.get_type_hints(settings_type)
    fields = {field.name: field for field in dataclasses.fields(settings_type)}
    for name, what in texts.items():
        if not what:
            raise UsageError(f"--search {name} needs a range: LOW..HIGH, LOW..HIGH:log or A,B,C")
        if name not in fields:
            raise UsageError(unknown_setting(owner, name, fields))
        space[name] = _range(name, what, hints[name], fields[name].metadata)
    if not space:
        raise UsageError(
            "--search names no setting: give at least one, such as --search initial_variance=1e-4..1e-1:log"
        )
    return space


def _range(name: str, text: str, kind: Any, limits: Mapping[str, Any]) -> BaseDistribution:
    """The distribution of `LOW..HIGH`, `LOW..HIGH:log` or `A,B,C`."""
    option = f"--search {name}"
    bounds, _, scale = text.partition(":")
    low, dots, high = bounds.partition("..")
    texts = [low, high] if dots else [item.strip() for item in text.split(",") if item.strip()]
    if len(texts) < 2:
        raise UsageError(f"{option} needs two values at least, such as A,B, or an interval LOW..HIGH")
    values = [check_value(item, kind, option, limits) for item in texts]
    if not dots:
        return CategoricalDistribution(texts)
    if scale not in ("", "log"):
        raise UsageError(f"{option}={text}: after the interval give :log or nothing, not :{scale}")
    if kind not in INTERVALS or None in values:
        raise UsageError(f"{option}={text}: an interval is for numbers; list the values, as A,B,C")
    try:
        return INTERVALS[kind](*values, log=bool(scale))
    except ValueError:
        raise UsageError(f"{option}={text}: the lower end comes first, and is above 0 with :log") from None


def first_values(space: Space) -> dict[str, Any]:
    """The first listed value of each setting, or the lower end of its interval."""
    return {
        name: values.choices[0] if isinstance(values, CategoricalDistribution) else vars(values)["low"]
        for name, values in space.items()
    }


def tune(
    cells: Sequence[Cell],
    space: Space,
    fixed: Collection[str],
    trials: int,
    out: Path,
    options: RunOptions,
    say: Callable[[str], None],
) -> tuple[FrozenTrial, str, Path]:
    """Search `space` with `trials` trials; each trains `cells`, which differ in their seeds.

    Returns the best trial, the cost of the search in words, and best.toml, a file for --config.

    `fixed` names the settings that the cells were given; best.toml holds them with the best values. A trial's
    value is the mean final score. All is stored in `out`: the same call goes on with the trial that was interrupted,
    then with those that are left. Raises `ErlbenchError` when no trial ended, `UsageError` when `out` holds another
    search or one that runs, or when the database cannot be read or written, and `Interrupted` after a signal.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    folder = RunFolder(out)
    folder.hold()
    try:
        study = _open_study(cells, space, out)
        for trial in _next_trials(study, space, trials):
            words = ", ".join(f"{key}={setting_text(value)}" for key, value in trial.params.items())
            try:
                score = _run_trial(cells, trial.params, out / _folder(trial), options)
            except Interrupted:
                raise Interrupted(
                    f"interrupted; everything is saved. The same command goes on with {_folder(trial)}"
                ) from None
            except ErlbenchError as error:
                study.tell(trial, state=TrialState.FAIL)
                say(f"{_folder(trial)}: failed ({words}): {error}")
            else:
                study.tell(trial, score)
                say(f"{_folder(trial)}: {score:,.1f} ({words})")
        return _write_best(study, cells, fixed, out)
    except (SQLAlchemyError, StorageInternalError) as error:
        causes = (getattr(exception, "orig", None) for exception in (error, error.__cause__))  # SQLite's error
        reason = next(filter(None, causes), None) or str(error).partition("\n")[0]
        raise UsageError(
            f"{out / STORAGE} cannot be used: {reason}; put back a copy of it, or choose another --out"
        ) from error
    finally:
        folder.release()


def _open_study(cells: Sequence[Cell], space: Space, out: Path) -> optuna.Study:
    """The study in `out`, or a new one; `UsageError` when it is of another search."""
    storage, name = str(URL.create("sqlite", database=str(out / STORAGE))), cells[0].name
    tables = cells[0].config()
    del tables["run"]["seed"]
    search = json.dumps([tables, len(cells), sorted(space.items())], default=str)
    another = UsageError(
        f"{out} holds another search (algorithm, environment, budget, settings or space); choose another --out"
    )
    if set(optuna.get_all_study_names(storage)) - {name}:  # trials share folders
        raise another
    study = optuna.create_study(storage=storage, study_name=name, direction="maximize", load_if_exists=True)
    if study.user_attrs.get("searched", search) != search:
        raise another
    study.set_user_attr("searched", search)
    return study


def _folder(trial: optuna.Trial | FrozenTrial) -> str:
    return str(trial.user_attrs.get(FOLDER, f"trial-{trial.number:03d}"))


def _next_trials(study: optuna.Study, space: Space, number: int) -> Iterator[optuna.Trial]:
    """First the trials that an interruption or a crash left, again in their folders, then new ones up to `number`."""
    for left in study.get_trials(states=(TrialState.RUNNING,)):
        study.enqueue_trial(left.params, {FOLDER: _folder(left)})
        study.tell(left.number, state=TrialState.FAIL)
    while (count := _count_trials(study)) < number or study.get_trials(states=(TrialState.WAITING,)):
        # Its random numbers do not depend on when the search was interrupted.
        study.sampler = optuna.samplers.TPESampler(seed=count)
        trial = study.ask(space)
        if FOLDER not in trial.user_attrs:
            trial.set_user_attr(FOLDER, f"trial-{count:03d}")
        yield trial


def _count_trials(study: optuna.Study) -> int:
    """The trials that have begun; one that goes on after an interruption counts once."""
    return len({*map(_folder, study.get_trials(deepcopy=False))})


def _run_trial(cells: Sequence[Cell], values: dict[str, Any], out: Path, options: RunOptions) -> float:
    """Train all seeds of a trial; the mean of their final scores. Raises `Interrupted` or another `ErlbenchError`."""
    runs = []
    for cell in cells:
        settings = {**toml_values(cell.settings), **values}
        resolved = resolve(registry.find(cell.algo).settings_type, cell.env, {}, settings, owner=cell.algo)
        runs.append(dataclasses.replace(cell, settings=resolved, out=out))
    code = run_cells(runs, options)
    if code == Interrupted.exit_code:
        raise Interrupted("interrupted")
    statuses = [RunFiles(run.directory).status() for run in runs]
    if code:
        reasons = [str(status.get("message") or "") for status in statuses if status.get("status") != "done"]
        raise ErlbenchError("; ".join(filter(None, reasons)) or f"look at: erlbench show {shlex.quote(str(out))}")
    if any(status.get("never_trained") for status in statuses):
        raise ErlbenchError("it made no gradient step; give a larger --total-timesteps, or a smaller start_timesteps")
    return fmean(float(status["return_mean"]) for status in statuses)


def _write_best(
    study: optuna.Study, cells: Sequence[Cell], fixed: Collection[str], out: Path
) -> tuple[FrozenTrial, str, Path]:

    if not study.get_trials(states=(TrialState.COMPLETE,)):
        look = f"erlbench show {shlex.quote(str(out))}"
        raise ErlbenchError(f"no trial in {out} came to its end, so there is no best one; look at: {look}")
    best, cell, config = study.best_trial, cells[0], out / BEST
    runs = [RunFiles(path.parent) for path in out.glob(f"trial-*/**/{STATUS}")]
    timesteps = sum(int(run.status().get("timesteps") or 0) for run in runs)
    budget = f"tuned with {counted(_count_trials(study), 'trial')}, {counted(timesteps, 'training step')} in all"
    usual, names = toml_values(cell.settings), [key.rpartition(".")[2] for key in fixed]  # of ALGO.KEY
    tables = {
        "algo": cell.algo,
        "preset": cell.preset,
        "env": cell.env,
        "total_timesteps": cell.total_timesteps,
        "settings": {**{name: usual[name] for name in names}, **best.params},
        "env_settings": cell.config()["env_settings"],
    }
    config.write_text(f"# {budget}; mean final score {best.value:g}\n{tomli_w.dumps(tables)}", encoding="utf-8")
    return best, budget, config
