"""Trials of Optuna, each of which trains the same settings with several seeds, and what they cost together."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import optuna
import tomli_w
from optuna.trial import TrialState
from sqlalchemy.exc import SQLAlchemyError  # of Optuna's storage

from erlbench.algorithms import registry
from erlbench.errors import CellError, ErlbenchError, Interrupted, UsageError
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.records.run import STATUS
from erlbench.records.schema import EvaluationRow, Row
from erlbench.running import signals
from erlbench.running.jobs import Runner
from erlbench.running.progress import Quiet
from erlbench.running.results import RunDirectory
from erlbench.running.run import DONE, FAILED
from erlbench.settings import resolve, toml_values
from erlbench.tuning.space import Space
from erlbench.words import counted

STORAGE, BEST = "optuna.db", "best.toml"
STARTUP = 3  # trials before any is pruned


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """The outcome, and the budget that it cost."""

    settings: dict[str, Any]  # of the best trial, those that were searched
    score: float  # its mean final score
    budget: str  # in words that belong with any result of these settings
    config: Path  # a --config file with the best settings


class Pruning(threading.Event):
    """Listens to a run, and ends it where Optuna wants to prune its trial, and as soon as the event `user` is set.

    Optuna compares trials at equal steps only, so an evaluation is reported by its number, after `offset`. The value
    is the mean of it and of the final scores `before`, those of the trial's other seeds.
    """

    def __init__(self, trial: optuna.Trial, before: Sequence[float], offset: int, user: threading.Event) -> None:
        super().__init__()
        self._trial, self._before, self._offset, self._user = trial, list(before), offset, user
        self._known = set(trial.study.trials[trial.number].intermediate_values)  # before an interruption

    def is_set(self) -> bool:
        """Whether the run is to save and end."""
        return super().is_set() or self._user.is_set()

    def __call__(self, row: Row) -> None:
        """Report an evaluation."""
        if not isinstance(row, EvaluationRow) or (step := self._offset + row.evaluation + 1) in self._known:
            return
        self._trial.report(fmean([*self._before, row.return_mean]), step)
        if not row.final and self._trial.should_prune():
            self.set()


class Silent(Quiet):
    """Shows nothing of a running cell, and keeps why it failed for the trial's line."""

    reason = ""

    def failed(self, cell: str, reason: str) -> None:
        """Keep the reason."""
        self.reason = reason


def tune(
    cells: Sequence[Cell], space: Space, fixed: Collection[str], trials: int, out: Path,
    options: RunOptions, say: Callable[[str], None],
) -> Tuned:  # fmt: skip
    """Search `space` with `trials` trials; each trains `cells`, which differ in their seeds, one after the other.

    `fixed` names the settings that the cells were given; best.toml holds them beside those that are found.

    A trial's value is the mean final score. After a third of its first run, a trial whose evaluations are below the
    median of those that ended is pruned. Without worker processes none is, as all evaluations come at the end. All is
    stored in `out`: the same call goes on with the trial that was interrupted, then with those that are left. Raises
    `ErlbenchError` when no trial ended, `UsageError` when `out` holds another search or one that runs, `Interrupted`
    after Ctrl-C, SIGTERM or SIGHUP.
    """
    folder = RunDirectory(out)
    folder.hold()
    try:
        study = _study(cells, space, out)
        search = _Search(cells=cells, out=out, options=options, say=say)
        with signals.heeded(search.user):
            for trial in _trials(study, space, trials):
                search.run(trial)
        return _outcome(study, cells, fixed, out)
    finally:
        folder.release()


def _study(cells: Sequence[Cell], space: Space, out: Path) -> optuna.Study:
    """The study in `out`, or a new one; `UsageError` when it is of another search or cannot be read."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        return _open_study(cells, space, out)
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError, LookupError, TypeError, ValueError) as error:
        reason = getattr(error, "orig", None) or str(error).partition("\n")[0]
        raise UsageError(
            f"{out / STORAGE} cannot be used: {reason}; put back a copy of it, or choose another --out"
        ) from error


def _open_study(cells: Sequence[Cell], space: Space, out: Path) -> optuna.Study:
    third = 1 + math.ceil(cells[0].total_timesteps / cells[0].eval_freq / 3)  # 1: the evaluation before the training
    storage, name = f"sqlite:///{out / STORAGE}", cells[0].name
    if others := [known for known in optuna.get_all_study_names(storage) if known != name]:  # trials share folders
        raise UsageError(f"{out} holds another search (of {', '.join(others)}); choose another --out")
    study = optuna.create_study(
        storage=storage, study_name=name, direction="maximize", load_if_exists=True,
        pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=third),
    )  # fmt: skip
    tables = cells[0].config()
    del tables["run"]["seed"]
    what = json.dumps([tables, len(cells), sorted(space.items())], default=str)
    if study.user_attrs.get("searched", what) != what:
        raise UsageError(f"{out} holds another search (environment, budget, settings or space); choose another --out")
    study.set_user_attr("searched", what)
    study.get_trials()  # damaged trials raise now
    return study


def _trials(study: optuna.Study, space: Space, number: int) -> Iterator[optuna.Trial]:
    """First the trials that an interruption or a crash left, then new ones, until `number` have ended."""
    for left in study.get_trials(states=(TrialState.RUNNING,)):
        if left.params.keys() == space.keys():
            yield optuna.Trial(study, left._trial_id)  # as Study.ask makes it
        else:  # the process was killed while it chose values
            study.tell(left.number, state=TrialState.FAIL)
    while sum(trial.state.is_finished() for trial in study.trials) < number:
        # Its random numbers do not depend on when the search was interrupted.
        study.sampler = optuna.samplers.TPESampler(seed=len(study.trials))
        yield study.ask(space)


@dataclass(kw_only=True)
class _Search:
    """What all trials of a search share."""

    cells: Sequence[Cell]
    out: Path
    options: RunOptions
    say: Callable[[str], None]
    user: threading.Event = field(default_factory=threading.Event)  # set by a signal

    def run(self, trial: optuna.Trial) -> None:
        """Train a trial and tell Optuna how it ended; `Interrupted` by a signal, which leaves the trial as it is."""
        words = ", ".join(
            f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in trial.params.items()
        )
        try:
            score = self._score(trial)
        except optuna.TrialPruned:
            trial.study.tell(trial, state=TrialState.PRUNED)
            self.say(f"trial {trial.number}: pruned ({words})")
        except Interrupted:
            raise
        except ErlbenchError as error:
            trial.study.tell(trial, state=TrialState.FAIL)
            self.say(f"trial {trial.number}: failed ({words}): {error}")
        else:
            trial.study.tell(trial, score)
            self.say(f"trial {trial.number}: {score:,.1f} ({words})")

    def _score(self, trial: optuna.Trial) -> float:
        """Train all seeds of a trial; the mean of their final scores."""
        scores: list[float] = []
        for cell in self.cells:
            values = {**toml_values(cell.settings), **trial.params}
            settings = resolve(registry.find(cell.algo).settings_type, cell.env, {}, values, owner=cell.algo)
            run = dataclasses.replace(cell, settings=settings, out=self.out / f"trial-{trial.number:03d}")
            scores.append(self._train(trial, run, scores))
        return fmean(scores)

    def _train(self, trial: optuna.Trial, run: Cell, before: Sequence[float]) -> float:
        """Run one cell to its end; its final score. Raises `TrialPruned`, `Interrupted` or `CellError`."""
        shown = Silent(sys.stderr)
        pruning = Pruning(trial, before, len(before) * run.total_timesteps, self.user)
        runner = Runner(self.options, shown, pruning, [pruning])
        try:
            (how,) = runner.run_all([run])
        finally:
            runner.close()
            trial.set_user_attr("timesteps", _timesteps(run.out))
        if how == DONE:
            return float(RunDirectory(run.directory).status()["return_mean"])
        if how == FAILED:
            raise CellError(shown.reason)
        if self.user.is_set():
            raise Interrupted(f"interrupted; everything is saved. The same command goes on with trial {trial.number}")
        raise optuna.TrialPruned


def _timesteps(folder: Path) -> int:
    """The training steps of all runs of a trial."""
    runs = [RunDirectory(path.parent) for path in folder.rglob(STATUS)]
    return sum(int(run.status().get("timesteps") or 0) for run in runs)


def _outcome(study: Any, cells: Sequence[Cell], fixed: Collection[str], out: Path) -> Tuned:
    states = [trial.state.name for trial in study.trials]
    if "COMPLETE" not in states:
        raise ErlbenchError(f"no trial in {out} came to its end, so there is no best one; look at: erlbench show {out}")
    best, cell, config = study.best_trial, cells[0], out / BEST
    pruned = f", {states.count('PRUNED')} of them pruned" if "PRUNED" in states else ""
    timesteps = sum(trial.user_attrs.get("timesteps", 0) for trial in study.trials)
    budget = f"tuned with {counted(len(states), 'trial')}{pruned}, {counted(timesteps, 'training step')} in all"
    known = toml_values(cell.settings)
    tables = {
        "algo": cell.algo, "preset": cell.preset, "env": cell.env, "total_timesteps": cell.total_timesteps,
        "settings": {**{name: known[name] for name in fixed}, **best.params},
    }  # fmt: skip
    config.write_text(f"# {budget}; mean final score {best.value:g}\n{tomli_w.dumps(tables)}", encoding="utf-8")
    return Tuned(settings=best.params, score=best.value, budget=budget, config=config)
