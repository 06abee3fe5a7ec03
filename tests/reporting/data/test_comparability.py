"""Whether scores of two environments compare, and why."""

from __future__ import annotations

from itertools import combinations

import pytest

from erlbench.envs import catalogue
from erlbench.reporting.published import (
    INCOMPARABLE,
    base_name,
    compare_environments,
    read_references,
    similar_budget,
    split_label,
)
from erlbench.reporting.scores import budget_note

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
    task: [one for one in LABELS if split_label(one).task == task]
    for task in dict.fromkeys(split_label(one).task for one in LABELS)
}


@pytest.mark.parametrize(
    ("ours", "theirs", "relation", "words"),
    [
        ("HalfCheetah-v5", "HalfCheetah-v1", "SAME", "has the model and the reward of"),
        ("HalfCheetah-v5", "HalfCheetah", "SAME", "of a version that is not named"),
        ("HalfCheetah-v5 (frame_skip=2)", "HalfCheetah-v2", "INCOMPARABLE", "has settings of its own"),
        ("Hopper-v5", "Hopper-v5", "SAME", " is "),
        ("Hopper-v5", "Hopper-v5@v5", "SAME", " is "),
        ("Hopper-v5", "Hopper-v2", "SIMILAR", "is not"),
        ("Hopper-v5", "Hopper", "UNKNOWN", "of a version that is not named"),
        ("Hopper-v5", "Walker2d-v2", "INCOMPARABLE", "another environment"),
        ("Hopper-v5@paper", "Hopper-v2", "SAME", "has the model and the reward of"),
        ("Hopper-v4", "Hopper-v2", "SAME", "has the model and the reward of"),
        ("Hopper-v6", "Hopper-v5", "UNKNOWN", "another version"),
        ("Walker2d-v5", "Walker2d-v4", "SIMILAR", "is not"),
        ("Reacher-v5@paper", "Reacher-v2", "SAME", "has the model and the reward of"),
        ("Ant-v5", "Ant-v2", "INCOMPARABLE", "is not"),
        ("Ant-v5", "Ant-v4", "INCOMPARABLE", "is not"),
        ("Ant-v5@paper", "Ant-v2", "SIMILAR", "is not"),
        ("Ant-v5@paper-mujoco-1.50", "Ant-v2", "SIMILAR", "is not"),
        ("Ant-v5 (a=1)", "Ant-v5 (a=1)", "SAME", " is "),
        ("Humanoid-v5", "Humanoid", "INCOMPARABLE", "is not"),
        ("Humanoid-v5", "Humanoid-v4", "INCOMPARABLE", "is not"),
        ("Humanoid-v4", "Humanoid-v2", "INCOMPARABLE", "is not"),
        ("Humanoid-v5@paper", "Humanoid-v4", "SIMILAR", "is not"),
        ("HumanoidStandup-v5", "HumanoidStandup-v2", "INCOMPARABLE", "is not"),
        ("Pusher-v5", "Pusher-v4", "INCOMPARABLE", "is not"),
        ("Pusher-v5@paper", "Pusher-v2", "INCOMPARABLE", "is not"),
        ("LunarLanderContinuous-v3", "LunarLanderContinuous-v2", "UNKNOWN", "another version"),
        ("dm_control/walker-run-v0", "dm_control/walker-run", "SAME", "has the model and the reward of"),
        ("dm_control/walker-run-v0", "WalkerRun", "UNKNOWN", "of a version that is not named"),
        ("dm_control/walker-run-v0", "dm_control/walker-walk", "INCOMPARABLE", "another environment"),
        (
            "erlbench/PartiallyObservablePendulum-v0",
            "PartiallyObservablePendulum",
            "UNKNOWN",
            "of a version that is not named",
        ),
    ],
)
def test_facts(ours, theirs, relation, words):
    found = compare_environments(ours, theirs)
    assert found.relation == relation
    assert words in found.note
    assert ("the scores are not comparable" in found.note) == (relation == INCOMPARABLE)


def test_two_tasks_never_compare():
    for (one, *_), (other, *_) in combinations(TASKS.values(), 2):
        assert compare_environments(one, other).relation == INCOMPARABLE


def test_parts_of_a_label():
    assert split_label("erlbench:Swimmer-v5@paper (frame_skip=2)") == ("Swimmer", 5, "paper", "frame_skip=2")
    assert split_label("dm_control/walker-walk") == ("dm_control/walker-walk", None, "", "")
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
