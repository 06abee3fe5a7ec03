"""ERL's schedule: what a generation plays, what it learns from, and when the learner's actor joins."""

from dataclasses import replace

import numpy as np
import pytest

from erlbench.algorithms.erl import ERL, ERLSettings
from erlbench.algorithms.training.gradient_tasks import critic_of
from erlbench.envs.registry import problem
from erlbench.policy import layer_slices
from erlbench.settings import resolve
from erlbench.work.rollout import ExplorationNoise
from erlbench.work.tasks import Output
from erlbench.work.workspace import Workspace

SMALL = {"population": 4, "hidden": (8,), "critic_hidden": (8,), "batch_size": 4, "sync_period": 2}


@pytest.fixture
def algorithm(new_context):
    settings = resolve(ERLSettings, "InvertedPendulum-v5", {}, SMALL)
    return ERL(settings, new_context(problem("InvertedPendulum-v5"), 0, 10_000, workers=4))


def generation(algorithm, workspace):
    """Run the tasks of one `ask` in order; they and their results."""
    tasks, outputs, results = algorithm.ask(), {}, []
    for task in tasks:
        inputs = {
            name: outputs[value.task][value.name] if isinstance(value, Output) else value
            for name, value in task.inputs.items()
        }
        result = workspace.run(replace(task, inputs=inputs))
        outputs[task.id] = result.arrays
        results.append(result)
        algorithm.tell(task, result)
    return tasks, results


def test_a_generation_is_everybodys_episode_and_then_as_many_updates_as_steps(algorithm):
    workspace = Workspace(algorithm.context.store)
    tasks, results = generation(algorithm, workspace)
    assert [task.kind for task in tasks] == ["es"] * 4 + ["rl"]
    assert (tasks[-1].settings.action_noise, tasks[-1].settings.noise_decay) == (0.06, 0.15)
    steps = sum(sum(result.values["lengths"]) for result in results)
    assert algorithm.context.replay.length == steps == algorithm.counters.timesteps
    (update, *rest) = algorithm.ask()
    assert (update.kind, update.settings.updates) == ("critic", steps)
    assert update.inputs["replay"].stop == steps
    assert [task.kind for task in rest] == ["es"] * 4 + ["rl"]
    assert rest[-1].inputs["parameters"] == Output(update.id, "actor")
    workspace.close()


def test_the_learner_starts_and_explores_as_the_public_code_does(algorithm):
    """Last layers times 0.1, not so the individuals'; noise 0.3 x, where x has theta 0.15 and sigma 0.2."""
    load, policy, critic = algorithm.context.store.get, algorithm.policy_spec, critic_of(algorithm)
    learner = load(algorithm.coupling.state.learner)
    q = learner[4 * policy.size :]
    individuals = np.array([load(z) for z in algorithm.search.state.population])
    bound = 8**-0.5  # PyTorch's, of a layer with 8 inputs
    for parameters, sizes, scale in (
        (learner[None], policy.sizes, 0.1),
        (q[None], critic.sizes, 0.1),
        (individuals, policy.sizes, 1.0),
    ):
        weight, bias = layer_slices(sizes)[-1]
        last = np.abs(parameters[:, weight.start : bias.stop]).max()
        assert 0.5 * scale * bound < last <= scale * bound
    assert np.array_equal(learner[: policy.size], learner[policy.size : 2 * policy.size])  # the target's, too
    assert np.array_equal(q[: critic.size], q[critic.size : 2 * critic.size])
    settings = ERLSettings()
    process, random = ExplorationNoise(1, settings.ou_theta, settings.exploration_noise), np.random.default_rng(0)
    noise = np.array([process.step(random)[0] for _ in range(100_000)])
    assert noise.std() == pytest.approx(0.3 * 0.2 / np.sqrt(1 - 0.85**2), rel=0.02)
    (*_, update) = [task for _ in range(2) for task in generation(algorithm, Workspace(algorithm.context.store))[0][:1]]
    assert (update.kind, update.settings.update.critic_gradient_clip) == ("critic", 10.0)


def test_the_learners_actor_takes_the_place_of_the_worst_every_second_generation(algorithm):
    workspace, copies = Workspace(algorithm.context.store), []
    for _ in range(5):
        generation(algorithm, workspace)
        copies.append((algorithm.coupling.state.next_place, algorithm.coupling.state.rank))
    assert [place is not None for place, _ in copies] == [False, True, False, True, False]
    assert [rank > 0 for _, rank in copies] == [False, False, True, False, True]
    assert algorithm.metrics()["learner_rank"] == copies[-1][1]
    workspace.close()


def test_the_copy_is_the_actor_after_the_updates(algorithm):
    workspace = Workspace(algorithm.context.store)
    for _ in range(2):
        generation(algorithm, workspace)
    place = algorithm.coupling.state.next_place
    update, *rest = algorithm.ask()
    assert rest[place].inputs["parameters"] == Output(update.id, "actor")
    result = workspace.run(update)
    algorithm.tell(update, result)
    load = algorithm.context.store.get
    learner, actor = load(algorithm.coupling.state.learner), load(algorithm.state.schedule.individuals[place])
    assert np.array_equal(learner[: algorithm.policy_spec.size], actor)
    workspace.close()


def test_the_reported_policy_is_the_champion_of_the_last_generation(algorithm):
    workspace = Workspace(algorithm.context.store)
    tasks, results = generation(algorithm, workspace)
    best = int(np.argmax([result.values["returns"][0] for result in results[:4]]))
    assert algorithm.policy() == tasks[best].inputs["parameters"]
    assert algorithm.metrics()["fitness_best"] == results[best].values["returns"][0]
    workspace.close()
