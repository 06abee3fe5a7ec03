"""ESAC: an evolution strategy whose population has winners crossed over and copies of a SAC policy among it.

Suri, Shi, Plataniotis and Lawryshyn, "Maximum Mutation Reinforcement Learning for Scalable Control",
arXiv:2007.13690, 2020, algorithm 1 and equations 4 to 6; what it leaves open is as in github.com/karush17/esac
where that works. docs/algorithms/esac.md lists the differences.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from erlbench.algorithms.base import Algorithm, Context, Needs
from erlbench.algorithms.individuals import fitness_of, start_states
from erlbench.algorithms.parts.esac_settings import ADAM, BUDGET, MIRRORED, PAIRS, PRESETS, RANK, ESACSettings
from erlbench.algorithms.parts.esac_state import VALIDATED, ESACState, SACPart
from erlbench.algorithms.sac import has_value_network, update_of
from erlbench.algorithms.search.crossover import EXCHANGE, crossover
from erlbench.algorithms.search.evolution_strategy import NOISE_SUM, NoiseSum, centred_ranks, gradient, gradient_tasks
from erlbench.algorithms.search.mutation_tuning import raw_step, rewards, tuned
from erlbench.algorithms.search.optimisers import Adam, Optimiser, Sgd
from erlbench.algorithms.search.search_distribution import ranking
from erlbench.algorithms.training.critic import critic_spec, initial_soft_learner
from erlbench.algorithms.training.episode_tasks import episode_functions, episode_task
from erlbench.envs.registry import Problem
from erlbench.policy import initial_parameters
from erlbench.work.seeding import Key, Purpose, generator
from erlbench.work.tasks import ArrayRef, Counts, Input, Perturbed, Priority, Result, Task

__all__ = ["ESAC", "PRESETS"]
SCHEDULE, CROSSOVER = 0, 1  # what a random choice is about, in its key


class ESAC(Algorithm[ESACSettings, ESACState]):
    """Evolution-based soft actor-critic: evolution strategy with crossover, a tuned step size, and SAC now and then."""

    settings_type: ClassVar[type] = ESACSettings
    task_functions: ClassVar[Mapping[str, type]] = {
        **Algorithm.task_functions,
        **episode_functions("train_sac"),
        NOISE_SUM: NoiseSum,
    }
    critic_updates: ClassVar[float] = 0.02
    actor_updates: ClassVar[float] = 0.02
    knows_budget: ClassVar[bool] = True

    def __init__(self, settings: ESACSettings, context: Context) -> None:
        super().__init__(settings, context)
        policy = self.policy_spec
        self._critic = critic_spec(policy, settings.critic_hidden, settings.critic_activation)
        rate = settings.es_learning_rate
        self._optimiser: Optimiser = Adam(rate) if settings.optimiser == ADAM else Sgd(rate, momentum=0.0)
        learner = initial_soft_learner(policy, self._critic, has_value_network(settings), self.key(Purpose.PARAMETERS))
        mean = initial_parameters(policy.sizes, self.key(Purpose.PARAMETERS, 4))  # 0 to 3 are the learner's
        temperature = 1.0 if settings.temperature is None else settings.temperature
        self.state = ESACState(
            sac=SACPart(learner=self.share(learner), actor=self.share(learner[: policy.size]), temperature=temperature),
            mean=mean.astype(np.float64),
            mean_ref=self.share(mean),
            moments=self._optimiser.start(policy.size),
            sigma=settings.sigma_init,
        )

    @classmethod
    def warmup(cls, settings: ESACSettings) -> int:
        return 0  # SAC acts at random at first, and learns at once

    @classmethod
    def depends_on_budget(cls, settings: ESACSettings) -> str:
        return "p_clock=budget scales the share of SAC by the budget" if settings.p_clock == BUDGET else ""

    @classmethod
    def needs(cls, settings: ESACSettings, problem: Problem) -> Needs:
        """With SAC's episodes, which some generations have, and which alone are recorded."""
        episodes = settings.population * (2 if settings.sampling == PAIRS else 1) * settings.episodes
        most = settings.sac_episodes / settings.gradient_interval  # of SAC in a generation, if it takes each chance

        def recorded(generations: float) -> float:
            end = 1e6 if settings.p_clock == BUDGET else generations * problem.env.max_episode_steps
            sac = settings.mean_probability(end) * most
            return sac / (episodes + sac)

        middle = (settings.p_start + settings.p_end) / 2
        return Needs.of_episodes(problem, episodes + middle * most, recorded=recorded)

    def policy(self) -> ArrayRef:
        """The ES mean or the SAC policy, whichever was better at the latest validation."""
        return self.state.sac.actor if self.state.reports_sac else self.state.mean_ref

    @property
    def generation(self) -> int:
        """The generation under way, or the next, from 1."""
        return self.counters.generation + 1

    @property
    def nominal_timesteps(self) -> int:
        """The authors' counter: one longest episode a generation, whatever is simulated."""
        return self.counters.generation * self.context.problem.env.max_episode_steps

    # -- a generation ---------------------------------------------------------------------------------------------

    def _ask(self) -> list[Task]:
        """A whole generation when none is under way; when all of it is told, the gradient from its noise."""
        state = self.state
        if state.waiting:
            return []
        if state.individuals:
            tasks = self._gradient()
        elif self.exhausted:
            return []
        else:
            tasks = [*self._sac(), *self._evaluations(), *self._validations()]
        state.waiting = len(tasks)
        return tasks

    def _evaluations(self) -> list[Task]:
        """Lines 5 to 8: the members' episodes."""
        self.state.individuals = self.population()
        seeds = start_states(self, self.generation)
        return self.rollouts(self.state.individuals, kind="es", episodes=self.settings.episodes, seeds=seeds)

    def population(self) -> list[Perturbed]:
        """What is evaluated: children, members around the mean, copies of the SAC policy, all of them perturbed."""
        state, settings = self.state, self.settings
        around = settings.population - len(state.children) - settings.copies
        each = (1, -1) if settings.sampling == PAIRS else (1,)
        centres: list[tuple[ArrayRef, Sequence[int]]] = [(child, each) for child in state.children]
        if settings.sampling == MIRRORED:
            centres += [(state.mean_ref, (1, -1))] * (around // 2) + [(state.mean_ref, each)] * (around % 2)
        else:
            centres += [(state.mean_ref, each)] * around
        centres += [(state.sac.actor, each)] * settings.copies
        return [
            Perturbed(centre, state.sigma, self.key(Purpose.NOISE, self.generation, index), sign)
            for index, (centre, signs) in enumerate(centres)
            for sign in signs
        ]

    def _sac(self) -> list[Task]:
        """Lines 12 to 23, if their turn has come: SAC's episodes with their updates, beside those of the members."""
        sac, settings = self.state.sac, self.settings
        sac.probability = self.probability_of_sac()
        draw = generator(*self.key(Purpose.POPULATION, SCHEDULE, self.generation)).random()
        sac.due = self.generation % settings.gradient_interval == 0 and draw < sac.probability
        if not sac.due:
            return []
        limit = self.context.problem.env.max_episode_steps
        more = {
            "timesteps": sac.timesteps,
            "episodes": settings.sac_episodes,
            "limit": limit,
            "start_timesteps": sys.maxsize if self.generation * limit < settings.start_timesteps else 0,
            "start_updates": settings.batch_size,
        }
        update = update_of(settings, self._policy, self._critic)
        task = episode_task(self, "train_sac", sac.learner, update, **more)
        return [replace(task, priority=Priority.ROLLOUT)]  # the longest starts first

    def probability_of_sac(self) -> float:
        """p(t) of the generation under way, which anneals exponentially."""
        settings, context = self.settings, self.context
        if settings.p_clock == BUDGET:
            t = 1e6 * self.counters.timesteps / context.total_timesteps
        else:
            t = self.generation * context.problem.env.max_episode_steps
        return settings.probability(t)

    def _validations(self) -> list[Task]:
        """Episodes of the ES mean, the SAC policy and the winner that only choose and report."""
        state = self.state
        if self.counters.generation % self.settings.validation_every:
            return []
        policies: list[Input] = [state.mean_ref, state.sac.actor]
        if state.winner is not None:
            policies.append(state.winner)
        episodes = self.settings.validation_episodes
        return self.rollouts(policies, kind="validation", counts=Counts.FITNESS, episodes=episodes)

    def _gradient(self) -> list[Task]:
        """The estimate of line 11, from the members around the mean; the ranks are those of all members."""
        state = self.state
        ranks = centred_ranks(self._fitness())
        weights: dict[Key, float] = {}
        around = [(rank, z) for rank, z in zip(ranks, state.individuals) if z.centre == state.mean_ref]
        for rank, z in around:
            weights[z.key] = weights.get(z.key, 0.0) + z.sign * rank / (len(around) * state.sigma)
        return gradient_tasks(self, list(weights), list(weights.values()), self._policy.size)

    def _fitness(self) -> np.ndarray:
        """Of all individuals in their order."""
        return np.array([self.state.fitness[index] for index in range(len(self.state.individuals))])

    # -- results --------------------------------------------------------------------------------------------------

    def _tell(self, task: Task, result: Result) -> None:
        state = self.state
        state.waiting -= 1
        if task.kind == "rl":
            self._learnt(result)
        elif task.kind == "validation":
            state.scores[VALIDATED[task.individual]] = fitness_of(result)
        elif task.kind == "gradient":
            state.sums.append(result)
            if not state.waiting:
                self._update()
        else:
            state.fitness[task.individual] = fitness_of(result)

    def _learnt(self, result: Result) -> None:
        sac, values = self.state.sac, result.values
        sac.learner, sac.actor = result.arrays["learner"], result.arrays["actor"]
        sac.critic_loss, sac.entropy = values["critic_loss"], values["entropy"]
        sac.temperature, sac.last_return = values["temperature"], fitness_of(result)
        sac.timesteps += sum(values["lengths"])
        sac.intervals += 1

    def _update(self) -> None:
        """Lines 10, 11, 24 and 26."""
        state, settings, fitness = self.state, self.settings, self._fitness()
        state.mean = state.mean + self._optimiser.step(state.moments, -gradient(self, state.sums))
        state.mean_ref = self.share(state.mean.astype(np.float32))
        tuning = state.sac.due if settings.amt_every is None else self.generation % settings.amt_every == 0
        if tuning:
            self._tune(fitness)
        order = ranking(fitness.tolist())
        winners = order[: settings.winners]
        self._count_origins(winners)
        state.winner = state.individuals[order[0]]
        state.children = [self._child(place, winner) for place, winner in enumerate(winners)]
        state.best, state.average = float(fitness.max()), float(fitness.mean())
        state.individuals, state.fitness, state.sums = [], {}, []
        self.counters.generation += 1

    def _tune(self, fitness: np.ndarray) -> None:
        """Automatic mutation tuning; the next generation's noise has the new sigma."""
        state, settings = self.state, self.settings
        seen = rewards(fitness, settings.amt_rewards == RANK)
        step = raw_step(seen, state.sigma, settings.es_learning_rate, settings.population)
        state.sigma = tuned(state.sigma, step, settings.amt_clip)
        state.amt_steps += 1
        state.amt_clipped += step > settings.amt_clip

    def _child(self, place: int, winner: int) -> ArrayRef:
        """The new mean crossed with a winner of the generation that is now over."""
        state = self.state
        random = generator(*self.key(Purpose.POPULATION, CROSSOVER, self.generation, place))
        other = np.asarray(self.context.store.load(state.individuals[winner]))
        mean = state.mean.astype(np.float32)
        exchange = self.settings.crossover == EXCHANGE
        child, _ = crossover(mean, other, self._policy.tensors, exchange, random)
        return self.share(child)

    def _count_origins(self, winners: Sequence[int]) -> None:
        """How many winners were children and copies of SAC, the first and the last of the individuals."""
        state, settings = self.state, self.settings
        each = 2 if settings.sampling == PAIRS else 1
        copies = len(state.individuals) - settings.copies * each
        state.winning_children = sum(index < len(state.children) * each for index in winners)
        state.winning_copies = sum(index >= copies for index in winners)

    def metrics(self) -> dict[str, float]:
        return {"nominal_timesteps": self.nominal_timesteps, **self.state.metrics()}
