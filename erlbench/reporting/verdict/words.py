"""A verdict in words: one sentence with its case, what a reader has to know beside it, and one sentence over many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from erlbench.reporting.documents.formats import number, p_value, steps, with_interval
from erlbench.reporting.statistics.estimates import mean
from erlbench.reporting.statistics.intervals import FEWEST_RUNS
from erlbench.reporting.verdict.rule import Case, Ruling, unseen_failures
from erlbench.reporting.verdict.value import DEPARTED, FOLLOWED, NO_PLAN, SIMILAR, Verdict
from erlbench.words import counted

MOST = 4  # settings that are listed, and findings in the sentence over all
MOST_SEEDS = 1000  # that are counted
PLANS = {
    NO_PLAN: "No plan was written before the runs.",
    FOLLOWED: "The written plan was followed.",
    DEPARTED: "The study departs from its written plan.",
}
OPEN = {  # what one comparison and several are, in the sentence over all
    Case.UNDECIDED: ("is undecided", "are undecided"),
    Case.TOO_FEW: ("has too few seeds", "have too few seeds"),
    Case.NOT_COMPARABLE: ("is not comparable", "are not comparable"),
}


def sentence(verdict: Verdict) -> str:
    """The verdict: its case, who, by how much, after what, and with how many seeds."""
    said = f"{TITLES[verdict.case]}: {CASES[verdict.case](verdict)}"
    return f"{'; '.join([said, *_ratio(verdict), _seeds(verdict)])}."


def details(verdict: Verdict) -> list[str]:
    """What stands behind it: test, means, what such runs show, score, steps of the simulator, settings, plan."""
    parts = (_test, _samples, _power, _hidden, _score, _steps, _settings)
    known = [] if verdict.case is Case.NOT_COMPARABLE else [said for part in parts for said in part(verdict)]
    return [*known, PLANS[verdict.plan]]


def result(verdicts: Sequence[Verdict]) -> str:
    """One sentence over all comparisons; empty without any."""
    if not verdicts:
        return ""
    where: dict[tuple[str, str], dict[str, None]] = {}  # each finding was made
    for one in verdicts:
        if one.case in (Case.DECIDED, Case.EQUIVALENT):
            where.setdefault(_short(one), {})[one.env] = None
    found: dict[tuple[str, str], list[str]] = {}  # those of one algorithm at the same place
    for (words, other), envs in where.items():
        found.setdefault((words, _listed(list(envs))), []).append(other)
    said = [f"{words}{_listed(others)} on {place}" for (words, place), others in found.items()]
    more = [f"{len(said) - MOST} more findings"] if len(said) > MOST else []
    left = _listed(list(_left_open(verdicts)))
    if not said:
        return f"Nothing is decided: {left}."
    return "; ".join([*said[:MOST], *more, *filter(None, [left])]) + "."


def _left_open(verdicts: Sequence[Verdict]) -> Iterator[str]:
    cases = [case for case in OPEN if any(one.case is case for one in verdicts)]
    for case in cases:
        many = sum(one.case is case for one in verdicts)
        yield f"{counted(many, 'comparison') if case is cases[0] else f'{many:,}'} {OPEN[case][many > 1]}"


def _short(verdict: Verdict) -> tuple[str, str]:
    """A finding without its size and place, and the algorithm that it ends with."""
    if verdict.case is Case.EQUIVALENT:
        return f"{verdict.first.name} and {verdict.second.name} differ by less than {_margin(verdict)}", ""
    better, worse = verdict.ordered
    return f"{better.name} {'scores' if _outcome(verdict).by_means else 'mostly scores'} above ", worse.name


def _decided(verdict: Verdict) -> str:
    outcome = _outcome(verdict)
    found = outcome.difference
    better, worse = verdict.ordered
    if not outcome.by_means:
        pairs = 100 * max(found.probability, 1 - found.probability)
        return (
            f"runs of {better.name} mostly score above those of {worse.name} {_where(verdict)}, in {pairs:.0f} of 100 "
            "pairs, but no difference of the means is shown"
        )
    low, high = sorted(map(abs, found.interval))
    size = with_interval(abs(found.difference), low, high)
    return f"{better.name} scores above {worse.name} {_where(verdict)}, by {size} in the mean"


def _equivalent(verdict: Verdict) -> str:
    return f"{_both(verdict)} differ by less than {_margin(verdict)}"


def _undecided(verdict: Verdict) -> str:
    found = _outcome(verdict).difference
    return f"{_both(verdict)}, difference {with_interval(found.difference, *found.interval)}"


def _not_comparable(verdict: Verdict) -> str:
    return f"{_both(verdict)}: {verdict.reason}"


def _both(verdict: Verdict) -> str:
    return f"{verdict.first.name} and {verdict.second.name} {_where(verdict)}"


TITLES = {case: case.capitalize() for case in Case} | {Case.TOO_FEW: "Undecided, too few seeds"}
CASES: dict[Case, Callable[[Verdict], str]] = {
    Case.DECIDED: _decided,
    Case.EQUIVALENT: _equivalent,
    Case.UNDECIDED: _undecided,
    Case.TOO_FEW: _both,
    Case.NOT_COMPARABLE: _not_comparable,
}


def _where(verdict: Verdict) -> str:
    return f"on {verdict.env} after {verdict.budget}"


def _margin(verdict: Verdict) -> str:
    return f"{100 * verdict.margin:g} %"


def _ratio(verdict: Verdict) -> list[str]:
    if not verdict.ratio > SIMILAR:
        return []
    return [f"{verdict.by_steps[0].name} used {verdict.ratio:.1f} times the simulator steps"]


def _seeds(verdict: Verdict) -> str:
    one, two = (len(side.scores) for side in (verdict.first, verdict.second))
    said = f"{counted(one, 'seed')} each" if one == two else f"{one} and {counted(two, 'seed')}"
    return f"{said}, {FEWEST_RUNS} are needed" if verdict.case is Case.TOO_FEW else said


def _test(verdict: Verdict) -> Iterator[str]:
    outcome = _outcome(verdict)
    if verdict.case is Case.TOO_FEW:
        return
    low, high = map(number, outcome.difference.interval)
    p = f"= {p_value(outcome.p)}".replace("= <", "< ")
    yield (
        f"Difference of the means {number(outcome.difference.difference)}, 95 % interval {low} to {high} (Welch); "
        f"p {p}{_corrected(outcome)}."
    )


def _corrected(outcome: Ruling) -> str:
    if outcome.of_a_plan:
        return f", where this look of the plan stops at {outcome.boundary:.2g}"
    return f" after correction for {outcome.tests} tests" if outcome.tests > 1 else ""


def _samples(verdict: Verdict) -> Iterator[str]:
    sides = verdict.first, verdict.second
    if verdict.case is Case.TOO_FEW:
        points = [f"{one.name} {', '.join(map(number, one.scores))}" for one in sides]
        yield f"Scores: {'; '.join(points)}."
    else:
        yield f"Means: {' and '.join(f'{one.name} {number(mean(one.scores))}' for one in sides)}."
    for one in sides:
        if len(one.runs) > len(one.seeds):
            yield f"The seeds of {one.name} have {len(one.runs)} runs; a seed counts by the mean of its runs."


def _power(verdict: Verdict) -> Iterator[str]:
    """The smallest difference that could have been found, and how many seeds are missing."""
    outcome = _outcome(verdict)
    if verdict.case not in (Case.UNDECIDED, Case.TOO_FEW):
        return
    found, wanted = outcome.difference.detectable, _margin(verdict)
    if found == found:
        yield f"Such runs show differences from {number(found)} on."
    if verdict.case is Case.TOO_FEW:
        fewest = min(len(verdict.first.scores), len(verdict.second.scores))
        yield f"A test begins with {counted(FEWEST_RUNS - fewest, 'more seed')} a side."
        if found != found:
            return
    if outcome.seeds_missing is None:
        yield f"No number of seeds within reach shows a difference of {wanted}."
        return
    if not outcome.seeds_missing:
        yield f"These seeds are enough for a difference of {wanted} ({number(outcome.margin)})."
        return
    many = outcome.seeds_missing > MOST_SEEDS
    more = f"{'More than' if many else 'About'} {counted(min(MOST_SEEDS, outcome.seeds_missing), 'more seed')}"
    yield f"{more} a side would show a difference of {wanted} ({number(outcome.margin)})."


def _hidden(verdict: Verdict) -> Iterator[str]:
    """What seeds that did not fail leave open."""
    if verdict.case in (Case.DECIDED, Case.EQUIVALENT):
        seeds = min(len(verdict.first.scores), len(verdict.second.scores))
        yield (
            f"{seeds} seeds can miss failures of up to {100 * unseen_failures(seeds):.0f} % of the runs, which would "
            "change the means."
        )


def _score(verdict: Verdict) -> Iterator[str]:
    yield f"Score: {verdict.score[0].lower()}{verdict.score[1:]}."


def _steps(verdict: Verdict) -> Iterator[str]:
    if verdict.ratio > SIMILAR:
        used = " and ".join(f"{one.name} {steps(one.simulator_steps)}" for one in verdict.by_steps)
        yield f"Simulator steps: {used}{_at_equal(verdict)}."


def _at_equal(verdict: Verdict) -> str:
    if verdict.equal_steps is None:
        return ""
    one, two = map(number, verdict.equal_steps)
    return f"; after as many for both {verdict.first.name} is at {one} and {verdict.second.name} at {two}"


def _settings(verdict: Verdict) -> Iterator[str]:
    if verdict.defaults:
        yield "Defaults against defaults: no setting was overridden."
    if verdict.unequal:
        listed = [f"{name} {a} and {b}" for name, (a, b) in list(verdict.unequal.items())[:MOST]]
        more = [f"{len(verdict.unequal) - MOST} more"] if len(verdict.unequal) > MOST else []
        yield f"Settings differ: {'; '.join([*listed, *more])}."


def _outcome(verdict: Verdict) -> Ruling:
    assert verdict.outcome is not None
    return verdict.outcome


def _listed(texts: Sequence[str]) -> str:
    """One, two and three."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1]))) if texts else ""
