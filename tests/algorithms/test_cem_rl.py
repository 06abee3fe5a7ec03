"""The generations of CEM, CEM-RL and P-CEM-RL: which tasks depend on which, and what they learn."""

import numpy as np
import pytest

from erlbench.algorithms import cem_rl, p_cem_rl
from erlbench.algorithms.cem import CEM, CEMSettings
from erlbench.algorithms.cem_rl import CEMRL, CEMRLSettings
from erlbench.algorithms.p_cem_rl import PCEMRL, PCEMRLSettings
from erlbench.algorithms.search.cem import elite_weights
from erlbench.errors import UsageError
from erlbench.settings import resolve
from erlbench.work.seeding import Purpose
from erlbench.work.tasks import Output, Priority

SMALL = {"population": 4, "elites": 2, "hidden": ()}
SMALL_RL = {**SMALL, "n_grad": 2, "start_timesteps": 30, "batch_size": 4}


def generation(fake, fitness=lambda individual: float(individual), length=10):
    """Finish everything that is asked for until the generation is over, in task order."""
    now = fake.algorithm.counters.generation
    fake.ask()
    while fake.algorithm.counters.generation == now:
        task = fake.open[min(fake.open)]
        fake.finish(task, fitness(task.individual), length)
        if fake.algorithm.counters.generation == now:
            fake.ask()


def test_cem_refits_the_distribution_to_the_elites(new_fake):
    fake = new_fake(CEM, CEMSettings(**SMALL))
    state = fake.algorithm.state
    mean = state.search.distribution.mean
    tasks = fake.ask()
    assert [(task.kind, task.individual) for task in tasks] == [("es", individual) for individual in range(4)]
    assert not any(task.settings.record for task in tasks)
    assert fake.ask() == []
    z = [fake.input(task, "parameters").astype(float) for task in tasks]
    np.testing.assert_allclose(z[0] + z[2], 2 * mean, atol=1e-6)
    for task, fitness in zip(tasks, (1.0, 7.0, 7.0, -2.0)):
        fake.finish(task, fitness)
    first, second = elite_weights(2)
    np.testing.assert_allclose(state.search.distribution.mean, first * z[1] + second * z[2])
    epsilon = 0.95 * 1e-3 + 0.05 * 1e-5
    spread = first * (z[1] - mean) ** 2 + second * (z[2] - mean) ** 2
    np.testing.assert_allclose(state.search.distribution.variance, spread / 2 + epsilon)
    metrics = fake.algorithm.metrics()
    assert (metrics["fitness_best"], metrics["fitness_mean"], metrics["steps"]) == (7.0, 3.25, 40)
    np.testing.assert_array_equal(
        fake.store.get(fake.algorithm.policy()), state.search.distribution.mean.astype(np.float32)
    )
    again = fake.ask()
    assert [task.inputs["parameters"].key for task in again[:2]] == [
        fake.algorithm.key(Purpose.NOISE, 1, index) for index in range(2)
    ]


@pytest.mark.parametrize("recombination", ["equal", "ranks"])
def test_other_updates_of_the_mean(recombination, new_fake):
    """Equal weights; centred ranks 1, 1/3, -1/3, -1 whose positive part sums to one; of trained individuals, too."""
    fake = new_fake(CEMRL, CEMRLSettings(**SMALL_RL, recombination=recombination), total=1000)
    generation(fake)
    state = fake.algorithm.state
    mean, tasks = state.search.distribution.mean, fake.ask()
    by_individual, order = {}, (1.0, 7.0, 7.5, -2.0)
    for task in sorted(tasks, key=lambda task: task.id):
        if task.kind in ("es", "rl"):
            by_individual[task.individual] = fake.input(task, "parameters").astype(float)
        fake.finish(task, order[task.individual])
    z = [by_individual[individual] for individual in (2, 1, 0, 3)]
    assert state.schedule.trained == [0, 1]
    epsilon = 0.95 * (0.95 * 1e-3 + 0.05 * 1e-5) + 0.05 * 1e-5
    if recombination == "equal":
        weights, expected = (0.5, 0.5), (z[0] + z[1]) / 2
    else:
        weights = elite_weights(2)
        expected = mean + 0.75 * (z[0] - mean) + 0.25 * (z[1] - z[2]) - 0.75 * (z[3] - mean)
    np.testing.assert_allclose(state.search.distribution.mean, expected, atol=1e-12)
    spread = weights[0] * (z[0] - mean) ** 2 + weights[1] * (z[1] - mean) ** 2
    np.testing.assert_allclose(state.search.distribution.variance, spread / 2 + epsilon)


def test_cem_variance_without_the_extra_division(new_fake):
    fake = new_fake(CEM, CEMSettings(**SMALL, extra_ke_division=False))
    mean = fake.algorithm.state.search.distribution.mean
    tasks = fake.ask()
    z = [fake.input(task, "parameters").astype(float) for task in tasks]
    for task in tasks:
        fake.finish(task, -task.individual)
    first, second = elite_weights(2)
    spread = first * (z[0] - mean) ** 2 + second * (z[1] - mean) ** 2
    np.testing.assert_allclose(fake.algorithm.state.search.distribution.variance, spread + 0.95 * 1e-3 + 0.05 * 1e-5)


def test_cem_rl_warms_up_with_its_own_policies(new_fake):
    fake = new_fake(CEMRL, CEMRLSettings(**SMALL_RL))
    tasks = fake.ask()
    assert [task.kind for task in tasks] == ["es"] * 4
    assert all(task.settings.record and not task.settings.random_actions for task in tasks)
    fake = new_fake(CEMRL, CEMRLSettings(**SMALL_RL, random_warmup=True))
    assert all(task.kind == "random" and task.settings.random_actions for task in fake.ask())


def test_cem_rl_trains_only_after_more_than_the_warm_up(new_fake):
    fake = new_fake(CEMRL, CEMRLSettings(**{**SMALL_RL, "start_timesteps": 40}))
    generation(fake)  # 40 steps
    assert {task.kind for task in fake.ask()} == {"es"}


def test_p_cem_rl_of_the_code_trains_after_at_least_the_warm_up(new_fake):
    """On HalfCheetah: ten random episodes of 1,000 steps, then a trained generation."""
    settings = resolve(PCEMRLSettings, "HalfCheetah-v5", p_cem_rl.PRESETS["code"], {"hidden": (4,)})
    assert (settings.start_timesteps, settings.batch_size, settings.tau_cem) == (10_000, 256, 0.9)
    fake = new_fake(PCEMRL, settings, workers=5, total=100_000)
    assert [task.kind for task in fake.ask()] == ["random"] * 10
    for task in list(fake.open.values()):
        fake.finish(task, length=1000)
    assert [(task.kind, task.settings.updates) for task in fake.ask()[:5]] == [("critic", 2000)] * 5
    with pytest.raises(ValueError, match="'individual' is cem-rl's"):
        PCEMRLSettings(warmup_gate="individual")


def test_cem_rl_of_aes_rls_code_asks_for_the_warm_up_before_each_individual(new_fake):
    """On HalfCheetah: eleven random episodes; then the second individual of the second generation is trained.

    Each critic block follows the episode of the individual before it.
    """
    settings = resolve(CEMRLSettings, "HalfCheetah-v5", cem_rl.PRESETS["aes-rl-code"], {"hidden": (4,)})
    fake = new_fake(CEMRL, settings, total=100_000)
    asked = []
    while fake.algorithm.counters.generation < 2:
        tasks = fake.ask()
        assert fake.ask() == []
        asked.append([task.kind for task in tasks])
        for task in tasks:
            if task.kind in ("critic", "actor"):
                assert task.inputs["replay"].stop == fake.algorithm.counters.timesteps
                assert task.settings.updates == (2000 if task.kind == "critic" else 10_000)
            fake.finish(task, float(task.individual), length=1000)
    assert asked == [["random"]] * 11 + [["critic", "actor", "rl"]] * 4 + [["es"]] * 5
    state, counters = fake.algorithm.state, fake.algorithm.counters
    assert (state.schedule.trained, state.schedule.rl_elites) == ([1, 2, 3, 4], 0)
    assert (counters.critic_updates, counters.actor_updates) == (8000, 40_000)
    assert fake.algorithm.metrics()["n_rl"] == 4


def test_cem_rl_generation_is_a_critic_chain_with_actors_beside_it(new_fake):
    fake = new_fake(CEMRL, CEMRLSettings(**SMALL_RL))
    generation(fake)
    critic = fake.algorithm.state.critic.parameters
    block0, actor0, block1, actor1, *rollouts = fake.ask()
    population = list(fake.algorithm.state.schedule.individuals)
    assert block0.inputs["critic"] == critic
    assert block0.inputs["target_actor"] == population[0]
    assert block1.inputs["critic"] == Output(block0.id, "critic")
    assert block1.inputs["target_actor"] == population[1]
    assert [(b.settings.updates, b.settings.critic_updates, b.priority) for b in (block0, block1)] == [
        (20, 0, Priority.CRITIC), (20, 20, Priority.CRITIC),
    ]  # fmt: skip
    for block, actor, z in ((block0, actor0, population[0]), (block1, actor1, population[1])):
        assert actor.inputs["parameters"] == z
        assert actor.inputs["critic"] == Output(block.id, "critic")
        assert actor.settings.updates == 40
        assert (actor.inputs["replay"].start, actor.inputs["replay"].stop) == (0, 40)
    assert [task.kind for task in rollouts] == ["rl", "rl", "es", "es"]
    assert [task.inputs["parameters"] for task in rollouts] == [
        Output(actor0.id, "parameters"), Output(actor1.id, "parameters"), population[2], population[3],
    ]  # fmt: skip


def test_cem_rl_without_gradients_is_cem(new_fake):
    fake = new_fake(CEMRL, CEMRLSettings(**{**SMALL_RL, "n_grad": 0}))
    cem = new_fake(CEM, CEMSettings(**SMALL))
    for each in (fake, cem):
        for _ in range(3):
            generation(each, lambda individual: float(individual % 3))
    assert fake.algorithm.state.critic is None
    assert fake.replay.length == 0
    np.testing.assert_array_equal(
        fake.algorithm.state.search.distribution.mean, cem.algorithm.state.search.distribution.mean
    )


def test_p_cem_rl_actors_all_train_on_the_final_critic(new_fake):
    fake = new_fake(PCEMRL, PCEMRLSettings(**SMALL_RL))
    assert fake.algorithm.is_synchronous(fake.algorithm.settings)
    generation(fake)
    block0, block1, actor0, actor1, *rollouts = fake.ask()
    assert block1.inputs["critic"] == Output(block0.id, "critic")
    assert actor0.inputs["critic"] == actor1.inputs["critic"] == Output(block1.id, "critic")
    assert [task.inputs["parameters"] for task in rollouts[:2]] == [
        Output(actor0.id, "parameters"), Output(actor1.id, "parameters"),
    ]  # fmt: skip


def test_p_cem_rl_parallel_critic_learns_all_the_time(new_fake):
    settings = resolve(
        PCEMRLSettings, "Hopper-v5", p_cem_rl.PRESETS["parallel-critic"], {**SMALL_RL, "critic_block": 6}
    )
    fake = new_fake(PCEMRL, settings, total=100, workers=5)
    assert not fake.algorithm.is_synchronous(fake.algorithm.settings)
    generation(fake)
    tasks = fake.ask()
    assert [task.kind for task in tasks] == ["actor", "actor", "rl", "rl", "es", "es", "critic"]
    stream = tasks[-1]
    assert stream.inputs["target_actor"] == fake.algorithm.policy()
    assert (stream.settings.updates, stream.individual, stream.priority) == (6, 5, Priority.ACTOR)
    assert tasks[0].inputs["critic"] == fake.algorithm.state.critic.parameters
    fake.finish(stream)
    (stream,) = fake.ask()
    assert (stream.kind, stream.settings.critic_updates) == ("critic", 6)
    for task in list(fake.open.values()):
        fake.finish(task, float(task.individual))
    assert fake.algorithm.counters.generation == 2
    assert fake.algorithm.counters.critic_updates == 12


def test_settings_that_contradict_each_other():
    with pytest.raises(UsageError, match=r"elites \(5\) cannot exceed population \(4\)"):
        resolve(CEMSettings, "Hopper-v5", {}, {"population": "4"})
    with pytest.raises(UsageError, match=r"n_grad \(11\) cannot exceed population \(10\)"):
        resolve(CEMRLSettings, "Hopper-v5", {}, {"n_grad": 11})
