"""An executor for state machines: tasks finish when and how the test says, without environments and torch."""

import numpy as np

from erlbench.algorithms.base import Context
from erlbench.envs.registry import EnvSpec, Problem
from erlbench.errors import UsageError
from erlbench.running.checkpoint import load_checkpoint, save_checkpoint
from erlbench.work.replay import Replay
from erlbench.work.store import Store
from erlbench.work.tasks import Output, Result
from erlbench.work.workspace import Workspace

OBSERVATION, ACTION = 2, 1
PROBLEM = Problem(EnvSpec("Fake-v0", 100), OBSERVATION, ACTION, (-1.0,), (1.0,))


def make_context(folder, task, seed, total, workers):
    """The surroundings of an algorithm, with a store and a replay in a folder, which somebody closes."""
    replay, store = Replay(folder, task.observation_size, task.action_size), Store.create()
    store.attach("replay", folder)
    return Context(problem=task, seed=seed, total_timesteps=total, workers=workers, store=store, replay=replay)


class Fake:
    """Holds one algorithm with its store and replay, and the tasks that it has asked for and not been told."""

    def __init__(self, folder, algorithm_type, settings, *, workers=1, total=10_000, seed=5):
        self.context = make_context(folder, PROBLEM, seed, total, workers)
        self.store = self.context.store
        try:
            self.algorithm = algorithm_type(settings, self.context)
        except UsageError:
            self.close()
            raise
        self.open = {}
        self.outputs = {}

    @property
    def reported(self):
        """The policy that a replayed search reports, float64."""
        return self.algorithm.state.reported

    def ask(self):
        tasks = self.algorithm.ask()
        self.open.update({task.id: task for task in tasks})
        return tasks

    def input(self, task, name):
        """The array of an input, or the task whose output it still is."""
        value = task.inputs[name]
        if isinstance(value, Output):
            value = self.outputs[value.task, value.name]
        return self.store.load(value)

    def finish(self, task, fitness=0.0, length=10):
        """Run `task`: rollouts return what is given, training adds 1 to what it trains; sums of noise are computed."""
        del self.open[task.id]
        if task.kind == "gradient":
            self.algorithm.tell(task, Workspace(self.store).run(task))
            return
        updates, values, arrays = getattr(task.settings, "updates", 0), {}, {}
        if task.kind == "actor":
            name = "parameters" if "parameters" in task.inputs else "second"  # a child starts as its second parent
            values, arrays = {"actor_updates": updates}, {"parameters": self.input(task, name) + 1}
        elif "learner" in task.inputs:
            if task.kind != "critic":  # episodes of a learner that learns while it plays
                updates = length
                values, arrays = self._episodes(getattr(task.settings, "episodes", 1), fitness, length)
            values |= {"critic_updates": updates, "actor_updates": updates, "critic_loss": 0.5}
            learner = self.input(task, "learner") + 1
            arrays |= {"learner": learner, "actor": learner[: self.algorithm.policy_spec.size]}
        elif task.kind == "critic":
            arrays = {name: self.input(task, name) + 1 for name in ("critic", "actor") if name in task.inputs}
            values = {"critic_loss": 0.5} | {f"{name}_updates": updates for name in arrays}
            if "actor" in arrays:
                arrays["policy"] = arrays["actor"][0]
        else:
            values, arrays = self._episodes(task.settings.episodes, fitness, length)
            if not task.settings.record:
                arrays = {}
        refs = {name: self.store.put(f"{task.id}.{name}", array) for name, array in arrays.items()}
        self.outputs.update({(task.id, name): ref for name, ref in refs.items()})
        self.algorithm.tell(task, Result(task.id, values, refs, 0.0, 1.0, 0))

    def close(self):
        self.context.replay.close()
        self.store.close()

    @staticmethod
    def _episodes(count, fitness, length):
        """The values and the transitions of equal episodes."""
        steps = count * length
        return {"returns": [fitness] * count, "lengths": [length] * count}, {
            "observations": np.zeros((steps + count, OBSERVATION), np.float32),
            "actions": np.zeros((steps, ACTION), np.float32),
            "rewards": np.zeros(steps, np.float32),
            "continues": np.ones(steps, np.float32),
        }


def sphere(x):
    """A loss whose least value is at 0.3."""
    return float(np.sum((x.astype(np.float64) - 0.3) ** 2))


def played(fake, fitness=lambda x: -sphere(x), backwards=False):
    """Evaluate what is asked for; the candidates."""
    candidates = [(task, fake.input(task, "parameters")) for task in fake.ask()]
    for task, x in candidates[::-1] if backwards else candidates:
        fake.finish(task, fitness(x))
    return [x for _, x in candidates]


def check_replay(first, second, folder, more=3):
    """Have `second` go on from a checkpoint of `first`, a search that is replayed: it asks for the same."""
    tasks, snapshot = first.ask(), first.algorithm.snapshot()
    path = save_checkpoint(folder, {"algorithm": snapshot, "tasks": tasks}, {})
    assert "pickle" not in str(list(path.rglob("*")))
    for ref in [*snapshot["state"].candidates, snapshot["state"].reported_ref]:
        second.store.put(ref.name, first.store.get(ref))
    second.algorithm.restore(load_checkpoint(path)[0]["algorithm"])
    second.open = {task.id: task for task in tasks}
    for task in tasks:
        value = -sphere(first.input(task, "parameters"))
        first.finish(task, value)
        second.finish(task, value)
    for _ in range(more):
        np.testing.assert_array_equal(played(first), played(second))
    np.testing.assert_array_equal(first.reported, second.reported)
    assert first.algorithm.metrics() == second.algorithm.metrics()
