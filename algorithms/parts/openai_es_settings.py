"""The settings and presets of OpenAI-ES."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from erlbench.algorithms.individuals import START_STATES, FitnessSettings, NanSettings
from erlbench.algorithms.policy_settings import OURS, PolicySettings
from erlbench.algorithms.search.evolution_strategy import CENTRED_RANKS, CODE, SCALINGS, SHAPINGS
from erlbench.algorithms.search.time_limit import ENVIRONMENT, FORMS, TimeLimit
from erlbench.envs.functions import share_of_domain
from erlbench.policy import ACTIVATIONS, INITIALISATIONS, SQUASHINGS
from erlbench.settings import at_least_one, at_least_zero, fraction, setting

PAPER, PUBLIC = "OpenAI-ES", "OpenAI-ES, public code"
ADAM, SGD = "adam", "sgd"
WAIT, DISCARD = "wait", "discard"
PAIR = "pair"
ATARI, MINATAR = "ALE", "MinAtar"  # namespaces of games


@dataclass(frozen=True, kw_only=True)
class OpenAIESSettings(PolicySettings, FitnessSettings, NanSettings):
    """Hyper-parameters of OpenAI-ES."""

    hidden: tuple[int, ...] = at_least_one(
        (64, 64), "widths of the hidden layers; () is linear", PAPER, by_env={ATARI: (256,), MINATAR: (128,)}
    )
    activation: str = setting(
        "tanh", "hidden activation of the policy", PAPER, by_env={ATARI: "relu", MINATAR: "relu"}, choices=ACTIVATIONS
    )
    squashing: str = setting(
        "linear",
        "how continuous actions are bounded; linear: only the environment clips them",
        PUBLIC,
        choices=SQUASHINGS,
    )
    bins: int | None = setting(
        None,
        "equally spaced values per action dimension; none: continuous",
        PAPER,
        by_env={"Hopper": 10, "Swimmer": 10},
        minimum=2,
    )
    initialisation: str = setting(
        "normc", "initialisation of the weights; normc is the public code's", PUBLIC, choices=INITIALISATIONS
    )
    start_states: str = setting(
        "fresh",
        "start states of episodes: fresh, the same for both of a pair or within a generation, or fixed for the run",
        PUBLIC,
        choices=("fresh", PAIR, *START_STATES[1:]),
    )
    population: int = setting(40, "individuals per generation, two of each mirrored pair", OURS, minimum=2)
    timesteps_per_batch: int = at_least_zero(
        0, "a generation gets further pairs until its episodes have that many steps", PUBLIC
    )
    sigma: float = setting(
        0.02,
        "standard deviation of the perturbations, fixed; on functions 0.01 of the domain's width",
        PUBLIC,
        by_env=share_of_domain(0.02),
        minimum=1e-12,
    )
    shaping: str = setting(CENTRED_RANKS, "how the generation's returns become weights", PAPER, choices=SHAPINGS)
    scaling: str = setting(
        CODE, "scale of the gradient; code leaves out the paper's 1 / sigma", PUBLIC, choices=SCALINGS
    )
    optimizer: str = setting(ADAM, "optimizer of the mean's parameters", PAPER, choices=(ADAM, SGD))
    learning_rate: float = at_least_zero(
        0.01, "the optimizer's step size; on functions 0.01 of the domain's width", PUBLIC, by_env=share_of_domain(0.02)
    )
    momentum: float = fraction(0.9, "momentum of the optimizer sgd", PUBLIC)
    l2: float = at_least_zero(0.005, "coefficient of the parameters in the gradient", PUBLIC)
    normalise_observations: bool = setting(
        True,
        "normalise observations, by statistics that stay fixed within a generation",
        PUBLIC,
        by_env={ATARI: False, MINATAR: False},
    )
    reference_batch: int = at_least_zero(
        0,
        "images of virtual batch normalisation, by a random policy; 0: no normalisation",
        PAPER,
        by_env={ATARI: 128, MINATAR: 128},
    )
    observation_share: float = fraction(1.0, "probability that an episode contributes to the statistics", OURS)
    action_noise: float = at_least_zero(0.01, "standard deviation of noise on continuous actions", PUBLIC)
    time_limit: str = setting(ENVIRONMENT, f"time limit of episodes: {FORMS}", PAPER)
    time_limit_max: int | None = at_least_one(None, "highest time limit", "Uber AI Labs' fork of the public code")
    mean_share: float = fraction(0.0, "probability, for each pair, that the mean also plays an episode", OURS)
    stale: str = setting(
        WAIT, "wait for all of a generation, or keep workers busy and discard what comes late", OURS,
        choices=(WAIT, DISCARD),
    )  # fmt: skip
    noise_table: int = at_least_zero(0, "size of the shared table of noise; 0: drawn for each perturbation", OURS)
    noise_table_seed: int = at_least_zero(123, "the table's seed", PUBLIC)

    def __post_init__(self) -> None:
        if self.population % 2:
            raise ValueError(f"population must be even, for mirrored pairs, not {self.population}")
        TimeLimit.parse(self.time_limit, 1)


GOODAI: Mapping[str, Any] = {
    "hidden": (64, 64),
    "squashing": "floor",
    "bins": None,
    "initialisation": "pytorch",
    "start_states": PAIR,
    "normalise_observations": False,
    "action_noise": 0.0,
    "noise_table": 250_000_000,
}
GOODAI_PENDULUM: Mapping[str, Any] = {
    **GOODAI,
    "squashing": "linear",
    "population": 200,
    "learning_rate": 0.05,
    "sigma": 0.07,
    "episodes": 5,
}
LSTM: Mapping[str, Any] = {"network": "lstm", "hidden": (16,)}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "code": {
        "hidden": (256, 256),
        "bins": None,
        "population": 10_000,
        "timesteps_per_batch": 100_000,
        "sigma": 0.02,
        "learning_rate": 0.01,
        "observation_share": 0.01,
        "mean_share": 0.003,
        "stale": DISCARD,
        "noise_table": 250_000_000,
    },
    "cyclic-mdp": {"population": 50, "sigma": 0.1, "learning_rate": 0.05, "normalise_observations": False},
    # The baseline of ESAC's table 1, section 6.1 and appendix D.1. The rest as in its authors' ES program, but that
    # the last layer's weights are not scaled by 0.1: github.com/karush17/esac at beda9bb, Evolution_Strategies.ipynb,
    # whose log Results.ipynb (fdad0ec) reads.
    "esac": {
        "hidden": (512, 512),
        "activation": "relu",
        "squashing": "tanh",
        "bins": None,
        "initialisation": "pytorch",
        "population": 50,
        "sigma": 5e-3,
        "learning_rate": 5e-3,
        "normalise_observations": False,
        "action_noise": 0.0,
        "l2": 0.0,
    },
    "goodai-lander": {
        **GOODAI,
        "hidden": (),
        "squashing": "linear",
        "population": 20,
        "learning_rate": 0.1,
        "sigma": 0.1,
    },
    "goodai-ant": {**GOODAI, "population": 100, "learning_rate": 0.01, "sigma": 0.1, "time_limit_max": 501},
    "goodai-pendulum": {**GOODAI_PENDULUM, "activation": "leaky-relu"},
    "goodai-pendulum-lstm": {**GOODAI_PENDULUM, **LSTM},
    "goodai-pendulum-partial": {
        **GOODAI_PENDULUM,
        **LSTM,
        "population": 50,
        "learning_rate": 0.02,
        "sigma": 0.02,
        "l2": 0.001,
    },
}
