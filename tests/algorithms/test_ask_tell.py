"""Objects with ask and tell: what they are told, replay, refusals; pycma against itself, alone."""

import math
import re
import sys
import types
from pathlib import Path

import cma
import gymnasium
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import erlbench
from erlbench.algorithms import registry
from erlbench.algorithms.ask_tell import make_algorithm
from erlbench.algorithms.search.ask_tell import EvosaxObject
from erlbench.errors import CellError, ErlbenchError, UsageError
from tests.algorithms.fake import check_replay, played, sphere
from tests.calls import call, refuse
from tests.runs import all_rows

SEED = 5
PAGE = Path(__file__).parents[2] / "docs" / "ask-tell.md"


class Noisy:
    """Gaussian candidates around a mean that moves to the best one; `told` is what it hears."""

    def __init__(self, mean, seed, sigma=0.1, population=4):
        self.mean, self.sigma, self.population = mean, sigma, population
        self.random, self.told = np.random.default_rng(seed), []

    def ask(self):
        self.x = self.mean + self.sigma * self.random.standard_normal((self.population, len(self.mean)))
        return self.x

    def tell(self, f):
        self.told.append(np.array(f))
        self.mean = self.x[np.argmax(f)]


class Both(Noisy):
    def tell(self, x, f):
        assert x is self.x
        super().tell(f)


@pytest.fixture
def fake(new_fake):
    def make(made, **settings):
        algorithm = make_algorithm(made)
        return new_fake(algorithm, algorithm.settings_type(hidden=(4,), **settings), seed=SEED, total=10**9)

    return make


def the_object(fake):
    return fake.algorithm._search._search._thing


@pytest.mark.parametrize("made", [Noisy, Both])
@pytest.mark.parametrize(("declare", "sign"), [(erlbench.maximise, 1), (erlbench.minimise, -1)])
def test_an_object_is_told_fitness_in_its_direction_and_in_its_order(fake, made, declare, sign):
    ours = fake(declare(type(made.__name__, (made,), {})), population=7)
    asked = played(ours, backwards=True)
    assert len(asked) == 7
    assert_allclose(the_object(ours).told[0], [-sign * sphere(x) for x in asked])
    assert ours.algorithm.counters.generation == 1
    assert_array_equal(ours.reported, the_object(ours).mean)


def test_what_is_not_finite_is_as_the_worst(fake):
    ours, values = fake(erlbench.maximise(type("Some", (Noisy,), {}))), iter([math.nan, -1.0, math.inf, -3.0])
    played(ours, lambda x: next(values))
    assert the_object(ours).told[0].tolist() == [-3.0, -1.0, -3.0, -3.0]
    played(ours, lambda x: math.nan)
    assert the_object(ours).told[1].tolist() == [0.0] * 4


def test_without_a_mean_the_best_candidate_so_far_is_reported(fake):
    class Random:
        def __init__(self, dimension, seed):
            self.random, self.dimension = np.random.default_rng(seed), dimension

        def ask(self):
            return self.random.standard_normal((5, self.dimension))

        def tell(self, f):
            pass

    ours = fake(erlbench.maximise(Random))
    seen = [x for _ in range(4) for x in played(ours)]
    assert_allclose(ours.reported, min(seen, key=sphere), rtol=1e-6)


@erlbench.minimise
def my_cma(mean, seed, sigma=0.2):
    return cma.CMAEvolutionStrategy(mean, sigma, {"seed": seed, "verbose": -9})


def test_pycmas_means_are_its_own_and_nobody_elses_generator_moves(fake):
    ours, other = fake(my_cma), fake(my_cma)
    mean = ours.reported
    for _ in range(10):  # two searches that draw from one global generator
        played(ours)
        np.random.standard_normal(3)  # noqa: NPY002
        played(other)
    assert_array_equal(ours.reported, other.reported)
    seed = the_object(ours).opts["seed"]
    alone = cma.CMAEvolutionStrategy(mean, 0.2, {"seed": seed, "verbose": -9})
    for _ in range(10):
        asked = alone.ask()
        alone.tell(asked, [sphere(np.float32(x)) for x in asked])
    assert_allclose(ours.reported, alone.mean, rtol=1e-9)


@pytest.mark.parametrize("options", [{"bounds": [-0.2, 0.2]}, {"scaling_of_variables": 9.0}])
def test_pycmas_reported_mean_is_in_the_coordinates_of_its_candidates(fake, options):
    @erlbench.minimise
    def transformed(mean, seed):
        values = {name: value * np.ones(len(mean)) if name[0] == "s" else value for name, value in options.items()}
        return cma.CMAEvolutionStrategy(0 * mean, 0.1, {"seed": seed, "verbose": -9, **values})

    ours = fake(transformed)
    for _ in range(60):
        asked = played(ours)
    reported = ours.reported
    assert np.abs(reported).max() <= options.get("bounds", [0.0, np.inf])[1]
    assert_allclose(reported, np.mean(asked, axis=0), atol=0.05)


@erlbench.minimise
def my_de(mean, seed):
    import nevergrad

    parametrization = nevergrad.p.Array(init=mean).set_mutation(sigma=0.1)
    parametrization.random_state = np.random.RandomState(seed)
    return nevergrad.optimizers.TwoPointsDE(parametrization, num_workers=6)


@pytest.mark.parametrize("made", [erlbench.maximise(type("Plain", (Noisy,), {})), my_cma, my_de])
def test_a_restored_object_goes_on_as_if_nothing_had_been(fake, tmp_path, made):
    first, second = fake(made), fake(made)
    for _ in range(70):  # beyond the first capacity
        played(first)
    check_replay(first, second, tmp_path / "checkpoint")


def test_an_object_that_differs_after_the_replay_is_refused_in_one_line(fake):
    class Wild(Noisy):
        def __init__(self, mean, seed):
            super().__init__(mean, None)

    made = erlbench.maximise(Wild)
    first, second = fake(made), fake(made)
    for _ in range(3):
        played(first)
    with pytest.raises(CellError, match=r"Wild .*seed") as raised:
        second.algorithm.restore(first.algorithm.snapshot())
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (np.zeros((3, 2)), r"shapes \[\(2,\)\]; each must have"),
        (np.zeros(0), r"shapes \[\]"),
        (7, "no vectors"),
        (None, "not finite"),
    ],
)
def test_candidates_that_fit_no_policy_are_refused(fake, asked, message):
    class Odd(Noisy):
        def ask(self):
            return np.full((2, len(self.mean)), np.nan) if asked is None else asked

    with pytest.raises(CellError, match=message):
        fake(erlbench.maximise(Odd)).ask()


def test_what_declares_too_little_or_the_wrong_thing_is_refused(fake):
    maximise = erlbench.maximise
    cases = {
        r"Noisy .*@erlbench\.maximise": lambda: make_algorithm(Noisy),
        "parameter 'start'": lambda: make_algorithm(maximise(lambda start: start)),
        "parameter 'hidden'": lambda: make_algorithm(maximise(lambda mean, hidden=3: mean)),
        "cma minimises": lambda: fake(maximise(types.FunctionType(my_cma.__code__, globals(), "up", (0.2,)))),
        "not both ask": lambda: fake(maximise(lambda mean: object())),
        "top level": lambda: registry.find_name(type("Local", (), {})),
    }
    for words, declared in cases.items():
        with pytest.raises(UsageError, match=words):
            declared()


def test_evosaxs_functions_get_their_keys_their_state_and_an_evaluated_population(monkeypatch):
    """By a strategy with its signatures."""
    keys = []

    class Strategy:
        default_params, population_size = "params", 3

        def init(self, key, population, fitness, params):
            keys.append((key, params))
            return types.SimpleNamespace(mean=population.mean(axis=0))

        def ask(self, key, state, params):
            keys.append((key, params))
            return state.mean + np.arange(3.0)[:, None], state

        def tell(self, key, population, fitness, state, params):
            keys.append((key, params))
            return types.SimpleNamespace(mean=population[fitness.argmin()]), {}

    random = types.SimpleNamespace(
        key=lambda seed: (seed,), split=lambda key: ((*key, 0), (*key, 1)), normal=lambda key, shape: np.ones(shape)
    )
    jax = types.SimpleNamespace(random=random, numpy=types.SimpleNamespace(asarray=np.asarray))
    monkeypatch.setitem(sys.modules, "jax", jax)
    evosax = EvosaxObject(Strategy(), "mine", np.zeros(2), 9)
    for expected in ([[0.1] * 2] * 3, [[0.1] * 2, [1.1] * 2, [2.1] * 2]):
        assert_allclose(evosax.ask(), expected)
        evosax.tell(np.array([3.0, 1.0, 2.0]))
    assert_allclose(evosax.mean(), [1.1, 1.1])
    assert {params for _, params in keys} == {"mine"}
    assert len({key for key, _ in keys}) == 3  # a key is used once


@pytest.mark.slow
def test_python_takes_the_page_s_search_and_an_environment_themselves(tmp_path, write_module):
    write_module("my_searches", re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)[0])
    write_module("my_envs", "from gymnasium.envs.classic_control import PendulumEnv\nclass Mine(PendulumEnv): ...")
    import my_envs
    import my_searches

    options = {"total_timesteps": 300, "eval_episodes": 1, "final_episodes": 1, "processes": 1}
    options |= {"set": {"hidden": (4,)}, "env_set": {"max_episode_steps": 40}, "out": tmp_path / "runs"}
    made = erlbench.run(my_searches.my_cma, [my_envs.Mine, "Pendulum-v1"], **options)
    same, other = (all_rows(run)["episodes.csv"] for run in made.runs)
    assert [row["r"] for row in same] == [row["r"] for row in other]
    assert made.cells["name"].unique().tolist() == ["my_cma"]
    sys.modules.pop("my_searches")
    with pytest.raises(ErlbenchError, match="no time limit"):
        erlbench.run("cem", my_envs.Mine, out=tmp_path)
    for env, words in ((gymnasium.make("Pendulum-v1"), "worker processes can make"), (lambda: None, "top level")):
        with pytest.raises(UsageError, match=words):
            erlbench.run("cem", env, out=tmp_path)


EXITS = """
import erlbench
@erlbench.maximise
class Exits:
    def __init__(self, dimension, seed): pass
    def ask(self): raise SystemExit(0)
    def tell(self, *told): pass
"""


def test_a_search_that_ends_its_program_fails_and_the_next_one_runs(tmp_path, write_module):
    write_module("a_script", "raise SystemExit(0)\n")
    write_module("ends", EXITS)
    words = "run --env Pendulum-v1 --total-timesteps 400 --eval-freq 400 --processes 0"
    refuse("a_script:Search", *words.split(), "--algo", "a_script:Search", "--out", tmp_path)
    result = call(*words.split(), "--algo", "ends:Exits,cem", "--out", tmp_path)
    assert result.exit_code == 1
    assert "SystemExit" in result.stderr
    assert erlbench.load_results(tmp_path).cells["status"].tolist() == ["failed", "done"]
