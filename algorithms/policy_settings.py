"""The policies of an algorithm: the settings of their network, the network for a problem, and the first parameters."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from erlbench.algorithms.registry import find_named
from erlbench.algorithms.training.learners import ActorCriticSettings, find_learner
from erlbench.envs.registry import EnvSpec, Problem, build
from erlbench.errors import UsageError, describe_error
from erlbench.policy import ACTIVATIONS, INITIALISATIONS, NETWORKS, SQUASHINGS, PolicySpec, initial_policy
from erlbench.policy.spec import describe_parameters, new_module, try_module
from erlbench.settings import at_least_one, setting
from erlbench.work.contract import Infos, advance, reset
from erlbench.work.seeding import Key, Purpose, environment_seed, generator

REFERENCE_EVERY = 20  # steps between the images of a reference batch
OURS, GOODAI, OPENAI_ES = "this suite", "GoodAI comparison", "OpenAI-ES"


@dataclass(frozen=True, kw_only=True)
class PolicySettings:
    """Hyper-parameters of a policy that is only searched, not differentiated."""

    hidden: tuple[int, ...] = at_least_one((64, 64), "widths of the hidden layers; () is linear", GOODAI)
    activation: str = setting("tanh", "hidden activation of the policy", GOODAI, choices=ACTIVATIONS)
    network: str = setting("mlp", "hidden layers: mlp, lstm (LSTM cells), or MODULE:CLASS of PyTorch", GOODAI)
    bias: bool = setting(True, "whether layers have biases", OURS)
    squashing: str = setting(
        "tanh", "how continuous actions are bounded; linear: only the environment clips them", OURS, choices=SQUASHINGS
    )
    bins: int | None = setting(
        None, "equally spaced values per action dimension; none: continuous", OPENAI_ES, minimum=2
    )
    stochastic: bool = setting(False, "draw actions; evaluations act by the mode", OURS)
    initialisation: str = setting(
        "pytorch", "initialisation of the weights; normc is OpenAI-ES's", OURS, choices=INITIALISATIONS
    )


def make_policy_spec(problem: Problem, settings: Any, normalisation: bool = False) -> PolicySpec:
    """The policy network for `problem`: a tanh MLP with `hidden` and `activation`, as in `PolicySettings`, or SAC's.

    Discrete actions are the argmax of as many outputs, which are squashed for gradients only. Where nothing is
    observed, as by a function to be minimised, the policy is the action itself, in the environment's units.
    """
    if not problem.observation_size:
        return PolicySpec((0, problem.action_size), "tanh", problem.action_low, problem.action_high, squashing="linear")
    sizes = (problem.observation_size, *settings.hidden, problem.action_size)
    fields: dict[str, Any] = {"actions": "discrete"} if problem.discrete else {}
    if isinstance(settings, PolicySettings):
        names = ("network", "bias", "squashing", "stochastic")
        fields = {name: getattr(settings, name) for name in names} | fields
        if problem.discrete:
            fields["squashing"] = "linear"
        if settings.network not in NETWORKS:
            fields["parameters"] = _list_parameters(settings, problem)
        if settings.bins is not None:
            if problem.discrete:
                raise UsageError(f"bins={settings.bins} is for continuous actions; {problem.env.id} has discrete ones")
            fields |= {"actions": "bins", "bins": settings.bins}
    if problem.image:
        lstm = getattr(settings, "network", "") == "lstm"
        if lstm or normalisation:
            needed = "network=mlp" if lstm else "normalise_observations=false"
            raise UsageError(f"{problem.env.id} shows images; that needs --set {needed}")
        fields["image"] = problem.image
    fields["reference"] = getattr(settings, "reference_batch", 0)
    if fields["reference"] and not problem.image:
        raise UsageError(f"reference_batch is for images, and {problem.env.id} shows none")
    if isinstance(settings, ActorCriticSettings) and find_learner(settings.learner).stochastic:
        if problem.discrete:
            raise UsageError(
                f"learner={settings.learner} is for continuous actions; {problem.env.id} has discrete ones"
            )
        fields["stochastic"] = True
    fields["normalisation"] = normalisation
    return PolicySpec(sizes, settings.activation, problem.action_low, problem.action_high, **fields)


def _list_parameters(settings: PolicySettings, problem: Problem) -> tuple[str, ...]:
    """The parameters of a user's policy class."""
    name = settings.network
    find_named("network", name, dict.fromkeys(NETWORKS), object)
    if settings.bins is not None or settings.stochastic or settings.initialisation == "normc":
        raise UsageError(
            f"network={name} has fixed outputs: bins, stochastic and initialisation=normc need mlp or lstm"
        )
    sizes = problem.observation_size, problem.action_size
    try:
        module, twin = (new_module(name, *sizes) for _ in range(2))
        try_module(module, twin, *sizes)
    except (Exception, SystemExit) as error:
        raise UsageError(f"network '{name}' cannot be used: {describe_error(error)}") from error
    return describe_parameters(module)


def initial_mean(policy: PolicySpec, settings: object, key: Key) -> np.ndarray:
    """Where a search starts, float32 `(policy.size,)`."""
    return initial_policy(policy, key, settings.initialisation if isinstance(settings, PolicySettings) else "pytorch")


def play_reference(env: EnvSpec, policy: PolicySpec, key: Key) -> np.ndarray:
    """The images of a reference batch, uint8 `(policy.reference, *policy.image)`: random actions, every 20th step."""
    random, images, step = generator(*key, int(Purpose.EXPLORATION)), list[np.ndarray](), 0
    with closing(build(env)) as game:
        image, ends = reset(game, environment_seed(*key, 0)), False
        while len(images) < policy.reference:
            if ends or step % env.max_episode_steps == env.max_episode_steps - 1:
                image, ends = reset(game, environment_seed(*key, step)), False
            if step % REFERENCE_EVERY == 0:
                images.append(image.reshape(policy.image).copy())
            step += 1
            image, _, _, ends = advance(game, int(random.integers(policy.sizes[-1])), step, 0, Infos())
    return np.stack(images)
