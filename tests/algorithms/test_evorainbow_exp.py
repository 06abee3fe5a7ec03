"""EvoRainbow-Exp against float64 computations of its own: an update, a generation, fitness."""

import numpy as np
import torch
from torch.nn.functional import leaky_relu, linear

from erlbench.algorithms.evorainbow_exp import EvoRainbowExp, EvoRainbowExpSettings
from erlbench.algorithms.gradients.programs.program import InTurn
from erlbench.algorithms.gradients.programs.td3 import TD3Program
from erlbench.algorithms.gradients.updates import make_updates
from erlbench.algorithms.training.critic import critic_spec
from erlbench.algorithms.training.learners import LEARNERS
from erlbench.policy import PolicySpec, layer_slices
from erlbench.settings import resolve
from tests.algorithms.batches import Recorded, filled_memory

SMALL = {"hidden": (8, 6), "batch_size": 16, "start_timesteps": 30}
RATE, TAU = 1e-3, 0.005
POLICY = PolicySpec((3, 8, 6, 1), "tanh", (-2.0,), (2.0,))


def settings_of(**changes):
    return resolve(EvoRainbowExpSettings, "Fake-v0", {}, SMALL | changes)


def network(vector, sizes, x, hidden, output):
    places = layer_slices(sizes)
    for (weight, bias), inputs, outputs in zip(places, sizes, sizes[1:]):
        x = linear(x, vector[weight].view(outputs, inputs), vector[bias])
        x = (output if (weight, bias) == places[-1] else hidden)(x)
    return x


def adam_step(parameters, loss):
    """The first step, and where the gradient is so large that float32 knows its direction."""
    (gradient,) = torch.autograd.grad(loss, parameters)
    return (parameters - RATE * gradient / (gradient.abs() + 1e-8)).detach(), gradient.abs() > 1e-5


def act(vector, x):
    return network(vector, POLICY.sizes, x, torch.tanh, torch.tanh)


def test_a_joint_update_of_td3_equals_float64(context):
    """Finds max for min in the target, noise without its clip, an actor up Q_2, and targets that move at once."""
    critic, random = critic_spec(POLICY, (8, 6), "leaky-relu"), np.random.default_rng(0)
    td3, settings = LEARNERS["td3"], settings_of()
    update = td3.update(POLICY, critic, settings, settings)
    assert (update.policy_delay, update.discount, update.batch_size) == (2, 0.99, 16)
    array = td3.start(POLICY, critic, (5,))
    array[POLICY.size : 2 * POLICY.size] += 0.2  # a target of its own
    program, drawn = TD3Program(update, "cpu"), Recorded(random, memory := filled_memory(context, random, 1))
    program.load(array, 0, 0)
    make_updates(program, memory, drawn, InTurn(), range(1))
    (s, transitions, following), noise = (x.double() for x in drawn.batch()), drawn.noise[0].double()
    a, r, go_on = transitions.split(1, 1)

    def q(vector, x, y):
        return network(vector, critic.sizes, torch.cat([x, y], 1), leaky_relu, lambda z: z)

    state = torch.from_numpy(array).double()
    pi, pi_target = state[: POLICY.size], state[POLICY.size : 2 * POLICY.size]
    rows = state[4 * POLICY.size :].view(4, 2, critic.size)
    smoothed = (act(pi_target, following) + (0.2 * noise).clamp(-0.5, 0.5)).clamp(-1, 1)
    y = r + 0.99 * go_on * torch.minimum(*(q(row, following, smoothed) for row in rows[1]))
    online = rows[0].clone().requires_grad_()
    new_critic, of_critic = adam_step(online, sum(((q(row, s, a) - y) ** 2).mean() for row in online))
    actor = pi.clone().requires_grad_()
    new_actor, of_actor = adam_step(actor, -q(new_critic[0], s, act(actor, s)).mean())
    found = program.state.double()
    critics = found[4 * POLICY.size :].view(4, 2, critic.size)
    for mine, wanted, sure in (
        (critics[0], new_critic, of_critic),
        (critics[1], (1 - TAU) * rows[1] + TAU * new_critic, of_critic),
        (found[: POLICY.size], new_actor, of_actor),
        (found[POLICY.size : 2 * POLICY.size], (1 - TAU) * pi_target + TAU * new_actor, of_actor),
    ):
        assert sure.double().mean() > 0.8
        np.testing.assert_allclose(mine[sure], wanted[sure], atol=1e-6)


FITNESS = (3.0, 1.0, 2.0, 5.0, 4.0, 9.0)  # of five individuals, and of the learner's noisy episode


def test_a_generation_of_cem_with_the_learners_copy_equals_float64(new_fake):
    """Finds a copy that is no sample, weights log(2 / i), a variance around the new mean, no division by K."""
    fake = new_fake(EvoRainbowExp, settings_of(epsilon_start=0.5))
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


def test_fitness_is_the_undiscounted_return_of_a_whole_episode(new_fake):
    """Finds a shorter episode, noise on an individual's actions, and the learner's return among the population's."""
    fake = new_fake(EvoRainbowExp, settings_of())
    for task in fake.ask():
        assert task.kind == "rl" or (task.settings.limit, task.settings.action_noise) == (None, 0.0)
        fake.finish(task, fitness=FITNESS[task.individual])
    columns = {"fitness_best": 5.0, "fitness_mean": 3.0, "learner_return": 9.0, "learner_rank": 0}
    assert fake.algorithm.metrics().items() >= columns.items()
