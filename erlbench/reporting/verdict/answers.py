"""What a study answers: a verdict of each pair that it compares, in each environment, and of the sentence it tests.

Holm's correction takes all pairs and environments of `compare` together. A pair with a claimed size is tested against
this size: `less-by = "75 %"` compares the first's scores with a quarter of the second's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from erlbench.reporting.data.cells import list_rows
from erlbench.reporting.data.origin import find_origin
from erlbench.reporting.data.page_cells import score_cells, set_score
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.data.score import AUTO, CURVE, FINAL, LEARNING, MINUTES, TIMESTEPS, CurveStretch
from erlbench.reporting.data.seeds import seed_means, values_by_seed
from erlbench.reporting.data.studies import find_differences, make_answer_cells
from erlbench.reporting.statistics.curves import reached
from erlbench.reporting.statistics.estimates import Array, mean
from erlbench.reporting.statistics.significance import (
    UNKNOWN,
    Case,
    Effect,
    compare,
    judge,
    mean_difference,
    percent_less,
    percent_more,
)
from erlbench.reporting.verdict.pairs import SIMILAR, decide, sample_of, selection_reason
from erlbench.words import counted

if TYPE_CHECKING:
    from erlbench.experiment.study import Pair, Profile, Study

REACH = "reach"
AXES = {"steps": TIMESTEPS, "simulator-steps": LEARNING, "minutes": MINUTES}  # of a pair, as scores name them
LOWER_IS_BETTER = (MINUTES, REACH)


class Standing(StrEnum):
    """What runs say of a claim; in this order the first one of its pairs is that of the whole."""

    FAILS = "does not hold"
    LESS = "less than claimed"
    NOT_COMPARABLE = "not comparable"
    NOT_RUN = "not run"
    TOO_FEW = "too few seeds"
    UNDECIDED = "undecided"
    HOLDS = "holds"


class Size(NamedTuple):
    """What a pair claims of its effect."""

    sign: int  # 1: the first has more, -1: less
    amount: float | None  # None: no size
    percent: bool

    def __str__(self) -> str:
        if self.amount is None:
            return ""
        return f"{self.amount:g}{' %' if self.percent else ''} {'more' if self.sign > 0 else 'less'}"


def parse_size(pair: Pair) -> Size:
    """The size that a pair claims; without one, that the first is better."""
    text = pair.more_by or pair.less_by
    sign = 1 if pair.more_by or (not text and pair.metric not in LOWER_IS_BETTER) else -1
    return Size(sign, float(text.rstrip("% ")) if text else None, text.endswith("%"))


def claimed_scores(size: Size, second: Array) -> Array:
    """The scores (seeds,) that the first side has to pass for the claim to hold."""
    if size.amount is None:
        return second
    return second * (1 + size.sign * size.amount / 100) if size.percent else second + size.sign * size.amount


def measure_effect(size: Size, first: Array, second: Array) -> Effect:
    """The effect as the claim states it, above 0 in its direction; without a size the difference of the means."""
    if size.percent:
        return (percent_more if size.sign > 0 else percent_less)(first, second)
    backwards = size.amount is not None and size.sign < 0
    return mean_difference(second, first) if backwards else mean_difference(first, second)


def answer_study(study: Study, profile: str, runs: pd.DataFrame, warn: Warn, metric: str = AUTO) -> SimpleNamespace:
    """The answers of a study by `runs`, all of its folder; `metric` is that of pairs that name none.

    `answers` has a record for each pair and environment (`_answer`), `differences` those of `find_differences`;
    `standing` is what all pairs together say of the claim, None where it claims nothing.
    """
    budget = study.profiles[profile]
    cells = make_answer_cells(study, profile, runs, warn)
    places = {(cell.name, cell.study_env): cell.Index for cell in list_rows(cells)}
    drafts = []
    for pair in study.compare:
        for env in pair.envs or budget.envs:
            indices = [places.get((name, env)) for name in (pair.first, pair.second)]
            if None not in indices:
                drafts.append(_draft(pair, study, budget, cells.loc[indices], metric, env))
    nothing = np.empty(0)
    outcomes = decide([
        (nothing, nothing, 0.0, "not run or not comparable") if "words" not in draft or draft["reason"]
        else (draft["scores"][0], draft["wanted"], _origin(draft), "") for draft in drafts
    ])  # fmt: skip
    answers = [_answer(*both, bool(study.claim)) for both in zip(drafts, outcomes, strict=True)]
    standings = {answer.standing for answer in answers}
    return SimpleNamespace(
        study=study, profile=profile, answers=answers, differences=find_differences(study, profile, cells, runs),
        standing=next((standing for standing in Standing if standing in standings), None),
    )  # fmt: skip


def _draft(pair: Pair, study: Study, budget: Profile, cells: pd.DataFrame, metric: str, env: str) -> dict[str, Any]:
    """A pair in an environment before its correction for the other tests; without scores where it was not run."""
    kind = pair.metric or (FINAL if study.published_source and metric == AUTO else metric)
    if kind == CURVE and pair.begin is not None and pair.end is not None:
        cells = set_score(cells, CURVE, CurveStretch(AXES[pair.axis], pair.begin, pair.end))
    elif kind not in LOWER_IS_BETTER:
        minutes = budget.total_minutes
        cells = score_cells(cells, kind, minutes or budget.timesteps(env), MINUTES if minutes else TIMESTEPS)
    first, second = list_rows(cells)
    draft: dict[str, Any] = {"pair": pair, "size": parse_size(pair), "sides": (first, second)}
    if not (first.runs and second.runs):
        return draft
    if kind == MINUTES:
        draft |= _measure_minutes(first, second)
    elif kind == REACH:
        draft |= _measure_reach(first, second, pair.score or 0.0)
    else:
        draft |= _measure_scores(first, second)
    draft["reason"] = draft["reason"] or _why_not(draft["sides"], draft["scores"], draft["size"])
    return draft | {"wanted": claimed_scores(draft["size"], draft["scores"][1])}


def _measured(scores: Sequence[Array], words: str, reason: str = "", note: str = "") -> dict[str, Any]:
    """The scores of both sides, one a seed; why they cannot be compared; a note on those that are not known whole."""
    return {"scores": scores, "words": words, "reason": reason, "note": note}


def _measure_scores(first: Any, second: Any) -> dict[str, Any]:
    words = first.score_words[:1].lower() + first.score_words[1:]
    for side in (first, second):
        unknown = len(side.seeds) - len(side.scores)
        if unknown:
            reason = f"{unknown} of {counted(len(side.seeds), 'seed')} of {side.label} have no such score"
            return _measured((first.scores, second.scores), words, reason)
    return _measured((first.scores, second.scores), words)


def _measure_minutes(first: Any, second: Any) -> dict[str, Any]:
    """Minutes of training: of one kind, of one machine, and of cores that no other cell used."""
    runs = [*first.done, *second.done]
    kinds = {run.simulated_time for run in runs}
    words = "modelled minutes of training" if kinds == {True} else "minutes of training"
    scores = [seed_means(values_by_seed(side.done, lambda run: run.seconds / 60)) for side in (first, second)]
    reason = ""
    shared = [run for run in runs if not run.timed or _with_others(run)]
    # A machine without its cores: those are the ones that a run may use.
    machines = {(run.cpu, run.memory, run.gpus) for run in runs if not run.simulated_time}
    if len(kinds) > 1:
        reason = "minutes of one are modelled, those of the other measured"
    elif shared:
        reason = f"{counted(len(shared), 'run')} shared cores with other cells, so that their minutes are not their own"
    elif len(machines) > 1:
        reason = f"measured on {len(machines)} machines"
    return _measured(scores, words, reason)


def _with_others(run: Any) -> bool:
    """Whether an older run, which does not record whose cores it used, was one of several cells at once."""
    return not run.simulated_time and run.shared_cores is None and run.jobs not in ("", "1")


def _measure_reach(first: Any, second: Any, score: float) -> dict[str, Any]:
    """Training steps at the first evaluation with the score; a run without one counts with its last step."""
    words = f"training steps to a mean return of {score:g}"
    never = [[run for run in side.done if math.isinf(reached(run.evaluations, score)[0])] for side in (first, second)]

    def steps(run: Any) -> float:
        return min(reached(run.evaluations, score)[0], float(run.evaluations.timesteps[-1]))

    scores = [seed_means(values_by_seed(side.done, steps)) for side in (first, second)]
    notes = [
        f"{len(runs)} of {counted(len(side.done), 'run')} of {side.label} never reach it and count with their last step"
        for side, runs in zip((first, second), never, strict=True)
        if runs
    ]
    ends = [mean([run.evaluations.timesteps[-1] for run in side.done]) for side in (first, second)]
    reason = f"{notes[0]}, and the budgets differ" if notes and max(ends) > SIMILAR * min(ends) else ""
    return _measured(scores, words, reason, "; ".join(notes))


def _why_not(sides: tuple[Any, Any], scores: Sequence[Array], size: Size) -> str:
    """Why scores are no samples of the algorithms, or why no percentage can be computed; empty where they are."""
    if reason := selection_reason(sides):
        return reason
    if not all(np.isfinite(values).all() for values in scores):
        return "a score is not finite"
    if size.percent and any(len(values) and mean(values) <= 0 for values in scores):
        return "a percentage needs means above 0"
    return ""


def _answer(draft: dict[str, Any], outcome: dict[str, Any], claims: bool) -> SimpleNamespace:
    """A pair of a study in an environment.

    Labels of both sides; `measure`: what is compared, with its unit; `claimed`: the size, empty without one; `case` of
    the rule, for the first side against the claimed size, None where it was not run; `standing`: None where the study
    claims nothing; `reason` why it is not comparable; `effect`: see `measure_effect`; `outcome`: what `decide`
    says, None where it was not run or is not comparable; `samples` of both sides, None where it was not run.
    """
    (first, second), size = draft["sides"], draft["size"]
    answer = SimpleNamespace(
        first=first.label, second=second.label, env=" and ".join(dict.fromkeys((first.env, second.env))), measure="",
        claimed=str(size), case=None, standing=None, reason="", note="", effect=UNKNOWN, in_percent=size.percent,
        outcome=None, samples=None,
    )  # fmt: skip
    claims = claims or size.amount is not None
    if "words" not in draft:
        answer.standing = Standing.NOT_RUN if claims else None
        return answer
    answer.measure, answer.reason, answer.note = draft["words"], draft["reason"], draft["note"]
    answer.samples = tuple(
        sample_of(side.label, scores, side.done, seeds=side.seeds, failed=len(side.failed))
        for side, scores in zip(draft["sides"], draft["scores"], strict=True)
    )
    if answer.reason:
        answer.case, answer.standing = Case.NOT_COMPARABLE, Standing.NOT_COMPARABLE if claims else None
        return answer
    ours, theirs = draft["scores"]
    answer.effect = measure_effect(size, ours, theirs)
    if answer.note and outcome["case"] == Case.EQUIVALENT:  # both may never reach a score
        outcome = {**outcome, "case": Case.UNDECIDED}
    answer.outcome, answer.case = outcome, outcome["case"]
    if claims:
        plain = judge(ours, theirs, compare(ours, theirs), p=1.0, tests=outcome["tests"], origin=outcome["origin"])
        answer.standing = _standing(size, outcome, answer.effect, plain["case"] == Case.EQUIVALENT)
    return answer


def _origin(draft: dict[str, Any]) -> float:
    """Where the margin is reckoned from: a random policy's score; 0 for minutes, steps and percentages."""
    if draft["pair"].metric in LOWER_IS_BETTER or draft["size"].percent:
        return 0.0
    return find_origin(draft["sides"][0].env, draft["sides"])


def _standing(size: Size, outcome: dict[str, Any], effect: Effect, alike: bool) -> Standing:
    """What a ruling on the first side against the claimed size says of the claim; `alike`: the sides are equivalent."""
    case = outcome["case"]
    if case == Case.TOO_FEW:
        return Standing.TOO_FEW
    if case == Case.EQUIVALENT:
        return Standing.FAILS if size.amount is None else Standing.HOLDS
    if case == Case.UNDECIDED or outcome["gain"] < 0:  # ranks and means disagree
        return Standing.UNDECIDED
    if (outcome["probability_better"] > 0.5) == (size.sign > 0):
        return Standing.HOLDS
    if size.amount is None:
        return Standing.FAILS
    value, _, high = effect
    if not high < size.amount:
        return Standing.UNDECIDED
    return Standing.LESS if value > 0 and not alike else Standing.FAILS
