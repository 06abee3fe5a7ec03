"""Comparisons in words: one sentence with its case, what a reader has to know beside it, and one sentence over many.

A pair is a row of `compare_pairs`, an answer a record of `answer_study`. `verdict.json` holds both.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from erlbench.reporting.documents.formats import interval, number, p_value, steps, with_interval
from erlbench.reporting.statistics.estimates import FEWEST_RUNS, mean
from erlbench.reporting.statistics.significance import MARGIN, Case, seeds_for_tests, unseen_failures
from erlbench.reporting.verdict.answers import Standing
from erlbench.reporting.verdict.pairs import SIMILAR, Record
from erlbench.words import counted

FILE, FORMAT = "verdict.json", 3
DIGITS = 10  # significant ones in the file: the last differ between processors
MOST = 4  # settings that are listed, and findings in the sentence over all
MOST_SEEDS = 1000  # that are counted
SHARE = f"{100 * MARGIN:g} %"
VALUES = (
    "case", "reason", "env", "budget", "axis", "score", "first", "second", "origin", "equal_steps", "unequal",
    "defaults",
)  # fmt: skip
DIFFER = (Case.DECIDED, Case.SMALL)
OPEN = {  # what one comparison and several are, in the sentence over all
    Case.UNDECIDED: ("is undecided", "are undecided"),
    Case.TOO_FEW: ("has too few seeds", "have too few seeds"),
    Case.NOT_COMPARABLE: ("is not comparable", "are not comparable"),
}


def sentence(pair: Any) -> str:
    """A comparison: its case, who, by how much, after what, and with how many seeds."""
    seeds = _seeds(pair.first, pair.second)
    if pair.case == Case.TOO_FEW:
        seeds += f", {FEWEST_RUNS} are needed"
    return f"{'; '.join(filter(None, (f'{_title(pair)}: {_finding(pair)}', _more_steps(pair), seeds)))}."


def select_spoken(cases: Sequence[str]) -> list[int]:
    """The places of the comparisons that have a sentence of their own, decided ones first.

    Those with too few seeds have one together, `result`, unless there is only one comparison.
    """
    ranks = list(Case)
    spoken = [i for i, case in enumerate(cases) if case != Case.TOO_FEW or len(cases) == 1]
    return sorted(spoken, key=lambda i: ranks.index(Case(cases[i])))


def order(pair: Any) -> tuple[SimpleNamespace, SimpleNamespace]:
    """The better one, the worse one, by the ranks."""
    return (pair.first, pair.second) if pair.probability_better > 0.5 else (pair.second, pair.first)


def _title(pair: Any) -> str:
    if pair.case == Case.SMALL:
        return "Higher, with a lower mean" if pair.gain < 0 else f"Higher by less than {SHARE}"
    return "Undecided, too few seeds" if pair.case == Case.TOO_FEW else str(pair.case).capitalize()


def _finding(pair: Any) -> str:
    where = f"on {pair.env} after {pair.budget}"
    both = f"{pair.first.name} and {pair.second.name} {where}"
    size = with_interval(pair.difference, pair.difference_low, pair.difference_high)
    beside = "" if pair.case in (Case.DECIDED, Case.NOT_COMPARABLE) else f" ({SHARE} is {number(pair.margin)})"
    if pair.case in DIFFER:
        better, worse = order(pair)
        probability = pair.probability_better, pair.probability_low, pair.probability_high
        if better is not pair.first:
            middle, low, high = probability
            probability = (1 - middle, 1 - high, 1 - low)
        higher = f"runs of {better.name} score higher than runs of {worse.name} {where}"
        higher += f" (P = {interval(*probability)})"
        if pair.case == Case.SMALL and pair.gain < 0:
            return f"{higher}, but the mean of {better.name} is {number(-pair.gain)} lower in these runs"
        return f"{higher}; the means of these runs differ by {number(pair.gain)}{beside}"
    if pair.case == Case.EQUIVALENT:
        return f"{both}; the means of these runs differ by {size}{beside}"
    if pair.case == Case.UNDECIDED:
        return f"{both}, mean difference {size}"
    return both if pair.case == Case.TOO_FEW else f"{both}: {pair.reason}"


def _seeds(first: SimpleNamespace, second: SimpleNamespace) -> str:
    one, two = len(first.scores), len(second.scores)
    return f"{counted(one, 'seed')} each" if one == two else f"{one} and {counted(two, 'seed')}"


def _by_steps(pair: Any) -> tuple[SimpleNamespace, SimpleNamespace, float]:
    """The side that used more steps of the simulator, the other one, and how many times as many it used."""
    first, second = pair.first, pair.second
    if first.simulator_steps < second.simulator_steps:
        first, second = second, first
    few = second.simulator_steps
    return first, second, first.simulator_steps / few if few > 0 else math.nan


def _more_steps(pair: Any) -> str:
    """Which side used more steps of the simulator, where that is much."""
    more, _, ratio = _by_steps(pair)
    return f"{more.name} used {ratio:.1f} times the simulator steps" if ratio > SIMILAR else ""


def details(pair: Any) -> list[str]:
    """What stands behind it: test, means, what such runs show, score, steps of the simulator, settings."""
    return [] if pair.case == Case.NOT_COMPARABLE else [*_numbers(pair), *_power(pair), *_circumstances(pair)]


def _numbers(pair: Any) -> Iterator[str]:
    sides = pair.first, pair.second
    if pair.case == Case.TOO_FEW:
        points = [f"{one.name} {', '.join(map(number, one.scores))}" for one in sides]
        yield f"Scores: {'; '.join(points)}."
    else:
        size = with_interval(pair.difference, pair.difference_low, pair.difference_high)
        p = f"= {p_value(pair.p_holm)}".replace("= <", "< ")
        correction = f" after correction for {pair.tests} tests" if pair.tests > 1 else ""
        yield (f"Mean difference {size} (Welch's 95 % interval); p {p} of the ranks{correction}, level {pair.level:g}.")
        yield f"Means: {' and '.join(f'{one.name} {number(mean(one.scores))}' for one in sides)}."
    for one in sides:
        if len(one.runs) > len(one.seeds):
            name, runs = one.name, len(one.runs)
            yield f"The seeds of {name} have {runs} runs; a seed counts by the mean of its runs."


def _power(pair: Any) -> Iterator[str]:
    """The smallest difference that could have been found, how many seeds are missing, and what they may hide."""
    missing = pair.seeds_missing
    if pair.case == Case.TOO_FEW:
        yield f"{counted(missing or 0, 'more seed')} per side {'is' if missing == 1 else 'are'} needed for a test."
    elif pair.case != Case.UNDECIDED:
        seeds = min(pair.n, pair.n_against)
        yield (
            f"{seeds} seeds can miss failures of up to {100 * unseen_failures(seeds):.0f} % of the runs, which would "
            "change the means."
        )
    if pair.case != Case.UNDECIDED:
        return
    if not pair.decidable:
        least, level = p_value(min(1.0, pair.least_p)), f"{pair.level:g}"
        yield f"So few seeds cannot decide: the smallest p that they can have is {least}, level {level}."
    elif not math.isnan(pair.detectable_difference):
        yield f"Differences from about {number(pair.detectable_difference)} on are found in 80 of 100 such studies."
    wanted = f"a difference of {SHARE} ({number(pair.margin)})"
    if missing is None:
        yield f"No number of seeds within reach shows a difference of {SHARE}."
    elif not missing:
        yield f"These seeds are enough for {wanted}."
    else:
        many = missing > MOST_SEEDS
        more = f"{'More than' if many else 'About'} {counted(min(MOST_SEEDS, missing), 'more seed')}"
        yield f"{more} per side would show {wanted}."


def _circumstances(pair: Any) -> Iterator[str]:
    yield f"Score: {pair.score[0].lower()}{pair.score[1:]}."
    more, less, ratio = _by_steps(pair)
    if ratio > SIMILAR:
        used = " and ".join(f"{one.name} {steps(one.simulator_steps)}" for one in (more, less))
        equal = ""
        if pair.equal_steps is not None:
            one, two = map(number, pair.equal_steps)
            first, second = pair.first.name, pair.second.name
            equal = f"; after as many for both {first} is at {one} and {second} at {two}"
        yield f"Simulator steps: {used}{equal}."
    if pair.defaults:
        yield "Defaults against defaults: no setting was overridden."
    if pair.unequal:
        listed = [f"{name} {a} and {b}" for name, (a, b) in list(pair.unequal.items())[:MOST]]
        listed += [f"{len(pair.unequal) - MOST} more"] if len(pair.unequal) > MOST else []
        yield f"Settings differ: {'; '.join(listed)}."


def result(pairs: Sequence[Any]) -> str:
    """One sentence over all comparisons; empty without any."""
    if not pairs:
        return ""
    where: dict[tuple[str, str], dict[str, None]] = {}  # each finding was made
    for one in pairs:
        if one.case in (*DIFFER, Case.EQUIVALENT):
            where.setdefault(_short(one), {})[one.env] = None
    together: dict[tuple[str, str], list[str]] = {}  # those of one algorithm at the same place
    for (words, other), envs in where.items():
        together.setdefault((words, _listed(list(envs))), []).append(other)
    findings = [f"{words}{_listed(others)} on {place}" for (words, place), others in together.items()]
    if findings and findings[0].startswith("runs of "):
        findings[0] = findings[0][0].upper() + findings[0][1:]
    more = [f"{len(findings) - MOST} more findings"] if len(findings) > MOST else []
    left = _listed(list(_left_open(pairs)))
    if any(one.decidable for one in pairs):
        said = "; ".join([*findings[:MOST], *more, *filter(None, [left])])
        return f"{said}." if findings else f"Nothing is decided: {left}."
    tests = max((one.tests for one in pairs if one.case not in (Case.TOO_FEW, Case.NOT_COMPARABLE)), default=0)
    needed = f"; {counted(tests, 'test')} need {seeds_for_tests(tests)} seeds per side" if tests else ""
    if all(one.case == Case.TOO_FEW for one in pairs):
        needed = f"; a test needs {FEWEST_RUNS} seeds per side"
    return f"No comparison can be decided: {left}{needed}."


def _left_open(pairs: Sequence[Any]) -> Iterator[str]:
    cases = [case for case in OPEN if any(one.case == case for one in pairs)]
    for case in cases:
        many = sum(one.case == case for one in pairs)
        yield f"{counted(many, 'comparison') if case is cases[0] else f'{many:,}'} {OPEN[case][many > 1]}"


def _short(pair: Any) -> tuple[str, str]:
    """A finding without its size and place, and the algorithm that it ends with."""
    if pair.case == Case.EQUIVALENT:
        return f"{pair.first.name} and {pair.second.name} are equivalent, within {SHARE},", ""
    better, worse = order(pair)
    by = ""
    if pair.case == Case.SMALL:
        by = ", with a lower mean," if pair.gain < 0 else f" by less than {SHARE}"
    return f"runs of {better.name} score higher{by} than runs of ", worse.name


def _listed(texts: Sequence[str]) -> str:
    """One, two and three."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1]))) if texts else ""


def answer_sentence(answer: Any) -> str:
    """An answer in a line: its verdict, the pair, the effect with its interval, the claimed size, the seeds."""
    verdict = answer.standing or (Standing.TOO_FEW if answer.case == Case.TOO_FEW else answer.case or Standing.NOT_RUN)
    pair = f"{str(verdict).capitalize()}: {answer.first} against {answer.second} on {answer.env}"
    claimed = f" (claimed: {answer.claimed})" if answer.claimed else ""
    if answer.samples is None:
        return f"{pair}{claimed}."
    if answer.reason:
        return f"{pair}, {answer.measure}: {answer.reason}."
    effect = f"{pair}, {answer.measure}: {effect_words(answer)}{claimed}"
    sides = SimpleNamespace(first=answer.samples[0], second=answer.samples[1])
    seeds, missing = _seeds(*answer.samples), answer.outcome["seeds_missing"]
    if missing and missing <= MOST_SEEDS:
        seeds += (
            f", {missing} more per side are needed for a test" if answer.case == Case.TOO_FEW
            else f", about {missing} more per side would show a difference of {SHARE}"
        )  # fmt: skip
    return f"{'; '.join(filter(None, (effect, _more_steps(sides), seeds, answer.note)))}."


def effect_words(answer: Any) -> str:
    """The effect with its interval and its direction; a dash where there is none."""
    size = with_interval(*answer.effect)
    if not answer.claimed:
        return f"mean difference {size}"
    word = answer.claimed.rpartition(" ")[2]
    return f"{size}{' %' if answer.in_percent else ''} {word}"


def write_verdicts(path: Path, pages: Mapping[str, Sequence[Any]], answers: Iterable[Any] = ()) -> None:
    """Write the answers of studies and the comparisons of each page to a file."""
    verdicts = {page: [pair_values(one) for one in pairs] for page, pairs in pages.items()}
    results = {page: result(pairs) for page, pairs in pages.items()}
    stored = {"format": FORMAT, "studies": [*map(answer_values, answers)], "results": results, "verdicts": verdicts}
    path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def pair_values(pair: Any) -> Record:
    """A comparison as JSON holds it."""
    outcome = None
    if pair.case != Case.NOT_COMPARABLE:
        outcome = {**_outcome(pair._asdict()), "detectable": pair.detectable_difference}
    values: Record = json_values({
        **{name: getattr(pair, name) for name in VALUES}, "outcome": outcome, "margin": MARGIN,
        "sentence": sentence(pair), "details": details(pair),
    })  # fmt: skip
    return values


def _outcome(found: Mapping[str, Any]) -> Record:
    """What the rule says of two samples, as the file has it."""
    difference = {
        "runs": (found["n"], found["n_against"]), "stds": (found["std"], found["std_against"]),
        "difference": found["difference"], "interval": (found["difference_low"], found["difference_high"]),
        "p": found["p_rank"], "probability": found["probability_better"],
        "probability_interval": (found["probability_low"], found["probability_high"]),
    }  # fmt: skip
    more = {name: found[name] for name in ("case", "margin", "seeds_missing")}
    return {**more, "tests": max(1, found["tests"]), "difference": difference, "p": found["p_holm"]}


def answer_values(answer: Any) -> Record:
    """A study with the answers of its pairs as JSON holds it."""
    study = answer.study
    values: Record = json_values({
        "study": study.name, "sha256": study.sha256, "title": study.title, "claim": study.claim,
        "source": study.source, "profile": answer.profile, "standing": answer.standing,
        "pairs": [
            {**vars(one), "outcome": _outcome(one.outcome) if one.outcome else None, "sentence": answer_sentence(one)}
            for one in answer.answers
        ],
        "differences": answer.differences,
    })  # fmt: skip
    return values


def json_values(value: Any) -> Any:
    """A value as JSON holds it: NaN is null, numbers have `DIGITS` significant digits."""
    if isinstance(value, SimpleNamespace):
        value = vars(value)
    if isinstance(value, Mapping):
        return {str(name): json_values(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value
