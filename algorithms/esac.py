"""ESAC: an evolution strategy whose population has winners crossed over and copies of a SAC policy among it.

Suri, Shi, Plataniotis and Lawryshyn, "Maximum Mutation Reinforcement Learning for Scalable Control",
arXiv:2007.13690, 2020, algorithm 1 and equations 4 to 6; what it leaves open is as in github.com/karush17/esac
where that works. It is the search `search/esac.py`, the learner `sac`, the coupling `winners` (`coupling/winners.py`)
and the schedule `chain`. docs/algorithms/esac.md lists the differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from erlbench.algorithms.base import Needs
from erlbench.algorithms.coupling.winners import Winners, WinnersSettings
from erlbench.algorithms.hybrid import Hybrid, Parts
from erlbench.algorithms.individuals import FitnessSettings
from erlbench.algorithms.sac import SACSettings, select_value_network
from erlbench.algorithms.schedule.chain import Chain, ChainSettings
from erlbench.algorithms.search.esac import CODE, PAIRS, PAPER, RANK, ESACSearch, ESACSearchSettings
from erlbench.envs.registry import Problem
from erlbench.settings import at_least_one, at_least_zero

# v1: Algorithm 1's critics with a state-value network. code: sizes and timing of the public code, not its faults.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "v1": {"critic": "v1"},
    "code": {
        "population": 10,
        "sampling": PAIRS,
        "sac_members": 4,
        "hidden": (256, 256),
        "critic_hidden": (256, 256),
        "amt_every": 20,
        "amt_rewards": RANK,
    },
}


@dataclass(frozen=True, kw_only=True)
class ESACSettings(ESACSearchSettings, WinnersSettings, FitnessSettings, SACSettings):
    """Hyper-parameters of ESAC; its SAC part has SAC's."""

    hidden: tuple[int, ...] = at_least_one((512, 512), "widths of the policies' hidden layers", PAPER)
    critic_hidden: tuple[int, ...] = at_least_one(
        (512, 512), "widths of the hidden layers of critics and value network", PAPER
    )
    temperature: float | None = at_least_zero(
        0.2, "fixed temperature; none: it is learnt, from 1 on", CODE, symbol="alpha"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        Winners.check(self, ESACSearch, self)


class ESAC(Hybrid[ESACSettings]):
    """Evolution-based soft actor-critic: evolution strategy with crossover, a tuned step size, and SAC now and then."""

    settings_type: ClassVar[type] = ESACSettings
    learner_name: ClassVar[str] = "sac"
    mean_stream: ClassVar[tuple[int, ...]] = (4,)  # 0 to 3 are the learner's
    learner_stream: ClassVar[tuple[int, ...]] = ()
    critic_updates: ClassVar[float] = 0.02
    actor_updates: ClassVar[float] = 0.02
    knows_budget: ClassVar[bool] = True

    @classmethod
    def parts(cls, settings: Any, env: str) -> Parts:
        return Parts(ESACSearch, Winners, Chain, settings, settings, ChainSettings(start_timesteps=0))

    @classmethod
    def warmup(cls, settings: ESACSettings) -> int:
        return 0  # SAC acts at random at first, and learns at once

    @classmethod
    def needs(cls, settings: ESACSettings, problem: Problem) -> Needs:
        """With SAC's episodes, which some generations have, and which alone are recorded: at most as at the start."""
        episodes = settings.population * (2 if settings.sampling == PAIRS else 1) * settings.episodes
        most = settings.sac_episodes / settings.gradient_interval  # of SAC in a generation, if it takes each chance
        middle, first = (settings.p_start + settings.p_end) / 2, settings.p_start * most
        return Needs.of_episodes(problem, episodes + middle * most, recorded=first / (episodes + first))

    @property
    def generation(self) -> int:
        """The generation under way, or the next, from 1."""
        return self.counters.generation + 1

    @property
    def nominal_timesteps(self) -> int:
        """The authors' counter: one longest episode a generation, whatever is simulated."""
        return self.counters.generation * self.context.problem.env.max_episode_steps

    def networks(self) -> dict[str, Any]:
        return select_value_network(self.settings)

    def metrics(self) -> dict[str, float]:
        columns = super().metrics()
        chosen = {
            name: columns[name] for name in ("fitness_best", "fitness_mean", "sigma", "amt_steps", "amt_clip_rate")
        }
        names = {"winning_copies": "winning_sac", "score_mean": "score_es", "score_champion": "score_winner"}
        renamed = {
            names.get(name, name.replace("learner", "sac")): value for name, value in self.coupling.metrics().items()
        }
        return {"nominal_timesteps": self.nominal_timesteps, **chosen, **renamed}
