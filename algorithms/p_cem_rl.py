"""P-CEM-RL: CEM-RL made for parallel workers, still synchronous.

Lee, Lee, Shin, Kweon, "An Efficient Asynchronous Method for Integrating Evolutionary and Gradient-based Policy
Search" (AES-RL), NeurIPS 2020, section 4.1, after its public code (github.com/KyunghyunLee/aes-rl). The whole critic
phase comes first, and all RL individuals train on its final critic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from erlbench.algorithms.cem_rl import AT_LEAST, CEMRL, INDIVIDUAL, CEMRLSettings
from erlbench.algorithms.training.gradient_tasks import actor_task, critic_task, next_critic_block
from erlbench.settings import setting
from erlbench.work.tasks import Input, Priority, Result, Task, in_phases

AES_CODE = "AES-RL, public code"
CODE: Mapping[str, Any] = {"tau_cem": 0.90, "batch_size": 256, "random_warmup": True, "warmup_gate": AT_LEAST}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {},
    "barriers": {"barriers": True},
    "code": {**CODE, "barriers": True},
    "parallel-critic": {"parallel_critic": True},
}


@dataclass(frozen=True)
class PCEMRLSettings(CEMRLSettings):
    """Hyper-parameters of P-CEM-RL."""

    parallel_critic: bool = setting(
        False, "one critic learns all the time, towards the mean's targets; then results depend on timing", AES_CODE
    )
    critic_block: int = setting(1000, "updates per block of the parallel critic", AES_CODE, minimum=1)
    barriers: bool = setting(
        False, "wait for all between critic, actors and evaluations; costs time, changes no result", AES_CODE
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.warmup_gate == INDIVIDUAL:
            raise ValueError(f"warmup_gate '{INDIVIDUAL}' is cem-rl's, whose individuals follow each other")


class PCEMRL(CEMRL[PCEMRLSettings]):
    """P-CEM-RL: CEM-RL whose RL individuals all train on the generation's final critic, in parallel."""

    settings_type: ClassVar[type] = PCEMRLSettings
    default_workers: ClassVar[int | None] = 5

    @classmethod
    def is_synchronous(cls, settings: PCEMRLSettings) -> bool:
        return not settings.parallel_critic

    def _ask(self) -> list[Task]:
        return super()._ask() + self._critic_stream()

    def tasks_of(self, first: int, stop: int) -> list[Task]:
        """A generation; with barriers the critic comes first, then the actors, then the episodes."""
        tasks = super().tasks_of(first, stop)
        if not self.settings.barriers:
            return tasks
        critic, actors = ([task for task in tasks if task.kind == kind] for kind in ("critic", "actor"))
        return in_phases(critic, actors, tasks[len(critic) + len(actors) :])

    def training(self, parameters: Sequence[Input], trained: Sequence[int]) -> list[Task]:
        """One critic block per RL individual, towards the targets of that one; then every actor on the last critic.

        An actor makes as many updates as the last generation had steps, and so do the blocks together. With a parallel
        critic there are no blocks.
        """
        settings, critic, steps = self.settings, self.state.critic, self.state.previous_steps
        assert critic is not None
        view, tasks = self.context.replay.view(settings.replay_size), []
        latest: Input = critic.parameters
        updates = 0 if settings.parallel_critic else steps // settings.n_grad
        for index in trained if updates else ():
            tasks.append(critic_task(self, latest, parameters[index], updates, critic.step, view))
            latest = tasks[-1].output("critic")
            critic.step += updates
        return tasks + [actor_task(self, parameters[index], latest, steps, view, index) for index in trained]

    def _critic_stream(self) -> list[Task]:
        """With a parallel critic: its next block towards the mean's targets, as long as there is budget."""
        settings, critic = self.settings, self.state.critic
        if not settings.parallel_critic or critic is None or critic.in_flight or self.exhausted or not self.warm:
            return []
        # It never ends, so it must not go before the actors that wait for the same processes.
        return [replace(next_critic_block(self, critic), priority=Priority.ACTOR)]

    def _tell(self, task: Task, result: Result) -> None:
        if task.kind == "critic" and self.state.critic is not None:
            self.state.critic.in_flight = False
        super()._tell(task, result)
