"""Trials of Optuna, each of which trains the same settings with several seeds, and what they cost together."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import optuna
import tomli_w

from erlbench.algorithms import registry
from erlbench.errors import ErlbenchError, UsageError
from erlbench.experiment.cells import Cell, RunOptions
from erlbench.experiment.settings import resolve, toml_values
from erlbench.experiment.shards import configuration_hash
from erlbench.running.progress import Quiet
from erlbench.running.remaining import Reading
from erlbench.running.results import RunDirectory
from erlbench.running.run import DONE, INTERRUPTED
from erlbench.running.runner import Runner
from erlbench.tuning.space import Range

STORAGE, BEST = "optuna.db", "best.toml"
STARTUP = 3  # trials before any is pruned


@dataclass(frozen=True)
class Tuned:
    """The outcome, and the budget that it cost."""

    settings: dict[str, Any]  # of the best trial, those that were searched
    score: float  # its mean final score
    trials: int
    pruned: int
    failed: int
    timesteps: int  # training steps of all trials together
    config: Path  # a --config file with the best settings

    @property
    def budget(self) -> str:
        """The sentence that belongs beside any result of these settings."""
        ended = f", {self.pruned} of them pruned" if self.pruned else ""
        return f"tuned with {self.trials} trials{ended}, {self.timesteps:,} training steps in all"


class Watch(Quiet):
    """Tells Optuna the scores of a running cell, and stops it when Optuna wants to prune its trial."""

    def __init__(self, stream: Any, trial: Any, before: Sequence[float], total: int, stop: threading.Event) -> None:
        super().__init__(stream)
        self._trial, self._before, self._stop = trial, list(before), stop
        self._offset, self._evaluations = len(before) * total, 0
        self._last: float | None = None

    def update(self, cell: str, reading: Reading) -> None:
        """Report a new evaluation, by its number: Optuna compares trials at equal steps only."""
        if reading.last_return is None or reading.last_return == self._last:
            return
        self._last = reading.last_return
        self._evaluations += 1
        self._trial.report(fmean([*self._before, reading.last_return]), self._offset + self._evaluations)
        if self._trial.should_prune():
            self._stop.set()


def tune(
    cells: Sequence[Cell], space: Mapping[str, Range], trials: int, out: Path, options: RunOptions,
    say: Callable[[str], None],
) -> Tuned:  # fmt: skip
    """Search `space` with `trials` trials; each trains `cells`, which differ in their seeds, one after the other.

    A trial's value is the mean final score; one whose evaluations are below the median of the others is pruned. Without
    worker processes none is, as all evaluations come at the end. All is stored in `out`: the same call goes on with the
    trials that are left. Raises `ErlbenchError` when no trial ended, `UsageError` when `out` holds another search.
    """
    out.mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        storage=f"sqlite:///{out / STORAGE}", study_name=cells[0].name, direction="maximize", load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=0), pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTUP),
    )  # fmt: skip
    what = f"{configuration_hash(cells)} {len(cells)} {sorted(space.items())}"
    if study.user_attrs.get("searched", what) != what:
        raise UsageError(f"{out} holds another search (environment, budget, settings or space); choose another --out")
    study.set_user_attr("searched", what)
    ended = sum(trial.state.is_finished() for trial in study.trials)

    def objective(trial: Any) -> float:
        return _trial(trial, cells, space, out, options, say)

    study.optimize(objective, n_trials=max(0, trials - ended), catch=(ErlbenchError,))
    return _outcome(study, cells, out)


def _trial(
    trial: Any, cells: Sequence[Cell], space: Mapping[str, Range], out: Path, options: RunOptions,
    say: Callable[[str], None],
) -> float:  # fmt: skip
    """Train all seeds of one trial; the mean of their final scores."""
    import sys

    chosen = {name: one.suggest(trial, name) for name, one in space.items()}
    words = ", ".join(f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
                      for name, value in chosen.items())  # fmt: skip
    scores: list[float] = []
    trial.set_user_attr("timesteps", 0)
    for cell in cells:
        values = {**toml_values(cell.settings), **chosen}
        settings = resolve(registry.find(cell.algo).settings_type, cell.env, {}, values, owner=cell.algo)
        run = dataclasses.replace(cell, settings=settings, out=out / f"trial-{trial.number:03d}")
        stop = threading.Event()
        runner = Runner(options, Watch(sys.stderr, trial, scores, cell.total_timesteps, stop), stop)
        try:
            how = runner.run(run)
        finally:
            runner.close()
            status = RunDirectory(run.directory).status()
            spent = trial.user_attrs["timesteps"] + int(status.get("timesteps") or 0)
            trial.set_user_attr("timesteps", spent)
        if how == INTERRUPTED:
            say(f"trial {trial.number}: pruned ({words})")
            raise optuna.TrialPruned
        if how != DONE:
            raise ErlbenchError(f"trial {trial.number} failed: {status.get('message')}")
        scores.append(float(status["return_mean"]))
    say(f"trial {trial.number}: {fmean(scores):,.1f} ({words})")
    return fmean(scores)


def _outcome(study: Any, cells: Sequence[Cell], out: Path) -> Tuned:
    states = [trial.state.name for trial in study.trials]
    if "COMPLETE" not in states:
        raise ErlbenchError(f"no trial in {out} came to its end, so there is no best one; look at: erlbench show {out}")
    best = study.best_trial
    timesteps = sum(trial.user_attrs.get("timesteps", 0) for trial in study.trials)
    tuned = Tuned(
        dict(best.params), best.value, len(states), states.count("PRUNED"), states.count("FAIL"), timesteps, out / BEST
    )
    cell = cells[0]
    config = {"algo": cell.algo, "preset": cell.preset, "env": cell.env, "settings": tuned.settings}
    tuned.config.write_text(f"# {tuned.budget}; mean final score {best.value:g}\n{tomli_w.dumps(config)}")
    return tuned
