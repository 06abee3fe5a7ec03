"""The tables of a study's page: the pairs that it compares with their verdicts, and what differs from the study."""

from __future__ import annotations

import math

from erlbench.reporting.data.study_runs import StudyDifference
from erlbench.reporting.documents.formats import p_value, steps, text
from erlbench.reporting.documents.model import Column, Table
from erlbench.reporting.statistics.significance import level_words
from erlbench.reporting.verdict.answer_words import effect_words
from erlbench.reporting.verdict.answers import PairAnswer, StudyAnswer
from erlbench.words import counted


def answers_table(answer: StudyAnswer) -> Table[PairAnswer]:
    """A row for each pair and environment."""
    tests = sum(row.outcome is not None and not math.isnan(row.outcome.p) for row in answer.answers)
    columns: list[Column[PairAnswer]] = [
        Column("First", lambda row: row.first),
        Column("Second", lambda row: row.second),
        Column("Environment", lambda row: row.env, name="env"),
        Column("Compared", lambda row: row.measure, name="measure"),
        Column(
            "Effect",
            lambda row: (*row.effect, effect_words(row)),
            lambda *values: values[-1],
            words=True,
            name=("effect", "low", "high", "effect_in_words"),
            note="with its 95 % interval, from six seeds on.",
        ),
        Column("Claimed", lambda row: row.claimed),
        Column("Verdict", lambda row: str(row.standing or row.case or ""), shown=any(map(_stands, answer.answers))),
        Column(
            "Case",
            lambda row: str(row.case or ""),
            note="what the rule of the suite says of the first against the claimed size, else of both.",
        ),
        Column(
            "p",
            lambda row: row.outcome.p if row.outcome else math.nan,
            p_value,
            name="p_holm",
            note=f"of the ranks, after Holm's correction for {counted(tests, 'test')}; it decides at {level_words()}.",
        ),
        Column("Seeds", lambda row: " and ".join(str(len(side.scores)) for side in row.samples or ()), name="seeds"),
        Column(
            "Simulator steps",
            lambda row: tuple(side.simulator_steps for side in row.samples or ()) or (math.nan, math.nan),
            lambda first, second: f"{steps(first)} and {steps(second)}",
            name=("simulator_steps_first", "simulator_steps_second"),
            note="mean of the runs, at their ends.",
            words=True,
        ),
        Column("Why not", lambda row: row.reason, text, name="reason", shown=any(row.reason for row in answer.answers)),
    ]
    remarks = [f"Study SHA-256: {answer.study.sha256}."]
    return Table("answers", "What the study compares", columns, answer.answers, remarks)


def differences_from_study(answer: StudyAnswer) -> Table[StudyDifference]:
    """What differs from the study, a row each; without rows where nothing does."""
    columns: list[Column[StudyDifference]] = [
        Column("Entry", lambda row: row.entry),
        Column("Environment", lambda row: row.env, name="env"),
        Column("What", lambda row: row.what),
        Column("Details", lambda row: row.details),
    ]
    remarks = [] if answer.differences else ["Nothing differs from the study."]
    return Table("differences", "What differs from the study", columns, answer.differences, remarks)


def _stands(row: PairAnswer) -> bool:
    return row.standing is not None
