"""What a study answers: a verdict of each pair that it compares, in each environment, and of the sentence it tests.

Holm's correction takes all pairs and environments of `compare` together. A pair with a claimed size is tested against
this size: `less-by = "75 %"` compares the first's scores with a quarter of the second's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from erlbench.reporting.data.comparison import Group, RunSet, judged_alike
from erlbench.reporting.data.origin import origin_of
from erlbench.reporting.data.remarks import Warn
from erlbench.reporting.data.runs import StoredRun
from erlbench.reporting.data.score import AUTO, CURVE, FINAL, LEARNING, MINUTES, TIMESTEPS, CurveStretch
from erlbench.reporting.data.seeds import seed_means, values_by_seed
from erlbench.reporting.data.study_runs import StudyDifference, find_run_sets, study_differences
from erlbench.reporting.statistics.curves import reached
from erlbench.reporting.statistics.estimates import Array, mean
from erlbench.reporting.statistics.significance import (
    UNKNOWN,
    Case,
    Effect,
    compare,
    holm,
    judge,
    mean_difference,
    percent_less,
    percent_more,
)
from erlbench.reporting.verdict.pairs import SIMILAR, sample_of, selection_reason
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


@dataclass(frozen=True)
class Size:
    """What a pair claims of its effect."""

    sign: int  # 1: the first has more, -1: less
    amount: float | None  # None: no size
    percent: bool = False

    @classmethod
    def of(cls, pair: Pair) -> Size:
        """That of a pair; without a size, that the first one is better."""
        text = pair.more_by or pair.less_by
        sign = 1 if pair.more_by or (not text and pair.metric not in LOWER_IS_BETTER) else -1
        return cls(sign, float(text.rstrip("% ")) if text else None, text.endswith("%"))

    def shifted(self, second: Array) -> Array:
        """The scores (seeds,) that the first side has to pass for the claim to hold."""
        if self.amount is None:
            return second
        return second * (1 + self.sign * self.amount / 100) if self.percent else second + self.sign * self.amount

    def effect(self, first: Array, second: Array) -> Effect:
        """The effect as the claim states it, above 0 in its direction; without a size the difference of the means."""
        if self.amount is None:
            return mean_difference(first, second)
        if self.percent:
            return (percent_more if self.sign > 0 else percent_less)(first, second)
        return mean_difference(first, second) if self.sign > 0 else mean_difference(second, first)

    def __str__(self) -> str:
        if self.amount is None:
            return ""
        return f"{self.amount:g}{' %' if self.percent else ''} {'more' if self.sign > 0 else 'less'}"


@dataclass(frozen=True, kw_only=True)
class StudyAnswer:
    """A study with its answers."""

    study: Study
    profile: str
    answers: tuple[SimpleNamespace, ...]  # of `_answer`
    differences: tuple[StudyDifference, ...]

    @property
    def standing(self) -> Standing | None:
        """What all pairs together say of the claim."""
        found = {one.standing for one in self.answers}
        return next((one for one in Standing if one in found), None)


def answer_study(study: Study, profile: str, runs: Sequence[StoredRun], warn: Warn, metric: str = AUTO) -> StudyAnswer:
    """The answers of a study by `runs`, all of its folder; `metric` is that of pairs that name none."""
    budget = study.profiles[profile]
    run_sets = find_run_sets(study, profile, runs, warn)
    drafts = [
        _draft(pair, study, budget, (run_sets[pair.first, env], run_sets[pair.second, env]), metric, env)
        for pair in study.compare
        for env in pair.envs or budget.envs
        if (pair.first, env) in run_sets and (pair.second, env) in run_sets
    ]
    tests = [
        {} if "words" not in draft or draft["reason"] else compare(draft["scores"][0], draft["wanted"])
        for draft in drafts
    ]
    p_values = holm(*([found.get(name, math.nan) for found in tests] for name in ("p_rank", "level")))
    number = int(np.isfinite(p_values).sum())
    answers = tuple(
        _answer(draft, found, float(p), number, bool(study.claim))
        for draft, found, p in zip(drafts, tests, p_values, strict=True)
    )
    differences = tuple(study_differences(study, profile, run_sets, runs))
    return StudyAnswer(study=study, profile=profile, answers=answers, differences=differences)


def _draft(
    pair: Pair, study: Study, budget: Profile, sides: tuple[RunSet, RunSet], metric: str, env: str
) -> dict[str, Any]:
    """A pair in an environment before its correction for the other tests; without scores where it was not run."""
    draft: dict[str, Any] = {"pair": pair, "size": Size.of(pair), "sides": sides}
    if not all(side.runs for side in sides):
        return draft
    if pair.metric == MINUTES:
        draft |= _measure_minutes(*sides)
    elif pair.metric == REACH:
        draft |= _measure_reach(*sides, pair.score or 0.0)
    else:
        kind = pair.metric or (FINAL if study.published_source and metric == AUTO else metric)
        draft |= _measure_scores(*_judged_sides(pair, kind, budget, sides, env))
    draft["reason"] = draft["reason"] or _why_not(sides, draft["scores"], draft["size"])
    return draft | {"wanted": draft["size"].shifted(draft["scores"][1])}


def _judged_sides(
    pair: Pair, kind: str, budget: Profile, sides: tuple[RunSet, RunSet], env: str
) -> tuple[RunSet, RunSet]:
    """Both sides with the score of the pair."""
    if pair.metric == CURVE and pair.begin is not None and pair.end is not None:
        stretch = CurveStretch(AXES[pair.axis], pair.begin, pair.end)
        first, second = (replace(side, metric=CURVE, stretch=stretch) for side in sides)
    else:
        minutes = budget.total_minutes
        first, second = judged_alike(sides, kind, minutes or budget.timesteps(env), MINUTES if minutes else TIMESTEPS)
    return first, second


def _measured(scores: Sequence[Array], words: str, reason: str = "", note: str = "") -> dict[str, Any]:
    """The scores of both sides, one a seed; why they cannot be compared; a note on those that are not known whole."""
    return {"scores": scores, "words": words, "reason": reason, "note": note}


def _measure_scores(first: RunSet, second: RunSet) -> dict[str, Any]:
    words = first.score_words[:1].lower() + first.score_words[1:]
    for side in (first, second):
        unknown = len(side.seeds) - len(side.scores)
        if unknown:
            reason = f"{unknown} of {counted(len(side.seeds), 'seed')} of {side.label} have no such score"
            return _measured((first.scores, second.scores), words, reason)
    return _measured((first.scores, second.scores), words)


def _measure_minutes(first: RunSet, second: RunSet) -> dict[str, Any]:
    """Minutes of training: of one kind, of one machine, and of cores that no other cell used."""
    runs = [*first.done, *second.done]
    kinds = {run.simulated_time for run in runs}
    words = "modelled minutes of training" if kinds == {True} else "minutes of training"
    scores = [seed_means(values_by_seed(side.done, lambda run: run.seconds / 60)) for side in (first, second)]
    reason = ""
    shared = [run for run in runs if not run.timed or _with_others(run)]
    machines = {  # without its cores: those are the ones that a run may use
        (run.machine.cpu, run.machine.memory, run.machine.gpus) for run in runs if not run.simulated_time
    }
    if len(kinds) > 1:
        reason = "minutes of one are modelled, those of the other measured"
    elif shared:
        reason = f"{counted(len(shared), 'run')} shared cores with other cells, so that their minutes are not their own"
    elif len(machines) > 1:
        reason = f"measured on {len(machines)} machines"
    return _measured(scores, words, reason)


def _with_others(run: StoredRun) -> bool:
    """Whether an older run, which does not record whose cores it used, was one of several cells at once."""
    return not run.simulated_time and run.machine.shared_cores is None and run.machine.jobs not in ("", "1")


def _measure_reach(first: RunSet, second: RunSet, score: float) -> dict[str, Any]:
    """Training steps at the first evaluation with the score; a run without one counts with its last step."""
    words = f"training steps to a mean return of {score:g}"
    never = [[run for run in side.done if math.isinf(reached(run.evaluations, score)[0])] for side in (first, second)]

    def steps(run: StoredRun) -> float:
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


def _why_not(sides: tuple[RunSet, RunSet], scores: Sequence[Array], size: Size) -> str:
    """Why scores are no samples of the algorithms, or why no percentage can be computed; empty where they are."""
    if reason := selection_reason(sides):
        return reason
    if not all(np.isfinite(values).all() for values in scores):
        return "a score is not finite"
    if size.percent and any(len(values) and mean(values) <= 0 for values in scores):
        return "a percentage needs means above 0"
    return ""


def _answer(draft: dict[str, Any], found: dict[str, Any], p: float, tests: int, claims: bool) -> SimpleNamespace:
    """A pair of a study in an environment.

    Labels of both sides; `measure`: what is compared, with its unit; `claimed`: the size, empty without one; `case` of
    the rule, for the first side against the claimed size, None where it was not run; `standing`: None where the study
    claims nothing; `reason` why it is not comparable; `effect`: see `Size.effect`; `outcome`: what `compare` and
    `judge` say, None where it was not run or is not comparable; `samples` of both sides, None where it was not run.
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
    origin, (ours, theirs) = _origin(draft), draft["scores"]
    answer.effect = size.effect(ours, theirs)
    outcome = {**found, **judge(ours, draft["wanted"], found, p=p, tests=tests, origin=origin)}
    if answer.note and outcome["case"] is Case.EQUIVALENT:  # both may never reach a score
        outcome["case"] = Case.UNDECIDED
    answer.outcome, answer.case = outcome, outcome["case"]
    if claims:
        plain = judge(ours, theirs, compare(ours, theirs), p=1.0, tests=tests, origin=origin)["case"]
        answer.standing = _standing(size, outcome, answer.effect, plain is Case.EQUIVALENT)
    return answer


def _origin(draft: dict[str, Any]) -> float:
    """Where the margin is reckoned from: a random policy's score; 0 for minutes, steps and percentages."""
    if draft["pair"].metric in LOWER_IS_BETTER or draft["size"].percent:
        return 0.0
    return origin_of(Group(draft["sides"][0].env, "", 0, draft["sides"]))


def _standing(size: Size, outcome: dict[str, Any], effect: Effect, alike: bool) -> Standing:
    """What a ruling on the first side against the claimed size says of the claim; `alike`: the sides are equivalent."""
    case = outcome["case"]
    if case is Case.TOO_FEW:
        return Standing.TOO_FEW
    if case is Case.EQUIVALENT:
        return Standing.FAILS if size.amount is None else Standing.HOLDS
    if case is Case.UNDECIDED or outcome["gain"] < 0:  # ranks and means disagree
        return Standing.UNDECIDED
    if (outcome["probability_better"] > 0.5) == (size.sign > 0):
        return Standing.HOLDS
    if size.amount is None:
        return Standing.FAILS
    value, _, high = effect
    if not high < size.amount:
        return Standing.UNDECIDED
    return Standing.LESS if value > 0 and not alike else Standing.FAILS
