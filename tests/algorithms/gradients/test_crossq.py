"""CrossQ against SBX, and its actor against float64 by hand.

Each test names the mutations that it catches.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from erlbench.algorithms.gradients.crossq import CrossQActor
from erlbench.algorithms.gradients.learners import crossq
from erlbench.algorithms.gradients.learners.crossq import (
    BatchRenorm,
    CrossQCriticBlock,
    CrossQLearner,
    RenormMLP,
    RenormPolicy,
    joint_critic_loss,
)
from erlbench.algorithms.gradients.minibatches import Minibatch
from erlbench.algorithms.training.critic import actor_size, critic_spec, fold_norm, joined, learner_parts, separated
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, CrossQUpdate, both_rates
from erlbench.policy import NumpyPolicy, PolicySpec, parameter_count

OBSERVATION, ACTION, BATCH = 3, 2, 7
POLICY = PolicySpec((OBSERVATION, 6, 5, ACTION), "relu", (-1.0,) * ACTION, (1.0,) * ACTION)
CRITIC = replace(critic_spec(POLICY, (8, 4), "relu"), normalised=True)
UPDATE = CrossQUpdate(
    POLICY, CRITIC, BATCH, **both_rates(1e-3), discount=0.97, policy_delay=3, temperature=None, target_entropy=-2.0,
    actor_norm=True,
)  # fmt: skip


SBX = Path(__file__).with_name("crossq_of_sbx.json")  # by crossq_of_sbx.py of commit bc1e571c and SBX 0.28 (MIT)
CALLS = (0, 150_000)


@pytest.fixture(autouse=True)
def float64():
    """Everything in double precision, so that 1e-6 is a statement about formulas."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def batch_of(random):
    columns = OBSERVATION, ACTION, 1, 1, OBSERVATION
    draws = [torch.from_numpy(random.normal(size=(BATCH, width))) for width in columns]
    draws[3] = (draws[3] > -0.5).double()
    return Minibatch(*draws)


def vector_of(random, sizes, parameters):
    """Parameters, and a normalisation with statistics that a batch may differ from by more than r and d allow."""
    features = sum(sizes[:-1])
    norm = [random.uniform(0.5, 1.5, features), random.normal(size=features), 2 * random.normal(size=features)]
    return np.concatenate([0.5 * random.normal(size=parameters), *norm, np.exp(2 * random.normal(size=features))])


# -- the reference: numpy alone ------------------------------------------------------------------------------------


def adam(parameters, gradient, first, second, step, beta1=0.5):
    """One step of Adam."""
    first, second = beta1 * first + (1 - beta1) * gradient, 0.999 * second + 0.001 * gradient**2
    slope = first / (1 - beta1**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return parameters - 1e-3 * slope, first, second


def critics_of(random):
    """The vectors of two critics, one behind the other."""
    sizes = CRITIC.sizes
    return torch.from_numpy(np.concatenate([vector_of(random, sizes, parameter_count(sizes)) for _ in range(2)]))


def evaluated(critics, observations, actions):
    """The values of critics by their running statistics, `(critics, batch, 1)`."""
    pairs = torch.cat([observations, actions], 1)
    return torch.stack([RenormMLP(CRITIC, row, None)(pairs) for row in torch.split(critics, CRITIC.size)])


# -- the normalisation ---------------------------------------------------------------------------------------------


def test_a_constant_feature_has_finite_gradients_after_the_warm_up():
    """Mutation: the plain root of the variance, whose derivative is infinite at 0: a dead unit makes all NaN."""
    x = torch.ones(4, 2, requires_grad=True)
    norm = BatchRenorm((2,), torch.tensor([1.0, 1, 0, 0, 0, 0, 1, 1]), torch.zeros(8))
    norm.warm = True
    norm(0, x).sum().backward()
    assert torch.isfinite(x.grad).all()


def test_the_corrections_are_bounded():
    """A feature gets the deviation r and the mean d. Mutations: a bound of r or of d, or its sign."""
    rows = torch.tensor([[1.0] * 4, [0.0] * 4, [0.0, 0.0, 50.0, -50.0], [0.0, 100.0, 1.0, 1.0]])
    norm = BatchRenorm((4,), rows.ravel(), torch.zeros(16))
    norm.warm = True
    outputs = norm(0, torch.tensor([[-1.0] * 4, [1.0] * 4])).detach()
    assert_allclose(outputs.mean(0), [0, 0, -5, 5], atol=0.02)
    assert_allclose(outputs.std(0, correction=0), [3, 1 / 3, 1, 1], atol=0.02)


def inputs_of_sbx():
    """Critics `(critics, size)`, a minibatch, next actions and their log probabilities, all float64."""
    random, sizes, rows = np.random.default_rng(11), CRITIC.sizes, []
    features = sum(sizes[:-1])
    for _ in range(2):
        scale, bias, mean = random.uniform(0.5, 1.5, features), *random.normal(size=(2, features))
        variance = np.exp(random.normal(size=features))
        rows.append(np.concatenate([0.5 * random.normal(size=parameter_count(sizes)), scale, bias, 2 * mean, variance]))
    columns = [random.normal(size=(BATCH, width)) for width in (OBSERVATION, ACTION, 1, 1, OBSERVATION, ACTION, 1)]
    columns[3] = (columns[3] > -0.5).astype(float)  # whether the episode goes on
    return np.array(rows), columns


# -- one update ------------------------------------------------------------------------------------------------------


def joint_loss(critics, calls, batch, next_actions, next_log):
    """The loss of two critics after so many updates, with a temperature of 0.3, and its gradient."""
    gradients = torch.zeros_like(critics)
    pair = crossq.renorm_critics(CRITIC, critics, gradients)
    for critic in pair:
        critic.norms.warm = calls >= crossq.WARM
    loss = joint_critic_loss(pair, batch, next_actions, -0.3 * next_log, 0.97)
    loss.backward()
    return loss.item(), gradients


@pytest.mark.parametrize("calls", CALLS)
def test_critics_descend_the_gradient_through_the_joint_statistics(calls):
    """One step of Adam with beta1 = 0.5 on the loss that the next test compares."""
    random = np.random.default_rng(3)
    settings = CriticUpdate(
        replace(POLICY, stochastic=True), CRITIC, BATCH, learning_rate=1e-3, discount=0.97, tau=0.0, target_noise=0.0,
        noise_clip=0.0, temperature=0.3,
    )  # fmt: skip
    block, batch = CrossQCriticBlock(settings, "cpu"), batch_of(random)
    vector = critics_of(random)
    block.critics[0], noise = vector, torch.from_numpy(random.normal(size=(1, BATCH, ACTION)))
    block.target_actor[:] = torch.from_numpy(0.4 * random.normal(size=actor_size(POLICY)))
    block.begin(calls)
    actor = crossq.GaussianPolicy(POLICY, block.target_actor)
    loss, gradients = joint_loss(vector, calls, batch, *actor.sample(batch.next_observations, noise[0]))
    block.count()
    assert block.update(1, batch, noise).item() == pytest.approx(loss, rel=1e-12)
    stepped = adam(vector.numpy(), gradients.numpy(), 0.0, 0.0, calls + 1)  # statistics have no gradient
    assert_allclose(block.critics.numpy(), stepped, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("calls", CALLS)
def test_critics_have_the_loss_the_gradient_and_the_statistics_of_sbx(calls):
    """One joint pass of another program on the same critics and minibatch, before and after the warm-up."""
    stored = json.loads(SBX.read_text())[str(calls)]
    rows, columns = inputs_of_sbx()
    *transitions, next_actions, next_log = map(torch.from_numpy, columns)
    vector = torch.from_numpy(rows.ravel())
    loss, gradients = joint_loss(vector, calls, Minibatch(*transitions), next_actions, next_log)
    assert loss == pytest.approx(stored["loss"], rel=1e-9)
    assert_allclose(gradients.view(2, -1), stored["gradients"], rtol=1e-7, atol=1e-10)
    moved = vector.view(2, -1)[:, -2 * sum(CRITIC.sizes[:-1]) :]
    assert_allclose(moved, np.reshape(stored["statistics"], (2, -1)), rtol=1e-7)


@pytest.mark.parametrize("calls", CALLS)
def test_every_third_update_moves_the_actor_in_training_mode_up_critics_in_evaluation_mode(calls):
    """Against a temperature and Adam that are written down here.

    Mutations: delay counted from 0, a' by the training mode (its statistics would move), critics by the batch's
    statistics, alpha's Adam with beta1 = 0.5, log alpha for alpha in its loss, the temperature each time.
    """
    random, learner = np.random.default_rng(4), CrossQLearner(UPDATE, "cpu")
    shapes = learner_parts(POLICY, CRITIC, False, True)
    actor = vector_of(random, POLICY.sizes, actor_size(POLICY))
    critics = critics_of(random)
    parts = {name: np.zeros(shape) for name, shape in shapes.items()}
    parts["actor"][0], parts["critic"][0], parts["temperature"][0] = actor, critics, 0.3
    learner.state[:] = torch.from_numpy(np.concatenate([part.ravel() for part in parts.values()]))
    learner.begin(calls, calls)
    batch, noise = batch_of(random), torch.from_numpy(random.normal(size=(2, BATCH, ACTION)))
    views = {}
    for (name, shape), tensor in zip(shapes.items(), torch.split(learner.state, [np.prod(s) for s in shapes.values()])):
        views[name] = tensor.view(shape)
    before = views["actor"].clone()
    for number in (1, 2):
        learner.count(number)
        _, log = learner.update(number, batch, noise)
        _, expected = RenormPolicy(POLICY, before[0]).sample(batch.next_observations, noise[0])
        assert log.item() == pytest.approx(expected.mean().item(), rel=1e-9)
    assert torch.equal(views["actor"], before)  # neither parameters nor statistics
    assert views["temperature"][0].item() == 0.3
    learner.count(3)
    learner.update(3, batch, noise)

    vector, gradient = torch.from_numpy(actor.copy()), torch.zeros(len(actor))
    training = RenormPolicy(POLICY, vector, gradient)
    training.norms.warm = calls >= crossq.WARM
    actions, log = training.sample(batch.observations, noise[1])
    q = evaluated(views["critic"][0].detach(), batch.observations, actions)
    (np.exp(0.3) * log - q.amin(0)).mean().backward()
    expected, _, _ = adam(vector.numpy(), gradient.numpy(), 0.0, 0.0, calls + 1)  # its statistics have moved
    assert_allclose(views["actor"][0].numpy(), expected, rtol=1e-6, atol=1e-9)
    slope = np.exp(0.3) * (-log.mean().item() + 2.0)
    rows = adam(np.array([0.3]), np.array([slope]), 0.0, 0.0, calls + 1, beta1=0.9)
    assert_allclose(views["temperature"].numpy().ravel(), np.ravel(rows), rtol=1e-9)


def test_an_individual_climbs_critics_in_evaluation_mode():
    """Mutations: critics by the batch's statistics, moments that survive a task, beta1 = 0.9."""
    random, policy = np.random.default_rng(5), replace(POLICY, stochastic=True)
    program = CrossQActor(ActorUpdate(policy, CRITIC, BATCH, 1e-3, 0.2), "cpu")
    critics = critics_of(random).numpy().astype(np.float32)
    start, batch = (0.4 * random.normal(size=actor_size(POLICY))).astype(np.float32), batch_of(random)
    noise = torch.from_numpy(random.normal(size=(1, BATCH, ACTION)))
    for _ in range(2):  # nothing goes on from one task to the next
        program.load(joined(policy, start), critics[None])
        program.learner.update(1, batch, noise)
    start, critics = start.astype(float), torch.from_numpy(critics).double()
    gradient = torch.zeros(len(start))
    actor = crossq.GaussianPolicy(POLICY, torch.from_numpy(start), gradient)
    actions, log = actor.sample(batch.observations, noise[0])
    (0.2 * log - evaluated(critics, batch.observations, actions).amin(0)).mean().backward()
    expected, _, _ = adam(start, gradient.numpy(), 0.0, 0.0, 1)
    assert_allclose(separated(policy, program.parameters()), expected, rtol=1e-9, atol=1e-12)


# -- vectors -------------------------------------------------------------------------------------------------------


def test_a_folded_actor_acts_as_the_normalised_one_by_its_running_statistics():
    """Mutations: offset with the sign of the mean, the scale of another layer, epsilon left out."""
    random = np.random.default_rng(6)
    vector = vector_of(random, POLICY.sizes, actor_size(POLICY))
    plain, observations = fold_norm(POLICY, vector), random.normal(size=(20, OBSERVATION))
    actor, zero = RenormPolicy(POLICY, torch.from_numpy(vector)), torch.zeros(20, ACTION)
    with torch.no_grad():
        expected, _ = actor.sample(torch.from_numpy(observations), zero)
    acting = NumpyPolicy(POLICY, plain)
    for observation, action in zip(observations, expected.numpy()):
        assert_allclose(acting.normalised(observation.astype(np.float32)), action, atol=1e-4)
