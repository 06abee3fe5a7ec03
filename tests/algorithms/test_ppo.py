"""PPO: whole iterations against stable-baselines3's own loop, the reported policy, and episodes that go on."""

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO as Theirs
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.distributions import CategoricalDistribution, DiagGaussianDistribution
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from erlbench.algorithms import ppo, registry
from erlbench.algorithms.base import Context
from erlbench.algorithms.ppo_iteration import ACTIVATION_MODULES, Buffer
from erlbench.envs.registry import EnvSpec, Problem, problem
from erlbench.errors import NumericalError, TaskError, UsageError
from erlbench.policy import NumpyPolicy
from erlbench.replay import Replay
from erlbench.seeding import Purpose, environment_seed, generator
from erlbench.store import Store
from erlbench.workspace import Workspace
from tests.runs import make_cell, rows, run

SEED, STEPS, TOTAL = 3, 256, 768
CARTPOLE = Problem(EnvSpec("CartPole-v1", 500), 4, 2, (), (), True)
TASKS = {"InvertedPendulum-v5": problem, "Pendulum-v1": problem, "CartPole-v1": lambda name: CARTPOLE}


@pytest.fixture
def start(tmp_path):
    """A function that starts PPO on a task with settings; it gives the algorithm and a workspace."""
    store, made = Store.create(), []

    def make(task, total=TOTAL, **settings):
        replay = Replay(tmp_path / str(len(made)), task.observation_size, task.action_size)
        context = Context(task, SEED, total, 0, store, replay)
        made.append((replay, Workspace(store)))
        return ppo.PPO(ppo.PPOSettings(**{"rollout_steps": STEPS, "hidden": (16, 8)} | settings), context), made[-1][1]

    yield make
    for replay, workspace in made:
        replay.close()
        workspace.close()
    store.close()


def iterate(algorithm, workspace):
    """One iteration; its task and its result."""
    (task,) = algorithm.ask()
    assert algorithm.ask() == []
    result = workspace.run(task)
    algorithm.tell(task, result)
    return task, result


class Seeded(gymnasium.Wrapper):
    """Starts each episode from the seed that comes next, whatever it is asked for."""

    seeds = iter(())

    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=next(self.seeds), options=options)


class Follow(BaseCallback):
    """Gives stable-baselines3 the random numbers of our tasks, and keeps its parameters before each iteration."""

    def __init__(self, keys):
        super().__init__()
        self.keys, self.found, self.noise = keys, [], None

    def begin(self, iteration):
        key = self.keys[iteration]
        self.noise = generator(*key, Purpose.EXPLORATION)
        self.model.rollout_buffer.random = generator(*key, Purpose.MINIBATCH)
        Seeded.seeds = (environment_seed(*key, index) for index in range(10**6))

    def parameters(self):
        return torch.nn.utils.parameters_to_vector(self.model.policy.parameters()).detach().numpy()

    def _on_rollout_start(self):
        if self.found:  # the first iteration has begun with the first reset
            self.begin(len(self.found))
        self.found.append(self.parameters())

    def _on_step(self):
        return True


def their_model(algorithm, task, keys, first, monkeypatch):
    """stable-baselines3's PPO on the same task with our initial parameters and random numbers."""
    settings, follow = algorithm.settings, Follow(keys)
    env = DummyVecEnv([lambda: Seeded(gymnasium.make(task.env.id))])
    normalise = {"norm_obs": settings.normalise_observations, "norm_reward": settings.normalise_rewards}
    env = VecNormalize(env, gamma=settings.discount, **normalise)
    constant = settings.learning_rate_schedule == "constant"
    model = Theirs(
        "MlpPolicy",
        env,
        learning_rate=lambda progress: settings.learning_rate * (1.0 if constant else progress),
        n_steps=STEPS,
        clip_range_vf=settings.value_clip_range,
        policy_kwargs={"net_arch": [16, 8], "activation_fn": ACTIVATION_MODULES[settings.activation]},
        rollout_buffer_class=Buffer,
        device="cpu",
    )
    torch.nn.utils.vector_to_parameters(torch.from_numpy(first.copy()), model.policy.parameters())

    def normal(self):
        noise = follow.noise.standard_normal(self.distribution.mean.shape[-1], dtype=np.float32)
        return self.distribution.mean + self.distribution.stddev * torch.from_numpy(noise)

    def categorical(self):
        logits = self.distribution.logits
        return torch.argmax(logits + torch.from_numpy(follow.noise.gumbel(size=logits.shape[-1])), dim=-1)

    monkeypatch.setattr(DiagGaussianDistribution, "sample", normal)
    monkeypatch.setattr(CategoricalDistribution, "sample", categorical)
    follow.model = model
    follow.begin(0)
    return model, follow


@pytest.mark.parametrize(
    ("env", "settings"),
    [
        ("InvertedPendulum-v5", {}),  # episodes that fail
        ("Pendulum-v1", {}),  # and that are cut: the value goes on
        ("CartPole-v1", {}),  # discrete actions
        ("Pendulum-v1", dict(registry.preset("ppo", "sb3")) | {"activation": "relu"}),
    ],
)
def test_three_iterations_equal_those_of_stable_baselines3(env, settings, start, monkeypatch):
    task = TASKS[env](env)
    algorithm, workspace = start(task, **settings)
    tasks = [iterate(algorithm, workspace)[0] for _ in range(3)]
    assert algorithm.ask() == []
    refs = [task.inputs["learner"] for task in tasks] + [algorithm.state.learner]
    ours = [workspace.store.get(ref)[0] for ref in refs]
    model, follow = their_model(algorithm, task, [task.key for task in tasks], ours[0], monkeypatch)
    model.learn(TOTAL, callback=follow)
    theirs = [*follow.found, follow.parameters()]
    print([np.abs(a - b).max() for a, b in zip(theirs, ours)], len(theirs))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)
    assert np.abs(ours[2] - ours[0]).max() > 1e-3
