"""ESAC: the gradient of its population, and the probability of SAC."""

import math

import numpy as np
import pytest
from scipy.stats import rankdata

from erlbench.algorithms.esac import ESAC, ESACSettings

SMALL = {"hidden": (8, 8), "critic_hidden": (8, 8), "population": 10, "gradient_interval": 2, "batch_size": 8}


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("sampling", ["mirrored", "pairs", "independent"])
def test_the_mean_climbs_the_ranks_of_the_members_around_it(new_fake, sampling, optimiser):
    """Line 11 by hand, with SciPy's ranks of all members, in the second generation, which has children."""
    more = {"sampling": sampling, "optimizer": optimiser, "es_learning_rate": 0.01, "sigma_init": 0.1}
    fake = new_fake(ESAC, ESACSettings(**SMALL, **more))
    es, load = fake.algorithm.search.state, fake.store.load

    def step():
        members, returns = [], []
        for task in fake.ask():
            if task.kind == "es":
                members.append(task.inputs["parameters"])
                returns.append(float(task.id * 37 % 11))
            fake.finish(task, float(task.id * 37 % 11))
        return members, returns

    for _ in range(2):  # the members, and the sum of their noise
        step()
    mean, centre, sigma = es.mean.copy(), es.policy, es.sigma
    first, second = es.moments.first.copy(), es.moments.second.copy()
    members, returns = step()
    scores = (rankdata(returns) - 1) / (len(returns) - 1) - 0.5
    around = [score * (load(z).astype(float) - mean) for z, score in zip(members, scores) if z.centre == centre]
    assert len(around) < len(members)
    estimate = sum(around) / (len(around) * sigma**2)
    step()
    if optimiser == "sgd":
        expected = 0.01 * estimate
    else:  # Adam's second step
        first, second = 0.9 * first - 0.1 * estimate, 0.999 * second + 0.001 * estimate**2
        expected = -0.01 * (first / (1 - 0.9**2)) / np.sqrt(second / (1 - 0.999**2))
    np.testing.assert_allclose(es.mean - mean, expected, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(load(es.policy), es.mean, atol=1e-6)


def test_probability_of_sac_anneals_with_nominal_steps_or_shares_of_the_budget(new_fake):
    algorithm, share = (new_fake(ESAC, ESACSettings(**SMALL, **more)).algorithm for more in ({}, {"p_clock": "budget"}))
    assert ESACSettings().probability(1e6) == pytest.approx(0.491, abs=5e-4)
    algorithm.counters.generation = 11_999
    assert algorithm.coupling.probability() == pytest.approx(0.1 + 0.9 * math.exp(-1.0)), "12,000 generations of 100"
    share.counters.timesteps = 5000  # half of the budget
    assert share.coupling.probability() == pytest.approx(0.1 + 0.9 * math.exp(-0.5 / 1.2))
