"""A verdict as a paragraph: one sentence for each case, and what a reader has to know beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from erlbench.reporting.documents.formats import count, number, p_value, steps
from erlbench.reporting.statistics.estimates import mean
from erlbench.reporting.verdict.rule import Case, Ruling
from erlbench.reporting.verdict.value import DEPARTED, FOLLOWED, NO_PLAN, SIMILAR, Sample, Verdict
from erlbench.words import counted

MOST = 4  # settings that are listed
MOST_SEEDS = 1000  # that are counted
PLANS = {
    NO_PLAN: "No plan was written before the runs.",
    FOLLOWED: "The written plan was followed.",
    DEPARTED: "The study departs from its written plan.",
}


def paragraph(verdict: Verdict) -> str:
    """What a verdict says, as one line of plain text."""
    return " ".join([CASES[verdict.case](verdict), *_beside(verdict)])


def headline(verdict: Verdict) -> str:
    """Its first sentence."""
    return CASES[verdict.case](verdict)


def _decided(verdict: Verdict) -> str:
    outcome = _outcome(verdict)
    found = outcome.difference
    by_mean = not math.isnan(outcome.boundary) or found.welch <= found.rank
    above = (found.difference if by_mean else found.probability - 0.5) > 0
    better, worse = (verdict.first, verdict.second) if above else (verdict.second, verdict.first)
    low, high = sorted((abs(found.interval[0]), abs(found.interval[1])))
    size = f"by {number(abs(found.difference))} (95 % interval {number(low)} to {number(high)}" if by_mean else (
        f"in {100 * max(found.probability, 1 - found.probability):.0f} of 100 pairs of runs (rank test"
    )  # fmt: skip
    return (
        f"Decided: {better.name} scores above {worse.name} on {verdict.env} {size}; {_p(outcome)}; "
        f"{_seeds(verdict)}). {_means(verdict)}"
    )


def _equivalent(verdict: Verdict) -> str:
    outcome = _outcome(verdict)
    return (
        f"Equivalent: {verdict.first.name} and {verdict.second.name} on {verdict.env} differ by less than "
        f"{100 * verdict.margin:g} % ({number(outcome.margin)}); the 95 % interval of the difference is "
        f"{_interval(outcome)} ({_seeds(verdict)}). {_means(verdict)}"
    )


def _undecided(verdict: Verdict) -> str:
    outcome = _outcome(verdict)
    return (
        f"Undecided: {verdict.first.name} and {verdict.second.name} on {verdict.env}, difference "
        f"{number(outcome.difference.difference)} (95 % interval {_interval(outcome)}; {_p(outcome)}; "
        f"{_seeds(verdict)}). {_means(verdict)} {_power(verdict)}"
    )


def _too_few(verdict: Verdict) -> str:
    points = "; ".join(
        f"{one.name} {', '.join(map(number, one.scores))}" for one in (verdict.first, verdict.second)
    )  # fmt: skip
    return (
        f"Undecided, too few runs: {verdict.first.name} and {verdict.second.name} on {verdict.env} "
        f"({_seeds(verdict)}). Scores: {points}. {_power(verdict)}"
    )


def _not_comparable(verdict: Verdict) -> str:
    return f"Not comparable: {verdict.first.name} and {verdict.second.name} on {verdict.env}: {verdict.reason}."


CASES: dict[Case, Callable[[Verdict], str]] = {
    Case.DECIDED: _decided,
    Case.EQUIVALENT: _equivalent,
    Case.UNDECIDED: _undecided,
    Case.TOO_FEW: _too_few,
    Case.NOT_COMPARABLE: _not_comparable,
}


def _beside(verdict: Verdict) -> Iterator[str]:
    """Score, steps of the simulator, settings, plan."""
    if verdict.case is Case.NOT_COMPARABLE:
        return
    yield f"Score: {verdict.score[0].lower()}{verdict.score[1:]}; budget {verdict.budget}."
    if verdict.ratio > SIMILAR:
        many, few = sorted((verdict.first, verdict.second), key=lambda one: -one.simulator_steps)
        yield (
            f"{many.name} used {verdict.ratio:.1f} times the simulator steps of {few.name} "
            f"({steps(many.simulator_steps)} and {steps(few.simulator_steps)})"
            + (f"; after as many for both {_at_equal(verdict)}." if verdict.equal_steps else ".")
        )
    if verdict.unequal:
        listed = [f"{name} {a} and {b}" for name, (a, b) in list(verdict.unequal.items())[:MOST]]
        more = [f"{len(verdict.unequal) - MOST} more"] if len(verdict.unequal) > MOST else []
        yield f"Settings differ: {'; '.join([*listed, *more])}."
    yield PLANS[verdict.plan]


def _outcome(verdict: Verdict) -> Ruling:
    assert verdict.outcome is not None
    return verdict.outcome


def _at_equal(verdict: Verdict) -> str:
    assert verdict.equal_steps is not None
    one, two = verdict.equal_steps
    return f"{verdict.first.name} is at {number(one)} and {verdict.second.name} at {number(two)}"


def _interval(outcome: Ruling) -> str:
    return " to ".join(map(number, outcome.difference.interval))


def _p(outcome: Ruling) -> str:
    p = p_value(outcome.p)
    return (f"p {p.replace('<', '< ')}" if p.startswith("<") else f"p = {p}") + _corrected(outcome)


def _corrected(outcome: Ruling) -> str:
    if not math.isnan(outcome.boundary):
        return f", where this look of the plan stops at {outcome.boundary:.2g}"
    return f" after correction for {outcome.tests} tests" if outcome.tests > 1 else ""


def _seeds(verdict: Verdict) -> str:
    one, two = _runs(verdict.first), _runs(verdict.second)
    return f"{one} each" if one == two else f"{one}, and {two}"


def _runs(one: Sample) -> str:
    more = f" in {len(one.runs)} runs" if len(one.runs) > len(one.seeds) else ""
    return counted(len(one.scores), "seed") + more


def _means(verdict: Verdict) -> str:
    one, two = verdict.first, verdict.second
    return f"Means: {number(mean(one.scores))} and {number(mean(two.scores))}." if verdict.outcome else ""


def _power(verdict: Verdict) -> str:
    """The smallest difference that could have been found, and how many seeds are missing."""
    outcome = _outcome(verdict)
    found, wanted = outcome.difference.detectable, f"{100 * verdict.margin:g} %"
    show = f"Such runs show differences from {number(found)} on." if found == found else ""
    if outcome.seeds_missing is None:
        return f"{show} No number of seeds within reach shows one of {wanted}."
    many = outcome.seeds_missing > MOST_SEEDS
    more = f"{'More than' if many else 'About'} {count(min(MOST_SEEDS, outcome.seeds_missing))}"
    what = f"show one of {wanted} ({number(outcome.margin)})" if found == found else "begin to say something"
    return f"{show} {more} more seeds a side would {what}.".strip()
