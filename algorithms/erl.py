"""ERL: a genetic algorithm over actors and one DDPG learner, which learns from all experience.

Khadka and Tumer, "Evolution-Guided Policy Gradient in Reinforcement Learning", NeurIPS 2018, algorithms 1 and 2, with
the constants of its table and of its public code. From time to time the learner's actor replaces the worst individual.
It is the search `search/genetic.py`, the learner `ddpg`, the coupling `side` (`coupling/side.py`) and the
schedule `chain` (`schedule/chain.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from erlbench.algorithms.coupling.side import SideCoupling, SideSettings
from erlbench.algorithms.hybrid import Hybrid, Parts, part_settings
from erlbench.algorithms.individuals import FitnessSettings
from erlbench.algorithms.schedule.chain import Chain, ChainSettings
from erlbench.algorithms.search.genetic import CODE, PAPER, GeneticSearch, GeneticSettings
from erlbench.policy import ACTIVATIONS
from erlbench.settings import at_least_one, at_least_zero, fraction, setting


@dataclass(frozen=True, kw_only=True)
class LearnerSettings(FitnessSettings):
    """Hyper-parameters of ERL, but for its operators."""

    episodes: int = at_least_one(
        1, "episodes whose mean return is a fitness", PAPER, by_env={"Hopper": 5, "Reacher": 5, "Walker2d": 3}
    )
    sync_period: int = at_least_one(
        10, "generations between two copies of the learner's actor", PAPER, by_env={"Hopper": 1, "Ant": 1}
    )
    updates_per_step: float = at_least_zero(1.0, "updates per environment step of a generation", CODE)
    hidden: tuple[int, ...] = at_least_one((128, 128), "widths of the actors' hidden layers", CODE)
    activation: str = setting("tanh", "hidden activation of the actors", CODE, choices=ACTIVATIONS)
    critic_hidden: tuple[int, ...] = at_least_one((400, 300), "widths of the critic's hidden layers", CODE)
    critic_activation: str = setting("relu", "hidden activation of the critic", "ours; the code has ELU",
                                     choices=ACTIVATIONS)  # fmt: skip
    actor_learning_rate: float = at_least_zero(5e-5, "Adam's step size for the learner's actor", PAPER)
    critic_learning_rate: float = at_least_zero(5e-4, "Adam's step size for the critic", PAPER)
    critic_weight_decay: float = at_least_zero(0.0, "L2 penalty of the critic, added to its gradient", CODE)
    critic_gradient_clip: float | None = at_least_zero(10.0, "largest norm of the critic's gradient, or none", CODE)
    final_scale: float = at_least_zero(0.1, "factor of the initial last layers of critic and learner's actor", CODE)
    batch_size: int = at_least_one(128, "transitions per update", PAPER)
    discount: float = fraction(0.99, "discount factor", PAPER, symbol="gamma")
    tau: float = fraction(0.001, "how far the targets move at a time", PAPER)
    exploration_noise: float = at_least_zero(0.06, "sigma of the learner's Ornstein-Uhlenbeck noise, 0.2 x 0.3", CODE)
    ou_theta: float = fraction(0.15, "how much of that noise decays per step", CODE)
    replay_size: int = at_least_one(1_000_000, "the latest transitions that are learnt from", PAPER)


@dataclass(frozen=True, kw_only=True)
class ERLSettings(GeneticSettings, LearnerSettings):
    """Hyper-parameters of ERL."""


class ERL(Hybrid[ERLSettings]):
    """Evolutionary reinforcement learning: a genetic algorithm with a DDPG learner that joins it now and then."""

    settings_type: ClassVar[type] = ERLSettings
    learner_name: ClassVar[str] = "ddpg"
    learner_stream: ClassVar[tuple[int, ...]] = (0,)
    actor_updates: ClassVar[float] = 1.0

    @classmethod
    def parts(cls, settings: Any, env: str) -> Parts:
        side = replace(part_settings(SideSettings, settings, env), soft_update=0.0)
        return Parts(GeneticSearch, SideCoupling, Chain, settings, side, ChainSettings(start_timesteps=0))

    def metrics(self) -> dict[str, float]:
        columns = super().metrics()
        names = "fitness_best", "fitness_mean", "learner_return", "learner_rank", "critic_loss", "steps"
        return {name: columns[name] for name in names}
