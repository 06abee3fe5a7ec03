"""What all algorithms share: the ask/tell protocol with its bookkeeping, written once.

An algorithm is a plain state machine on the driver. It owns no process and reads no clock. A subclass writes `_ask`,
`_tell` and `policy`, and keeps everything that it needs to go on in `self.state`, a dataclass of plain values, numpy
arrays and references; a checkpoint is that dataclass.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import FunctionType, MappingProxyType
from typing import Any, ClassVar, Generic, Self, TypeVar, final

import numpy.typing as npt

from erlbench.algorithms.policy_settings import make_policy_spec
from erlbench.envs.registry import Problem
from erlbench.errors import CellError, UsageError
from erlbench.machine.process import available_memory
from erlbench.policy import PolicySpec
from erlbench.work.replay import Replay
from erlbench.work.rollout import RolloutSettings
from erlbench.work.seeding import Key, Purpose
from erlbench.work.store import Store
from erlbench.work.tasks import ArrayRef, Counts, Input, Result, Task, count_timesteps

ROLLOUT = "erlbench.work.rollout:rollout"
POLICY_BYTES = 24.0  # of a parameter, at least: its first value and its mean, float64, and two policies, float32
Settings = TypeVar("Settings")
State = TypeVar("State")


@dataclass(kw_only=True)
class Counters:
    """Everything that is counted, each thing once."""

    timesteps: int = 0  # environment steps of training, the papers' axis
    fitness_timesteps: int = 0  # steps of the mean's episodes that learning uses
    evaluation_timesteps: int = 0  # steps of the reported policy's evaluations
    replayed_timesteps: int = 0  # steps made again to get back into an open episode, in no other count
    episodes: int = 0  # training episodes
    generation: int = 0  # updates of the search distribution; episodes for TD3 and SAC
    critic_updates: int = 0
    actor_updates: int = 0


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a run gives its algorithm."""

    problem: Problem
    seed: int
    total_timesteps: int  # 0 where the minutes alone end a run
    workers: int  # individuals in flight
    store: Store
    replay: Replay
    total_generations: int | None = None  # where a run ends if its steps are not used up before
    total_minutes: float | None = None  # of modelled training time, which also have to pass


@dataclass(frozen=True)
class Needs:
    """About what a generation takes; for estimates."""

    steps: float  # of training
    recorded: float = 1.0  # the share of them that goes to the replay, if any
    memory: float = 0.0  # bytes that the search holds; 0 where they are few compared with the processes'
    seconds: float = 0.0  # of the main process; 0 where they are few compared with the tasks'

    @classmethod
    def of_episodes(cls, problem: Problem, episodes: float, **more: Any) -> Self:
        """The needs of a generation with so many episodes of half the time limit."""
        return cls(episodes * problem.env.max_episode_steps / 2, **more)


class Algorithm(ABC, Generic[Settings, State]):
    """Ask/tell template for algorithms with a dataclass of settings and one of state. Returns are maximised."""

    settings_type: ClassVar[type]
    """Dataclass of hyper-parameters."""
    default_workers: ClassVar[int | None] = None
    """Individuals in flight; None: as many as the definition allows. See `usual_workers`."""
    bounded: ClassVar[bool] = True
    """Whether a synchronous run takes at most `workers` processes, where it has that number."""
    critic_updates: ClassVar[float] = 0.0
    """Gradient steps of critics per training step, about; 0: it makes none. For estimates and for what workers load."""
    actor_updates: ClassVar[float] = 0.0
    """Gradient steps of actors per training step, about; for estimates."""
    simulated_steps: ClassVar[float] = 1.0
    """Environment steps simulated per training step, about; for estimates."""
    knows_budget: ClassVar[bool] = False
    """Whether its steps depend on the budget, so that a run cut early is none of a smaller budget."""
    open_episodes: ClassVar[bool] = False
    """Whether an episode may be open when a run ends. Its steps are then counted, but in no row of episodes.csv."""
    task_functions: ClassVar[Mapping[str, type]] = MappingProxyType({ROLLOUT: RolloutSettings})
    """The functions that its tasks may name, each with the class of their settings; see `declares`. An instance adds
    the functions of a user's part, such as a learner."""
    generation_settings: ClassVar[tuple[str, ...]] = ("population", "episodes")
    """Settings that decide the training steps of a generation, where its settings class has them."""
    state: State
    policy_spec: PolicySpec
    """The network of every policy of a run."""

    def __init__(self, settings: Settings, context: Context) -> None:
        self.check(settings, context.problem)
        self.settings = settings
        self.context = context
        self.counters = Counters()
        self.time_is_up = False  # whether a generation has ended behind the minutes of the budget
        self.policy_spec = self.policy_for(settings, context.problem)
        self._ids = 0

    # -- before a run ---------------------------------------------------------------------------------------------

    @classmethod
    def policy_for(cls, settings: Settings, problem: Problem) -> PolicySpec:
        """The network of every policy of a run, by default from the settings: `policy_settings.make_policy_spec`.

        It raises `UsageError` for settings that do not go with the problem.
        """
        return make_policy_spec(problem, settings)

    @classmethod
    def check(cls, settings: Settings, problem: Problem) -> None:
        """Raise `UsageError` for settings with which no run on `problem` can start; asked before any run starts."""
        size, available = cls.policy_for(settings, problem).size, available_memory()
        if (needed := POLICY_BYTES * size) > available:
            raise UsageError(
                f"a policy of {size:,} parameters needs {needed / 2**30:.1f} GiB of memory, "
                f"{available / 2**30:.1f} GiB are available; choose a smaller network, such as --set hidden=64-64"
            )

    @classmethod
    def is_synchronous(cls, settings: Settings) -> bool:
        """Whether results are told in task order with these settings, so that nothing depends on timing."""
        return True

    @classmethod
    def usual_workers(cls, settings: Settings) -> int | None:
        """The default of `--workers` with these settings; None where they mean nothing."""
        return cls.default_workers

    @classmethod
    def gradient_workers(cls, settings: Settings, workers: int) -> int:
        """The most tasks with gradient steps that run at once: one for each individual in flight, and the critic's.

        So many processes, or all if a run has fewer, import their libraries before its clock starts. Asked only of
        algorithms that the registry lists with gradient steps; 0 where these settings switch them off.
        """
        return workers + 1

    @classmethod
    def needs(cls, settings: Settings, problem: Problem) -> Needs:
        """What a generation takes: by default the settings' `population` times `episodes`, or 1 where these are not."""
        return Needs.of_episodes(problem, getattr(settings, "population", 1) * getattr(settings, "episodes", 1))

    @classmethod
    def update_cost(cls, settings: Settings) -> float:
        """By how much a gradient step takes longer than TD3's with the same networks, about; for estimates."""
        return 1.0

    @classmethod
    def warmup(cls, settings: Settings) -> int:
        """Training steps before the first gradient step: by default `start_timesteps` of the settings, else 0."""
        return int(getattr(settings, "start_timesteps", 0) or 0)

    @classmethod
    def without_effect(cls, settings: Settings) -> Collection[str]:
        """Settings that nothing reads with these values of others; a typed one gets a warning."""
        return ()

    @classmethod
    def depends_on_budget(cls, settings: Settings) -> str:
        """What in a run depends on its budget, apart from its end; empty where nothing does.

        Only where nothing does, a run can have a budget of modelled minutes, in which its steps are not known before.
        A finished run of a synchronous algorithm whose answer is empty can go on with a larger budget, and gives the
        numbers of a run that had this budget from the start. The conformance test checks it.
        """
        return "the algorithm does not say whether anything in it depends on the budget (depends_on_budget)"

    @classmethod
    @final
    def declares(cls, function: str) -> bool:
        """Whether its tasks may name this function: one of `task_functions`, or one that a plug-in's module defines.

        No other is called, whatever a checkpoint names.
        """
        if function == ROLLOUT or function in cls.task_functions:  # evaluations play in each run
            return True
        module, _, name = function.partition(":")
        if module.startswith("erlbench.") or module not in {base.__module__ for base in cls.__mro__}:
            return False
        candidate = getattr(sys.modules[module], name, None)
        return isinstance(candidate, FunctionType) and candidate.__module__ == module

    # -- the protocol ---------------------------------------------------------------------------------------------

    @final
    def ask(self) -> list[Task]:
        """The tasks that may start now; none means: wait for a result, or, with none in flight, the end."""
        tasks = self._ask()
        if not isinstance(tasks, list) or not all(isinstance(task, Task) for task in tasks):
            raise CellError(f"_ask of {type(self).__name__} must return a list of tasks, not {tasks!r:.80}")
        self.check_declared(tasks)
        return tasks

    @final
    def check_declared(self, tasks: Collection[Task]) -> None:
        """Raise `CellError` for a task whose function is not declared, or whose policy is other code than the run's."""
        expected = self.policy_spec.network
        for network in {task.settings.policy.network for task in tasks if task.function == ROLLOUT} - {expected}:
            raise CellError(f"a task plays with the network {network[:80]}, and this run has {expected}")
        for function in {task.function for task in tasks}:
            if function not in self.task_functions and not self.declares(function):
                raise CellError(
                    f"{type(self).__name__} names the task function {function[:80]}, which it does not declare; add it "
                    "to its task_functions"
                )

    @final
    def tell(self, task: Task, result: Result) -> None:
        """Take one finished task in: count it, append what it recorded to the replay, and learn from it."""
        values, counters = result.values, self.counters
        if task.counts == Counts.TRAINING:
            counters.timesteps += count_timesteps(values)
            counters.episodes += len(values["lengths"])
        elif task.counts == Counts.FITNESS:
            counters.fitness_timesteps += count_timesteps(values)
        counters.replayed_timesteps += values.get("replayed", 0)
        counters.critic_updates += values.get("critic_updates", 0)
        counters.actor_updates += values.get("actor_updates", 0)
        if "observations" in result.arrays:
            recorded = {
                name: self.context.store.get(result.arrays[name])
                for name in ("observations", "actions", "rewards", "continues")
            }
            self.context.replay.append(**recorded, lengths=values["lengths"])
        self._tell(task, result)

    @abstractmethod
    def _ask(self) -> list[Task]: ...

    @abstractmethod
    def _tell(self, task: Task, result: Result) -> None: ...

    @abstractmethod
    def policy(self) -> Input:
        """Parameters of the policy to report, usually the distribution's mean."""

    def metrics(self) -> dict[str, float]:
        """Further columns for train.csv: numbers by names that it does not have yet, one row per generation."""
        return {}

    def measured(self) -> dict[str, float]:
        """Values of settings that this run found out by itself, once they are fixed; they are printed and recorded."""
        return {}

    @property
    def exhausted(self) -> bool:
        """Whether the budget is used up: of training steps, with the minutes if there are any, or of generations."""
        counters, context = self.counters, self.context
        generations = context.total_generations
        timely = context.total_minutes is None or self.time_is_up
        return (timely and counters.timesteps >= context.total_timesteps) or (
            generations is not None and counters.generation >= generations
        )

    @final
    def end_generation(self, train_time: float) -> None:
        """Note that a generation has ended after so many seconds of training."""
        minutes = self.context.total_minutes
        self.time_is_up |= minutes is not None and train_time >= 60 * minutes

    # -- for subclasses -------------------------------------------------------------------------------------------

    def key(self, purpose: Purpose, *more: int) -> Key:
        """The key of a random stream of this run."""
        return (self.context.seed, int(purpose), *more)

    def new_id(self) -> int:
        """The next number for a task or an array."""
        self._ids += 1
        return self._ids

    def share(self, array: npt.ArrayLike) -> ArrayRef:
        """Put an array of the driver into the store; it is freed when the state no longer refers to it."""
        return self.context.store.put(f"{self.new_id()}.shared", array)

    def task(
        self, kind: str, function: str, purpose: Purpose, settings: Any, inputs: Mapping[str, Input], **more: Any
    ) -> Task:
        """A task with the next number, which is also in its key; `more` are other fields of `Task`."""
        task_id = self.new_id()
        return Task(task_id, kind, function, self.key(purpose, task_id), settings, inputs, **more)

    def rollouts(
        self,
        policies: Iterable[Input],
        *,
        kind: str,
        counts: Counts = Counts.TRAINING,
        individual: int = 0,
        seeds: Sequence[int] = (),
        **more: Any,
    ) -> list[Task]:
        """Tasks that play whole episodes with one policy each, as the individuals `individual`, `individual` + 1, ...

        They have the same settings: `seeds` and `more` are fields of `RolloutSettings`.
        """
        purpose = Purpose.FITNESS if counts == Counts.FITNESS else Purpose.EPISODE
        more.setdefault("nan_fitness", getattr(self.settings, "nan_fitness", ""))
        settings = RolloutSettings(self.context.problem.env, self.policy_spec, seeds=tuple(seeds), **more)
        return [
            self.task(kind, ROLLOUT, purpose, settings, {"parameters": parameters}, counts=counts, individual=number)
            for number, parameters in enumerate(policies, individual)
        ]

    def rollout(self, parameters: Input, *, kind: str, **more: Any) -> Task:
        """The task of one policy; `more` as of `rollouts`."""
        return self.rollouts([parameters], kind=kind, **more)[0]

    # -- checkpoints ----------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Everything needed to go on, as plain values, arrays, references and dataclasses."""
        snapshot = {"counters": asdict(self.counters), "ids": self._ids, "state": self.state}
        return snapshot if self.context.total_minutes is None else snapshot | {"time_is_up": self.time_is_up}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go on from a snapshot."""
        self.counters = Counters(**snapshot["counters"])
        self._ids = snapshot["ids"]
        self.time_is_up = snapshot.get("time_is_up", False)
        self.state = snapshot["state"]
