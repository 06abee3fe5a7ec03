"""The tables of a study's page: the pairs that it compares with their verdicts, and what differs from the study."""

from __future__ import annotations

import math
from typing import Any

from erlbench.reporting.documents.formats import p_value, steps
from erlbench.reporting.documents.model import Column, Record, Table
from erlbench.reporting.statistics.significance import level_words
from erlbench.reporting.verdict.words import effect_words
from erlbench.words import counted

DIFFERENCES: list[Column] = [
    Column("Entry", "entry"), Column("Environment", "env"), Column("What", "what"), Column("Details", "details"),
]  # fmt: skip


def answers_table(answer: Any) -> Table:
    """A row for each pair and environment."""
    rows = [_record(one) for one in answer.answers]
    tests = sum(not math.isnan(row["p_holm"]) for row in rows)
    columns: list[Column] = [
        Column("First", "first"),
        Column("Second", "second"),
        Column("Environment", "env"),
        Column("Compared", "measure"),
        Column("Effect", "effect low high effect_in_words", printed="effect_in_words", words=True,
               note="with its 95 % interval, from six seeds on."),
        Column("Claimed", "claimed"),
        Column("Verdict", "verdict", shown=any(one.standing is not None for one in answer.answers)),
        Column("Case", "case",
               note="what the rule of the suite says of the first against the claimed size, else of both."),
        Column("p", "p_holm", p_value,
               note=f"of the ranks, after Holm's correction for {counted(tests, 'test')}; it decides at "
               f"{level_words()}."),
        Column("Seeds", "seeds"),
        Column("Simulator steps", "simulator_steps_first simulator_steps_second",
               lambda first, second: f"{steps(first)} and {steps(second)}", words=True,
               note="mean of the runs, at their ends."),
        Column("Why not", "reason", shown=any(row["reason"] for row in rows)),
    ]  # fmt: skip
    remarks = [f"Study SHA-256: {answer.study.sha256}."]
    return Table("answers", "What the study compares", columns, rows, remarks)


def _record(one: Any) -> Record:
    effect, low, high = one.effect
    first, second = [side.simulator_steps for side in one.samples or ()] or (math.nan, math.nan)
    return {
        "first": one.first, "second": one.second, "env": one.env, "measure": one.measure, "effect": effect, "low": low,
        "high": high, "effect_in_words": effect_words(one), "claimed": one.claimed,
        "verdict": str(one.standing or one.case or ""), "case": str(one.case or ""),
        "p_holm": one.outcome["p_holm"] if one.outcome else math.nan,
        "seeds": " and ".join(str(len(side.scores)) for side in one.samples or ()),
        "simulator_steps_first": first, "simulator_steps_second": second, "reason": one.reason,
    }  # fmt: skip


def differences_from_study(answer: Any) -> Table:
    """What differs from the study, a row each; without rows where nothing does."""
    remarks = [] if answer.differences else ["Nothing differs from the study."]
    return Table("differences", "What differs from the study", DIFFERENCES, answer.differences, remarks)
