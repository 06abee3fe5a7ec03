"""The answers of a study: a verdict on each pair that it compares, in each environment, and on its claim.

Holm's correction takes all pairs and environments of `compare` together. A pair with a claimed size is tested against
this size: `less-by = "75 %"` compares the first's scores with a quarter of the second's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from erlbench.reporting.cells import Warn, list_rows, seed_means, values_by_seed
from erlbench.reporting.documents import Record
from erlbench.reporting.page_cells import choose_score, score_cells
from erlbench.reporting.pairs import SIMILAR, decide, make_sample, selection_reason, size_reason, unscored_reason
from erlbench.reporting.published import find_origin
from erlbench.reporting.score import AUTO, CURVE, FINAL, LEARNING, MINUTES, TIMESTEPS, CurveStretch
from erlbench.reporting.significance import UNKNOWN, Case, compare, judge, mean_difference, percent_more
from erlbench.reporting.statistics import mean, reached
from erlbench.reporting.studies import find_differences, make_answer_cells
from erlbench.words import counted

if TYPE_CHECKING:
    from erlbench.experiment.study import Pair, Profile, Study

REACH = "reach"
AXES = {"steps": TIMESTEPS, "simulator-steps": LEARNING, "minutes": MINUTES}  # of a pair, as scores name them
LOWER_IS_BETTER = (MINUTES, REACH)
NO_SCORES = np.empty(0)


class Standing(StrEnum):
    """The verdict of runs on a claim; the whole claim has the first of its pairs' standings in this order."""

    FAILS = "does not hold"
    LESS = "less than claimed"
    NOT_COMPARABLE = "not comparable"
    NOT_RUN = "not run"
    TOO_FEW = "too few seeds"
    UNDECIDED = "undecided"
    HOLDS = "holds"


def answer_study(study: Study, profile: str, runs: pd.DataFrame, warn: Warn, metric: str = AUTO) -> SimpleNamespace:
    """The answers of a study by `runs`, all of its folder; `metric` holds for pairs that name none.

    `answers` has a record for each pair and environment (`_measure`), `differences` are from `find_differences`;
    `standing` is the verdict of all pairs on the claim, None without a claim.
    """
    budget = study.profiles[profile]
    cells = make_answer_cells(study, profile, runs, warn)
    places = {(cell.name, cell.study_env): cell.Index for cell in list_rows(cells)}
    measured = []
    tests = ((replace(pair, envs=()), env) for pair in study.compare for env in pair.envs or budget.envs)
    for pair, env in dict.fromkeys(tests):  # each once, also where two pairs have it
        indices = [places.get((name, env)) for name in (pair.first, pair.second)]
        if None not in indices:
            kind = pair.metric or (FINAL if study.published_source and metric == AUTO else metric)
            measured.append(_measure(pair, kind, _score(pair, kind, cells.loc[indices], budget, env)))
    outcomes = decide([(*test["scores"], test["origin"], "") for _, test in measured])
    for (answer, test), outcome in zip(measured, outcomes):
        claims = bool(study.claim) or test["amount"] is not None
        if answer.samples is None or answer.reason:
            standing = Standing.NOT_COMPARABLE if answer.samples else Standing.NOT_RUN
        else:
            if answer.note and outcome["case"] == Case.EQUIVALENT:  # both may never reach a score
                outcome["case"] = Case.UNDECIDED
            answer.outcome, answer.case = outcome, outcome["case"]
            standing = _judge_claim(test, outcome, answer)
        answer.standing = standing if claims else None
    answers = [answer for answer, _ in measured]
    standings = {answer.standing for answer in answers}
    return SimpleNamespace(
        study=study,
        profile=profile,
        answers=answers,
        differences=find_differences(study, profile, cells, runs),
        standing=next((standing for standing in Standing if standing in standings), None),
    )


def _score(pair: Pair, kind: str, cells: pd.DataFrame, budget: Profile, env: str) -> list[Any]:
    """Both sides, with their scores where these are returns."""
    if kind == CURVE and pair.begin is not None and pair.end is not None:
        cells = score_cells(cells, CURVE, CurveStretch(AXES[pair.axis], pair.begin, pair.end))
    elif kind not in LOWER_IS_BETTER:
        minutes = budget.total_minutes
        limit, axis = minutes or budget.timesteps(env) or cells.own_timesteps.min(), MINUTES if minutes else TIMESTEPS
        cells = score_cells(cells, *choose_score(cells, kind, limit, axis))
    return list_rows(cells)


def _measure(pair: Pair, kind: str, sides: list[Any]) -> tuple[SimpleNamespace, Record]:
    """A pair of a study in an environment before the correction for the other tests, and what is tested.

    Labels of both sides; `measure`: what is compared, with its unit; `claimed`: the size, empty without one; `case` of
    the rule, for the first side against the claimed size, None where it was not run; `standing`: None where the study
    claims nothing; `reason` why it is not comparable; `effect` with its interval, above 0 in the direction of a claimed
    size; `outcome`: the record of `decide`, None where it was not run or is not comparable; `samples` of both sides,
    None where it was not run. Of the test: the `sign` and the `amount` of the claim, None without; the `scores` of the
    first side and the scores that it has to pass; the scores of `both` sides; the `origin` of the margin, 0 for
    minutes, steps and percentages; whether it is `open`, as a run that never reaches a score may have any number of
    steps.
    """
    first, second = sides
    text = pair.more_by or pair.less_by
    amount, percent = float(text.rstrip("% ")) if text else None, text.endswith("%")
    sign = 1 if pair.more_by or not (text or pair.metric in LOWER_IS_BETTER) else -1
    claimed = f"{amount:g}{' %' * percent} {'more' if sign > 0 else 'less'}" if text else ""
    answer = SimpleNamespace(
        first=first.label, second=second.label, env=" and ".join(dict.fromkeys((first.env, second.env))), measure="",
        claimed=claimed, case=None, standing=None, reason="", note="", effect=UNKNOWN, in_percent=percent,
        outcome=None, samples=None,
    )  # fmt: skip
    test: Record = {"sign": sign, "amount": amount, "origin": 0.0, "open": False, "scores": (NO_SCORES, NO_SCORES)}
    if not (first.runs and second.runs):
        return answer, test
    if kind == MINUTES:
        modelled = {run.simulated_time for side in sides for run in side.done} == {True}
        answer.measure = "modelled minutes of training" if modelled else "minutes of training"
        scores = [seed_means(values_by_seed(side.done, lambda run: run.seconds / 60)) for side in sides]
    elif kind == REACH:
        score = pair.score or 0.0
        answer.measure = f"training steps to a mean return of {score:g}"
        steps = [values_by_seed(side.done, lambda run: reached(run.evaluations, score)[0]) for side in sides]
        limit = _find_first_end([run for side in sides for run in side.done], score)
        later = [sum(int((values > limit).sum()) for values in side_steps) for side_steps in steps]
        test["open"] = later[sign < 0] > 0  # with all their steps these runs may show the size
        answer.note = "; ".join(
            f"{count} of {counted(len(side.done), 'run')} of {side.label} never reach it in {limit:,.0f} steps and "
            "count with these"
            for side, count in zip(sides, later)
            if count
        )
        scores = [seed_means([np.minimum(values, limit) for values in side_steps]) for side_steps in steps]
    else:
        answer.measure = first.score_words[:1].lower() + first.score_words[1:]
        scores = [side.scores for side in sides]
        test["origin"] = 0.0 if percent else find_origin(first.env, sides, kind)
    answer.samples = tuple(map(make_sample, sides, scores))
    answer.reason = next(_find_reasons(kind, sides, scores, answer), "")
    ours, theirs = scores
    if answer.reason:
        answer.case = Case.NOT_COMPARABLE
        return answer, test
    value, low, high = (percent_more if percent else mean_difference)(ours, theirs)
    answer.effect = (0.0 - value, 0.0 - high, 0.0 - low) if text and sign < 0 else (value, low, high)
    shift = sign * (amount or 0.0)
    wanted = theirs * (1 + shift / 100) if percent else theirs + shift
    return answer, test | {"scores": (ours, wanted), "both": scores}


def _find_first_end(runs: list[Any], score: float) -> float:
    """The first end of a run that never reaches the score, up to which the steps of all count; infinite without one."""
    ends = (run.evaluations.timesteps[-1] for run in runs if math.isinf(reached(run.evaluations, score)[0]))
    return float(min(ends, default=math.inf))


def _find_reasons(kind: str, sides: list[Any], scores: list[Any], answer: SimpleNamespace) -> Iterator[str]:
    """Why scores are no samples of the algorithms, or why no percentage can be computed."""
    runs = [run for side in sides for run in side.done]
    if kind == MINUTES:  # of one kind, of one machine, and of cores that no other cell used
        if len({run.simulated_time for run in runs}) > 1:
            yield "minutes of one are modelled, those of the other measured"
        # An older run does not record whose cores it used.
        older = [run for run in runs if not run.simulated_time and run.shared_cores is None]
        if shared := sum(run.jobs not in ("", "1") for run in older) + sum(not run.timed for run in runs):
            yield f"{counted(shared, 'run')} shared cores with other cells, so that their minutes are not their own"
        # The machine without its cores: a run may use some of them.
        machines = {(run.cpu, run.memory, run.gpus) for run in runs if not run.simulated_time}
        if len(machines) > 1:
            yield f"measured on {len(machines)} machines"
    elif kind == REACH:
        budgets = [run.budget or run.timesteps for run in runs]
        if answer.note and max(budgets) > SIMILAR * min(budgets):
            yield f"{answer.note.split('; ')[0]}, and the budgets differ"
    else:
        yield from filter(None, map(unscored_reason, sides))
    yield from filter(None, [selection_reason(sides), size_reason(scores)])
    if answer.in_percent and any(len(values) and mean(values) <= 0 for values in scores):
        yield "a percentage needs means above 0"


def _judge_claim(test: Record, outcome: Record, answer: SimpleNamespace) -> Standing:
    """The verdict on the claim that follows from testing the first side against the claimed size."""
    case, (value, _, high) = outcome["case"], answer.effect
    if case == Case.TOO_FEW:
        return Standing.TOO_FEW
    if case == Case.EQUIVALENT:
        return Standing.FAILS if test["amount"] is None else Standing.HOLDS
    if case == Case.UNDECIDED or outcome["gain"] < 0:  # ranks and means disagree
        return Standing.UNDECIDED
    if (outcome["probability_better"] > 0.5) == (test["sign"] > 0):
        return Standing.HOLDS
    if test["amount"] is None:
        return Standing.FAILS
    if test["open"] or not high < test["amount"]:
        return Standing.UNDECIDED
    ours, theirs = test["both"]
    plain = judge(ours, theirs, compare(ours, theirs), p=1.0, tests=outcome["tests"], origin=outcome["origin"])
    return Standing.LESS if value > 0 and plain["case"] != Case.EQUIVALENT else Standing.FAILS
