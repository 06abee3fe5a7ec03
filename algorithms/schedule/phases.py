"""The schedule `phases`: all critic blocks of a generation, then all its actors on the last critic, in parallel.

P-CEM-RL of the AES-RL paper (Lee et al., NeurIPS 2020, section 4.1), after its public code
(github.com/KyunghyunLee/aes-rl).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from erlbench.algorithms.schedule.chain import INDIVIDUAL, Chain, ChainSettings
from erlbench.algorithms.training.gradient_tasks import actor_task, critic_task
from erlbench.settings import at_least_one, setting
from erlbench.work.tasks import Input, Priority, Task, in_phases

AES_CODE = "AES-RL, public code"


@dataclass(frozen=True, kw_only=True)
class PhasesSettings(ChainSettings):
    """Hyper-parameters of the phases."""

    parallel_critic: bool = setting(
        False, "one critic learns all the time, towards the mean's targets; then results depend on timing", AES_CODE
    )
    critic_block: int = at_least_one(1000, "updates per block of the parallel critic", AES_CODE)
    barriers: bool = setting(
        False, "wait for all between critic, actors and evaluations; costs time, changes no result", AES_CODE
    )

    def __post_init__(self) -> None:
        if self.warmup_gate == INDIVIDUAL:
            raise ValueError(f"warmup_gate '{INDIVIDUAL}' is cem-rl's, whose individuals follow each other")


class Phases(Chain):
    """`phases`: all critic blocks, then all actors on the last critic, in parallel."""

    settings_type: ClassVar[type] = PhasesSettings

    @classmethod
    def is_synchronous(cls, settings: Any) -> bool:
        return not settings.parallel_critic

    def ask(self) -> list[Task]:
        return super().ask() + self._critic_stream()

    def ask_individuals(self, first: int) -> list[Task]:
        """A generation from `first` on; with barriers first the critic, then the actors, then the episodes."""
        tasks = super().ask_individuals(first)
        if not self.settings.barriers:
            return tasks
        critic, actors = ([task for task in tasks if task.kind == kind] for kind in ("critic", "actor"))
        return in_phases(critic, actors, tasks[len(critic) + len(actors) :])

    def training(self, parameters: Sequence[Input], trained: Sequence[int]) -> list[Task]:
        """One critic block per RL individual, towards the targets of that one; then every actor on the last critic.

        An actor makes as many updates as the last generation had steps, and so do the blocks together. With a parallel
        critic there are no blocks.
        """
        run, critic, steps = self.run, self.run.critic, self.state.previous_steps
        tasks, latest = list[Task](), cast(Input, critic.parameters)
        updates = 0 if self.settings.parallel_critic else steps // run.coupling.count
        for index in trained if updates else ():
            tasks.append(critic_task(run, latest, parameters[index], updates, critic.step))
            latest = tasks[-1].output("critic")
            critic.step += updates
        return tasks + [actor_task(run, parameters[index], latest, steps, index) for index in trained]

    def _critic_stream(self) -> list[Task]:
        """With a parallel critic: its next block towards the mean's targets, as long as there is budget."""
        run = self.run
        waits = run.exhausted or not self.warm or not self.settings.parallel_critic
        if not run.learns or waits or run.coupling.learns_now:
            return []
        # It never ends, so it must not go before the actors that wait for the same processes.
        tasks = run.coupling.stream(self.settings.critic_block)
        return [replace(task, priority=Priority.ACTOR) for task in tasks]
