"""PPO and TRPO begun on a task, and stable-baselines3's own loop with their initial parameters and random numbers."""

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.distributions import CategoricalDistribution, DiagGaussianDistribution
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from erlbench.algorithms.gradients.on_policy import ACTIVATION_MODULES, Buffer
from erlbench.envs.registry import problem
from erlbench.work.seeding import Purpose, environment_seed, generator
from erlbench.work.workspace import Workspace

SEED, STEPS, TOTAL = 3, 256, 768


def starting(algorithm):
    """A fixture: a function that starts the algorithm on a task with settings, and gives it and a workspace."""

    @pytest.fixture
    def start(new_context):
        def make(task, total=TOTAL, **settings):
            context = new_context(task, SEED, total, workers=0)
            values = {"rollout_steps": STEPS, "hidden": (16, 8)} | settings
            return algorithm(algorithm.settings_type(**values), context), Workspace(context.store)

        return make

    return start


def iterate(algorithm, workspace):
    """One iteration; its task and its result."""
    (task,) = algorithm.ask()
    assert algorithm.ask() == []
    result = workspace.run(task)
    algorithm.tell(task, result)
    return task, result


def three_iterations(start, their, env, settings, monkeypatch):
    """The parameters before, between and after three iterations: ours, and those of the model that `their` makes."""
    task = problem(env)
    algorithm, workspace = start(task, **settings)
    tasks = [iterate(algorithm, workspace)[0] for _ in range(3)]
    assert algorithm.ask() == []
    refs = [task.inputs["learner"] for task in tasks] + [algorithm.state.learner]
    ours = [workspace.store.get(ref)[0] for ref in refs]
    model, follow = their(algorithm, task, [task.key for task in tasks], ours[0], monkeypatch)
    model.learn(TOTAL, callback=follow)
    return ours, [*follow.found, follow.parameters()]


class Seeded(gymnasium.Wrapper):
    """Starts each episode from the seed that comes next, whatever it is asked for."""

    seeds = iter(())

    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=next(self.seeds), options=options)


class Follow(BaseCallback):
    """Gives stable-baselines3 the random numbers of our tasks, and keeps its parameters before each iteration.

    `draw`, if any, is called with the generator of minibatches first, as TRPO draws the seed of its own noise.
    """

    def __init__(self, keys, draw=None):
        super().__init__()
        self.keys, self.draw, self.found, self.noise = keys, draw, [], None

    def begin(self, iteration):
        key = self.keys[iteration]
        self.noise = generator(*key, Purpose.EXPLORATION)
        self.model.rollout_buffer.random = generator(*key, Purpose.MINIBATCH)
        if self.draw:
            self.draw(self.model.rollout_buffer.random)
        Seeded.seeds = (environment_seed(*key, index) for index in range(10**6))

    def parameters(self):
        return torch.nn.utils.parameters_to_vector(self.model.policy.parameters()).detach().numpy()

    def _on_rollout_start(self):
        if self.found:  # the first iteration has begun with the first reset
            self.begin(len(self.found))
        self.found.append(self.parameters())

    def _on_step(self):
        return True


def their_model(theirs, algorithm, task, follow, first, monkeypatch, **own):
    """stable-baselines3's model of class `theirs` with the settings `own` on the same task, and with our
    initial parameters and random numbers."""
    settings = algorithm.settings
    env = DummyVecEnv([lambda: Seeded(gymnasium.make(task.env.id))])
    normalise = {"norm_obs": settings.normalise_observations, "norm_reward": settings.normalise_rewards}
    env = VecNormalize(env, gamma=settings.discount, **normalise)
    constant = settings.learning_rate_schedule == "constant"
    model = theirs(
        "MlpPolicy",
        env,
        learning_rate=lambda progress: settings.learning_rate * (1.0 if constant else progress),
        n_steps=STEPS,
        policy_kwargs={"net_arch": [16, 8], "activation_fn": ACTIVATION_MODULES[settings.activation]},
        rollout_buffer_class=Buffer,
        device="cpu",
        **own,
    )
    model.set_logger(Logger(None, []))  # its own would make a folder in the temporary one
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
    return model
