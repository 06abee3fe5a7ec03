"""`verdict.json`: the verdicts of a report as values, with their words."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from erlbench.reporting.verdict.answer_words import answer_sentence
from erlbench.reporting.verdict.answers import StudyAnswer
from erlbench.reporting.verdict.value import Verdict
from erlbench.reporting.verdict.words import details, result, sentence

FILE, FORMAT = "verdict.json", 3
DIGITS = 10  # significant ones: the last differ between processors


def as_values(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON holds it: NaN is null."""
    found = {**asdict(verdict), "sentence": sentence(verdict), "details": details(verdict)}
    if verdict.outcome is not None:
        found["outcome"]["detectable"] = verdict.outcome.detectable
    values: dict[str, Any] = json_values(found)
    return values


def answer_values(answer: StudyAnswer) -> dict[str, Any]:
    """A study with the answers of its pairs as JSON holds it, but for NaN."""
    study = answer.study
    return {
        "study": study.name,
        "sha256": study.sha256,
        "title": study.title,
        "claim": study.claim,
        "source": study.source,
        "profile": answer.profile,
        "standing": answer.standing,
        "pairs": [{**asdict(one), "sentence": answer_sentence(one)} for one in answer.answers],
        "differences": [one._asdict() for one in answer.differences],
    }


def write_verdicts(path: Path, pages: Mapping[str, Sequence[Verdict]], answers: Iterable[StudyAnswer] = ()) -> None:
    """Write the answers of studies and the verdicts of each page to a file."""
    found = {page: [as_values(one) for one in verdicts] for page, verdicts in pages.items()}
    results = {page: result(verdicts) for page, verdicts in pages.items()}
    studies = [json_values(answer_values(one)) for one in answers]
    stored = {"format": FORMAT, "studies": studies, "results": results, "verdicts": found}
    text = json.dumps(stored, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def json_values(value: Any) -> Any:
    """A value as JSON holds it: NaN is null, numbers have `DIGITS` significant digits."""
    if isinstance(value, Mapping):
        return {str(name): json_values(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value
