"""The tables of a study's page: the pairs that it compares with their verdicts, and what differs from the study."""

from __future__ import annotations

import math
from typing import Any

from erlbench.reporting.documents.formats import steps
from erlbench.reporting.documents.model import Record, Table
from erlbench.reporting.statistics.significance import level_words
from erlbench.reporting.tables.columns import build_table
from erlbench.reporting.verdict.words import effect_words
from erlbench.words import counted


def answers_table(answer: Any) -> Table:
    """A row for each pair and environment."""
    rows = [_record(one) for one in answer.answers]
    tests = sum(not math.isnan(row["p_holm"]) for row in rows)
    return build_table(
        "answers",
        "What the study compares",
        rows,
        [f"Study SHA-256: {answer.study.sha256}."],
        level=level_words(),
        tests=counted(tests, "test"),
        claims=any(one.standing is not None for one in answer.answers),
        reasons=any(row["reason"] for row in rows),
    )


def _record(one: Any) -> Record:
    effect, low, high = one.effect
    first, second = [side.simulator_steps for side in one.samples or ()] or (math.nan, math.nan)
    return {
        **vars(one), "effect": effect, "low": low, "high": high, "effect_in_words": effect_words(one),
        "verdict": str(one.standing or one.case or ""), "case": str(one.case or ""),
        "p_holm": one.outcome["p_holm"] if one.outcome else math.nan,
        "seeds": " and ".join(str(len(side.scores)) for side in one.samples or ()),
        "simulator_steps_first": first, "simulator_steps_second": second,
        "simulator_steps": f"{steps(first)} and {steps(second)}",
    }  # fmt: skip


def differences_from_study(answer: Any) -> Table:
    """What differs from the study, a row each; without rows where nothing does."""
    remarks = [] if answer.differences else ["Nothing differs from the study."]
    return build_table("differences", "What differs from the study", answer.differences, remarks)
