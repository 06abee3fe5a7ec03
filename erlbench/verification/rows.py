"""Whether the rows of a run agree with each other: every number that another file also knows is computed again."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose
from statistics import fmean, stdev

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.running.results import RunDirectory
from erlbench.verification.check import AGREES, DIFFERS, UNKNOWN, Check, Files, Row

PRECISION = 1e-12  # of means and deviations: other programs add in another order
UNENDED = "the run is not done: its files go on after its last evaluation"
EVALUATION = "evaluation"  # a task's kind


def check_rows(run: Files) -> Iterator[Check]:
    """Status, checksums, evaluations, episodes, tasks, and what status.json says."""
    yield _status(run)
    yield _checksums(run)
    for name, check in (("evaluations", _evaluations), ("episodes", _episodes), ("tasks", _tasks), ("scores", _scores)):
        try:
            yield check(run)
        except (KeyError, TypeError, ValueError) as error:
            yield Check(name, DIFFERS, f"a row cannot be read: {error!r}")


def _done(run: Files) -> bool:
    return run.status.get("status") == "done"


def _status(run: Files) -> Check:
    status = str(run.status.get("status", "unknown"))
    return Check("status", AGREES if status == "done" else UNKNOWN, f"the run is {status}")


def _checksums(run: Files) -> Check:
    sums = run.status.get("files")
    if not isinstance(sums, dict) or not sums:
        return Check(
            "checksums", UNKNOWN, "status.json has none: the run is not done, or was made before there were any"
        )
    missing = [name for name in sums if not (run.path / name).exists()]
    damaged = RunDirectory(run.path).damaged({name: value for name, value in sums.items() if name not in missing})
    if damaged:
        return Check("checksums", DIFFERS, "; ".join(damaged))
    if "eval.csv" in missing:
        return Check("checksums", DIFFERS, f"not there: {', '.join(missing)}; without eval.csv nothing is left of it")
    if missing:  # published without its large files
        return Check("checksums", UNKNOWN, f"not there: {', '.join(missing)}; the others are as the run wrote them")
    return Check("checksums", AGREES, f"{', '.join(sums)} are as the run wrote them")


def _evaluations(run: Files) -> Check:
    if not run.evaluations:
        return Check("evaluations", UNKNOWN, "eval.csv is missing or has no row")
    if not any(row["returns"] for row in run.evaluations):
        return Check(
            "evaluations", UNKNOWN, "eval.csv names no single returns, as of a program that reports means only"
        )
    played = 0
    wrong: list[str] = []
    for index, row in enumerate(run.evaluations):
        returns, lengths = list(map(float, row["returns"].split())), list(map(int, row["lengths"].split()))
        played += sum(lengths)
        expected = {
            "evaluation": index, "evaluation_timesteps": played, "return_mean": fmean(returns),
            "return_std": stdev(returns) if len(returns) > 1 else 0.0,
        }  # fmt: skip
        wrong += [f"row {index}: {name} {row[name]}, not {value}" for name, value in expected.items()
                  if name in row and not isclose(float(row[name]), value, rel_tol=PRECISION)]  # fmt: skip
        if index and int(row["timesteps"]) < int(run.evaluations[index - 1]["timesteps"]):
            wrong.append(f"row {index}: fewer steps than before")
    return _outcome(
        "evaluations", wrong, f"mean, deviation and steps of {len(run.evaluations)} rows from their episodes"
    )


def _episodes(run: Files) -> Check:
    if run.episodes is None:
        return Check("episodes", UNKNOWN, "episodes.csv is missing")
    if not run.last:
        return Check("episodes", UNKNOWN, "there is no evaluation to compare with")
    counted = int(run.last["timesteps"]) + int(run.last["fitness_timesteps"])
    played = sum(int(row["l"]) for row in run.episodes)
    if not _done(run):
        return Check("episodes", UNKNOWN, UNENDED)
    text = f"{len(run.episodes):,} episodes have {played:,} of {counted:,} steps of training and fitness"
    open_episode = played < counted and _leaves_open(str(run.run.get("algo")))
    return _outcome("episodes", [] if played == counted or open_episode else [text], text)


def _leaves_open(algo: str) -> bool:
    """Whether runs of the algorithm may end within an episode; not known of a package that is not installed."""
    try:
        return registry.find(algo).open_episodes
    except UsageError:
        return False


def _tasks(run: Files) -> Check:
    if run.tasks is None:
        return Check("tasks", UNKNOWN, "tasks.csv is missing")
    if not run.last:
        return Check("tasks", UNKNOWN, "there is no evaluation to compare with")
    if not _done(run):
        return Check("tasks", UNKNOWN, UNENDED)
    last, training = run.last, [row for row in run.tasks if row["kind"] != EVALUATION]
    counted = {
        "critic_updates": (_sum(training, "critic_updates"), int(last["critic_updates"])),
        "actor_updates": (_sum(training, "actor_updates"), int(last["actor_updates"])),
        "steps": (_sum(training, "timesteps"), int(last["timesteps"]) + int(last["fitness_timesteps"])),
        "evaluation steps": (
            _sum([row for row in run.tasks if row["kind"] == EVALUATION], "timesteps"),
            int(last["evaluation_timesteps"]),
        ),
    }
    wrong = [f"{name}: {total:,} in tasks, {n:,} counted" for name, (total, n) in counted.items() if total != n]
    backwards = [row["task"] for row in run.tasks if float(row["end_s"]) < float(row["start_s"])]
    wrong += [f"task {task} ends before it starts" for task in backwards]
    return _outcome("tasks", wrong, f"{len(run.tasks):,} tasks have the steps and updates that were counted")


def _scores(run: Files) -> Check:
    if not run.last:
        return Check("scores", UNKNOWN, "there is no evaluation")
    wrong = []
    for name in ("return_mean", "timesteps"):
        said = run.status.get(name)
        if isinstance(said, int | float) and float(run.last[name]) != said:
            wrong.append(f"status.json says {name} {said}, the last evaluation {run.last[name]}")
    budget, reached = run.run.get("total_timesteps"), int(run.last["timesteps"])
    generations = run.run.get("total_generations")
    if _done(run) and isinstance(budget, int) and reached < budget and generations is None:
        wrong.append(f"the last evaluation is after {reached:,} of {budget:,} steps")
    minutes, trained = run.run.get("total_minutes"), float(run.last["train_time_s"]) / 60
    if _done(run) and isinstance(minutes, int | float) and trained < minutes and generations is None:
        wrong.append(f"the last evaluation is after {trained:.6g} of {minutes:g} modelled minutes")
    return _outcome("scores", wrong, f"status.json has the last evaluation's {float(run.last['return_mean']):.6g}")


def _sum(rows: list[Row], column: str) -> int:
    return sum(int(row[column]) for row in rows)


def _outcome(name: str, wrong: list[str], text: str) -> Check:
    if not wrong:
        return Check(name, AGREES, text)
    more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    return Check(name, DIFFERS, "; ".join(wrong[:3]) + more)
