"""The flow of AES-RL: three workers whose tasks finish as the test says."""

import numpy as np
import pytest

from erlbench.algorithms.aes_rl import AESRL, AESRLSettings
from erlbench.algorithms.coupling.half import probability_of_rl


def test_ratio_is_of_the_snapshot_and_moves_the_mean_of_the_moment(new_fake):
    """Of a search that never learns from gradients."""
    never = {"warmup": "own-policies", "start_timesteps": 0, "batch_size": 10**6}
    fake = new_fake(AESRL, AESRLSettings(hidden=(), baseline=100.0, **never), workers=3, total=1000)
    state = fake.algorithm.state
    first, second, _ = fake.ask()
    z = {task.individual: fake.input(task, "parameters").astype(float) for task in (first, second)}
    start = state.search.distribution.mean
    fake.finish(first, fitness=50.0)
    fake.finish(second, fitness=80.0)
    measurements = {task.individual: task for task in fake.ask()}
    assert [task.kind for task in measurements.values()] == ["mean", "mean"]
    assert all(task.settings.episodes == 5 and not task.settings.record for task in measurements.values())
    snapshot = fake.algorithm.policy()
    assert {task.inputs["parameters"] for task in measurements.values()} == {snapshot}

    fake.finish(measurements[0], fitness=50.0)  # a tie: p = 1/2
    moved = (start + z[0]) / 2
    np.testing.assert_allclose(state.search.distribution.mean, moved)
    assert fake.algorithm.policy() != snapshot
    (launched,) = fake.ask()
    assert launched.individual == 0
    assert launched.inputs["parameters"].centre == fake.algorithm.policy()
    assert measurements[1].inputs["parameters"] == snapshot

    fake.finish(measurements[1], fitness=-20.0)  # 100 better: p = 2/3, of the mean that has moved
    np.testing.assert_allclose(state.search.distribution.mean, moved / 3 + 2 / 3 * z[1])
    metrics = fake.algorithm.metrics()
    assert (metrics["f_z"], metrics["f_mean"], metrics["staleness"]) == (80.0, -20.0, 1)
    assert metrics["p"] == pytest.approx(2 / 3)
    assert fake.algorithm.counters.fitness_timesteps == 100


@pytest.mark.parametrize(
    ("n_rl", "n_es", "desired", "p"),
    [(1, 1, 0.5, 0.5), (2, 1, 0.5, 0.0), (1, 2, 0.5, 1.0), (101, 100, 0.5, 0.5 - 50 * 0.5 / 201), (1, 1, 0.1, 0.0)],
)
def test_probability_of_rl(n_rl, n_es, desired, p):
    assert probability_of_rl(n_rl, n_es, desired, 50.0) == pytest.approx(p)
