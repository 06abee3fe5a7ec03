"""The flow of AES-RL: three workers whose tasks finish as the test says."""

import dataclasses

import numpy as np
import pytest

from erlbench.algorithms.aes_rl import AESRL, AESRLSettings
from erlbench.algorithms.coupling.half import probability_of_rl
from erlbench.errors import UsageError
from erlbench.settings import resolve
from erlbench.work.tasks import ArrayRef, Counts, Output, Perturbed, Priority

SMALL = AESRLSettings(hidden=(), batch_size=4, start_timesteps=30, critic_block=7, baseline=100.0, fitness_range=100.0)
COLD = dataclasses.replace(SMALL, start_timesteps=0, batch_size=10**6)  # own policies, never any gradients


@pytest.fixture
def make(new_fake):
    return lambda settings=SMALL, **more: new_fake(AESRL, settings, workers=3, **more)


def only_es(**more):
    return dataclasses.replace(COLD, warmup="own-policies", **more)


def warm_up(fake):
    """Three random individuals of 10 steps each."""
    for task in fake.ask():
        fake.finish(task)


def test_warm_up_plays_random_actions_and_teaches_nothing(make):
    fake = make()
    first = fake.ask()
    assert [(task.kind, task.individual, task.counts) for task in first] == [
        ("random", place, Counts.TRAINING) for place in range(3)
    ]
    assert all(task.settings.random_actions and task.settings.record for task in first)
    assert fake.ask() == []
    mean = fake.algorithm.state.search.distribution.mean
    fake.finish(first[1])
    (again,) = fake.ask()
    assert (again.kind, again.individual) == ("random", 1)
    assert fake.algorithm.counters.generation == 0
    assert fake.algorithm.state.search.distribution.mean is mean
    assert fake.replay.length == 10
    assert (fake.algorithm.state.schedule.n_rl, fake.algorithm.state.schedule.n_es) == (1, 1)


def test_public_code_learns_from_random_actions(make):
    fake = make(dataclasses.replace(SMALL, tell_in_warmup=True))
    fake.finish(fake.ask()[0], fitness=5.0)
    (measurement,) = fake.ask()
    assert (measurement.kind, measurement.counts) == ("mean", Counts.FITNESS)
    fake.finish(measurement, fitness=5.0)
    assert fake.algorithm.counters.generation == 1
    assert fake.algorithm.metrics()["p"] == 0.5


def test_gradients_start_after_the_warm_up(make):
    fake = make()
    warm_up(fake)
    tasks = fake.ask()
    critic = tasks[-1]
    assert (critic.kind, critic.priority, critic.gradient, critic.individual) == ("critic", Priority.CRITIC, True, 3)
    assert (critic.settings.updates, critic.settings.critic_updates) == (7, 0)
    assert critic.inputs["target_actor"] == fake.algorithm.policy()
    assert (critic.inputs["replay"].start, critic.inputs["replay"].stop) == (0, 30)
    assert {task.individual for task in tasks[:-1]} == {0, 1, 2}
    state = fake.algorithm.state
    assert state.schedule.n_rl + state.schedule.n_es == 5
    actors = [task for task in tasks if task.kind == "actor"]
    assert len(actors) == state.schedule.n_rl - 1
    for actor in actors:
        assert (actor.settings.updates, actor.priority) == (30, Priority.ACTOR)
        assert actor.inputs["critic"] == state.critic.parameters
        (rollout,) = [task for task in tasks if task.kind == "rl" and task.individual == actor.individual]
        assert rollout.inputs["parameters"] == Output(actor.id, "parameters")
        assert rollout.settings.record


def test_critic_makes_one_block_at_a_time_and_never_overtakes_the_timesteps(make):
    fake = make(total=40)
    warm_up(fake)
    steps = []
    for _ in range(9):
        fake.ask()
        blocks = [task for task in fake.open.values() if task.kind == "critic"]
        assert len(blocks) <= 1
        for block in blocks:
            steps.append(block.settings.critic_updates)
            fake.finish(block)
    assert steps == [0, 7, 14, 21, 28]  # the one that starts at 28 of 30 timesteps is the last
    assert fake.algorithm.counters.critic_updates == 35
    assert fake.algorithm.metrics()["critic_lag"] == -5
    np.testing.assert_array_equal(fake.store.get(fake.algorithm.state.critic.parameters)[2], np.full(8, 5.0))


def test_population_control_alternates(make):
    fake = make(total=4000)
    warm_up(fake)
    while fake.ask() or fake.open:
        fake.finish(fake.open[min(fake.open)])
    state, counters = fake.algorithm.state, fake.algorithm.counters
    assert state.schedule.n_rl + state.schedule.n_es == 2 + state.schedule.launched - 3
    assert abs(state.schedule.n_rl - state.schedule.n_es) <= 6
    assert 4000 <= counters.timesteps <= 4000 + 3 * 10
    assert counters.fitness_timesteps == 5 * (counters.timesteps - 30)
    assert counters.generation == counters.episodes - 3


def test_ratio_is_of_the_snapshot_and_moves_the_mean_of_the_moment(make):
    fake = make(only_es(), total=1000)
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


def test_trained_individuals_are_what_the_mean_moves_to(make):
    fake = make(dataclasses.replace(SMALL, p_desired=1.0, mean_update="full-move"))
    warm_up(fake)
    tasks = fake.ask()
    actor = next(task for task in tasks if task.kind == "actor")
    rollout = next(task for task in tasks if task.kind == "rl" and task.individual == actor.individual)
    trained = fake.input(actor, "parameters") + 1
    assert isinstance(fake.algorithm.state.schedule.individuals[actor.individual].parameters, Perturbed)
    fake.finish(actor)
    assert isinstance(fake.algorithm.state.schedule.individuals[actor.individual].parameters, ArrayRef)
    fake.finish(rollout, fitness=1.0)
    measurement = next(task for task in fake.ask() if task.kind == "mean")
    fake.finish(measurement, fitness=0.0)
    np.testing.assert_array_equal(fake.algorithm.state.search.distribution.mean, trained)
    np.testing.assert_array_equal(
        fake.algorithm.state.search.distribution.mean, fake.store.get(fake.algorithm.policy())
    )


def test_worse_individuals_change_nothing(make):
    fake = make(only_es(mean_update="fixed-range-linear"))
    before = fake.algorithm.state.search.distribution
    fake.finish(fake.ask()[0], fitness=0.0)
    fake.finish(fake.ask()[0], fitness=1.0)
    after = fake.algorithm.state.search.distribution
    assert after.mean is before.mean
    assert after.variance is before.variance
    assert (after.mean_ref, after.std_ref) == (before.mean_ref, before.std_ref)
    assert fake.algorithm.counters.generation == 1


def test_rank_based_rule_needs_no_measurement_and_moves_when_the_ring_is_full(make):
    fake = make(only_es(mean_update="oldest", variance_update="rank-based", window=3, elites=1))
    start = fake.algorithm.state.search.distribution.mean
    vectors = []
    for fitness in (3.0, 9.0, 1.0):
        assert fake.algorithm.state.search.distribution.mean is start
        fake.ask()
        task = fake.open[min(fake.open)]
        vectors.append(fake.input(task, "parameters").astype(float))
        fake.finish(task, fitness=fitness)
    assert "mean" not in fake.kinds()
    distribution = fake.algorithm.state.search.distribution
    np.testing.assert_allclose(distribution.mean, start + (vectors[1] - start) / 3)
    tau = 0.9 ** (1 / 3)
    epsilon = tau * 1e-3 + (1 - tau) * 1e-5
    np.testing.assert_allclose(distribution.variance, (vectors[1] - start) ** 2 + epsilon)
    assert fake.algorithm.counters.fitness_timesteps == 0
    for fitness in (2.0, 2.0):  # the one of 9 is the oldest after two more, and then gone
        fake.ask()
        fake.finish(fake.open[min(fake.open)], fitness=fitness)
    assert [member.fitness for member in fake.algorithm.state.search.ring] == [1.0, 2.0, 2.0]


def test_success_rule_window_slides(make):
    fake = make(only_es(mean_update="full-move", variance_update="success-rule", window=2, elites=1))
    variances = []
    for f_mean in (0.0, 0.0, 2.0, 2.0, 2.0):  # the individual always has 1: success, success, failures
        fake.ask()
        fake.finish(min((t for t in fake.open.values() if t.kind != "mean"), key=lambda t: t.id), fitness=1.0)
        (measurement,) = [task for task in fake.ask() if task.kind == "mean"]
        fake.finish(measurement, fitness=f_mean)
        variances.append(fake.algorithm.state.search.distribution.variance[0] / 1e-3)
    np.testing.assert_allclose(variances, [1, 1, 1 / 0.99, 1, 0.99])


def test_budget_ends_launches_and_critic_but_those_in_flight_still_tell(make):
    fake = make(total=40)
    warm_up(fake)
    fake.ask()
    while fake.algorithm.counters.timesteps < 40:
        fake.finish(fake.open[min(fake.open)])
    generation = fake.algorithm.counters.generation
    while fake.ask() or fake.open:
        assert {task.kind for task in fake.open.values()} <= {"mean", "es", "rl", "actor", "critic"}
        fake.finish(fake.open[min(fake.open)])
    assert fake.algorithm.state.schedule.individuals == {}
    assert fake.algorithm.counters.generation == generation + 3
    assert fake.algorithm.counters.timesteps == 60


def test_with_a_ratio_individuals_and_critic_wait_for_each_other(make):
    """Thirty steps of warm-up and blocks of seven: nobody starts before four blocks, and then the fifth is due."""
    fake = make(dataclasses.replace(SMALL, critic_updates_per_step=1.0))
    warm_up(fake)
    for step in (0, 7, 14, 21):
        (block,) = fake.ask()
        assert (block.kind, block.settings.critic_updates) == ("critic", step)
        assert fake.ask() == []
        fake.finish(block)
    tasks = fake.ask()  # 28 updates in 30 steps: less than a block behind
    assert {task.individual for task in tasks if task.kind in ("es", "rl")} == {0, 1, 2}
    (block,) = (task for task in tasks if task.kind == "critic")
    fake.finish(block)
    assert [task.kind for task in fake.ask()] == []  # 35 updates: the critic waits
    half = make(dataclasses.replace(SMALL, critic_updates_per_step=0.5))
    warm_up(half)
    half.finish(half.ask()[0])
    assert half.algorithm.counters.critic_updates == 7
    half.finish(half.ask()[0])
    tasks = half.ask()
    assert {task.individual for task in tasks if task.kind in ("es", "rl")} == {0, 1, 2}


def test_the_rank_based_rule_of_the_code_measures_the_mean(make):
    fake = make(only_es(mean_update="oldest", variance_update="rank-based", window=3, elites=1, always_measure=True))
    fake.ask()
    fake.finish(fake.open[min(fake.open)], fitness=3.0)
    assert fake.algorithm.counters.generation == 0
    (measurement,) = fake.ask()[:1]
    assert (measurement.kind, measurement.settings.episodes) == ("mean", 5)
    fake.finish(measurement, fitness=1.0)
    assert fake.algorithm.counters.generation == 1
    assert fake.algorithm.metrics()["f_mean"] == 1.0


def test_oldest_has_no_ratio_for_the_online_rules():
    with pytest.raises(UsageError, match="use 'rank-based'"):
        resolve(AESRLSettings, "Hopper-v5", {"mean_update": "oldest"})


@pytest.mark.parametrize(
    ("n_rl", "n_es", "desired", "p"),
    [(1, 1, 0.5, 0.5), (2, 1, 0.5, 0.0), (1, 2, 0.5, 1.0), (101, 100, 0.5, 0.5 - 50 * 0.5 / 201), (1, 1, 0.1, 0.0)],
)
def test_probability_of_rl(n_rl, n_es, desired, p):
    assert probability_of_rl(n_rl, n_es, desired, 50.0) == pytest.approx(p)
