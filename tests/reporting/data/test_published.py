"""What stands beside our scores: published numbers and runs of others, and whether their environments compare."""

import numpy as np
import pytest
from scipy import stats

from erlbench.reporting.published import INCOMPARABLE, compare_environments, read_published, read_references, returns_at
from erlbench.reporting.scores import references_table
from tests.reporting.compare import curves_of, means_of, page_of, rank_p, rows_of
from tests.reporting.make_runs import make_cells
from tests.tables import cells

RELATIONS = """
SAME         | HalfCheetah-v5                | HalfCheetah-v1
SAME         | HalfCheetah-v5                | HalfCheetah
SAME         | Hopper-v5                     | Hopper-v5@v5
SAME         | Hopper-v5@paper               | Hopper-v2
SAME         | Hopper-v4                     | Hopper-v2
SAME         | Reacher-v5@paper              | Reacher-v2
SAME         | Ant-v5 (a=1)                  | Ant-v5 (a=1)
SAME         | dm_control/walker-run-v0      | dm_control/walker-run
SIMILAR      | Hopper-v5                     | Hopper-v2
SIMILAR      | Walker2d-v5                   | Walker2d-v4
SIMILAR      | Ant-v5@paper                  | Ant-v2
SIMILAR      | Ant-v5@paper-mujoco-1.50      | Ant-v2
SIMILAR      | Humanoid-v5@paper             | Humanoid-v4
UNKNOWN      | Hopper-v5                     | Hopper
UNKNOWN      | Hopper-v6                     | Hopper-v5
UNKNOWN      | dm_control/walker-run-v0      | WalkerRun
UNKNOWN      | LunarLanderContinuous-v3      | LunarLanderContinuous-v2
INCOMPARABLE | HalfCheetah-v5 (frame_skip=2) | HalfCheetah-v2
INCOMPARABLE | Ant-v5                        | Ant-v2
INCOMPARABLE | Ant-v5                        | Ant-v4
INCOMPARABLE | Humanoid-v5                   | Humanoid
INCOMPARABLE | Humanoid-v4                   | Humanoid-v2
INCOMPARABLE | HumanoidStandup-v5            | HumanoidStandup-v2
INCOMPARABLE | Pusher-v5                     | Pusher-v4
INCOMPARABLE | Pusher-v5@paper               | Pusher-v2
INCOMPARABLE | dm_control/walker-run-v0      | dm_control/walker-walk
"""
CHEETAH = "HalfCheetah-v5"
LQNEW, AUTHORS = "LQNew: QingLi implementation", "TD3 authors"


@pytest.mark.parametrize(("relation", "ours", "theirs"), cells(RELATIONS))
def test_whether_environments_compare(relation, ours, theirs):
    comparison = compare_environments(ours, theirs)
    assert comparison.relation == relation
    assert ("the scores are not comparable" in comparison.note) == (relation == INCOMPARABLE)


def test_numbers_of_the_papers_tables():
    expected = {
        ("AES-RL paper", "Table 1", "Hopper-v2", "AES-RL parallel async W=9", "time_min"): (91, 1_000_000, 10),
        ("AES-RL paper", "Table 2", "Walker2d-v2", "Relative+Adaptive", "std"): (223, 1_000_000, 10),
        ("AES-RL paper", "Table 3", "Walker2d-v2", "ERL", "median"): (2338, 10_000_000, 10),
        # after rows that repeat another one, which are left out
        ("TD3-paper(OurDDPG)", "", "HalfCheetah-v1", "DDPG", "mean"): (8577.3, 1_000_000, 10),
    }
    numbers = {key: read_published()[key] for key in expected}
    assert {key: (number.value, number.steps, number.seeds) for key, number in numbers.items()} == expected


def theirs_at(source, env, algorithm, step):
    (runs,) = [row for row in read_references() if (row.source, row.env, row.algorithm) == (source, env, algorithm)]
    return returns_at(runs, step)


# Means, and sample standard deviations, as recomputed from the sources' raw files.
@pytest.mark.parametrize(
    ("source", "env", "algorithm", "step", "runs", "mean", "std"),
    [
        (LQNEW, "HalfCheetah-v2", "TD3", 1_000_000, 8, 9871, 1455),
        ("SimbaV2 collection", "HalfCheetah-v4", "SAC", 1_000_000, 10, 11321, 1108),
    ],
)
def test_returns_are_those_of_the_sources(source, env, algorithm, step, runs, mean, std):
    values = theirs_at(source, env, algorithm, step)
    assert len(values) == runs
    assert round(values.mean()) == mean
    assert round(values.std(ddof=1)) == std


@pytest.fixture
def td3(tmp_path):
    """Six runs of TD3 to 50,000 steps, and their page."""
    make_cells(tmp_path, CHEETAH, {"td3": 2000 + 300 * np.arange(6)}, steps=[0, 25_000, 50_000])
    return page_of(tmp_path)


def test_table_of_one_cell_by_hand(td3):
    table = references_table(td3)
    records = {record["source"]: record for record in table.records}
    assert list(records) == [LQNEW, AUTHORS, "LQNew: Spinning Up rerun (TF1)", "LQNew: sfujim/TD3 rerun"]
    record = records[AUTHORS]
    theirs = np.array(record["their_scores"].split(), float)
    assert theirs == pytest.approx(theirs_at(AUTHORS, "HalfCheetah-v1", "TD3", 50_000))
    ours = 2000 + 300 * np.arange(6)
    assert record["their_runs"] == 10
    assert record["steps"] == 50_000
    assert record["mean"] == 2750
    assert record["probability_better"] == pytest.approx(stats.mannwhitneyu(ours, theirs).statistic / 60)
    assert record["p_rank"] == pytest.approx(rank_p(ours, theirs))
    assert records["LQNew: Spinning Up rerun (TF1)"]["steps"] == 51_999  # the nearest that it has


def test_their_curves_are_drawn_over_steps_only(td3):
    figure = curves_of(td3)
    steps, time = (" ".join(means_of(figure, axis)) for axis in figure.paper)
    assert "TD3, " in steps
    assert "TD3, " not in time


@pytest.mark.parametrize(
    ("steps", "budget", "step"),
    [
        ([0, 25_000, 40_000], 40_000, 25_000),  # although 50,000 is nearer to the budget
        ([0, 50_000, 50_400], 50_000, 50_000),  # 400 steps after the budget, which no printed step shows
    ],
)
def test_scores_are_compared_at_a_step_that_both_have(tmp_path, steps, budget, step):
    """The source has 25,000 and 50,000 steps."""
    make_cells(tmp_path, CHEETAH, {"td3": [9000] * 6}, before=(0, -5000), steps=steps, total=budget)
    table = references_table(page_of(tmp_path))
    record, row = table.records[0], rows_of(table, (0, 2))[f"{CHEETAH}, {budget // 1000}k steps", LQNEW]
    assert row["P(ours better)"].startswith("0.00 [0.00, ")
    assert record["source"] == LQNEW
    assert record["steps"] == step
    assert record["mean"] == -5000
    assert record["their_mean"] == pytest.approx(theirs_at(LQNEW, "HalfCheetah-v2", "TD3", step).mean())
