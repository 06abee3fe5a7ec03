"""Evaluating the reported policy: when, from which start states, and in which order the rows appear."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any

from erlbench.algorithms.base import Algorithm
from erlbench.work.seeding import Purpose, environment_seed
from erlbench.work.tasks import Counts, Priority, Result, Task

FIRST_ID = 10**12  # ids of evaluations stay clear of the algorithm's, whose random streams are keyed by them


@dataclass
class Pending:
    """An evaluation whose row is not yet written: what was counted when its policy was taken."""

    task: Task
    row: dict[str, Any]
    values: dict[str, Any] | None = None


@dataclass
class EvaluationState:
    """What goes into a checkpoint."""

    taken: int = 0  # evaluations begun
    last_timesteps: int = -1  # training steps at the last one
    pending: list[Pending] = field(default_factory=list)  # in order


class Evaluator:
    """Takes the reported policy every `frequency` training steps and plays `episodes` deterministic episodes.

    A stochastic policy acts by its mode, and no action has noise.

    The start states belong to (run seed, evaluation index) and are thus common to all algorithms.
    """

    def __init__(self, algorithm: Algorithm, frequency: int, episodes: int) -> None:
        self.algorithm = algorithm
        self.frequency = frequency
        self.episodes = episodes
        self.state = EvaluationState()

    def due(self) -> bool:
        """Whether a multiple of `frequency` has been passed since the last evaluation."""
        now, last = self.algorithm.counters.timesteps, self.state.last_timesteps
        return last < 0 or now // self.frequency > last // self.frequency

    def take(self, train_time: float, total_time: float) -> Task | None:
        """The task that evaluates the policy as it is now; None when it has been taken at this very step."""
        counters, index = self.algorithm.counters, self.state.taken
        if self.state.last_timesteps == counters.timesteps:
            return None
        seed = self.algorithm.context.seed
        key = (seed, int(Purpose.EVALUATION), index)
        task = Task(
            FIRST_ID + index,
            "evaluation",
            "erlbench.work.rollout:rollout",
            key,
            {
                "env": self.algorithm.context.problem.env,
                "policy": self.algorithm.policy_spec,
                "episodes": self.episodes,
                "record": False,
                "random_actions": False,
                "action_noise": 0.0,
                "seeds": tuple(environment_seed(*key, episode) for episode in range(self.episodes)),
                "mode": True,
            },
            {"parameters": self.algorithm.policy()},
            Priority.EVALUATION,
            Counts.EVALUATION,
        )
        row = {
            "evaluation": index,
            "timesteps": counters.timesteps,
            "fitness_timesteps": counters.fitness_timesteps,
            "episodes": counters.episodes,
            "generation": counters.generation,
            "critic_updates": counters.critic_updates,
            "actor_updates": counters.actor_updates,
            "train_time_s": train_time,
            "total_time_s": total_time,
        }
        self.state.pending.append(Pending(task, row))
        self.state.taken += 1
        self.state.last_timesteps = counters.timesteps
        return task

    def finish(self, result: Result) -> list[dict[str, Any]]:
        """Take a finished evaluation; the rows that can now be written, in order."""
        for pending in self.state.pending:
            if pending.task.id == result.task:
                pending.values = dict(result.values)
        rows = []
        while self.state.pending and self.state.pending[0].values is not None:
            pending = self.state.pending.pop(0)
            values = pending.values or {}
            returns, lengths = values["returns"], values["lengths"]
            self.algorithm.counters.evaluation_timesteps += sum(lengths)
            rows.append(
                {
                    **pending.row,
                    "evaluation_timesteps": self.algorithm.counters.evaluation_timesteps,
                    "return_mean": fmean(returns),
                    "return_std": stdev(returns) if len(returns) > 1 else 0.0,
                    "returns": returns,
                    "lengths": lengths,
                }
            )
        return rows
