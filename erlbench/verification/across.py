"""Whether a run's files agree row by row: evaluations, generations, tasks and episodes count the same things."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.algorithms import registry
from erlbench.errors import ErlbenchError
from erlbench.records.schema import EpisodeRow, GenerationRow, Row, TaskRow
from erlbench.running.evaluation import FIRST_ID
from erlbench.verification.check import UNKNOWN, Check, Files, is_done, outcome

if TYPE_CHECKING:
    import pandas as pd

COUNTS = ("generation", "timesteps", "critic_updates", "actor_updates")  # of eval.csv and train.csv
TIMES = ("train_time_s", "paused_s")
SECOND = 1e-6  # times are sums of floating-point numbers


def check_across(run: Files) -> Iterator[Check]:
    """Four checks; each says what is missing where a file is."""
    for name, needed, check in CHECKS:
        if missing := [row.file for row in needed if run.rows.get(row) is None]:
            yield Check(name, UNKNOWN, f"{', '.join(missing)} is missing")
        elif not run.last:
            yield Check(name, UNKNOWN, "there is no evaluation to compare with")
        else:
            yield check(run)


def _rows(run: Files, row: type[Row]) -> pd.DataFrame:
    found = run.rows[row]
    assert found is not None
    return found


def _generations(run: Files) -> Check:
    """Each evaluation on the way was taken at the end of a generation, with the counts of its row."""
    train = _rows(run, GenerationRow)
    wrong, timed = [*_falling(train, "train.csv"), *_falling(run.evaluations, "eval.csv")], list[str]()
    known = train.set_index("generation", drop=False)
    went_on = len(run.starts) > 1
    for row in run.evaluations.to_dict("records"):
        where = f"evaluation {row['evaluation']:.0f}"
        if row["final"] == 1:
            wrong += [f"{where}: {name} {row[name]:g}, before it {train[name].iloc[-1]:g}" for name in COUNTS
                      if len(train) and row[name] < train[name].iloc[-1]]  # fmt: skip
        elif row["timesteps"] == 0:
            wrong += [f"{where}: {name} {row[name]:g}, not 0" for name in COUNTS if row[name] > 0]
        elif row["generation"] not in known.index:
            wrong.append(f"{where}: train.csv has no generation {row['generation']:.0f}")
        else:
            there = known.loc[row["generation"]]
            wrong += [f"{where}: {name} {row[name]:.9g}, in train.csv {there[name]:.9g}" for name in COUNTS
                      if _apart(row[name], there[name])]  # fmt: skip
            timed += [f"{where}: {name} {row[name]:.9g}, in train.csv {there[name]:.9g}" for name in TIMES
                      if _apart(row[name], there[name]) and not (
                          went_on and there[name] <= row[name] <= _next(train, row["generation"], name) + SECOND
                      )]  # fmt: skip
        if _apart(row["train_time_s"], row["total_time_s"]):
            timed.append(f"{where}: train_time_s {row['train_time_s']:g}, total_time_s {row['total_time_s']:g}")
    return _judged(
        run, "generations", wrong, timed, f"counts and times of {len(run.evaluations)} rows are those of train.csv"
    )


def _next(train: pd.DataFrame, generation: float, name: str) -> float:
    """The time at the end of the next generation: a run that was extended took its evaluation a little later."""
    later = train[name][train["generation"] > generation]
    return float(later.iloc[0]) if len(later) else math.inf


def _falling(rows: pd.DataFrame, file: str) -> Iterator[str]:
    """Counts and times that fall from a row to the next."""
    for name in (*COUNTS, *TIMES):
        values = rows[name].to_numpy(float)
        if len(values := values[~np.isnan(values)]) and (np.diff(values) < -SECOND).any():
            yield f"{file}: {name} falls at row {int(np.argmax(np.diff(values) < -SECOND)) + 1}"


def _moments(run: Files) -> Check:
    """At each generation's end the tasks before it have the steps and updates of its row, and have ended by then."""
    train, tasks = _rows(run, GenerationRow), _rows(run, TaskRow)
    training = tasks[tasks["task"] < FIRST_ID]
    sums = {name: training[name].to_numpy(float).cumsum() for name in ("critic_updates", "actor_updates")}
    ends = np.maximum.accumulate(training["end_s"].to_numpy(float)) if len(training) else np.zeros(0)
    updates = {(0.0, 0.0), *zip(*sums.values(), strict=True)}
    wrong = []
    for file, rows in (("train.csv", train), ("eval.csv", run.evaluations)):
        for row in rows.to_dict("records"):
            pair = row["critic_updates"], row["actor_updates"]
            if not np.isnan(pair).any() and pair not in updates:
                wrong.append(f"{file}, generation {row['generation']:.0f}: after no task there were {pair[0]:.0f} "
                             f"critic and {pair[1]:.0f} actor updates")  # fmt: skip
    return _judged(
        run,
        "moments",
        wrong,
        _early(run, training, ends),
        f"updates and times of {len(train)} generations are those of the tasks by then",
    )


def _early(run: Files, training: pd.DataFrame, ends: np.ndarray) -> Iterator[str]:
    """Times of rows before the end of a task that they count, or at the end after the evaluation began."""
    steps = training["timesteps"].to_numpy(float).cumsum()
    for row in run.evaluations.to_dict("records"):
        task = int(np.searchsorted(steps, row["timesteps"] + row["fitness_timesteps"]))
        if row["timesteps"] > 0 and task < len(ends) and row["train_time_s"] < ends[task] - SECOND:
            yield f"evaluation {row['evaluation']:.0f} at {row['train_time_s']:g} s counts a task of {ends[task]:g} s"
    last = run.last
    if is_done(run) and len(ends) and last["train_time_s"] < ends[-1] - SECOND:
        yield f"the training took {last['train_time_s']:g} s, its last task ended at {ends[-1]:g} s"
    tasks = _rows(run, TaskRow)
    began = tasks["start_s"][tasks["task"] >= FIRST_ID + int(last["evaluation"])].min()  # NaN without one
    if last["final"] == 1 and began < last["train_time_s"] - SECOND:
        yield f"the training took {last['train_time_s']:g} s, its final evaluation began at {began:g} s"


def _played(run: Files) -> Check:
    """Each task has the steps of its episodes, and each evaluation those of its own task."""
    episodes, tasks = _rows(run, EpisodeRow), _rows(run, TaskRow)
    if episodes["task"].isna().all():
        return Check("played", UNKNOWN, "episodes.csv does not say which tasks played them")
    steps = dict(zip(tasks["task"], tasks["timesteps"], strict=True))
    kinds = dict(zip(tasks["task"], tasks["kind"], strict=True))
    wrong = []
    for task, own in episodes.groupby("task"):
        if task not in steps:
            wrong.append(f"episodes of task {task:.0f}, which is not in tasks.csv")
        elif own["l"].sum() != steps[task] and not _is_open(run):
            wrong.append(f"task {task:.0f}: {own['l'].sum():.0f} steps in episodes, {steps[task]:.0f} in tasks")
        elif set(own["kind"]) != {kinds[task]}:
            wrong.append(f"task {task:.0f} is {kinds[task]}, its episodes {', '.join(sorted(set(own['kind'])))}")
    evaluating = {task: count for task, count in steps.items() if task >= FIRST_ID}
    for row in run.evaluations.to_dict("records"):
        first = FIRST_ID + int(row["evaluation"])
        counts = [count for task, count in evaluating.items() if task == first or (task > first and row["final"] == 1)]
        if (
            row["lengths"] and counts and (played := sum(counts)) != sum(row["lengths"])
        ):  # the final one has several tasks
            wrong.append(f"evaluation {row['evaluation']:.0f}: {sum(row['lengths'])} steps, its task {played:.0f}")
    times = episodes["t"].to_numpy(float)
    if (np.diff(times[~np.isnan(times)]) < -SECOND).any():
        wrong.append("episodes.csv: times fall from a row to the next")
    return outcome("played", wrong, f"{len(episodes):,} episodes and {len(run.evaluations)} evaluations by task")


def _asked(run: Files) -> Check:
    """The run has the budget and the evaluations that config.toml asks for, no more and no fewer."""
    train, asked = _rows(run, GenerationRow), run.run
    used = list(_used_up(train, asked))
    over, most = sum(used[:-1]), _in_flight(run)
    wrong = [f"{over} generations after the end of the budget"] if most is not None and over > max(0, most - 1) else []
    last = train["generation"].max() if len(train) else 0
    if isinstance(most_generations := asked.get("total_generations"), int) and last > most_generations + (most or 1):
        wrong.append(f"{last:.0f} of {most_generations} generations")
    for name, rows in (("eval_episodes", run.evaluations[run.evaluations["final"] != 1]),
                       ("final_episodes", run.evaluations[run.evaluations["final"] == 1])):  # fmt: skip
        numbers = {len(returns) for returns in rows["returns"] if len(returns)}
        if isinstance(asked.get(name), int) and numbers - {asked[name]}:
            wrong.append(f"evaluations of {', '.join(map(str, sorted(numbers)))} episodes, {name} is {asked[name]}")
    frequency = asked.get("eval_freq")
    moments = _other_moments(run, train, used, frequency) if isinstance(frequency, int) and frequency > 0 else ()
    return _judged(run, "asked", wrong, moments, "budget, evaluations and their episodes are those of config.toml")


def _used_up(train: pd.DataFrame, asked: Mapping[str, Any]) -> Iterator[bool]:
    """Whether the budget was used up after each generation."""
    timesteps, generations, minutes = (asked.get(f"total_{name}") for name in ("timesteps", "generations", "minutes"))
    for generation, steps, seconds in train[["generation", "timesteps", "train_time_s"]].to_numpy(float):
        timely = minutes is None or seconds >= 60 * minutes
        yield bool((timely and steps >= (timesteps or 0)) or (generations is not None and generation >= generations))


def _in_flight(run: Files) -> int | None:
    """How many generations may end once the budget is used up; None where the algorithm is not known here."""
    if str(run.run.get("algo")) not in registry.ALGORITHMS:  # importing others would run their code
        return None
    try:
        algorithm = registry.find(str(run.run.get("algo")))
        settings = algorithm.settings_type(**run.known_settings(algorithm.settings_type))
        return 1 if algorithm.is_synchronous(settings) else max(1, int(run.run.get("workers") or 1))
    except (ErlbenchError, TypeError, ValueError):
        return None


def _other_moments(run: Files, train: pd.DataFrame, used: list[bool], frequency: int) -> Iterator[str]:
    """Evaluations at other moments than every `frequency` training steps."""
    expected, last = [0], 0
    for generation, steps, over in zip(train["generation"], train["timesteps"], used, strict=True):
        if not over and steps // frequency > last // frequency:
            expected.append(int(generation))
            last = steps
    found = [int(value) for value in run.evaluations["generation"][run.evaluations["final"] != 1]]
    if found != expected[: len(found)] or (is_done(run) and len(found) < len(expected)):
        yield f"{len(found)} evaluations on the way, not the {len(expected)} of every {frequency:,} training steps"


def _judged(run: Files, name: str, wrong: Sequence[str], timed: Iterable[str], text: str) -> Check:
    """The check of what is `wrong`, and of `timed`, which is no difference in a run of before there was a format."""
    timed = list(timed)
    if timed and not wrong and not isinstance(run.meta.get("format"), int):
        return Check(name, UNKNOWN, f"an older version made the run, with other moments and times: {timed[0]}")
    return outcome(name, [*wrong, *timed], text)


def _apart(one: Any, other: Any) -> bool:
    """Whether two numbers are known and differ."""
    return bool(abs(one - other) > SECOND)  # false with NaN, which is what older files lack


def _is_open(run: Files) -> bool:
    name = str(run.run.get("algo"))
    return name not in registry.ALGORITHMS or registry.find(name).open_episodes


CHECKS: tuple[tuple[str, tuple[type[Row], ...], Callable[[Files], Check]], ...] = (
    ("generations", (GenerationRow,), _generations),
    ("moments", (GenerationRow, TaskRow), _moments),
    ("played", (EpisodeRow, TaskRow), _played),
    ("asked", (GenerationRow,), _asked),
)
