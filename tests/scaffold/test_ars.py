"""The package of docs/plugins.md: its steps against the formula of ARS's public code, and the conformance test."""

import re
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from erlbench.testing import check_algorithm
from tests.algorithms.fake import ACTION, OBSERVATION, Fake

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The module on the page, as Python finds it."""
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    (tmp_path / "erlbench_my_ars.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    import erlbench_my_ars

    return erlbench_my_ars


def public_step(returns, deltas, step_size, top):
    """`aggregate_rollouts` of github.com/modestyachts/ARS, in our words; no two directions are equally good."""
    best = np.max(returns, axis=1) >= np.percentile(np.max(returns, axis=1), 100 * (1 - top / len(returns)))
    scaled = returns[best] / np.std(returns[best])
    return step_size * (scaled[:, 0] - scaled[:, 1]) @ deltas[best] / best.sum()


@pytest.mark.parametrize(("directions", "top"), [(1, 1), (5, 5), (9, 4)])
def test_its_steps_are_those_of_the_public_code(module, tmp_path, directions, top):
    random, mean = np.random.default_rng(0), np.zeros(OBSERVATION * ACTION)  # no bias
    settings = module.MyArsSettings(directions=directions, top=top, nu=0.1, step_size=0.3)
    with closing(Fake(tmp_path / "fake", module.MyArs, settings)) as fake:
        for generation in range(4):
            tasks = fake.ask()
            played = np.array([fake.input(task, "parameters") for task in tasks], np.float64)
            deltas = (played[::2] - played[1::2]) / 0.2
            np.testing.assert_allclose((played[::2] + played[1::2]) / 2, np.tile(mean, (directions, 1)), atol=1e-6)
            returns = random.normal(50, 20, (directions, 2))
            for task, value in zip(tasks, returns.ravel(), strict=True):
                fake.finish(task, value)
            mean = mean + public_step(returns, deltas, 0.3, top)
            np.testing.assert_allclose(fake.store.load(fake.algorithm.policy()), mean, atol=2e-5)
            assert fake.algorithm.counters.generation == generation + 1


@pytest.mark.slow
def test_it_is_what_every_algorithm_must_be(module, tmp_path):
    check_algorithm("erlbench_my_ars:MyArs", tmp_path / "runs")
