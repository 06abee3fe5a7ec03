"""Functions to be minimised: their values are other people's, and the search moves in exactly their space."""

import cma
import numpy as np
import pytest

from erlbench.algorithms import registry
from erlbench.envs.functions import TOY
from erlbench.envs.registry import build, problem
from erlbench.errors import UsageError
from erlbench.policy import NumpyPolicy, initial_policy
from erlbench.settings import resolve

NEVERGRAD = ("sphere", "ellipsoid", "cigar", "rosenbrock", "rastrigin", "ackley", "griewank")
PYCMA = ("sphere", "elli", "cigar", "rosen", "rastrigin", None, None)  # it has others, or none


def value(name, x):
    env = build(problem(f"function:{name}", {"dimension": len(x)}).env)
    env.reset(seed=0)
    _, reward, terminated, truncated, _ = env.step(x)
    assert (terminated, truncated) == (True, False)
    return -reward


@pytest.mark.parametrize(("name", "pycmas"), list(zip(NEVERGRAD, PYCMA, strict=True)))
def test_values_are_nevergrads_and_pycmas(name, pycmas):
    from nevergrad.functions import corefuncs

    for x in np.random.default_rng(0).normal(size=(5, 7)):
        assert value(name, x) == pytest.approx(corefuncs.registry[name](x), rel=1e-9)
        assert pycmas is None or value(name, x) == pytest.approx(getattr(cma.ff, pycmas)(x), rel=1e-9)
    assert value("quadratic", TOY) == 0
    assert value("quadratic", np.zeros(3)) == pytest.approx(0.25 + 0.01 + 0.09)  # as in OpenAI's blog


@pytest.mark.parametrize("algo", ["cem", "cma-es", "openai-es", "nevergrad"])
def test_the_search_space_is_the_functions(algo):
    """No network, no normalised observations: `dimension` parameters, which are the action."""
    found = problem("function:rastrigin", {"dimension": 20})
    algorithm = registry.find(algo)
    settings = resolve(algorithm.settings_type, "function:rastrigin", {})
    spec = algorithm.policy_for(settings, found)
    assert spec.size == spec.learnt_size == 20
    points = np.array([initial_policy(spec, (0, seed)) for seed in range(200)])
    assert points.min() < -5 < 5 < points.max()
    assert abs(points).max() <= 5.12
    policy = NumpyPolicy(spec, points[0])
    np.testing.assert_array_equal(policy.denormalise(policy.normalised(np.zeros(0))), points[0])


def test_algorithms_that_learn_from_observations_are_refused():
    with pytest.raises(UsageError, match=r"td3 .*function:sphere .* cma-es"):
        registry.check_observations("td3", problem("function:sphere"), "function:sphere")
    registry.check_observations("td3", problem("Pendulum-v1"), "Pendulum-v1")
    registry.check_observations("cem", problem("function:sphere"), "function:sphere")
    with pytest.raises(UsageError, match="'function:rastrigin'"):
        problem("function:rastrign")
    with pytest.raises(UsageError, match="rosenbrock: at least 2"):
        problem("function:rosenbrock", {"dimension": 1})
