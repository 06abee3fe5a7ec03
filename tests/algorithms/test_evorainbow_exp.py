"""EvoRainbow-Exp: a generation against a float64 computation of its own."""

import numpy as np

from erlbench.algorithms.evorainbow_exp import EvoRainbowExp, EvoRainbowExpSettings

FITNESS = (3.0, 1.0, 2.0, 5.0, 4.0, 9.0)  # of five individuals, and of the learner's noisy episode


def test_a_generation_of_cem_with_the_learners_copy_equals_float64(new_fake):
    """Finds a copy that is no sample, weights log(2 / i), a variance around the new mean, no division by K."""
    fake = new_fake(
        EvoRainbowExp, EvoRainbowExpSettings(hidden=(8, 6), batch_size=16, start_timesteps=30, epsilon_start=0.5)
    )
    search = fake.algorithm.search
    for generation in range(3):
        old, epsilon = search.state.distribution, search.state.epsilon
        assert (epsilon == 0.5) == (generation == 0)
        tasks, order = fake.ask(), np.roll(FITNESS[:5], -2 * generation)  # the copy of the worst wins in the second
        for task in tasks:
            fake.finish(task, fitness=[*order, FITNESS[5]][task.individual])
        members = [fake.input(task, "parameters").astype(np.float64) for task in tasks if task.kind == "es"]
        first, second = (members[place] for place in np.argsort(-order)[:2])
        weights = np.log(3.0 / np.array([1.0, 2.0]))
        weights /= weights.sum()
        epsilon = 0.95 * epsilon + 0.05 * 1e-5
        variance = (weights[0] * (first - old.mean) ** 2 + weights[1] * (second - old.mean) ** 2) / 2 + epsilon
        found = search.state.distribution
        np.testing.assert_allclose(found.mean, weights[0] * first + weights[1] * second, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(found.variance, variance, rtol=1e-6)
    assert fake.algorithm.metrics()["learner_rank"] > 0
