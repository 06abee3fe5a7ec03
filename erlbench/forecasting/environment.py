"""What a forecast knows of its environment: how long episodes are, and what a step costs.

Lengths are given (a number, a distribution, a file, runs), or those of a few episodes that are played here. Costs of
another environment are scaled by the time of a step here, of both environments in turns.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from erlbench.algorithms import registry
from erlbench.envs.registry import Problem, build, problem
from erlbench.errors import UsageError, warn
from erlbench.experiment.cells import Cell
from erlbench.experiment.costs import BUILT_IN, UPDATES, Costs, load_costs
from erlbench.files import read_bytes, read_text, read_toml, readable
from erlbench.policy import NumpyPolicy, PolicySpec, initial_policy
from erlbench.records.read import ignore, parse_rows, read_rows
from erlbench.records.schema import REQUIRED, EpisodeRow, Row, column
from erlbench.reporting.data.runs import find_runs
from erlbench.words import counted
from erlbench.work.rollout import play
from erlbench.work.seeding import Purpose, environment_seed, generator

LONGEST = 10**9  # steps of an episode
DRAWN = 10_007  # lengths of a distribution; a prime, so that generations do not repeat
SECONDS = 1.0  # of playing, in all
STEPS_OF_A_SAMPLE = 500  # steps whose time is one sample
EPISODES = EpisodeRow.file


@dataclass(slots=True)
class LengthRow(Row):
    """What a forecast takes of the row of an episode; a user's file need not have more."""

    kind: str = column("as in episodes.csv", default="")
    l: int = column("length", "steps", default=REQUIRED)  # noqa: E741  Stable-Baselines3's name


@dataclass(frozen=True)
class Lengths:
    """Lengths of episodes, steps, in the order in which a forecast takes them again and again; by kind of task."""

    by_kind: Mapping[str, Sequence[int]]  # "": of any
    source: str

    def __str__(self) -> str:
        steps = np.concatenate([np.array(found, float) for found in self.by_kind.values()])
        mean, deviation = steps.mean(), steps.std()
        if not deviation:
            return f"{mean:,.0f} steps each: {self.source}"
        return (
            f"{mean:,.0f} steps in the mean ({steps.min():,.0f} to {steps.max():,.0f}, deviation "
            f"{deviation / mean:.2f} of the mean): {self.source}"
        )


def given_lengths(text: str, task: Problem, env: str) -> Lengths:
    """`N`, `uniform:MEAN` (1 to 2 MEAN - 1), `geometric:MEAN`, or a file or folder; raises `UsageError`.

    What is drawn is truncated at the time limit, as the environment does it.
    """
    found, limit = re.fullmatch(r"(?:(uniform|geometric):)?([0-9]{1,9})", text), task.env.max_episode_steps
    if found is None:
        if not Path(text).exists():
            raise UsageError(
                f"--lengths must be N, uniform:MEAN, geometric:MEAN, a file or a folder that is there, not '{text}'"
            )
        return lengths_in(Path(text), env)
    kind, mean = found[1], int(found[2])
    if not 1 <= mean <= limit:
        raise UsageError(f"--lengths {text}: episodes of {env} have 1 to {limit:,} steps; give a number of these")
    random = generator(mean)
    drawn = {
        "uniform": lambda: random.integers(1, 2 * mean, DRAWN), "geometric": lambda: random.geometric(1 / mean, DRAWN)
    }  # fmt: skip
    steps = [mean] if kind is None else np.minimum(drawn[kind](), limit).tolist()
    return Lengths({"": steps}, f"--lengths {text}")


def lengths_in(path: Path, env: str) -> Lengths:
    """Those of training episodes: of a run, of all runs of `env` below a folder, or in a file.

    A file has one length a line, or the columns of episodes.csv, of which `kind` may be missing. Raises `UsageError`.
    """
    if not path.is_dir():
        return Lengths(_read([path]), str(path))
    if (path / EPISODES).exists():
        return Lengths(_read([path / EPISODES]), str(path))
    found = [run.path / EPISODES for run in find_runs([path], ignore) if run.env == env]
    known = [file for file in found if file.exists()]
    if not known:
        raise UsageError(f"{path} has no run of {env} with {EPISODES}; name another folder, or give --lengths N")
    return Lengths(_read(known), f"{counted(len(known), 'run')} in {path}")


def _read(paths: Sequence[Path]) -> dict[str, list[int]]:
    """Lengths by kind, in the order of the files; raises `UsageError`."""
    found: dict[str, list[int]] = {}
    for path in paths:
        with readable(path):
            rows = read_rows(path.parent, EpisodeRow, warn) if path.name == EPISODES else _given(path)
        if rows is None:
            raise UsageError(f"{path} cannot be read as the episodes of a run")
        if rows.empty:
            raise UsageError(f"{path} has no episode yet")
        if not rows["l"].between(1, LONGEST).all():
            raise UsageError(f"{path} has an episode whose length is no number of steps from 1 to {LONGEST:,}")
        for kind, length in zip(rows["kind"], rows["l"], strict=True):
            found.setdefault(kind, []).append(int(length))
    return found


def _given(path: Path) -> pd.DataFrame:
    """The lengths in a user's file: one a line, or a CSV file with the column `l` and maybe `kind`."""
    if path.suffix == ".csv":
        problems: list[str] = []
        rows = parse_rows(read_bytes(path), LengthRow, path, problems.append)
        if rows is None or problems:
            raise UsageError(f"--lengths cannot be used: {problems[0]}")
        return rows
    words = pd.Series(read_text(path).split(), dtype=str)
    return pd.DataFrame({"kind": "", "l": pd.to_numeric(words.where(words.str.fullmatch("[0-9]{1,10}")))})


class Played:
    """Episodes of initial policies on one environment: their lengths, and seconds of a step, one for each block."""

    def __init__(self, task: Problem, spec: PolicySpec) -> None:
        self.task, self.spec = task, spec
        self.lengths: list[int] = []
        self.seconds: list[float] = []

    def blocks(self) -> Generator[None, None, None]:
        """Each `next` plays episodes of `STEPS_OF_A_SAMPLE` steps in all; every episode has a policy of its own."""
        limit = self.task.env.max_episode_steps
        with closing(build(self.task.env)) as env:
            while True:
                steps, spent = 0, 0.0
                while steps < STEPS_OF_A_SAMPLE:
                    key = len(self.lengths), int(Purpose.EPISODE)
                    policy = NumpyPolicy(self.spec, initial_policy(self.spec, key))
                    begun = time.perf_counter()
                    self.lengths.append(play(env, policy, limit, environment_seed(*key), generator(*key)).length)
                    spent += time.perf_counter() - begun
                    steps += self.lengths[-1]
                self.seconds.append(spent / steps)
                yield

    def as_lengths(self) -> Lengths:
        """What a forecast takes: all that were played, or full ones where none ended before the time limit."""
        limit, count = self.task.env.max_episode_steps, len(self.lengths)
        if min(self.lengths) == limit:
            return Lengths(
                {"": [limit]}, f"the time limit; none of {count} episodes of initial policies here was shorter"
            )
        return Lengths({"": self.lengths}, f"{count} episodes of initial policies")


def play_in_turns(players: Sequence[Played], seconds: float) -> None:
    """A block of each, again and again, for so long; so a machine that becomes slower does so for all."""
    with ExitStack() as ends:
        turns = [ends.enter_context(closing(player.blocks())) for player in players]
        end = time.monotonic() + seconds
        while not players[0].seconds or time.monotonic() < end:
            for turn in turns:
                next(turn)


def load_costs_of(path: Path | None) -> tuple[Costs, Mapping[str, Any]]:
    """The costs in a file (None: the package's), and `env`, `hidden` and `UPDATES` of their cell; {} if unknown."""
    file = path or Path(str(files("erlbench.experiment") / BUILT_IN))
    costs = load_costs(file)
    table = read_toml(file).get("cell")
    cell = table if isinstance(table, dict) else {}
    env, hidden = cell.get("env"), cell.get("hidden", [])
    known = (
        isinstance(env, str) and isinstance(hidden, list) and all(type(width) is int and width > 0 for width in hidden)
    )
    updates = {name: cell[name] for name in UPDATES if name in cell}
    return costs, {**updates, "env": env, "hidden": hidden} if known else {}


def of_this_environment(
    cells: Sequence[Cell], costs: Costs, measured_on: Mapping[str, Any], lengths: Lengths | None = None
) -> tuple[Lengths, list[Costs]]:
    """Lengths of episodes, those of the first cell's initial policies by default, and the costs of each cell.

    Costs of another environment or of other hidden layers have their time of a step multiplied by the ratio of both
    steps on this machine, which are played for `SECONDS`. The cells have the same environment.
    """
    task = problem(cells[0].env, cells[0].env_settings)
    ratios: dict[PolicySpec, float] = {}  # of a step here and one of the costs, by policy
    found = []
    for cell in cells:
        spec, same = registry.find(cell.algo).policy_for(cell.settings, task), _same_step(cell, measured_on)
        if spec not in ratios and not (same and lengths):
            here, there = Played(task, spec), None if same else _reference(measured_on)
            play_in_turns([player for player in (here, there) if player], SECONDS)
            ratios[spec] = median(here.seconds) / median(there.seconds) if there else 1.0
            lengths = lengths or here.as_lengths()
        found.append(replace(costs, timestep=costs.timestep * ratios.get(spec, 1.0)))
    assert lengths is not None
    return lengths, found


def _same_step(cell: Cell, measured_on: Mapping[str, Any]) -> bool:
    """Whether a step of the costs is one of the cell's, as far as their file says it."""
    own = {"env": cell.env, "hidden": list(getattr(cell.settings, "hidden", ()))}
    return not measured_on or measured_on.items() >= own.items()


def _reference(measured_on: Mapping[str, Any]) -> Played:
    """The environment of the costs, with a policy as wide as theirs."""
    task = problem(measured_on["env"])
    sizes = (task.observation_size, *measured_on["hidden"], task.action_size)
    return Played(task, PolicySpec(sizes, "tanh", task.action_low, task.action_high))
