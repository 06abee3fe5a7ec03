"""A verdict in words: one sentence with its case, what a reader has to know beside it, and one sentence over many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from erlbench.reporting.documents.formats import interval, number, p_value, steps, with_interval
from erlbench.reporting.statistics.estimates import mean
from erlbench.reporting.statistics.intervals import FEWEST_RUNS
from erlbench.reporting.verdict.rule import Case, Ruling, seeds_for_tests, unseen_failures
from erlbench.reporting.verdict.value import SIMILAR, Verdict
from erlbench.words import counted

MOST = 4  # settings that are listed, and findings in the sentence over all
MOST_SEEDS = 1000  # that are counted
OPEN = {  # what one comparison and several are, in the sentence over all
    Case.UNDECIDED: ("is undecided", "are undecided"),
    Case.TOO_FEW: ("has too few seeds", "have too few seeds"),
    Case.NOT_COMPARABLE: ("is not comparable", "are not comparable"),
}


def sentence(verdict: Verdict) -> str:
    """The verdict: its case, who, by how much, after what, and with how many seeds."""
    said = f"{_title(verdict)}: {CASES[verdict.case](verdict)}"
    return f"{'; '.join([said, *_ratio(verdict), _seeds(verdict)])}."


def details(verdict: Verdict) -> list[str]:
    """What stands behind it: test, means, what such runs show, score, steps of the simulator, settings."""
    parts = (_test, _samples, _power, _hidden, _score, _steps, _settings)
    return [] if verdict.case is Case.NOT_COMPARABLE else [said for part in parts for said in part(verdict)]


def result(verdicts: Sequence[Verdict]) -> str:
    """One sentence over all comparisons; empty without any."""
    if not verdicts:
        return ""
    where: dict[tuple[str, str], dict[str, None]] = {}  # each finding was made
    for one in verdicts:
        if one.case in (Case.DECIDED, Case.SMALL, Case.EQUIVALENT):
            where.setdefault(_short(one), {})[one.env] = None
    found: dict[tuple[str, str], list[str]] = {}  # those of one algorithm at the same place
    for (words, other), envs in where.items():
        found.setdefault((words, _listed(list(envs))), []).append(other)
    said = [f"{words}{_listed(others)} on {place}" for (words, place), others in found.items()]
    if said and said[0].startswith("runs of "):
        said[0] = said[0][0].upper() + said[0][1:]
    more = [f"{len(said) - MOST} more findings"] if len(said) > MOST else []
    left = _listed(list(_left_open(verdicts)))
    if any(one.outcome is not None and one.outcome.decidable for one in verdicts):
        return "; ".join([*said[:MOST], *more, *filter(None, [left])]) + "." if said else f"Nothing is decided: {left}."
    return f"No comparison can be decided: {'; '.join([left, *_enough(verdicts)])}."


def _enough(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """How many seeds the tests need, where there are some that no scores could decide."""
    tests = [one.outcome.tests for one in verdicts if one.outcome is not None and one.case is not Case.TOO_FEW]
    if tests:
        yield f"{counted(max(tests), 'test')} need {seeds_for_tests(max(tests))} seeds per side"


def _left_open(verdicts: Sequence[Verdict]) -> Iterator[str]:
    cases = [case for case in OPEN if any(one.case is case for one in verdicts)]
    for case in cases:
        many = sum(one.case is case for one in verdicts)
        yield f"{counted(many, 'comparison') if case is cases[0] else f'{many:,}'} {OPEN[case][many > 1]}"


def _short(verdict: Verdict) -> tuple[str, str]:
    """A finding without its size and place, and the algorithm that it ends with."""
    if verdict.case is Case.EQUIVALENT:
        return f"{verdict.first.name} and {verdict.second.name} are equivalent, within {_margin(verdict)},", ""
    better, worse = verdict.ordered
    by = ""
    if verdict.case is Case.SMALL:
        by = ", with a lower mean," if _lower(verdict) else f" by less than {_margin(verdict)}"
    return f"runs of {better.name} score higher{by} than runs of ", worse.name


def _decided(verdict: Verdict) -> str:
    return f"{_higher(verdict)}; the means of these runs differ by {number(_outcome(verdict).difference.gain)}"


def _small(verdict: Verdict) -> str:
    gain = _outcome(verdict).difference.gain
    if _lower(verdict):
        return f"{_higher(verdict)}, but the mean of {verdict.ordered[0].name} is {number(-gain)} lower in these runs"
    return f"{_higher(verdict)}; the means of these runs differ by {number(gain)}{_beside_margin(verdict)}"


def _higher(verdict: Verdict) -> str:
    """Whose runs score higher, where, and with which probability."""
    found = _outcome(verdict).difference
    better, worse = verdict.ordered
    probability = (found.probability, *found.probability_interval)
    if better is not verdict.first:
        middle, low, high = probability
        probability = (1 - middle, 1 - high, 1 - low)
    return (
        f"runs of {better.name} score higher than runs of {worse.name} {_where(verdict)} (P = {interval(*probability)})"
    )


def _lower(verdict: Verdict) -> bool:
    """Whether the side whose runs score higher more often has the lower mean."""
    return _outcome(verdict).difference.gain < 0


def _equivalent(verdict: Verdict) -> str:
    found = _outcome(verdict)
    size = with_interval(found.difference.difference, *found.difference.interval)
    return f"{_both(verdict)}; the means of these runs differ by {size}{_beside_margin(verdict)}"


def _undecided(verdict: Verdict) -> str:
    found = _outcome(verdict).difference
    return f"{_both(verdict)}, mean difference {with_interval(found.difference, *found.interval)}"


def _not_comparable(verdict: Verdict) -> str:
    return f"{_both(verdict)}: {verdict.reason}"


def _both(verdict: Verdict) -> str:
    return f"{verdict.first.name} and {verdict.second.name} {_where(verdict)}"


def _title(verdict: Verdict) -> str:
    if verdict.case is Case.SMALL:
        return "Higher, with a lower mean" if _lower(verdict) else f"Higher by less than {_margin(verdict)}"
    return "Undecided, too few seeds" if verdict.case is Case.TOO_FEW else verdict.case.capitalize()


CASES: dict[Case, Callable[[Verdict], str]] = {
    Case.DECIDED: _decided,
    Case.SMALL: _small,
    Case.EQUIVALENT: _equivalent,
    Case.UNDECIDED: _undecided,
    Case.TOO_FEW: _both,
    Case.NOT_COMPARABLE: _not_comparable,
}


def _where(verdict: Verdict) -> str:
    return f"on {verdict.env} after {verdict.budget}"


def _beside_margin(verdict: Verdict) -> str:
    return f" ({_margin(verdict)} is {number(_outcome(verdict).margin)})"


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
    size = with_interval(outcome.difference.difference, *outcome.difference.interval)
    p = f"= {p_value(outcome.p)}".replace("= <", "< ")
    yield f"Mean difference {size} (Welch's 95 % interval); p {p} {_corrected(outcome)}."


def _corrected(outcome: Ruling) -> str:
    correction = f" after correction for {outcome.tests} tests" if outcome.tests > 1 else ""
    return f"of the ranks{correction}, level {outcome.difference.level:g}"


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
    outcome, missing = _outcome(verdict), _outcome(verdict).seeds_missing
    if verdict.case is Case.TOO_FEW:
        yield f"{counted(missing or 0, 'more seed')} per side {'is' if missing == 1 else 'are'} needed for a test."
    if verdict.case is not Case.UNDECIDED:
        return
    if not outcome.decidable:
        least = p_value(min(1.0, outcome.least_p))
        level = f"{outcome.difference.level:g}"
        yield f"So few seeds cannot decide: the smallest p that they can have is {least}, level {level}."
    elif outcome.detectable == outcome.detectable:
        yield f"Differences from about {number(outcome.detectable)} on are found in 80 of 100 such studies."
    wanted = f"a difference of {_margin(verdict)} ({number(outcome.margin)})"
    if missing is None:
        yield f"No number of seeds within reach shows a difference of {_margin(verdict)}."
    elif not missing:
        yield f"These seeds are enough for {wanted}."
    else:
        many = missing > MOST_SEEDS
        more = f"{'More than' if many else 'About'} {counted(min(MOST_SEEDS, missing), 'more seed')}"
        yield f"{more} per side would show {wanted}."


def _hidden(verdict: Verdict) -> Iterator[str]:
    """What seeds that did not fail leave open."""
    if verdict.case in (Case.DECIDED, Case.SMALL, Case.EQUIVALENT):
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
