"""The picture of a search: its points are those that were evaluated, its arrow the algorithm's own update."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import picture
from erlbench.envs.functions import FunctionEnv
from erlbench.errors import UsageError

SPHERE = "function:sphere"


@pytest.fixture
def evaluated(monkeypatch):
    """All points at which functions are evaluated, in order."""
    points, step = [], FunctionEnv.step

    def noted(env, action):
        points.append(np.array(action))
        return step(env, action)

    monkeypatch.setattr(FunctionEnv, "step", noted)
    return points


@pytest.mark.parametrize("algo", picture.SEARCHES)
def test_the_points_are_those_that_were_evaluated(algo, evaluated):
    found = picture.looks(algo, SPHERE, [1, 2, 3])
    assert [look.generation for look in found] == [1, 2, 3]
    shown = np.concatenate([look.points for look in found])
    tried = np.array(evaluated)[-len(shown) :]  # making the problem takes a step
    np.testing.assert_allclose(np.sort(shown, axis=0), np.sort(tried, axis=0), rtol=1e-6)
    for one, two in zip(found, found[1:], strict=False):
        np.testing.assert_array_equal(one.after, two.mean)


def test_the_arrow_of_openai_es_is_the_gradient_of_ranks_by_hand():
    """By SGD without momentum and decay: the sum of the noise, weighted by centred ranks."""
    plain = {"optimiser": "sgd", "momentum": 0.0, "l2": 0.0, "learning_rate": 0.5, "population": 20}
    (look,) = picture.looks("openai-es", SPHERE, [1], plain)
    rewards = -(look.points**2).sum(axis=1)
    ranks = rewards.argsort().argsort() / (len(rewards) - 1) - 0.5
    directions = look.points - look.mean
    slope = ranks @ directions
    np.testing.assert_allclose(look.move / np.linalg.norm(look.move), slope / np.linalg.norm(slope), atol=1e-5)
    assert look.move @ -look.mean > 0  # towards the minimum


def test_the_arrow_of_cem_ends_at_the_weighted_mean_of_the_elites():
    (look,) = picture.looks("cem", SPHERE, [1], {"population": 10, "elites": 5, "recombination": "equal"})
    best = (look.points**2).sum(axis=1).argsort()[:5]
    np.testing.assert_allclose(look.after, look.points[best].mean(axis=0), rtol=1e-5)


def test_a_picture_is_written(tmp_path):
    out = tmp_path / "es.png"
    words = ["--env", "function:rastrigin", "--generations", "1,3", "--set", "population=10", "--out", str(out)]
    done = CliRunner().invoke(picture.main, words)
    assert done.exit_code == 0, done.output
    assert done.output.count("update") == 2
    assert out.read_bytes().startswith(b"\x89PNG")


def test_the_colours_are_the_functions_values():
    x, y, rewards = picture.surface(SPHERE, np.array([-1.0, 0.0]), np.array([1.0, 2.0]))
    np.testing.assert_allclose(rewards, -(x[None] ** 2 + y[:, None] ** 2), atol=1e-9)


@pytest.mark.parametrize(("algo", "env"), [("openai-es", "Pendulum-v1"), ("td3", SPHERE)])
def test_other_searches_and_tasks_have_no_picture(algo, env):
    with pytest.raises(UsageError, match="function:NAME"):
        picture.looks(algo, env, [1])
