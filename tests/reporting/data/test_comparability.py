"""Whether scores of two environments compare, and why."""

from __future__ import annotations

from itertools import combinations

import pytest

from erlbench.envs import catalogue
from erlbench.reporting.data.comparability import (
    Comparability,
    Environment,
    Reason,
    Relation,
    base_name,
    compare_environments,
    similar_budget,
)
from erlbench.reporting.data.references import read_references
from erlbench.reporting.tables.published_notes import budget_note

NAMES = sorted({base_name(name) for name in catalogue.LISTED})
LABELS = [
    *NAMES,
    *(f"{name}-v{version}" for name in NAMES for version in range(6)),
    *(f"{name}@{preset}" for name, row in catalogue.LISTED.items() for preset in row.presets or ()),
    "Swimmer-v5 (frame_skip=2)",
    "WalkerWalk",
    "PartiallyObservablePendulum",
    *{found.env for found in read_references()},
]
TASKS = {
    task: [one for one in LABELS if Environment.of(one).task == task]
    for task in dict.fromkeys(Environment.of(one).task for one in LABELS)
}


@pytest.mark.parametrize(
    ("ours", "theirs", "relation", "reason"),
    [
        ("HalfCheetah-v5", "HalfCheetah-v1", "SAME", "KEPT"),
        ("HalfCheetah-v5", "HalfCheetah", "SAME", "UNNAMED"),
        ("HalfCheetah-v5 (frame_skip=2)", "HalfCheetah-v2", "INCOMPARABLE", "SETTINGS"),
        ("Hopper-v5", "Hopper-v5", "SAME", "IDENTICAL"),
        ("Hopper-v5", "Hopper-v5@v5", "SAME", "IDENTICAL"),
        ("Hopper-v5", "Hopper-v2", "SIMILAR", "DIFFERENCE"),
        ("Hopper-v5", "Hopper", "UNKNOWN", "UNNAMED"),
        ("Hopper-v5", "Walker2d-v2", "INCOMPARABLE", "NAME"),
        ("Hopper-v5@paper", "Hopper-v2", "SAME", "KEPT"),
        ("Hopper-v4", "Hopper-v2", "SAME", "KEPT"),
        ("Hopper-v6", "Hopper-v5", "UNKNOWN", "VERSION"),
        ("Walker2d-v5", "Walker2d-v4", "SIMILAR", "DIFFERENCE"),
        ("Reacher-v5@paper", "Reacher-v2", "SAME", "KEPT"),
        ("Ant-v5", "Ant-v2", "INCOMPARABLE", "DIFFERENCE"),
        ("Ant-v5", "Ant-v4", "INCOMPARABLE", "DIFFERENCE"),
        ("Ant-v5@paper", "Ant-v2", "SIMILAR", "DIFFERENCE"),
        ("Ant-v5@paper-mujoco-1.50", "Ant-v2", "SIMILAR", "DIFFERENCE"),
        ("Ant-v5 (a=1)", "Ant-v5 (a=1)", "SAME", "IDENTICAL"),
        ("Humanoid-v5", "Humanoid", "INCOMPARABLE", "DIFFERENCE"),
        ("Humanoid-v5", "Humanoid-v4", "INCOMPARABLE", "DIFFERENCE"),
        ("Humanoid-v4", "Humanoid-v2", "INCOMPARABLE", "DIFFERENCE"),
        ("Humanoid-v5@paper", "Humanoid-v4", "SIMILAR", "DIFFERENCE"),
        ("HumanoidStandup-v5", "HumanoidStandup-v2", "INCOMPARABLE", "DIFFERENCE"),
        ("Pusher-v5", "Pusher-v4", "INCOMPARABLE", "DIFFERENCE"),
        ("Pusher-v5@paper", "Pusher-v2", "INCOMPARABLE", "DIFFERENCE"),
        ("LunarLanderContinuous-v3", "LunarLanderContinuous-v2", "UNKNOWN", "VERSION"),
        ("dm_control/walker-run-v0", "dm_control/walker-run", "SAME", "KEPT"),
        ("dm_control/walker-run-v0", "WalkerRun", "UNKNOWN", "UNNAMED"),
        ("dm_control/walker-run-v0", "dm_control/walker-walk", "INCOMPARABLE", "NAME"),
        ("erlbench/PartiallyObservablePendulum-v0", "PartiallyObservablePendulum", "UNKNOWN", "UNNAMED"),
    ],
)
def test_facts(ours, theirs, relation, reason):
    found = compare_environments(ours, theirs)
    assert (found.relation, found.reason) == (Relation[relation], Reason[reason])


def test_two_tasks_never_compare():
    for (one, *_), (other, *_) in combinations(TASKS.values(), 2):
        assert compare_environments(one, other) == Comparability(Relation.INCOMPARABLE, Reason.NAME)


def test_parts_of_a_label():
    assert Environment.of("erlbench:Swimmer-v5@paper (frame_skip=2)") == Environment(
        name="Swimmer", version=5, preset="paper", settings="frame_skip=2"
    )
    assert Environment.of("dm_control/walker-walk") == Environment("dm_control/walker-walk", None, "", "")
    assert base_name("erlbench:Swimmer-v5@paper (frame_skip=2)") == "Swimmer"


def test_budgets():
    assert budget_note(1_000_000, [("SAC", 1_000_000)]) == ""
    assert budget_note(1_000_000, [("SAC", 1_000_000), ("ERL", 2_000_000), ("ERL", 4_000_000)]) == (
        "Different budgets: published after 2,000,000 or 4,000,000 training steps (ERL), ours after 1,000,000. "
        "Do not compare them."
    )
    assert similar_budget(1_000_000, 1_000_000)
    assert not similar_budget(20_000, 1_000_000)
    assert not similar_budget(1_000_000, None)
