"""OpenAI-ES: statistics of observations, stale results, and episodes of the mean."""

import numpy as np

from erlbench.algorithms.openai_es import OpenAIES, OpenAIESSettings
from erlbench.work.tasks import Result
from tests.runs import check_counts, check_same_as_whole, complete, interrupt, make_cell


def test_statistics_of_observations_change_between_generations_only(new_fake):
    fake = new_fake(OpenAIES, OpenAIESSettings(hidden=(), population=4, noise_table=0), workers=4)
    size = fake.algorithm.policy_spec.learnt_size
    seen = np.array([[1.0, 30.0], [3.0, 30.0]])
    sums = np.stack([seen.sum(axis=0), (seen**2).sum(axis=0)])
    for count in (0, 8, 16):  # two observations of each of four individuals
        tasks, ends = fake.ask(), []
        expected_mean = (count / 2 * seen.sum(axis=0)) / (count + 0.01)
        square = (count / 2 * (seen**2).sum(axis=0) + 0.01) / (count + 0.01)
        std = np.sqrt(np.maximum(square - expected_mean**2, 0.01))
        for task in tasks:
            ends.append(np.array(fake.input(task, "parameters"))[size:])
            arrays = {"observed": fake.store.put(f"{task.id}.observed", sums)}
            values = {"returns": [0.0], "lengths": [10], "observed": 2}
            fake.algorithm.tell(task, Result(task.id, values, arrays, 0.0, 1.0, 0))
        for end in ends:
            np.testing.assert_allclose(end, np.concatenate((expected_mean, std)), rtol=1e-6)
        for task in fake.ask():
            fake.finish(task)


CODE = {"population": 8, "timesteps_per_batch": 300, "noise_table": 100_000, "mean_share": 0.3}


def test_an_interrupted_run_that_discards_goes_on(tmp_path):
    cell = make_cell("openai-es", tmp_path / "parts", preset="code", settings=CODE, simulated_time=True)
    check_counts(complete(interrupt(cell, 5, 30)))
    check_same_as_whole(cell)


def test_episodes_of_the_mean_are_waited_for_whoever_is_faster(tmp_path):
    """With the budget reached by one of them, the number of processes decides nothing."""
    more = {
        "settings": {"population": 2, "hidden": (4,), "mean_share": 1.0, "timesteps_per_batch": 600},
        "env_settings": {"geometric": True, "mean_length": 60, "seconds_per_step": 0.002},
    }
    cell = make_cell("openai-es", tmp_path / "three", "tests.environments:Sleeping-v0", 81, **more)
    check_same_as_whole(complete(cell, processes=3))
