"""Schedules of algorithms in simulated time on results that are made up, and the same schedules by other code.

The other code is a processor-sharing queue with the clock of the work done (as virtual time in fair queueing): a task
that begins when each running task has done `v` nanoseconds of work ends when that is `v` + its own work. Moments are
fractions of a second.
"""

from __future__ import annotations

import heapq
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import cycle
from threading import Event
from unittest.mock import Mock

from erlbench.envs.registry import problem
from erlbench.experiment.cells import SHARED, RunOptions
from erlbench.pool.base import Pool
from erlbench.running.loop import Run
from erlbench.running.orders import ArrivalOrder, SimulatedOrder, TaskOrder
from erlbench.running.rows import Clock
from erlbench.work.replay import Replay
from erlbench.work.seeding import generator
from erlbench.work.store import Store
from erlbench.work.tasks import Counts, Output, Perturbed, Priority, Result, timesteps_of

NARROW = (4,)  # hidden units: networks change no schedule, as what updates take is in the costs


@dataclass(frozen=True)
class Ended:
    """A task's place in a schedule."""

    task: int
    start: float
    end: float
    processor: int


class ImaginedPool(Pool):
    """A pool that computes nothing: episodes have the `lengths` in turn, and gradient steps change no network."""

    processes, device = 0, "cpu"

    def __init__(self, lengths):
        super().__init__()
        self.store, self._lengths = Store.create(), cycle(lengths)

    def _advance(self, end):
        task = self._tasks.pop(heapq.heappop(self._ready)[1])
        self._finished.append(Result(task.id, *self._outcome(task), 0.0, 0.0, 0))

    def _outcome(self, task):
        name = task.function.rpartition(":")[2]
        if name == "rollout":
            episodes = 1 if task.counts == Counts.EVALUATION else int(task.settings.episodes)
            returns = [*generator(*task.key).standard_normal(episodes)]
            return {"returns": returns, "lengths": [next(self._lengths) for _ in returns], "observed": 0}, {}
        kind, output = {"update_critic": ("critic", "critic"), "train_actor": ("actor", "parameters")}[name]
        given = task.inputs[output]
        array = given.centre if isinstance(given, Perturbed) else given
        return {f"{kind}_updates": int(task.settings.updates), "critic_loss": 0.0}, {output: array}

    def prepare(self, task, workers): ...
    def reset(self): ...
    def running(self):
        return {}

    def close(self):
        self.store.close()


class Log(SimulatedOrder):
    """What was requested after how many results, what was done, and the schedule."""

    def __init__(self, replay, *arguments):
        super().__init__(*arguments)
        self.replay, self.submitted, self.ended, self.did, self.recorded = replay, [], [], {}, set()

    def requested(self, tasks):
        self.recorded |= {task.id for task in tasks if getattr(task.settings, "record", False)}
        if training := [task for task in tasks if task.priority != Priority.EVALUATION]:
            self.submitted.append((len(self.ended), training))
        super().requested(tasks)

    def due(self):
        for result in super().due():
            if result.task in self.recorded:  # the replay holds nothing but its length
                self.replay.length += sum(result.values["lengths"])
                self.replay.rows += sum(result.values["lengths"])
            yield result

    def _end_next(self):
        result = super()._end_next()
        if result.process <= self.workers:  # no evaluation
            values = result.values
            self.did[result.task] = (
                timesteps_of(values), values.get("critic_updates", 0), values.get("actor_updates", 0)
            )  # fmt: skip
            self.ended.append(Ended(result.task, result.start, result.end, result.process))
        return result


def schedule(cell, costs, processors, lengths, critic):
    """The `Log` of a cell's run to its end."""
    task = problem(cell.env, cell.env_settings)
    cell.directory.mkdir(parents=True, exist_ok=True)
    narrow = replace(cell, settings=replace(cell.settings, hidden=NARROW))
    with (
        ImaginedPool(lengths) as inner,
        closing(Replay(cell.directory / "replay", task.observation_size, task.action_size)) as replay,
    ):
        run = Run(
            replace(narrow, eval_freq=10**12), RunOptions(0), narrow.algorithm(task, inner.store, replay), inner,
            Mock(), Mock(), Event(),
        )  # fmt: skip
        then = (TaskOrder if run.algorithm.is_synchronous(narrow.settings) else ArrivalOrder)(run.graph)
        run.order = Log(replay, then, processors, costs, critic == SHARED)
        run.clock = Clock(run.order.now)
        run.clock.start()
        run.train()
    return run.order


def work(costs, steps, critic, actor):
    """Nanoseconds of a task alone, from what stands in the file."""
    one = {name: round(Fraction(str(getattr(costs, name))) * 10**9)
           for name in ("overhead", "timestep", "critic_update", "actor_update", "gradient_overhead")}  # fmt: skip
    gradient = one["gradient_overhead"] if critic + actor else 0
    return (
        one["overhead"]
        + gradient
        + sum(
            count * one[name]
            for name, count in (("timestep", steps), ("critic_update", critic), ("actor_update", actor))
        )
    )


def simulated(log, costs, processors, shared):
    """The schedule of what was submitted, by other code."""
    batches, waiting, finished = list(log.submitted), [], set()
    idle = {"actors": list(range(processors)), "critic": [processors]}
    clock, done, running, heap, found = Fraction(0), 0, {}, [], []
    extra = round(Fraction(str(costs.crowding)) * 10**9) - 10**9

    def lane(task):
        return "critic" if task.priority == Priority.CRITIC and not shared else "actors"

    while True:
        while batches and batches[0][0] == len(found):
            if not waiting and not running:
                clock += Fraction(str(costs.update))
            waiting += batches.pop(0)[1]
        for task in sorted(waiting, key=lambda task: (task.priority, task.id)):
            needs = {value.task for value in task.inputs.values() if isinstance(value, Output)} | set(task.after)
            if needs <= finished and idle[lane(task)]:
                processor = min(idle[lane(task)])
                idle[lane(task)].remove(processor)
                waiting.remove(task)
                running[task.id] = task, clock, processor
                heapq.heappush(heap, (done + work(costs, *log.did[task.id]), task.id))
        if not running:
            assert not waiting
            assert not batches
            return found
        beside = min(len(running), costs.cores) - 1
        factor = 10**9 + (round(Fraction(extra * beside, costs.cores - 1)) if beside else 0)
        target, number = heapq.heappop(heap)
        clock += Fraction((target - done) * factor, 10**18)
        done = target
        task, start, processor = running.pop(number)
        idle[lane(task)].append(processor)
        finished.add(number)
        found.append(Ended(number, float(start), float(clock), processor))
