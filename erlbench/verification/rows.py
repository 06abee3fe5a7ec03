"""Whether the rows of a run agree with each other: every number that another file also has is computed again."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose, isnan
from statistics import fmean, stdev

from erlbench.algorithms import registry
from erlbench.records.schema import EpisodeRow, TaskRow
from erlbench.records.training import MEASURED, WINDOW
from erlbench.verification.files import DIFFERS, UNKNOWN, Check, Files, outcome

PRECISION = 1e-12  # of means and deviations: other programs add in another order
EVALUATION = "evaluation"  # a task's kind


def check_rows(run: Files) -> Iterator[Check]:
    """Evaluations, episodes and tasks, and the scores of status.json."""
    for name, check in (("evaluations", _evaluations), ("episodes", _episodes), ("tasks", _tasks), ("scores", _scores)):
        try:
            yield check(run)
        except (KeyError, TypeError, ValueError) as error:
            yield Check(name, DIFFERS, f"a row cannot be read: {error!r}")


def _evaluations(run: Files) -> Check:
    rows = run.evaluations
    if rows.empty:
        return Check("evaluations", UNKNOWN, "eval.csv is missing or has no row")
    if not any(rows["returns"]):
        text = "eval.csv names no single returns, as of a program that reports means only"
        return Check("evaluations", UNKNOWN, text)
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
    if reason := _why_not_counted(run, EpisodeRow):
        return Check("episodes", UNKNOWN, reason)
    assert episodes is not None
    counted, played = run.last["timesteps"] + run.last["fitness_timesteps"], episodes["l"].sum()
    text = f"{len(episodes):,} episodes have {played:,.0f} of {counted:,.0f} steps of training and fitness"
    open_episode = played < counted and _leaves_open(str(run.run.get("algo")))
    wrong = [] if played == counted or open_episode else [text]
    recorded = run.status.get("training_return")
    trained = episodes[~episodes["kind"].isin(MEASURED)]["r"].tail(WINDOW).tolist()
    if isinstance(recorded, int | float) and not (trained and isclose(recorded, fmean(trained), rel_tol=PRECISION)):
        wrong.append(f"status.json has training_return {recorded}, not the mean of the last {len(trained)} episodes")
    return outcome("episodes", wrong, text)


def _why_not_counted(run: Files, row: type[EpisodeRow | TaskRow]) -> str:
    """Why the rows of a file cannot be compared with the last evaluation; empty where they can."""
    if run.rows.get(row) is None:
        return f"{row.file} is missing"
    if not run.last:
        return "there is no evaluation to compare with"
    return "" if run.is_done else "the run is not done: its files go on after its last evaluation"


def _leaves_open(algo: str) -> bool:
    """Whether runs of the algorithm may end within an episode; not known of one that is not the suite's own."""
    return algo in registry.ALGORITHMS and registry.find(algo).open_episodes


def _tasks(run: Files) -> Check:
    tasks = run.rows.get(TaskRow)
    if reason := _why_not_counted(run, TaskRow):
        return Check("tasks", UNKNOWN, reason)
    assert tasks is not None
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
        recorded = run.status.get(name)
        if isinstance(recorded, int | float) and run.last[name] != recorded:
            wrong.append(f"status.json has {name} {recorded}, the last evaluation {run.last[name]}")
    budget, reached = run.run.get("total_timesteps"), run.last["timesteps"]
    minutes, trained = run.run.get("total_minutes"), run.last["train_time_s"] / 60
    if run.is_done and run.run.get("total_generations") is None:
        if isinstance(budget, int) and reached < budget:
            wrong.append(f"the last evaluation is after {reached:,} of {budget:,} steps")
        if isinstance(minutes, int | float) and trained < minutes:
            wrong.append(f"the last evaluation is after {trained:.6g} of {minutes:g} modelled minutes")
    return outcome("scores", wrong, f"status.json has the last evaluation's {run.last['return_mean']:.6g}")
