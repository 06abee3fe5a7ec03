"""Updates against Stable-Baselines3's from the same weights on the same batches."""

import math

import numpy as np
import pytest
import stable_baselines3
import torch
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.type_aliases import ReplayBufferSamples

from erlbench.algorithms.gradients.episode_loop import Memory
from erlbench.algorithms.gradients.episodes import train_sac
from erlbench.algorithms.gradients.programs.program import InTurn
from erlbench.algorithms.gradients.programs.sac import SACProgram
from erlbench.algorithms.gradients.programs.td3 import DDPGProgram, TD3Program
from erlbench.algorithms.gradients.updates import make_updates
from erlbench.algorithms.sac import SAC, SACSettings
from erlbench.algorithms.training.critic import critic_spec, initial_soft_learner
from erlbench.algorithms.training.update_settings import DDPGUpdate, SACUpdate, TD3Update, both_rates
from erlbench.errors import NumericalError
from erlbench.policy import PolicySpec
from erlbench.work.rollout import ExplorationNoise
from erlbench.work.seeding import generator
from erlbench.work.tasks import ReplayView
from erlbench.work.workspace import Workspace

BATCH = 32
POLICY = PolicySpec((3, 24, 16, 1), "relu", (-2.0,), (2.0,))
TWINS = critic_spec(POLICY, (24, 16), "relu")


def filled_memory(context, random, action_size):
    """A hundred random transitions, every seventh of them terminal."""
    memory = Memory(ReplayView("", 3, action_size, 0, 0), Workspace(context.store), 100, 1000)
    memory.observations[:] = random.standard_normal((101, 3))
    actions = random.uniform(-1, 1, (100, action_size))
    memory._transitions[:] = np.c_[actions, random.standard_normal(100), np.arange(100) % 7 > 0]
    memory.stop = 100
    return memory


def flat_parameters(module):
    """All parameters of a module as a flat vector."""
    return torch.nn.utils.parameters_to_vector(module.parameters()).detach().numpy()


class Recorded:
    """Draws what a generator draws, and keeps it for the other side."""

    def __init__(self, random, memory):
        self.random, self.memory = random, memory

    def integers(self, *arguments):
        self.indices = self.random.integers(*arguments)
        return self.indices

    def standard_normal(self, out, dtype):
        self.noise = torch.from_numpy(self.random.standard_normal(out=out, dtype=dtype).copy())

    def batch(self):
        """Observations, transitions, next observations."""
        rows, observations = self.indices, torch.from_numpy(self.memory.observations)
        return observations[rows], torch.from_numpy(self.memory._transitions)[rows], observations[rows + 1]


class TheirBuffer:
    """In place of a replay buffer of Stable-Baselines3: the batch that was drawn last, of tasks with one action."""

    def __init__(self, drawn):
        self.drawn = drawn

    def sample(self, *arguments, **more):
        observations, transitions, following = self.drawn.batch()
        return ReplayBufferSamples(
            observations, transitions[:, :1], following, 1 - transitions[:, 2:], transitions[:, 1:2]
        )


def their_model(kind):
    """A model of Stable-Baselines3 for `POLICY` on the pendulum."""
    model = kind("MlpPolicy", "Pendulum-v1", policy_kwargs={"net_arch": [24, 16]}, seed=0, device="cpu")
    model.set_logger(Logger(None, []))
    model.batch_size = BATCH
    return model


def begin(mine, model):
    """Load a deterministic learner with a model's parameters; pairs of ours and theirs."""
    actor, q = flat_parameters(model.actor), flat_parameters(model.critic)
    zeros = np.zeros_like
    mine.load(np.concatenate([actor, actor, zeros(actor), zeros(actor), q, q, zeros(q), zeros(q)]), 0, 0)
    actors, critics = mine.state[: 4 * POLICY.size].view(4, -1), mine.critics.state
    modules = model.actor, model.actor_target, model.critic, model.critic_target
    return [*zip((actors[0], actors[1], critics[0], critics[1]), modules)]


def check_updates(context, mine, model, pairs, first=0, before=lambda drawn: None):
    """Twenty updates on the same batches give the same losses and parameters; yields what theirs notes after each."""
    random = np.random.default_rng(0)
    drawn, noted = Recorded(random, filled_memory(context, random, 1)), {}
    model.replay_buffer = TheirBuffer(drawn)
    model.logger.record = lambda name, value, **more: noted.__setitem__(name, value)
    for number in range(first, first + 20):
        report = make_updates(mine, drawn.memory, drawn, InTurn(), range(number, number + 1))[0]
        before(drawn)
        model.train(1, BATCH)
        assert report[0].item() == pytest.approx(noted["train/critic_loss"], rel=1e-5)
        for vector, module in pairs:
            expected = flat_parameters(module)
            assert np.abs(vector.numpy() - expected).max() <= 1e-5 * np.abs(expected).max()
        yield noted


def test_updates_of_td3_equal_stable_baselines3(context, monkeypatch):
    """Twenty updates of critics, actor and targets, from the same weights on the same batches and noise."""
    model = their_model(stable_baselines3.TD3)
    numbers = model.learning_rate, model.gamma, model.tau, model.target_policy_noise, model.target_noise_clip
    names = ("actor_learning_rate", "discount", "tau", "target_noise", "noise_clip")
    values = dict(zip(names, numbers, strict=True)) | {"critic_learning_rate": numbers[0]}
    mine = TD3Program(TD3Update(POLICY, TWINS, BATCH, **values, policy_delay=2), "cpu")

    def use(drawn):
        monkeypatch.setattr(torch.Tensor, "normal_", lambda tensor, mean, std: tensor.copy_(std * drawn.noise[0]))

    assert len([*check_updates(context, mine, model, begin(mine, model), first=1, before=use)]) == 20


@pytest.mark.parametrize(("decay", "clip"), [(0.0, None), (1e-2, None), (1e-2, 0.4)])
def test_updates_of_ddpg_equal_stable_baselines3(decay, clip, context):
    """Twenty updates of critic, actor and targets, from the same weights on the same batches; PyTorch clips theirs."""
    model, norms = their_model(stable_baselines3.DDPG), []
    for optimiser, rate in ((model.actor.optimizer, 1e-4), (model.critic.optimizer, 1e-3)):
        optimiser.param_groups[0]["lr"] = rate
    model._update_learning_rate = lambda optimisers: None
    model.critic.optimizer.param_groups[0]["weight_decay"] = decay
    if clip is not None:
        model.critic.optimizer.register_step_pre_hook(
            lambda *_: norms.append(float(torch.nn.utils.clip_grad_norm_(model.critic.parameters(), clip)))
        )
    critic = critic_spec(POLICY, (24, 16), "relu", 1)
    numbers = {"actor_learning_rate": 1e-4, "critic_learning_rate": 1e-3, "discount": model.gamma, "tau": model.tau}
    update = DDPGUpdate(POLICY, critic, BATCH, **numbers, critic_weight_decay=decay, critic_gradient_clip=clip)
    mine = DDPGProgram(update, "cpu")
    assert len([*check_updates(context, mine, model, begin(mine, model))]) == 20
    assert clip is None or min(norms) < clip < max(norms)  # both cases are met


def test_noise_by_hand():
    random = generator(5)
    drawn = random.standard_normal((3, 2), dtype=np.float32)
    noise, random = ExplorationNoise(2, 0.15, 0.2), generator(5)
    x = np.zeros(2)
    for row in drawn:
        x = 0.85 * x + 0.2 * row
        assert noise.step(random) == pytest.approx(x, rel=1e-5)


def test_updates_of_sac_equal_stable_baselines3(context, monkeypatch):
    """Twenty updates of critics, actor, temperature and targets from the same weights, batches and noise.

    Its correction for tanh is the same formula with the same epsilon. It steps the temperature first, but uses the
    old one in the losses.
    """
    model, array = their_model(stable_baselines3.SAC), initial_soft_learner(POLICY, TWINS, (1,))
    actor, q = flat_parameters(model.actor), flat_parameters(model.critic)
    array[: len(actor)] = actor
    start = 3 * len(actor) + 3
    array[start : start + 2 * len(q)] = np.concatenate([q, q])
    numbers = both_rates(3e-4) | {"discount": 0.99, "tau": 0.005, "target_entropy": -1.0}
    update = SACUpdate(POLICY, TWINS, BATCH, **numbers, reward_scale=1.0, temperature=None, value_network=False)
    mine = SACProgram(update, "cpu")
    mine.load(array, 0, 0)
    noises, alpha = [], mine.alpha.item()
    monkeypatch.setattr(torch.distributions.normal, "_standard_normal", lambda *arguments, **more: noises.pop(0))

    def use(drawn):
        noises[:] = drawn.noise.flip(0)  # it samples for the actor first

    vectors = mine._host, mine.critics.state[0], mine.critics.state[1]
    pairs = [*zip(vectors, (model.actor, model.critic, model.critic_target))]
    for noted in check_updates(context, mine, model, pairs, before=use):
        assert not noises
        assert alpha == pytest.approx(noted["train/ent_coef"], rel=1e-6)
        alpha = mine.alpha.item()
        assert alpha == pytest.approx(model.log_ent_coef.exp().item(), rel=1e-6)
    assert abs(math.log(alpha)) == pytest.approx(20 * 3e-4, rel=0.05)


def test_an_action_that_is_not_a_number_is_an_error_of_sac(context):
    algorithm = SAC(SACSettings(hidden=(16, 16), critic_hidden=(16, 16), batch_size=8, start_timesteps=0), context)
    (task,) = algorithm.ask()
    inputs = {name: context.store.load(value) for name, value in task.inputs.items()}
    inputs["learner"] = inputs["learner"].copy()
    inputs["learner"][algorithm.policy_spec.size - 1] = np.nan  # the mean's bias
    with pytest.raises(NumericalError, match="the action of step 1"):
        train_sac(task.settings, inputs, task.key, Workspace(context.store))
