"""CrossQ's losses against an independent float64 computation: by-hand BatchRenorm, finite differences, SAC's actor.

Each test names the mutations that it catches.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from erlbench.algorithms.gradients.learners import crossq
from erlbench.algorithms.gradients.learners.crossq import (
    BatchRenorm,
    CrossQActorBlock,
    CrossQCriticBlock,
    CrossQLearner,
    RenormMLP,
    RenormPolicy,
    joint_critic_loss,
)
from erlbench.algorithms.gradients.minibatches import Minibatch
from erlbench.algorithms.training.critic import (
    actor_size,
    critic_spec,
    fold_norm,
    initial_critic,
    initial_soft_learner,
    learner_parts,
    norm_size,
)  # fmt: skip
from erlbench.algorithms.training.update_settings import ActorUpdate, CriticUpdate, CrossQUpdate, both_rates
from erlbench.policy import NumpyPolicy, PolicySpec, initial_parameters, parameter_count
from tests.algorithms.gradients import crossq_of_sbx

OBSERVATION, ACTION, BATCH = 3, 2, 7
POLICY = PolicySpec((OBSERVATION, 6, 5, ACTION), "relu", (-1.0,) * ACTION, (1.0,) * ACTION)
CRITIC = replace(critic_spec(POLICY, (8, 4), "relu"), normalised=True)
UPDATE = CrossQUpdate(
    POLICY, CRITIC, BATCH, **both_rates(1e-3), discount=0.97, policy_delay=3, temperature=None, target_entropy=-2.0,
    actor_norm=True,
)  # fmt: skip


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


def by_hand(x, scale, bias, mean, variance, calls, constants=None):
    """The specification, line by line: what it gives, the new statistics, and r and d (given as constants or not)."""
    batch_mean = x.sum(0) / len(x)
    batch_variance = (x**2).sum(0) / len(x) - batch_mean**2
    if constants is None:
        r = np.sqrt(batch_variance + 0.001) / np.sqrt(variance + 0.001)
        d = (batch_mean - mean) / np.sqrt(variance + 0.001)
        constants = np.clip(r, 1 / 3, 3), np.clip(d, -5, 5)
        if calls < 100_000:
            constants = np.ones_like(mean), np.zeros_like(mean)
    r, d = constants
    result = (x - batch_mean + d * np.sqrt(batch_variance) / r) / np.sqrt(batch_variance / r**2 + 0.001)
    statistics = 0.99 * mean + 0.01 * batch_mean, 0.99 * variance + 0.01 * batch_variance
    return result * scale + bias, statistics, constants


def critic_by_hand(vector, sizes, x, calls, constants=None):
    """Q of a row of pairs in training; the vector with moved statistics; r and d of each layer."""
    split, features = parameter_count(sizes), np.cumsum([0, *sizes[:-1]])
    vector, norm = vector.copy(), vector[split:].reshape(4, -1).copy()
    start, used = 0, []
    for layer, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        part = slice(*features[layer : layer + 2])
        given = None if constants is None else constants[layer]
        x, (mean, variance), more = by_hand(x, *norm[:, part], calls, given)
        used.append(more)
        norm[2, part], norm[3, part] = mean, variance
        weight = vector[start : start + inputs * outputs].reshape(outputs, inputs)
        x = x @ weight.T + vector[start + inputs * outputs : start + (inputs + 1) * outputs]
        start += (inputs + 1) * outputs
        x = np.maximum(x, 0) if layer < len(sizes) - 2 else x
    return x, np.concatenate([vector[:split], norm.ravel()]), used


def adam(parameters, gradient, first, second, step, beta1=0.5):
    """One step of Adam."""
    first, second = beta1 * first + (1 - beta1) * gradient, 0.999 * second + 0.001 * gradient**2
    slope = first / (1 - beta1**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return parameters - 1e-3 * slope, first, second


def differences(loss, vector, count, step=1e-6):
    """Central differences by the first `count` numbers of a vector."""
    gradient = np.zeros_like(vector)
    for place in range(count):
        up, down = vector.copy(), vector.copy()
        up[place] += step
        down[place] -= step
        gradient[place] = (loss(up) - loss(down)) / (2 * step)
    return gradient


# -- the normalisation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("calls", [0, 99_999, 100_000, 100_001])
def test_a_layer_equals_the_specification_and_its_warm_up_ends_after_100000_calls(calls):
    """Mutations: WARM by one, momentum 0.99, unbiased variance, epsilon in the numerator's sigma, r or d unclipped,
    r and d after the running statistics have moved."""
    random, width = np.random.default_rng(1), 40
    x, vector = 2 * random.normal(size=(9, width)) + 3, vector_of(random, (width, 1), 0)
    tensor = torch.from_numpy(vector.copy())
    norm = BatchRenorm((width,), tensor, torch.zeros(4 * width))
    norm.calls = calls
    found = norm(0, torch.from_numpy(x)).detach().numpy()
    expected, (mean, variance), (r, d) = by_hand(x, *vector.reshape(4, -1), calls)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(tensor.numpy()[2 * width :], np.concatenate([mean, variance]), rtol=1e-12)
    assert norm.calls == calls + 1
    if calls >= 100_000:
        assert {1 / 3, 3.0} < set(r)
        assert {-5.0, 5.0} & set(d)
        again = norm(0, torch.from_numpy(x)).detach().numpy()
        assert np.abs(again - found).max() > 1e-4  # the statistics have moved


def test_the_warm_up_normalises_as_torch_s_batch_norm_and_evaluation_by_running_statistics():
    """Mutations: evaluation by the batch's statistics, or moving the running ones."""
    random, width = np.random.default_rng(2), 5
    x, vector = torch.from_numpy(random.normal(size=(9, width))), torch.from_numpy(vector_of(random, (width, 1), 0))
    scale, bias, mean, variance = vector.view(4, -1)
    expected = torch.nn.functional.batch_norm(x, None, None, scale, bias, training=True, eps=1e-3)
    torch.testing.assert_close(BatchRenorm((width,), vector.clone(), torch.zeros(20))(0, x).detach(), expected)
    before, frozen = vector.clone(), BatchRenorm((width,), vector, None)
    expected = torch.nn.functional.batch_norm(x, mean, variance, scale, bias, training=False, eps=1e-3)
    torch.testing.assert_close(frozen(0, x), expected)
    assert torch.equal(vector, before)
    assert frozen.calls == 0


def test_a_constant_feature_has_finite_gradients_after_the_warm_up():
    """Mutation: the plain root of the variance, whose derivative is infinite at 0: a dead unit makes all NaN."""
    x = torch.ones(4, 2, requires_grad=True)
    norm = BatchRenorm((2,), torch.tensor([1.0, 1, 0, 0, 0, 0, 1, 1]), torch.zeros(8))
    norm.calls = 100_000
    norm(0, x).sum().backward()
    assert torch.isfinite(x.grad).all()


# -- one update ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("calls", [0, 150_000])
def test_critics_descend_the_gradient_through_the_joint_statistics(calls):
    """The loss of 2 B rows by finite differences, with r, d and y as constants; then Adam with beta1 = 0.5.

    Mutations: two passes of B rows, statistics, r or d detached or not detached, y with a gradient, the loss without
    1/2, a sum over the batch, max for min over critics, beta1 = 0.9, a step that moves the running statistics.
    """
    random = np.random.default_rng(3)
    settings = CriticUpdate(
        replace(POLICY, stochastic=True), CRITIC, BATCH, learning_rate=1e-3, discount=0.97, tau=0.0, target_noise=0.0,
        noise_clip=0.0, temperature=0.3,
    )  # fmt: skip
    block, batch, sizes = CrossQCriticBlock(settings, "cpu"), batch_of(random), CRITIC.sizes
    rows = np.stack([vector_of(random, sizes, parameter_count(sizes)) for _ in range(2)])
    block.critics[0], noise = torch.from_numpy(rows.ravel()), torch.from_numpy(random.normal(size=(1, BATCH, ACTION)))
    block.target_actor[:] = torch.from_numpy(0.4 * random.normal(size=actor_size(POLICY)))
    block.begin(calls)
    with torch.no_grad():
        next_actions, next_log = block.policy.sample(batch.next_observations, noise[0])
    loss = block.update(1, batch, noise).item()

    observations, actions, rewards, continues, following = (tensor.numpy() for tensor in batch)
    pairs = np.r_[np.c_[observations, actions], np.c_[following, next_actions.numpy()]]
    passes = [critic_by_hand(row, sizes, pairs, calls) for row in rows]
    next_values = np.minimum(*(q[BATCH:] for q, _, _ in passes)) - 0.3 * next_log.numpy()
    y = rewards + 0.97 * continues * next_values
    assert loss == pytest.approx(sum(0.5 * ((q[:BATCH] - y) ** 2).mean() for q, _, _ in passes), rel=1e-9)
    for k, (row, (_, moved, constants)) in enumerate(zip(rows, passes)):

        def of_vector(vector, used=constants):
            q, _, _ = critic_by_hand(vector, sizes, pairs, calls, used)
            return 0.5 * ((q[:BATCH] - y) ** 2).mean()

        learnt = parameter_count(sizes) + norm_size(sizes) // 2
        gradient = differences(of_vector, row, learnt)
        found = block.adam.gradients.view(2, -1)[k].numpy()
        np.testing.assert_allclose(found, gradient, atol=1e-6 * np.abs(gradient).max() + 1e-8)
        expected, first, second = adam(row, found, 0.0, 0.0, calls + 1)
        expected[learnt:] = moved[learnt:]
        part = slice(k * CRITIC.size, (k + 1) * CRITIC.size)
        np.testing.assert_allclose(block.critics[0, part].numpy(), expected, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(block.critics[1:, part].numpy(), [first, second], rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("calls", crossq_of_sbx.CALLS)
def test_critics_have_the_loss_the_gradient_and_the_statistics_of_sbx(calls):
    """One joint pass of another program on the same critics and minibatch, before and after the warm-up."""
    stored = json.loads(crossq_of_sbx.FILE.read_text())[str(calls)]
    rows, columns = crossq_of_sbx.inputs()
    *transitions, next_actions, next_log = map(torch.from_numpy, columns)
    vector = torch.from_numpy(rows.ravel())
    gradients = torch.zeros_like(vector)
    critics = crossq.renorm_critics(CRITIC, vector, gradients)
    for critic in critics:
        critic.norms.calls = calls
    bonus = -crossq_of_sbx.TEMPERATURE * next_log
    loss = joint_critic_loss(critics, Minibatch(*transitions), next_actions, bonus, crossq_of_sbx.DISCOUNT)
    loss.backward()
    assert loss.item() == pytest.approx(stored["loss"], rel=1e-9)
    np.testing.assert_allclose(gradients.view(2, -1), stored["gradients"], rtol=1e-7, atol=1e-10)
    moved = vector.view(2, -1)[:, -2 * sum(CRITIC.sizes[:-1]) :]
    np.testing.assert_allclose(moved, np.reshape(stored["statistics"], (2, -1)), rtol=1e-7)


def policy_by_hand(vector, observations, noise, training, calls):
    """Actions and log probabilities of a normalised tanh-Gaussian policy, in float64 by torch; moved statistics."""
    sizes, split = POLICY.sizes, actor_size(POLICY)
    scale, bias, mean, variance = vector[split:].view(4, -1)
    widths = np.cumsum([0, *sizes[:-1]])
    x, start, moved = observations, 0, []

    def normalised(layer, x):
        part = slice(*widths[layer : layer + 2])
        if not training:
            return (x - mean[part]) / torch.sqrt(variance[part] + 1e-3) * scale[part] + bias[part]
        of_batch = x.mean(0), (x**2).mean(0) - x.mean(0) ** 2
        moved.append([0.99 * old[part] + 0.01 * new for old, new in zip((mean, variance), of_batch)])
        root = torch.sqrt(variance[part] + 1e-3)
        r = (torch.sqrt(of_batch[1] + 1e-3) / root).clamp(1 / 3, 3).detach() if calls >= 100_000 else 1.0
        d = ((of_batch[0] - mean[part]) / root).clamp(-5, 5).detach() if calls >= 100_000 else 0.0
        z = (x - of_batch[0] + d * torch.sqrt(of_batch[1]) / r) / torch.sqrt(of_batch[1] / r**2 + 1e-3)
        return z * scale[part] + bias[part]

    def linear(x, inputs, outputs):
        nonlocal start
        weight = vector[start : start + inputs * outputs].view(outputs, inputs)
        start += (inputs + 1) * outputs
        return x @ weight.T + vector[start - outputs : start]

    for layer, (inputs, outputs) in enumerate(zip(sizes[:-2], sizes[1:-1])):
        x = torch.relu(linear(normalised(layer, x), inputs, outputs))
    x = normalised(len(sizes) - 2, x)
    heads = [linear(x, *sizes[-2:]) for _ in range(2)]
    u = heads[0] + heads[1].clamp(-20, 2).exp() * noise
    density = -0.5 * noise**2 - heads[1].clamp(-20, 2) - 0.5 * np.log(2 * np.pi)
    actions = torch.tanh(u)
    return actions, (density - torch.log(1 - actions**2 + 1e-6)).sum(1, keepdim=True), moved


@pytest.mark.parametrize("calls", [0, 150_000])
def test_every_third_update_moves_the_actor_in_training_mode_up_critics_in_evaluation_mode(calls):
    """Against an actor, a temperature and Adam that are written down here.

    Mutations: delay counted from 0, a' by the training mode (its statistics would move), critics by the batch's
    statistics, alpha's Adam with beta1 = 0.5, log alpha for alpha in its loss, the temperature each time.
    """
    random, learner = np.random.default_rng(4), CrossQLearner(UPDATE, "cpu")
    shapes = learner_parts(POLICY, CRITIC, False, True)
    actor = vector_of(random, POLICY.sizes, actor_size(POLICY))
    critics = np.concatenate([vector_of(random, CRITIC.sizes, parameter_count(CRITIC.sizes)) for _ in range(2)])
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
        _, log = learner.update(number, batch, noise)
        _, expected, _ = policy_by_hand(before[0], batch.next_observations, noise[0], False, calls)
        assert log.item() == pytest.approx(expected.mean().item(), rel=1e-9)
    assert torch.equal(views["actor"], before)  # neither parameters nor statistics
    assert views["temperature"][0].item() == 0.3
    learner.update(3, batch, noise)

    vector = torch.from_numpy(actor.copy()).requires_grad_()
    actions, log, moved = policy_by_hand(vector, batch.observations, noise[1], True, calls)
    rows = torch.split(views["critic"][0].detach(), CRITIC.size)
    q = torch.stack([RenormMLP(CRITIC, row, None)(torch.cat([batch.observations, actions], 1)) for row in rows])
    (np.exp(0.3) * log - q.amin(0)).mean().backward()
    learnt = actor_size(POLICY) + norm_size(POLICY.sizes) // 2
    gradient = vector.grad.numpy()
    gradient[learnt:] = 0.0
    expected, _, _ = adam(actor, gradient, 0.0, 0.0, calls + 1)
    expected[learnt:] = torch.cat([torch.cat(each) for each in zip(*moved)]).detach().numpy()
    np.testing.assert_allclose(views["actor"][0].numpy(), expected, rtol=1e-6, atol=1e-9)
    slope = np.exp(0.3) * (-log.mean().item() + 2.0)
    rows = adam(np.array([0.3]), np.array([slope]), 0.0, 0.0, calls + 1, beta1=0.9)
    np.testing.assert_allclose(views["temperature"].numpy().ravel(), np.ravel(rows), rtol=1e-9)


def test_an_individual_climbs_critics_in_evaluation_mode():
    """Mutations: critics by the batch's statistics, moments that survive a task, beta1 = 0.9."""
    random, policy = np.random.default_rng(5), replace(POLICY, stochastic=True)
    block = CrossQActorBlock(ActorUpdate(policy, CRITIC, BATCH, 1e-3, 0.2), "cpu")
    rows = [vector_of(random, CRITIC.sizes, parameter_count(CRITIC.sizes)) for _ in range(2)]
    block.critics[:] = torch.from_numpy(np.concatenate(rows))
    start, batch = 0.4 * random.normal(size=actor_size(POLICY)), batch_of(random)
    noise = torch.from_numpy(random.normal(size=(1, BATCH, ACTION)))
    found = []
    for _ in range(2):
        block.parameters[:] = torch.from_numpy(start)
        block.begin()
        block.update(1, batch, noise)
        found.append(block.parameters.clone())
    assert torch.equal(*found)

    def loss(vector):
        actions, log = crossq.GaussianPolicy(POLICY, torch.from_numpy(vector)).sample(batch.observations, noise[0])
        values = [evaluated(row, np.c_[batch.observations.numpy(), actions.numpy()]) for row in rows]
        return (0.2 * log.numpy() - np.minimum(*values)).mean()

    gradient = differences(loss, start, len(start))
    expected, _, _ = adam(start, gradient, 0.0, 0.0, 1)
    large = np.abs(gradient) > 1e-6
    np.testing.assert_allclose(found[0].numpy()[large], expected[large], atol=1e-6)


def evaluated(vector, x):
    """Q by the running statistics."""
    sizes, start = CRITIC.sizes, 0
    norm, features = vector[parameter_count(sizes) :].reshape(4, -1), np.cumsum([0, *sizes[:-1]])
    for layer, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        scale, bias, mean, variance = norm[:, slice(*features[layer : layer + 2])]
        x = (x - mean) / np.sqrt(variance + 1e-3) * scale + bias
        x = x @ vector[start : start + inputs * outputs].reshape(outputs, inputs).T
        start += (inputs + 1) * outputs
        x = x + vector[start - outputs : start]
        x = np.maximum(x, 0) if layer < len(sizes) - 2 else x
    return x


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
        np.testing.assert_allclose(acting.normalised(observation.astype(np.float32)), action, atol=1e-4)


def test_fresh_learners_have_torchs_weights_identity_norms_and_no_targets():
    critic = initial_critic(CRITIC, (7,))
    assert critic.shape == CRITIC.shape == (3, 2 * CRITIC.size)
    plain = initial_critic(replace(CRITIC, normalised=False), (7,))
    for row, other in zip(critic[0].reshape(2, -1), plain[0].reshape(2, -1)):
        assert np.array_equal(row[: other.size], other)
        scale, bias, mean, variance = row[other.size :].reshape(4, -1)
        assert ((scale == 1) & (bias == 0) & (mean == 0) & (variance == 1)).all()
    assert not critic[1:].any()
    learner = initial_soft_learner(POLICY, CRITIC, False, (7,), True)
    assert np.array_equal(learner[: POLICY.size], initial_parameters(POLICY.sizes, (7, 0)))


def test_the_loss_has_no_gradient_but_through_statistics_for_the_next_pairs():
    """The second half alone: with frozen statistics its gradient is zero, in training it is not."""
    random, batch = np.random.default_rng(8), batch_of(np.random.default_rng(9))
    vector = torch.from_numpy(vector_of(random, CRITIC.sizes, parameter_count(CRITIC.sizes)))
    for gradients in (None, torch.zeros_like(vector)):
        next_actions = torch.zeros(BATCH, ACTION, requires_grad=True)
        joint_critic_loss([RenormMLP(CRITIC, vector, gradients)], batch, next_actions, torch.zeros(1), 0.9).backward()
        assert bool(next_actions.grad.any()) == (gradients is not None)
