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

FACTS = {
    "SAME": [
        ("HalfCheetah-v5", "HalfCheetah-v1"), ("HalfCheetah-v5", "HalfCheetah"), ("Hopper-v5", "Hopper-v5@v5"),
        ("Hopper-v5@paper", "Hopper-v2"), ("Hopper-v4", "Hopper-v2"), ("Reacher-v5@paper", "Reacher-v2"),
        ("Ant-v5 (a=1)", "Ant-v5 (a=1)"), ("dm_control/walker-run-v0", "dm_control/walker-run"),
    ],
    "SIMILAR": [
        ("Hopper-v5", "Hopper-v2"), ("Walker2d-v5", "Walker2d-v4"), ("Ant-v5@paper", "Ant-v2"),
        ("Ant-v5@paper-mujoco-1.50", "Ant-v2"), ("Humanoid-v5@paper", "Humanoid-v4"),
    ],
    "UNKNOWN": [
        ("Hopper-v5", "Hopper"), ("Hopper-v6", "Hopper-v5"), ("dm_control/walker-run-v0", "WalkerRun"),
        ("LunarLanderContinuous-v3", "LunarLanderContinuous-v2"),
        ("erlbench/PartiallyObservablePendulum-v0", "PartiallyObservablePendulum"),
    ],
    "INCOMPARABLE": [
        ("HalfCheetah-v5 (frame_skip=2)", "HalfCheetah-v2"), ("Ant-v5", "Ant-v2"), ("Ant-v5", "Ant-v4"),
        ("Humanoid-v5", "Humanoid"), ("Humanoid-v4", "Humanoid-v2"), ("HumanoidStandup-v5", "HumanoidStandup-v2"),
        ("Pusher-v5", "Pusher-v4"), ("Pusher-v5@paper", "Pusher-v2"),
        ("dm_control/walker-run-v0", "dm_control/walker-walk"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("relation", FACTS)
def test_facts(relation):
    for ours, theirs in FACTS[relation]:
        comparison = compare_environments(ours, theirs)
        assert comparison.relation == relation, ours
        assert ("the scores are not comparable" in comparison.note) == (relation == INCOMPARABLE)


def test_two_tasks_never_compare():
    names = {base_name(name) for name in catalogue.LISTED}
    labels = [*names, *(f"{name}-v{version}" for name in names for version in range(6)), "Swimmer-v5 (frame_skip=2)"]
    labels += [f"{name}@{preset}" for name, row in catalogue.LISTED.items() for preset in row.presets or ()]
    tasks = {split_label(label).task: label for label in [*labels, *(reference.env for reference in read_references())]}
    for pair in combinations(tasks.values(), 2):
        assert compare_environments(*pair).relation == INCOMPARABLE


def test_parts_of_a_label():
    assert split_label("erlbench:Swimmer-v5@paper (frame_skip=2)") == ("Swimmer", 5, "paper", "frame_skip=2")
    assert split_label("dm_control/walker-walk") == ("dm_control/walker-walk", None, "", "")
    assert base_name("erlbench:Swimmer-v5@paper (frame_skip=2)") == "Swimmer"


def test_budgets():
    assert budget_note(1_000_000, [("SAC", 1_000_000)]) == ""
    note = budget_note(1_000_000, [("SAC", 1_000_000), ("ERL", 2_000_000), ("ERL", 4_000_000)])
    assert "published after 2,000,000 or 4,000,000 training steps (ERL), ours after 1,000,000" in note
    budgets = (1_000_000, 1_000_000), (20_000, 1_000_000), (1_000_000, None)
    assert [bool(similar_budget(*pair)) for pair in budgets] == [True, False, False]
