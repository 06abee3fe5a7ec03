"""What two runs have in common: copies, blocks, equal differences; and that independent runs have nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from erlbench.records.likeness import Likeness, ReturnSeries, suspicions
from erlbench.records.read import read_rows
from erlbench.records.schema import EpisodeRow
from erlbench.reporting.data.identities import suspicions_of
from erlbench.reporting.data.runs import find_runs

ROOT = Path(__file__).parents[2]
ROWS = 40


def curve(seed: int, rows: int = ROWS) -> np.ndarray:
    """A curve that rises, with noise."""
    return np.linspace(0, 1000, rows) + np.random.default_rng(seed).normal(0, 50, rows)


def series(values, seed=0, name="td3", env="Hopper-v5", training=False) -> ReturnSeries:
    return ReturnSeries(Path(f"{env}/{name}/{seed}"), env, name, seed, np.asarray(values, float), training)


def kinds(*runs: ReturnSeries) -> list[Likeness]:
    return [found.kind for found in suspicions(runs)]


def test_independent_curves_are_not_suspicious():
    assert kinds(*(series(curve(seed), seed) for seed in range(30))) == []


def test_a_copy_under_another_seed_is_named():
    (found,) = suspicions([series(curve(0), 0), series(curve(1), 1), series(curve(0), 2)])
    assert (found.kind, found.path, found.other, found.rows) == (
        Likeness.COPY, Path("Hopper-v5/td3/0"), Path("Hopper-v5/td3/2"), ROWS
    )  # fmt: skip


def test_a_copy_under_another_environment_or_algorithm_is_named():
    assert kinds(series(curve(0)), series(curve(0), env="Ant-v5")) == [Likeness.COPY]
    assert kinds(series(curve(0)), series(curve(0), name="sac")) == [Likeness.COPY]


@pytest.mark.parametrize("shift", [0, 7, -7])
def test_a_block_of_another_run_is_named_wherever_it_stands(shift):
    spliced = curve(1)
    spliced[10:22] = curve(0)[10 - shift : 22 - shift]
    (found,) = suspicions([series(curve(0), 0), series(spliced, 1)])
    assert (found.kind, found.rows, found.start, found.other_start) == (Likeness.BLOCK, 12, 10 - shift, 10)


def test_a_block_that_a_run_repeats_is_named():
    looped = curve(0)
    looped[25:35] = looped[5:15]
    (found,) = suspicions([series(looped)])
    assert (found.kind, found.path, found.start, found.other_start) == (Likeness.BLOCK, found.other, 5, 25)


def test_a_block_in_the_same_seed_of_another_algorithm_is_named():
    spliced = curve(1)
    spliced[20:30] = curve(0)[20:30]
    (found,) = suspicions([series(curve(0), name="td3"), series(spliced, name="sac")])
    assert found.kind is Likeness.BLOCK
    assert found.same_seed


def test_equal_beginnings_of_one_seed_are_natural_and_of_two_seeds_are_not():
    longer = np.concatenate([curve(0)[:20], curve(1)[20:]])
    assert kinds(series(curve(0)), series(longer, name="sac")) == []
    assert kinds(series(curve(0)), series(curve(0)[:20])) == []  # the same run with a smaller budget
    assert kinds(series(curve(0), 0), series(longer, 1)) == [Likeness.BLOCK]


def test_random_episodes_of_one_seed_are_natural_wherever_they_stand():
    random = curve(0)[:12]
    one, two = np.concatenate([random, curve(1)]), np.concatenate([curve(2)[:3], random, curve(3)])
    assert kinds(series(one, training=True), series(two, name="sac", training=True)) == []
    assert kinds(series(one, 0, training=True), series(two, 1, training=True)) == [Likeness.BLOCK]


@pytest.mark.parametrize(("factor", "constant"), [(1.0, 25.0), (1.1, 0.0), (0.5, -300.0)])
def test_equal_differences_between_seeds_are_named(factor, constant):
    assert kinds(series(curve(0), 0), series(factor * curve(0) + constant, 1)) == [Likeness.SHIFTED]


def test_seeds_that_reach_the_highest_return_are_not_suspicious():
    values = np.minimum(1000.0, curve(0) * 5)
    other = np.minimum(1000.0, curve(1) * 5)
    assert kinds(series(values, 0), series(other, 1), series(np.full(ROWS, 1000.0), 2)) == []


def test_coarse_returns_have_equal_blocks_by_chance():
    tenths = np.arange(1, 11) / 10  # a success rate over ten episodes: only so many values
    assert kinds(series(tenths[:7], 0), series(np.concatenate([[0, 0], tenths[:7]]), 1)) == []


def test_scores_at_equal_distances_are_named_and_others_are_not():
    scores = [1000.0 + 50 * seed for seed in range(5)]
    runs = [series([0.0, score], seed) for seed, score in enumerate(scores)]
    assert kinds(*runs) == [Likeness.EVEN]
    assert kinds(*runs[:4]) == []
    assert kinds(*runs[:4], series([0.0, 1201.0], 4)) == []


@pytest.mark.data
def test_the_shipped_runs_pass_by_their_evaluations():
    runs = find_runs([ROOT / "results/reference", ROOT / "results/asynchrony"], lambda said: None)
    assert runs
    assert list(suspicions_of(runs)) == []


@pytest.mark.data
def test_the_shipped_runs_pass_by_their_episodes():
    episodes = []
    for run in find_runs([ROOT / "results/reference"], lambda said: None):
        if (rows := read_rows(run.path, EpisodeRow)) is not None:
            episodes.append(ReturnSeries(run.path, run.env, run.name, run.seed, rows["r"].to_numpy(float), True))
    assert episodes
    assert suspicions(episodes) == []
