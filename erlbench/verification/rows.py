"""Whether the rows of a run agree with each other: every number that another file also knows is computed again."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose, isnan
from statistics import fmean, stdev

from erlbench.algorithms import registry
from erlbench.records.schema import EpisodeRow, EvaluationRow, TaskRow
from erlbench.verification.check import AGREES, DIFFERS, UNKNOWN, Check, Files, is_done, outcome

PRECISION = 1e-12  # of means and deviations: other programs add in another order
UNENDED = "the run is not done: its files go on after its last evaluation"
EVALUATION = "evaluation"  # a task's kind


def check_rows(run: Files) -> Iterator[Check]:
    """Status, checksums, damage, evaluations, episodes, tasks, and what status.json says."""
    yield _status(run)
    yield _checksums(run)
    yield outcome("damage", [*run.damage], "no row is damaged or repeated")
    for name, check in (("evaluations", _evaluations), ("episodes", _episodes), ("tasks", _tasks), ("scores", _scores)):
        try:
            yield check(run)
        except (KeyError, TypeError, ValueError) as error:
            yield Check(name, DIFFERS, f"a row cannot be read: {error!r}")


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
    if run.altered:
        return Check("checksums", DIFFERS, "; ".join(run.altered))
    if EvaluationRow.file in missing:
        return Check("checksums", DIFFERS, f"not there: {', '.join(missing)}; without eval.csv nothing is left of it")
    if missing:  # published without its large files
        return Check("checksums", UNKNOWN, f"not there: {', '.join(missing)}; the others are as the run wrote them")
    return Check("checksums", AGREES, f"{', '.join(sums)} are as the run wrote them")


def _evaluations(run: Files) -> Check:
    rows = run.evaluations
    if rows.empty:
        return Check("evaluations", UNKNOWN, "eval.csv is missing or has no row")
    if not any(rows["returns"]):
        return Check(
            "evaluations", UNKNOWN, "eval.csv names no single returns, as of a program that reports means only"
        )
    played = 0
    wrong: list[str] = []
    for index, row in enumerate(rows.to_dict("records")):
        returns = row["returns"]
        played += sum(row["lengths"])
        expected = {
            "evaluation": index, "evaluation_timesteps": played, "return_mean": fmean(returns),
            "return_std": stdev(returns) if len(returns) > 1 else 0.0,
        }  # fmt: skip
        wrong += [f"row {index}: {name} {row[name]}, not {value}" for name, value in expected.items()
                  if not (isnan(row[name]) or isclose(row[name], value, rel_tol=PRECISION))]  # fmt: skip
    return outcome("evaluations", wrong, f"mean, deviation and steps of {len(rows)} rows from their episodes")


def _episodes(run: Files) -> Check:
    episodes = run.rows.get(EpisodeRow)
    if episodes is None:
        return Check("episodes", UNKNOWN, "episodes.csv is missing")
    if not run.last:
        return Check("episodes", UNKNOWN, "there is no evaluation to compare with")
    counted, played = run.last["timesteps"] + run.last["fitness_timesteps"], episodes["l"].sum()
    if not is_done(run):
        return Check("episodes", UNKNOWN, UNENDED)
    text = f"{len(episodes):,} episodes have {played:,.0f} of {counted:,.0f} steps of training and fitness"
    open_episode = played < counted and _leaves_open(str(run.run.get("algo")))
    return outcome("episodes", [] if played == counted or open_episode else [text], text)


def _leaves_open(algo: str) -> bool:
    """Whether runs of the algorithm may end within an episode; not known of one that is not the suite's own."""
    return algo in registry.ALGORITHMS and registry.find(algo).open_episodes


def _tasks(run: Files) -> Check:
    tasks = run.rows.get(TaskRow)
    if tasks is None:
        return Check("tasks", UNKNOWN, "tasks.csv is missing")
    if not run.last:
        return Check("tasks", UNKNOWN, "there is no evaluation to compare with")
    if not is_done(run):
        return Check("tasks", UNKNOWN, UNENDED)
    last, evaluating = run.last, tasks["kind"] == EVALUATION
    training = tasks[~evaluating]
    counted = {
        "critic_updates": (training["critic_updates"].sum(), last["critic_updates"]),
        "actor_updates": (training["actor_updates"].sum(), last["actor_updates"]),
        "steps": (training["timesteps"].sum(), last["timesteps"] + last["fitness_timesteps"]),
        "evaluation steps": (tasks["timesteps"][evaluating].sum(), last["evaluation_timesteps"]),
    }
    wrong = [f"{name}: {total:,.0f} in tasks, {n:,.0f} counted" for name, (total, n) in counted.items() if total != n]
    backwards = tasks["task"][tasks["end_s"] < tasks["start_s"]]
    wrong += [f"task {task} ends before it starts" for task in backwards]
    return outcome("tasks", wrong, f"{len(tasks):,} tasks have the steps and updates that were counted")


def _scores(run: Files) -> Check:
    if not run.last:
        return Check("scores", UNKNOWN, "there is no evaluation")
    wrong = []
    for name in ("return_mean", "timesteps"):
        said = run.status.get(name)
        if isinstance(said, int | float) and run.last[name] != said:
            wrong.append(f"status.json says {name} {said}, the last evaluation {run.last[name]}")
    budget, reached = run.run.get("total_timesteps"), run.last["timesteps"]
    generations = run.run.get("total_generations")
    if is_done(run) and isinstance(budget, int) and reached < budget and generations is None:
        wrong.append(f"the last evaluation is after {reached:,} of {budget:,} steps")
    minutes, trained = run.run.get("total_minutes"), run.last["train_time_s"] / 60
    if is_done(run) and isinstance(minutes, int | float) and trained < minutes and generations is None:
        wrong.append(f"the last evaluation is after {trained:.6g} of {minutes:g} modelled minutes")
    return outcome("scores", wrong, f"status.json has the last evaluation's {run.last['return_mean']:.6g}")
