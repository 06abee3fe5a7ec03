"""Comparisons in words: a sentence for each with its details, and one sentence over many.

A pair is a row of `compare_pairs`, an answer a record of `answer_study`. `verdict.json` holds both.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from erlbench.reporting.answers import Standing
from erlbench.reporting.documents import Record
from erlbench.reporting.formats import interval, list_first, number, p_value, steps, with_interval
from erlbench.reporting.page_cells import UNRECORDED
from erlbench.reporting.pairs import SIMILAR
from erlbench.reporting.significance import MARGIN, Case, seeds_for_tests, unseen_failures
from erlbench.reporting.statistics import FEWEST_RUNS, group_items, mean
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
DIFFER = (Case.DECIDED, Case.RANKS)
OPEN = {  # what one comparison and several are, in the sentence over all
    Case.UNDECIDED: ("is undecided", "are undecided"),
    Case.TOO_FEW: ("has too few seeds", "have too few seeds"),
    Case.NOT_COMPARABLE: ("is not comparable", "are not comparable"),
}


def sentence(pair: Any) -> str:
    """A comparison: its case, who, by how much, after what, and with how many seeds."""
    pair = best_first(pair)
    case, needed = pair.case, ""
    where = f"on {pair.env}" + f" after {pair.budget}" * (pair.budget != UNRECORDED)
    first, second = pair.first.name, pair.second.name
    size = with_interval(pair.difference, pair.difference_low, pair.difference_high)
    margin = f" ({SHARE} is {number(pair.margin)})" if case in (Case.RANKS, Case.EQUIVALENT) else ""
    finding = f"{case.capitalize()}: {first} and {second} {where}"
    if case in DIFFER:
        better = interval(pair.probability_better, pair.probability_low, pair.probability_high)
        means = f"; the means of these runs differ by {number(pair.gain)}{margin}"
        title = "Decided" if case == Case.DECIDED else f"Higher by less than {SHARE}"
        if case == Case.RANKS and pair.gain < 0:
            title, means = (
                "Higher, with a lower mean",
                f", but the mean of {first} is {number(-pair.gain)} lower in these runs",
            )
        finding = f"{title}: runs of {first} score higher than runs of {second} {where} (P = {better}){means}"
    elif case == Case.EQUIVALENT:
        finding += f"; the means of these runs differ by {size}{margin}"
    elif case == Case.UNDECIDED:
        finding += f", mean difference {size}"
    elif case == Case.TOO_FEW:
        finding, needed = f"Undecided, too few seeds: {first} and {second} {where}", f", {FEWEST_RUNS} are needed"
    else:
        finding += f": {pair.reason}"
    sides = pair.first, pair.second
    return f"{'; '.join(filter(None, (finding, _describe_steps(*sides), _count_seeds(*sides) + needed)))}."


def select_spoken(cases: Sequence[str]) -> list[int]:
    """The places of the comparisons that have a separate sentence, decided ones first.

    Comparisons with too few seeds share one, `result`, unless there is only one comparison.
    """
    ranks = list(Case)
    spoken = [i for i, case in enumerate(cases) if case != Case.TOO_FEW or len(cases) == 1]
    return sorted(spoken, key=lambda i: ranks.index(Case(cases[i])))


def best_first(pair: Any) -> Any:
    """The comparison with the better side by the ranks first, where the rule names one."""
    if pair.case not in DIFFER or pair.probability_better > 0.5:
        return pair
    return pair._replace(
        first=pair.second, second=pair.first, n=pair.n_against, n_against=pair.n,
        difference=-pair.difference, difference_low=-pair.difference_high, difference_high=-pair.difference_low,
        probability_better=1 - pair.probability_better, probability_low=1 - pair.probability_high,
        probability_high=1 - pair.probability_low, equal_steps=pair.equal_steps and pair.equal_steps[::-1],
        unequal={name: values[::-1] for name, values in pair.unequal.items()},
    )  # fmt: skip


def _count_seeds(first: SimpleNamespace, second: SimpleNamespace) -> str:
    n, m = len(first.scores), len(second.scores)
    return f"{counted(n, 'seed')} each" if n == m else f"{n} and {counted(m, 'seed')}"


def _sort_by_steps(first: SimpleNamespace, second: SimpleNamespace) -> list[SimpleNamespace]:
    """The side that used many more steps of the simulator, and the other one; none where both used about as many."""
    less, more = sorted((second, first), key=lambda side: side.simulator_steps)
    return [more, less] if less.simulator_steps > 0 and more.simulator_steps / less.simulator_steps > SIMILAR else []


def _describe_steps(first: SimpleNamespace, second: SimpleNamespace) -> str:
    """Which side used more steps of the simulator, where that is much."""
    if not (sides := _sort_by_steps(first, second)):
        return ""
    more, less = sides
    return f"{more.name} used {more.simulator_steps / less.simulator_steps:.1f} times the simulator steps"


def details(pair: Any) -> list[str]:
    """The details of a comparison: test, means, power, score, simulator steps, settings."""
    pair = best_first(pair)
    return (
        []
        if pair.case == Case.NOT_COMPARABLE
        else [*_describe_numbers(pair), *_describe_power(pair), *_describe_circumstances(pair)]
    )


def _describe_numbers(pair: Any) -> Iterator[str]:
    sides = pair.first, pair.second
    if pair.case == Case.TOO_FEW:
        yield f"Scores: {'; '.join(f'{side.name} ' + ', '.join(map(number, side.scores)) for side in sides)}."
    else:
        size = with_interval(pair.difference, pair.difference_low, pair.difference_high)
        p = f"= {p_value(pair.p_holm)}".replace("= <", "< ")
        correction = f" after correction for {pair.tests} tests" if pair.tests > 1 else ""
        yield f"Mean difference {size} (Welch's 95 % interval); p {p} of the ranks{correction}, level {pair.level:g}."
        yield f"Means: {' and '.join(f'{side.name} {number(mean(side.scores))}' for side in sides)}."
    for side in sides:
        if len(side.runs) > len(side.seeds):
            yield f"The seeds of {side.name} have {len(side.runs)} runs; a seed counts by the mean of its runs."


def _describe_power(pair: Any) -> Iterator[str]:
    """The smallest difference that could have been found, how many seeds are missing, and what they may hide."""
    missing, seeds = pair.seeds_missing, min(pair.n, pair.n_against)
    if pair.case == Case.TOO_FEW:
        yield f"{counted(missing or 0, 'more seed')} per side {'is' if missing == 1 else 'are'} needed for a test."
    elif pair.case != Case.UNDECIDED:
        share = 100 * unseen_failures(seeds)
        yield f"{seeds} seeds can miss failures of up to {share:.0f} % of the runs, which would change the means."
    if pair.case != Case.UNDECIDED:
        return
    if not pair.decidable:
        least = p_value(min(1.0, pair.least_p))
        yield f"So few seeds cannot decide: the smallest p that they can have is {least}, level {pair.level:g}."
    elif not math.isnan(pair.detectable_difference):
        yield f"Differences from about {number(pair.detectable_difference)} on are found in 80 of 100 such studies."
    wanted = f"a difference of {SHARE} ({number(pair.margin)})"
    if missing is None:
        yield f"No number of seeds within reach shows a difference of {SHARE}."
    elif not missing:
        yield f"These seeds are enough for {wanted}."
    else:
        more = f"{'More than' if missing > MOST_SEEDS else 'About'} {counted(min(MOST_SEEDS, missing), 'more seed')}"
        yield f"{more} per side would show {wanted}."


def _describe_circumstances(pair: Any) -> Iterator[str]:
    yield f"Score: {pair.score[0].lower()}{pair.score[1:]}."
    if sides := _sort_by_steps(pair.first, pair.second):
        used = " and ".join(f"{side.name} {steps(side.simulator_steps)}" for side in sides)
        if pair.equal_steps is not None:
            first_mean, second_mean = map(number, pair.equal_steps)
            used += (
                f"; after as many for both {pair.first.name} is at {first_mean} and {pair.second.name} at {second_mean}"
            )
        yield f"Simulator steps: {used}."
    if pair.defaults:
        yield "Defaults against defaults: no setting was overridden."
    if pair.unequal:
        listed = [f"{name} {a} and {b}" for name, (a, b) in pair.unequal.items()]
        yield f"Settings differ: {'; '.join(list_first(listed, MOST))}."


def result(pairs: Sequence[Any]) -> str:
    """One sentence over all comparisons; empty without any."""
    if not pairs:
        return ""
    where = group_items((_shorten_finding(pair), pair.env) for pair in pairs if pair.case in (*DIFFER, Case.EQUIVALENT))
    # Findings on one algorithm at the same place
    together = group_items(((words, _listed([*dict.fromkeys(envs)])), other) for (words, other), envs in where.items())
    findings = [f"{words}{_listed(others)} on {place}" for (words, place), others in together.items()]
    if findings and findings[0].startswith("runs of "):
        findings[0] = findings[0][0].upper() + findings[0][1:]
    counts = {case: sum(pair.case == case for pair in pairs) for case in OPEN}
    left = [f"{many:,} {OPEN[case][many > 1]}" for case, many in counts.items() if many]
    if left:
        many, _, words = left[0].partition(" ")
        left[0] = f"{many} comparison{'s' * (many != '1')} {words}"
    if any(pair.decidable for pair in pairs):
        text = "; ".join([*list_first(findings, MOST, "more findings"), *filter(None, [_listed(left)])])
        return f"{text}." if findings else f"Nothing is decided: {text}."
    needed = f"; a test needs {FEWEST_RUNS} seeds per side"
    if counts[Case.TOO_FEW] < len(pairs):
        tests = max((pair.tests for pair in pairs if pair.case not in (Case.TOO_FEW, Case.NOT_COMPARABLE)), default=0)
        needed = f"; {counted(tests, 'test')} need {seeds_for_tests(tests)} seeds per side" if tests else ""
    return f"No comparison can be decided: {_listed(left)}{needed}."


def _shorten_finding(pair: Any) -> tuple[str, str]:
    """A finding without its size and place, and the algorithm that it ends with."""
    if pair.case == Case.EQUIVALENT:
        return f"{pair.first.name} and {pair.second.name} are equivalent, within {SHARE},", ""
    pair = best_first(pair)
    better, worse = pair.first, pair.second
    by = ", with a lower mean," if pair.gain < 0 else f" by less than {SHARE}"
    return f"runs of {better.name} score higher{by * (pair.case == Case.RANKS)} than runs of ", worse.name


def _listed(texts: Sequence[str]) -> str:
    """One, two and three."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def answer_sentence(answer: Any) -> str:
    """An answer in a line: its verdict, the pair, the effect with its interval, the claimed size, the seeds."""
    verdict = answer.standing or (Standing.TOO_FEW if answer.case == Case.TOO_FEW else answer.case or Standing.NOT_RUN)
    pair = f"{str(verdict).capitalize()}: {answer.first} against {answer.second} on {answer.env}"
    claimed = f" (claimed: {answer.claimed})" if answer.claimed else ""
    if answer.samples is None:
        return f"{pair}{claimed}."
    if answer.reason:
        return f"{pair}, {answer.measure}: {answer.reason}."
    seeds, missing = _count_seeds(*answer.samples), answer.outcome["seeds_missing"]
    if missing and missing <= MOST_SEEDS:
        few = f"; a test needs {missing} more per side"
        many = f", about {missing} more per side would show a difference of {SHARE}"
        seeds += few if answer.case == Case.TOO_FEW else many
    if not (answer.claimed or math.isnan(least := answer.outcome["detectable_difference"])):
        seeds += f", which detect differences from about {number(least)} on" * (answer.case == Case.UNDECIDED)
    effect = f"{pair}, {answer.measure}: {effect_words(answer)}{claimed}"
    return f"{'; '.join(filter(None, (effect, _describe_steps(*answer.samples), seeds, answer.note)))}."


def effect_words(answer: Any) -> str:
    """The effect with its interval and its direction; a dash where there is none."""
    size = with_interval(*answer.effect)
    word = answer.claimed.rpartition(" ")[2]
    return f"{size}{' %' * answer.in_percent} {word}" if word else f"mean difference {size}"


def write_verdicts(path: Path, pages: Mapping[str, Sequence[Any]], answers: Iterable[Any] = ()) -> None:
    """Write the answers of studies and the comparisons of each page to a file."""
    stored = {
        "format": FORMAT,
        "studies": [*map(_answer_values, answers)],
        "results": {page: result(pairs) for page, pairs in pages.items()},
        "verdicts": {page: [*map(pair_values, pairs)] for page, pairs in pages.items()},
    }
    path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def pair_values(pair: Any) -> Record:
    """A comparison as JSON holds it."""
    outcome = None
    if pair.case != Case.NOT_COMPARABLE:
        outcome = {**_outcome(pair._asdict()), "detectable": pair.detectable_difference}
    values: Record = json_values(
        {
            **{name: getattr(pair, name) for name in VALUES},
            "outcome": outcome,
            "margin": MARGIN,
            "sentence": sentence(pair),
            "details": details(pair),
        }
    )
    return values


def _outcome(row: Record) -> Record:
    """The ruling on two samples as the file has it."""
    difference = {
        "runs": (row["n"], row["n_against"]),
        "stds": (row["std"], row["std_against"]),
        "difference": row["difference"],
        "interval": (row["difference_low"], row["difference_high"]),
        "p": row["p_rank"],
        "probability": row["probability_better"],
        "probability_interval": (row["probability_low"], row["probability_high"]),
    }
    return {
        **{name: row[name] for name in ("case", "margin", "seeds_missing")},
        "tests": max(1, row["tests"]),
        "difference": difference,
        "p": row["p_holm"],
    }


def _answer_values(answer: Any) -> Record:
    """A study with the answers of its pairs as JSON holds it."""
    study = answer.study
    values: Record = json_values({
        "study": study.name, "sha256": study.sha256, "title": study.title, "claim": study.claim,
        "source": study.source, "profile": answer.profile, "standing": answer.standing,
        "pairs": [
            {**vars(row), "outcome": _outcome(row.outcome) if row.outcome else None, "sentence": answer_sentence(row)}
            for row in answer.answers
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
