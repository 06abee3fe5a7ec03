"""The answer of a study's pair in words."""

from __future__ import annotations

from erlbench.reporting.documents.formats import with_interval
from erlbench.reporting.statistics.significance import MARGIN
from erlbench.reporting.verdict.answers import PairAnswer, Standing
from erlbench.reporting.verdict.rule import Case
from erlbench.reporting.verdict.value import SIMILAR, Sample
from erlbench.words import counted

MOST_MISSING = 1000  # seeds that are counted


def answer_sentence(answer: PairAnswer) -> str:
    """An answer in a line: its verdict, the pair, the effect with its interval, the claimed size, the seeds."""
    verdict = answer.standing or (Standing.TOO_FEW if answer.case is Case.TOO_FEW else answer.case or Standing.NOT_RUN)
    pair = f"{str(verdict).capitalize()}: {answer.first} against {answer.second} on {answer.env}"
    if answer.samples is None:
        return f"{pair}{_claimed(answer)}."
    if answer.reason:
        return f"{pair}, {answer.measure}: {answer.reason}."
    effect = f"{pair}, {answer.measure}: {effect_words(answer)}{_claimed(answer)}"
    parts = effect, _steps(*answer.samples), _seeds(answer, *answer.samples), answer.note
    return f"{'; '.join(filter(None, parts))}."


def effect_words(answer: PairAnswer) -> str:
    """The effect with its interval and its direction; a dash where there is none."""
    size = with_interval(*answer.effect)
    if not answer.claimed:
        return f"mean difference {size}"
    word = answer.claimed.rpartition(" ")[2]
    return f"{size}{' %' if answer.in_percent else ''} {word}"


def _claimed(answer: PairAnswer) -> str:
    return f" (claimed: {answer.claimed})" if answer.claimed else ""


def _seeds(answer: PairAnswer, first: Sample, second: Sample) -> str:
    """How many seeds there are, and how many more a test or a difference of one margin takes."""
    one, two = len(first.scores), len(second.scores)
    words = f"{counted(one, 'seed')} each" if one == two else f"{one} and {counted(two, 'seed')}"
    missing = answer.outcome.seeds_missing if answer.outcome else None
    if not missing or missing > MOST_MISSING:
        return words
    if answer.case is Case.TOO_FEW:
        return f"{words}, {missing} more per side are needed for a test"
    return f"{words}, about {missing} more per side would show a difference of {100 * MARGIN:g} %"


def _steps(first: Sample, second: Sample) -> str:
    """Which side used more steps of the simulator, where that is much."""
    more, less = (first, second) if first.simulator_steps >= second.simulator_steps else (second, first)
    if not more.simulator_steps > SIMILAR * less.simulator_steps > 0:
        return ""
    return f"{more.name} used {more.simulator_steps / less.simulator_steps:.1f} times the simulator steps"
