"""P-CEM-RL: CEM-RL made for parallel workers, still synchronous.

Lee, Lee, Shin, Kweon, "An Efficient Asynchronous Method for Integrating Evolutionary and Gradient-based Policy
Search" (AES-RL), NeurIPS 2020, section 4.1, after its public code (github.com/KyunghyunLee/aes-rl). The whole critic
phase comes first, and all RL individuals train on its final critic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from erlbench.algorithms.cem_rl import AT_LEAST, CEMRL, INDIVIDUAL, CEMRLSettings, CEMRLState
from erlbench.algorithms.gradient_tasks import actor_task, critic_task, new_critic
from erlbench.algorithms.search.search_distribution import SearchDistribution
from erlbench.experiment.settings import setting
from erlbench.work.tasks import Input, Output, Perturbed, Priority, Result, Task

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


@dataclass
class PCEMRLState(CEMRLState):
    """CEM-RL's state and, with barriers, where the generation is."""

    phase: str = ""  # the phase to start next: actors, evaluations, or none
    out: int = 0  # tasks of the present phase that are not told yet


class PCEMRL(CEMRL):
    """P-CEM-RL: CEM-RL whose RL individuals all train on the generation's final critic, in parallel."""

    settings_type: ClassVar[type] = PCEMRLSettings
    default_workers: ClassVar[int | None] = 5

    @classmethod
    def is_synchronous(cls, settings: PCEMRLSettings) -> bool:
        return not settings.parallel_critic

    def initial_state(self, distribution: SearchDistribution) -> PCEMRLState:
        critic = new_critic(self) if self.settings.n_grad else None
        return PCEMRLState(distribution, self.settings.initial_variance, critic=critic)

    def _ask(self) -> list[Task]:
        tasks = self._next_phase() if self.settings.barriers else super()._ask()
        return tasks + self._critic_stream()

    def _next_phase(self) -> list[Task]:
        """With barriers: the tasks of the next phase when those of the last are all told."""
        state = self.state
        if state.out:
            return []
        if state.phase == "actors":
            tasks, state.phase = self._actors(state.individuals, state.trained, state.critic.parameters), "evaluations"
        elif state.phase == "evaluations":
            tasks, state.phase = self.evaluations(state.individuals, range(len(state.individuals))), ""
        else:
            tasks = super()._ask()
        state.out = len(tasks)
        return tasks

    def generation(self, population: list[Perturbed]) -> list[Task]:
        """All phases at once, or with barriers the first one."""
        if not self.settings.barriers:
            return super().generation(population)
        trained = list(range(self.settings.n_grad)) if self.warm else []
        self.state.trained = trained
        if not trained:
            return self.evaluations(population, range(len(population)))
        blocks = self._critic_phase(population, trained)
        if blocks:
            self.state.phase = "actors"
            return blocks
        self.state.phase = "evaluations"
        return self._actors(population, trained, self.state.critic.parameters)

    def training(self, parameters: list[Input], trained: Sequence[int]) -> list[Task]:
        """The chain of all critic blocks, then every actor on the last one's critic."""
        if not trained:
            return []
        blocks = self._critic_phase(parameters, trained)
        critic = Output(blocks[-1].id, "critic") if blocks else self.state.critic.parameters
        actors = self._actors(parameters, trained, critic)
        parameters[: len(actors)] = [Output(task.id, "parameters") for task in actors]
        return blocks + actors

    def _critic_phase(self, parameters: list[Any], trained: Sequence[int]) -> list[Task]:
        """One block per RL individual, each towards the targets of its individual; none with a parallel critic."""
        settings, critic = self.settings, self.state.critic
        updates = self.state.previous_steps // settings.n_grad
        if settings.parallel_critic or not updates:
            return []
        view, latest, blocks = self.context.replay.view(settings.replay_size), critic.parameters, []
        for index in trained:
            blocks.append(critic_task(self, latest, parameters[index], updates, critic.step, view))
            latest = Output(blocks[-1].id, "critic")
            critic.step += updates
        return blocks

    def _actors(self, parameters: list[Any], trained: Sequence[int], critic: Input) -> list[Task]:
        """The training of the individuals `trained`, as many updates as the last generation had steps."""
        settings, updates = self.settings, self.state.previous_steps
        view = self.context.replay.view(settings.replay_size)
        return [actor_task(self, parameters[index], critic, updates, view, individual=index) for index in trained]

    def _critic_stream(self) -> list[Task]:
        """With a parallel critic: its next block towards the mean's targets, as long as there is budget."""
        settings, critic = self.settings, self.state.critic
        if not settings.parallel_critic or critic is None or critic.in_flight or self.exhausted or not self.warm:
            return []
        view = self.context.replay.view(settings.replay_size)
        task = critic_task(
            self, critic.parameters, self.policy(), settings.critic_block, critic.step, view, self.context.workers
        )
        critic.in_flight, critic.step = True, critic.step + settings.critic_block
        # It never ends, so it must not go before the actors that wait for the same processes.
        return [replace(task, priority=Priority.ACTOR)]

    def _tell(self, task: Task, result: Result) -> None:
        if task.kind == "critic" and self.settings.parallel_critic:
            self.state.critic.in_flight = False
        else:
            self.state.out = max(0, self.state.out - 1)
        super()._tell(task, result)
