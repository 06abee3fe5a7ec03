"""The coupling `winners`, of ESAC: a learner that acts by itself now and then, and offspring of the best.

Suri, Shi, Plataniotis and Lawryshyn, "Maximum Mutation Reinforcement Learning for Scalable Control",
arXiv:2007.13690, 2020, algorithm 1; what it leaves open is as in github.com/karush17/esac where that works. The
learner plays and learns from its transitions in a share of the generations that anneals. A generation has offspring
of the mean and the winners of the last one, and copies of the learner's policy; all of them are perturbed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from erlbench.algorithms.coupling.coupling import VALIDATED, Coupling, CouplingState
from erlbench.algorithms.individuals import compute_fitness
from erlbench.algorithms.search.genetic import CROSSOVERS, EXCHANGE, crossover
from erlbench.algorithms.search.search import Individual, Search, Vector, find_centre
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.algorithms.training.episode_tasks import episode_task
from erlbench.errors import UsageError
from erlbench.settings import at_least_one, at_least_zero, fraction, setting
from erlbench.work.seeding import Key, Purpose, generator
from erlbench.work.tasks import ArrayRef, Priority, Result, Task

PAPER, CODE, OURS, TABLE = "ESAC", "ESAC, public code", "this suite", "ESAC, appendix D"
NOMINAL, BUDGET = "nominal", "budget"
NOISE = 0.1  # standard deviation of the noise on the actions of td3 and ddpg
SCHEDULE, CROSSOVER = 0, 1  # what a random choice is about, in its key
SAC_EPISODES = {
    "Ant": 10, "Hopper": 10, "Humanoid": 10, "Walker2d": 10, "Swimmer": 1, "dm_control": 1,
    "dm_control/cartpole-swingup": 5, "dm_control/walker-run": 5, "dm_control/walker-walk": 5,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class WinnersSettings:
    """Hyper-parameters of the coupling `winners`."""

    winner_fraction: float = fraction(
        0.4, "share of the members that are winners, and are crossed over", TABLE, symbol="e"
    )
    crossover: str = setting(
        "replace", "replace: winners stay as they are; exchange: parts go both ways", OURS, choices=CROSSOVERS
    )
    sac_members: int | None = at_least_zero(
        None,
        "copies of the learner's policy in the population; none: 0.08 n, at least 1",
        "4 in the public code",
        by_env={"Swimmer": 1},
    )
    gradient_interval: int = at_least_one(
        5, "the learner may act and learn only in every g-th generation", CODE, symbol="g"
    )
    sac_episodes: int = at_least_one(5, "episodes of the learner at a time", TABLE, by_env=SAC_EPISODES)
    p_start: float = fraction(1.0, "initial probability that it acts when it may", CODE)
    p_end: float = fraction(0.1, "final probability that it acts when it may", CODE)
    p_timesteps: float = at_least_one(1.2e6, "timesteps in which this probability decays by the factor e", CODE)
    p_clock: str = setting(
        NOMINAL,
        "clock of this decay: nominal timesteps, or the used part of the budget in millionths",
        CODE,
        choices=(NOMINAL, BUDGET),
    )
    start_timesteps: int = at_least_zero(10_000, "the learner acts at random before this nominal timestep", CODE)
    amt_every: int | None = at_least_one(
        None, "generations between steps of sigma; none: whenever the learner has learnt", PAPER
    )
    validation_every: int = at_least_one(10, "generations between validations, which choose the reported policy", OURS)
    validation_episodes: int = at_least_one(10, "episodes of each validated policy", PAPER)

    def winners(self, population: int) -> int:
        """Members w that are selected and crossed over."""
        return int(self.winner_fraction * population + 1e-9)

    def copies(self, population: int) -> int:
        """Members k that are copies of the learner's policy."""
        return max(1, round(0.08 * population)) if self.sac_members is None else self.sac_members

    def probability(self, t: float) -> float:
        """p(t) = end + (start - end) exp(-t / timesteps), of taking a chance for the learner to act and learn."""
        return self.p_end + (self.p_start - self.p_end) * math.exp(-t / self.p_timesteps)


@dataclass(kw_only=True)
class WinnersState(CouplingState):
    """The learner, what it last did, and the offspring of the winners."""

    learner: ArrayRef  # see `Learner.start`
    actor: ArrayRef  # its policy alone
    temperature: float = math.nan
    due: bool = False  # whether it acts and learns in this generation
    probability: float = math.nan  # of that, if it is the turn of such a generation
    timesteps: int = 0
    intervals: int = 0  # generations in which it acted
    last_return: float = math.nan  # mean of its latest episodes
    critic_loss: float = 0.0
    entropy: float = 0.0
    children: list[ArrayRef] = field(default_factory=list)  # centres of the first members, crossed over
    copied: ArrayRef | None = None  # centre of the last members: the actor when the generation began
    winner: Vector | None = None  # the best individual of the generation before
    winning_children: int = 0
    winning_copies: int = 0

    @property
    def reports_learner(self) -> bool:
        """Whether the learner's policy was better than the mean."""
        mean, learner = (self.scores.get(name, -math.inf) for name in VALIDATED[:2])
        return learner > mean


class Winners(Coupling):
    """`winners`: a learner acts alone now and then; its copies, and winners crossed with the mean, join."""

    settings_type: ClassVar[type] = WinnersSettings
    shares_critic: ClassVar[bool] = False
    learner_function: ClassVar[str] = "episode_function"
    records: ClassVar[bool] = False  # the learner learns only from its transitions
    state: WinnersState

    def start(self) -> WinnersState:
        run = self.run
        fixed = getattr(run.settings, "temperature", None)
        temperature = (1.0 if fixed is None else fixed) if run.learner.stochastic else math.nan
        return WinnersState(**self.fresh(), temperature=temperature)

    @classmethod
    def check(cls, settings: WinnersSettings, search: type[Search[Any, Any]], search_settings: Any) -> None:
        n = search.count_population(search_settings)
        winners, copies = settings.winners(n), settings.copies(n)
        if winners + copies >= n:
            raise UsageError(
                f"{winners} winners and {copies} copies of the learner leave no member of a population of {n} around "
                "the mean; lower winner_fraction or sac_members"
            )

    @classmethod
    def depends_on_budget(cls, settings: WinnersSettings) -> str:
        return "p_clock=budget scales the share of the learner by the budget" if settings.p_clock == BUDGET else ""

    @property
    def _size(self) -> int:
        return self.run.search.count_population(self.run.search.settings)

    # -- a generation ---------------------------------------------------------------------------------------------

    def ask_before(self, steps: int, warm: bool) -> list[Task]:
        """Lines 12 to 23, if their turn has come: the learner's episodes with updates, parallel to the members'."""
        self._draw()
        return [self._episodes()] if self.state.due else []

    def _draw(self) -> None:
        """Whether the learner acts and learns in the generation under way."""
        state, run = self.state, self.run
        state.probability = self.probability()
        draw = generator(*run.key(Purpose.POPULATION, SCHEDULE, run.generation)).random()
        state.due = run.generation % self.settings.gradient_interval == 0 and draw < state.probability

    def _episodes(self) -> Task:
        state, settings, run = self.state, self.settings, self.run
        limit, stochastic = run.context.problem.env.max_episode_steps, run.learner.stochastic
        self.state.under_way += 1
        task = episode_task(
            run, run.learner.episode_function, state.learner, run.joint_update(),
            timesteps=state.timesteps,
            episodes=settings.sac_episodes,
            limit=limit,
            start_timesteps=sys.maxsize if run.generation * limit < settings.start_timesteps else 0,
            start_updates=run.settings.batch_size,
            exploration_noise=0.0 if stochastic else NOISE,
        )  # fmt: skip
        return replace(task, priority=Priority.ROLLOUT)  # the longest starts first

    def probability(self) -> float:
        """p(t) of the generation under way, which anneals exponentially."""
        settings, run = self.settings, self.run
        if settings.p_clock == BUDGET:
            return settings.probability(1e6 * run.counters.timesteps / run.context.total_timesteps)
        return settings.probability(run.generation * run.context.problem.env.max_episode_steps)

    def population(self, key: Callable[[int], Key]) -> list[Vector]:
        """Offspring of winners, members around the mean, copies of the learner's policy, all of them perturbed."""
        state = self.state
        state.copied = state.actor
        copies = [state.copied] * self.settings.copies(self._size)
        return self.run.search.generation(key, state.children, copies)

    def comes_from_outside(self, z: Vector) -> bool:
        centre = find_centre(z)
        return centre == self.state.copied or centre in self.state.children

    def ask_beside(self, individuals: int) -> list[Task]:
        """Episodes of the mean, the learner's policy and the winner that only choose and report."""
        return self.validations(self.state.actor, self.state.winner)

    # -- in the steady state --------------------------------------------------------------------------------------

    def replaces(self, number: int) -> Vector | None:
        """As in a generation, the first individuals are offspring, and the last ones copies."""
        state, run, place = self.state, self.run, number % self._size
        key = run.key(Purpose.NOISE, number)
        if place >= self._size - self.settings.copies(self._size):
            state.copied = state.actor
            return run.search.around(state.copied, key)
        return run.search.around(state.children[place], key) if place < len(state.children) else None

    def stream(self, updates: int) -> list[Task]:
        """The learner's episodes, once after a generation in which it may act."""
        due, self.state.due = self.state.due, False
        return [self._episodes()] if due else []

    # -- both -----------------------------------------------------------------------------------------------------

    @property
    def reported(self) -> ArrayRef | None:
        """The learner's policy, where it was better than the mean at the latest validation."""
        return self.state.actor if self.state.reports_learner else None

    def tell(self, task: Task, result: Result) -> bool:
        state, values, run = self.state, result.values, self.run
        if task.gradient and task.kind == "rl":
            state.learner, state.actor = result.arrays["learner"], result.arrays["actor"]
            if run.policy_spec.stochastic:
                state.actor = run.share(run.learner.actor(run.policy_spec, run.context.store.get(state.learner)))
            state.critic_loss, state.entropy = values["critic_loss"], values.get("entropy", math.nan)
            state.temperature, state.last_return = values.get("temperature", math.nan), compute_fitness(result)
            state.timesteps += sum(values["lengths"])
            state.intervals += 1
            state.under_way -= 1
            return True
        return super().tell(task, result)

    def end(self, individuals: Sequence[Individual]) -> None:
        """Lines 10, 24 and 26: sigma, and the offspring of the winners with the new mean."""
        state, settings, run = self.state, self.settings, self.run
        fitness = [individual.fitness for individual in individuals]
        every = settings.amt_every
        if state.due if every is None else run.generation % every == 0:
            run.search.tune(np.array(fitness))
        order = ranking(fitness)
        winners = [individuals[index].z for index in order[: settings.winners(self._size)]]
        centres = [find_centre(z) for z in winners]
        state.winning_children = sum(centre in state.children for centre in centres)
        state.winning_copies = sum(centre == state.copied for centre in centres)
        state.winner = individuals[order[0]].z
        state.children = [self._child(place, winner) for place, winner in enumerate(winners)]
        if not run.schedule.generations:
            self._draw()

    def _child(self, place: int, winner: Vector) -> ArrayRef:
        """The new mean crossed with a winner of the generation that is now over."""
        run, load = self.run, self.run.context.store.load
        random = generator(*run.key(Purpose.POPULATION, CROSSOVER, run.generation, place))
        mean, other = (np.asarray(load(vector)) for vector in (run.search.mean_ref, winner))
        child, _ = crossover(mean, other, run.policy_spec.tensors, self.settings.crossover == EXCHANGE, random)
        return run.share(child)

    def metrics(self) -> dict[str, float]:
        state = self.state
        return {
            "winning_children": state.winning_children,
            "winning_copies": state.winning_copies,
            "p_learner": state.probability,
            "learner_intervals": state.intervals,
            "learner_timesteps": state.timesteps,
            "learner_return": state.last_return,
            "critic_loss": state.critic_loss,
            "entropy": state.entropy,
            "temperature": state.temperature,
            **self.scores(),
            "reports_learner": int(state.reports_learner),
        }
