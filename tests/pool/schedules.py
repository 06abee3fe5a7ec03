"""Schedules of algorithms in simulated time on results that are made up, and the same schedules by other code.

The other code is a processor-sharing queue with the clock of the work done (as virtual time in fair queueing): a task
that begins when each running task has done `v` nanoseconds of work ends when that is `v` + its own work. Moments are
fractions of a second.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from fractions import Fraction

from erlbench.forecasting import forecast as forecasting
from erlbench.pool import SimulatedPool
from erlbench.work.tasks import Output, Priority, timesteps_of


@dataclass(frozen=True)
class Ended:
    """A task's place in a schedule."""

    task: int
    start: float
    end: float
    processor: int


class Log(forecasting._Counting):
    """What was submitted after how many results, what was done, and the schedule."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.submitted, self.ended, self.did = [], [], {}

    def submit(self, tasks):
        tasks = list(tasks)
        if training := [task for task in tasks if task.priority != Priority.EVALUATION]:
            self.submitted.append((len(self.ended), training))
        super().submit(tasks)

    def next_result(self, timeout=None):
        result = SimulatedPool.next_result(self, timeout)  # simulated time's, without what a forecast does beside it
        if result is not None and result.task in self._recording:
            self._replay.count(sum(result.values["lengths"]))
        if result is not None and result.process <= self.workers:  # no evaluation
            values = result.values
            self.did[result.task] = (
                timesteps_of(values), values.get("critic_updates", 0), values.get("actor_updates", 0)
            )  # fmt: skip
            self.ended.append(Ended(result.task, result.start, result.end, result.process))
        return result


def schedule(monkeypatch, cell, costs, processors, lengths, critic):
    """The `Log` of a cell's run to its end."""
    logs = []
    monkeypatch.setattr(forecasting, "_Counting", lambda *arguments: logs.append(Log(*arguments)) or logs[-1])
    forecasting.forecast(cell, costs, processors, lengths, critic)
    return logs[0]


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
