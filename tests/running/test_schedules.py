"""Simulated time is exact: its schedules are those of other code, and no float's last place changes them.

Schedules of algorithms on results that are made up. The other code is a processor-sharing queue with the clock of the
work done (as virtual time in fair queueing): a task that begins when each running task has done `v` nanoseconds of work
ends when that is `v` + its own work. Moments are fractions of a second.
"""

import heapq
import math
import tomllib
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files
from itertools import cycle
from threading import Event
from unittest.mock import Mock

import pytest
import tomli_w

from erlbench.algorithms.base import Counters
from erlbench.envs.registry import problem
from erlbench.experiment.cells import OWN, SHARED, RunOptions
from erlbench.experiment.costs import BUILT_IN, Costs, built_in_costs, load_costs
from erlbench.pool.base import Pool
from erlbench.running.loop import Run
from erlbench.running.orders import ArrivalOrder, SimulatedOrder, TaskGraph, TaskOrder
from erlbench.running.rows import Clock
from erlbench.work.replay import Replay
from erlbench.work.seeding import generator
from erlbench.work.store import Store
from erlbench.work.tasks import Counts, Output, Perturbed, Priority, Result, Task, count_timesteps
from tests.pool.helpers import local_pool
from tests.runs import make_cell

COSTS = replace(built_in_costs(), spread=0.0)
LENGTHS = [1000, 37, 412, 412, 5, 1000, 733, 64, 201]


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
    """What was requested after how many results, what was done, and the schedule: tasks, starts, ends, processors."""

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
                count_timesteps(values), values.get("critic_updates", 0), values.get("actor_updates", 0)
            )  # fmt: skip
            self.ended.append((result.task, result.start, result.end, result.process))
        return result


def schedule(cell, costs, processors, lengths, critic):
    """The `Log` of a cell's run to its end."""
    task = problem(cell.env, cell.env_settings)
    cell.directory.mkdir(parents=True, exist_ok=True)
    # Networks change no schedule, as what updates take is in the costs.
    narrow = replace(cell, settings=replace(cell.settings, hidden=(4,)))
    with (
        closing(ImaginedPool(lengths)) as inner,
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
    counts = {"overhead": 1, "gradient_overhead": critic + actor > 0, "timestep": steps, "critic_update": critic,
              "actor_update": actor}  # fmt: skip
    return sum(count * round(Fraction(str(getattr(costs, name))) * 10**9) for name, count in counts.items())


def simulated(log, costs, processors, shared):
    """The schedule of what was submitted, by other code."""
    batches, waiting, finished = list(log.submitted), [], set()
    idle = {"actors": list(range(processors)), "critic": [processors]}
    clock, done, running, heap, ended = Fraction(0), 0, {}, [], []
    extra = round(Fraction(str(costs.crowding)) * 10**9) - 10**9

    def lane(task):
        return "critic" if task.priority == Priority.CRITIC and not shared else "actors"

    while True:
        while batches and batches[0][0] == len(ended):
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
            return ended
        beside = min(len(running), costs.cores) - 1
        factor = 10**9 + (round(Fraction(extra * beside, costs.cores - 1)) if beside else 0)
        target, number = heapq.heappop(heap)
        clock += Fraction((target - done) * factor, 10**18)
        done = target
        task, start, processor = running.pop(number)
        idle[lane(task)].append(processor)
        finished.add(number)
        ended.append((number, float(start), float(clock), processor))


def cell_of(algo, folder, workers, steps, **changes):
    settings = {"start_timesteps": 10_000, "critic_block": 1000} | changes.pop("settings", {})
    cell = make_cell(algo, folder, steps=steps, settings=settings, **changes)
    return replace(cell, workers=cell.workers and workers)


@pytest.mark.parametrize("workers", [1, 5])
@pytest.mark.parametrize(
    ("algo", "settings", "critic"),
    [("aes-rl", {}, OWN), ("aes-rl", {}, SHARED), ("p-cem-rl", {}, OWN), ("p-cem-rl", {"barriers": True}, OWN)],
)
def test_the_schedule_is_that_of_other_code(algo, settings, critic, workers, tmp_path):
    log = schedule(cell_of(algo, tmp_path, workers, 60_000, settings=settings), COSTS, workers, LENGTHS, critic)
    assert algo != "aes-rl" or len({task.priority for _, tasks in log.submitted for task in tasks}) == 3
    assert log.ended == simulated(log, COSTS, workers, critic == SHARED)
    assert len(log.ended) > 100


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["default", "fixed-ratio"])
def test_the_last_place_of_a_cost_changes_no_schedule(preset, tmp_path):
    """Where all episodes are full, equal sums of costs are frequent, and rounding decided which task came first."""
    table = tomllib.loads((files("erlbench.experiment") / BUILT_IN).read_text())["costs"] | {"spread": 0.0}
    cell = cell_of("aes-rl", tmp_path, 5, 100_000, env="HalfCheetah-v5", preset=preset)

    def ended(values):
        (tmp_path / "costs.toml").write_text(tomli_w.dumps({"costs": values}))
        return schedule(cell, load_costs(tmp_path / "costs.toml"), 5, [1000], OWN).ended

    expected = ended(table)
    for name in ("timestep", "critic_update", "actor_update", "overhead", "gradient_overhead", "crowding", "update"):
        for towards in (0.0, math.inf):
            assert ended(table | {name: math.nextafter(table[name], towards)}) == expected, (name, towards)


def task(task_id, length, priority=Priority.ROLLOUT):
    values = {"values": {"lengths": [length]}}
    return Task(task_id, "test", "tests.pool.functions:draw", (task_id,), values, priority=priority)


def test_tasks_beside_each_other_are_slower_while_they_are_and_evaluations_are_not():
    """Two tasks of 3 and 6 s, twice as slow beside each other: the second has 3 s left when the first ends at 6 s."""
    tasks = [task(1, 3), task(2, 6), task(9, 5, Priority.EVALUATION)]
    crowded = Costs(timestep=1.0, critic_update=10.0, actor_update=5.0, overhead=0.0, crowding=2.0, cores=2)
    graph, ended = TaskGraph(), []
    order = SimulatedOrder(ArrivalOrder(graph), 2, crowded)
    with local_pool(0) as pool:
        pool.submit(graph.add(tasks, 0.0, Counters()))
        order.requested(tasks)
        while graph:
            if order.needs_result():
                result = pool.next_result()
                pool.submit(graph.finish(result))
                order.arrived(result)
            for result in order.due():
                graph.pop(result)
                assert order.now() == result.end
                ended.append((result.task, result.start, result.end, result.process))
    assert ended == [(9, 0, 5, 3), (1, 0, 6, 0), (2, 0, 9, 1)]
