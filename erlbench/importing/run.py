"""A run of another program as the rows and the configuration of a run of this suite; what nobody says stays empty."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.errors import UsageError
from erlbench.experiment.cells import folder_name
from erlbench.files import printable
from erlbench.importing import sb3
from erlbench.importing.source import ForeignRun, TrainingEpisodes
from erlbench.records.imported import EVALUATIONS, KIND, TRAINING, UNSAID, Imported
from erlbench.records.names import is_environment, is_name
from erlbench.records.schema import EpisodeRow, EvaluationRow, row_of
from erlbench.records.training import WINDOW, thinned

MOST_POINTS = 200  # of a curve of training returns


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the user says of the files; empty where he leaves it to them."""

    origin: str
    licence: str = ""
    env: str = ""
    algo: str = ""
    name: str = ""
    seed: int | None = None
    total_timesteps: int | None = None
    returns: str = ""  # of a CSV: one of `records.imported.RETURNS`


@dataclass(frozen=True, kw_only=True)
class ImportedRun:
    """One run, ready to be written."""

    env: str
    algo: str
    name: str
    seed: int
    total_timesteps: int | None
    eval_episodes: int | None
    about: Imported
    evaluations: tuple[EvaluationRow, ...]
    episodes: tuple[EpisodeRow, ...]
    paths: tuple[Path, ...]
    notes: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Its place in a folder of results."""
        return Path(folder_name(self.env)) / folder_name(self.name) / f"seed-{self.seed:03d}"

    @property
    def timesteps(self) -> int:
        """Training steps of its last row."""
        return int(self.evaluations[-1].timesteps)

    @property
    def reached(self) -> bool:
        """Whether another row as far from the last one as rows lie apart would be beyond the budget."""
        steps = [0, *(row.timesteps for row in self.evaluations)]
        return self.total_timesteps is None or steps[-1] + int(np.diff(steps).max()) > self.total_timesteps

    def config(self) -> dict[str, Any]:
        """The tables of its config.toml."""
        known = {"total_timesteps": self.total_timesteps, "eval_episodes": self.eval_episodes}
        run = {"env": self.env, "algo": self.algo, "name": self.name, "seed": self.seed, "kind": KIND}
        return {"run": run | {key: value for key, value in known.items() if value}, KIND: self.about.table()}


def run_of(sources: Sequence[ForeignRun], said: Said) -> ImportedRun:
    """The run of one or two sources: evaluations, training episodes, or both.

    `UsageError` where nobody says environment, algorithm or seed, and where the user contradicts a file.
    """
    first = sources[0]
    env = _agreed("env", said.env, sources)
    algo = _agreed("algo", said.algo, sources)
    seed = int(_agreed("seed", "" if said.seed is None else str(said.seed), sources))
    budget = _budget(said, sources)
    name = said.name or f"{first.program}-{algo}"
    for option, text, known in (("env", env, is_environment), ("algo", algo, is_environment), ("name", name, is_name)):
        if not known(text):
            raise UsageError(f"{first.path}: {printable(text[:80])!r} cannot be a run's {option}; give --{option}")
    played = next((one.played for one in sources if one.played), None)
    fitness = next((one.fitness_timesteps for one in sources), math.nan)
    rows = tuple(_evaluation_rows(sources, fitness))
    returns = _kind(first, said)
    counts = {len(row.returns) for row in rows}
    return ImportedRun(
        env=env,
        algo=f"{first.program}-{algo}",
        name=name,
        seed=seed,
        total_timesteps=budget,
        eval_episodes=counts.pop() if len(counts) == 1 and returns == EVALUATIONS else None,
        about=Imported(
            format=" and ".join(one.format for one in sources),
            origin=said.origin,
            licence=said.licence,
            returns=returns,
            sources={name: digest for one in sources for name, digest in one.digests.items()},
        ),
        evaluations=rows,
        episodes=() if played is None or np.isnan(played.lengths).any() else tuple(_episode_rows(played)),
        paths=tuple(one.path for one in sources),
        notes=tuple(one.note for one in sources if one.note),
    )


def _kind(source: ForeignRun, said: Said) -> str:
    """What the returns of eval.csv are of; of a CSV, what the user says."""
    if source.evaluated is None:
        return TRAINING
    return EVALUATIONS if source.program == sb3.PROGRAM else said.returns or UNSAID


def _budget(said: Said, sources: Sequence[ForeignRun]) -> int | None:
    """The budget; None where neither the user nor the files say it."""
    typed = "" if said.total_timesteps is None else str(said.total_timesteps)
    found = _agreed("total_timesteps", typed, sources, needed=False)
    return int(found) if found else None


def _agreed(option: str, typed: str, sources: Sequence[ForeignRun], needed: bool = True) -> str:
    """What the user and the files say of the environment, the algorithm, the seed or the budget."""
    found = {str(value) for one in sources if (value := getattr(one, option)) not in (None, "")}
    if typed:
        found.add(typed)
    if not found:
        if not needed:
            return ""
        raise UsageError(f"{sources[0].path} does not say the {WORDS[option]} of its run; give --{option} or --layout")
    if len(found) > 1:
        both = " and ".join(printable(value[:80]) for value in sorted(found))
        raise UsageError(
            f"{sources[0].path}: its {WORDS[option]} is {both}; --{option.replace('_', '-')} and the files do not agree"
        )
    return found.pop()


WORDS = {"env": "environment", "algo": "algorithm", "seed": "seed", "total_timesteps": "budget"}


def _evaluation_rows(sources: Sequence[ForeignRun], fitness: float) -> Iterator[EvaluationRow]:
    """Rows of eval.csv: evaluations, else running means of training returns."""
    evaluated = next((one.evaluated for one in sources if one.evaluated), None)
    fitness_steps: Any = "" if math.isnan(fitness) else int(fitness)
    if evaluated is None:
        played = next(one.played for one in sources if one.played)
        assert played is not None
        yield from _training_rows(played, fitness_steps)
        return
    lengths = evaluated.lengths or ((),) * len(evaluated.timesteps)
    returns = evaluated.returns or ((),) * len(evaluated.timesteps)
    steps = 0
    for index, (at, mean) in enumerate(zip(evaluated.timesteps, evaluated.means, strict=True)):
        steps += sum(lengths[index])
        yield row_of(EvaluationRow, {
            "evaluation": index, "timesteps": int(at), "fitness_timesteps": fitness_steps,
            "evaluation_timesteps": steps if evaluated.lengths else "", "return_mean": float(mean),
            "return_std": _deviation(returns[index]), "returns": returns[index], "lengths": lengths[index],
        })  # fmt: skip


def _training_rows(played: TrainingEpisodes, fitness_steps: Any) -> Iterator[EvaluationRow]:
    """At most `MOST_POINTS` running means over `WINDOW` episodes; the last one is that of the last episodes."""
    sums = np.concatenate([[0.0], played.returns.cumsum()])
    count = len(played.returns)
    index = thinned(count, MOST_POINTS)
    index = index[np.append(np.diff(played.timesteps[index]) > 0, True)]  # of several at one step the last
    for number, last in enumerate(index):
        begin = max(0, int(last) + 1 - WINDOW)
        seconds = played.seconds[last]
        yield row_of(EvaluationRow, {
            "evaluation": number, "timesteps": int(played.timesteps[last]), "fitness_timesteps": fitness_steps,
            "episodes": int(last) + 1, "train_time_s": "" if math.isnan(seconds) else float(seconds),
            "return_mean": float((sums[last + 1] - sums[begin]) / (last + 1 - begin)),
        })  # fmt: skip


def _episode_rows(played: TrainingEpisodes) -> Iterator[EpisodeRow]:
    cells = (played.returns, played.lengths, played.seconds, played.timesteps)
    for r, length, seconds, steps in zip(*(values.tolist() for values in cells), strict=True):
        yield row_of(EpisodeRow, {"r": r, "l": int(length), "t": seconds, "timesteps": int(steps)})


def _deviation(returns: Sequence[float]) -> Any:
    """Sample standard deviation as eval.csv has it; empty where the episodes are not known."""
    if not returns:
        return ""
    return float(np.std(returns, ddof=1)) if len(returns) > 1 else 0.0
