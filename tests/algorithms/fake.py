"""An executor for state machines: tasks finish when and how the test says, without environments and torch."""

from __future__ import annotations

import numpy as np

from erlbench.algorithms.base import Context
from erlbench.envs.registry import EnvSpec, Problem
from erlbench.running.checkpoint import load_checkpoint, save_checkpoint
from erlbench.work.replay import Replay
from erlbench.work.store import Store
from erlbench.work.tasks import Outcome, Output, Result

OBSERVATION, ACTION = 2, 1


class Fake:
    """Holds one algorithm with its store and replay, and the tasks that it has asked for and not been told."""

    def __init__(self, tmp_path, algorithm_type, settings, *, workers=1, total=10_000, seed=5):
        self.store = Store.create()
        problem = Problem(EnvSpec("Fake-v0", 100), OBSERVATION, ACTION, (-1.0,), (1.0,))
        tmp_path.mkdir(exist_ok=True)
        self.replay = Replay(tmp_path / "replay", OBSERVATION, ACTION)
        context = Context(
            problem=problem, seed=seed, total_timesteps=total, workers=workers, store=self.store, replay=self.replay
        )
        self.algorithm = algorithm_type(settings, context)
        self.open = {}
        self.outputs = {}

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
        """Run `task`: rollouts return what is given, training adds 1 to actors and to critics."""
        del self.open[task.id]
        if task.kind == "actor":
            name = "parameters" if "parameters" in task.inputs else "second"  # a child starts as its second parent
            updates = getattr(task.settings, "updates", 0)
            outcome = Outcome({"actor_updates": updates}, {"parameters": self.input(task, name) + 1})
        elif task.kind == "rl" and task.gradient:  # episodes of a learner that learns while it plays
            values = {"returns": [fitness], "lengths": [length], "critic_updates": length, "actor_updates": length}
            learner = self.input(task, "learner") + 1
            actor = learner[: self.algorithm.policy_spec.size]
            arrays = {"learner": learner, "actor": actor, **self._transitions(1, length)}
            outcome = Outcome(values | {"critic_loss": 0.5}, arrays)
        elif "learner" in task.inputs:
            learner = self.input(task, "learner") + 1
            arrays = {"learner": learner, "actor": learner[: self.algorithm.policy_spec.size]}
            outcome = Outcome(
                {"critic_updates": task.settings.updates, "actor_updates": task.settings.updates, "critic_loss": 0.5},
                arrays,
            )
        elif task.kind == "critic":
            outcome = Outcome({"critic_updates": task.settings.updates}, {"critic": self.input(task, "critic") + 1})
        else:
            episodes = task.settings.episodes
            values = {"returns": [fitness] * episodes, "lengths": [length] * episodes}
            outcome = Outcome(values, self._transitions(episodes, length) if task.settings.record else {})
        arrays = {name: self.store.put(f"{task.id}.{name}", array) for name, array in outcome.arrays.items()}
        self.outputs.update({(task.id, name): ref for name, ref in arrays.items()})
        self.algorithm.tell(task, Result(task.id, outcome.values, arrays, 0.0, 1.0, 0))

    def kinds(self):
        return sorted(task.kind for task in self.open.values())

    def close(self):
        self.replay.close()
        self.store.close()

    @staticmethod
    def _transitions(episodes, length):
        return {
            "observations": np.zeros((episodes * (length + 1), OBSERVATION), np.float32),
            "actions": np.zeros((episodes * length, ACTION), np.float32),
            "rewards": np.zeros(episodes * length, np.float32),
            "continues": np.ones(episodes * length, np.float32),
        }


def go_on(first, second, folder, fitness):
    """Have `second` go on from a checkpoint of `first`, a search that is replayed; both finish the open tasks."""
    tasks, snapshot = first.ask(), first.algorithm.snapshot()
    path = save_checkpoint(folder, {"algorithm": snapshot, "tasks": tasks}, {})
    assert "pickle" not in str(list(path.rglob("*")))
    for ref in [*snapshot["state"].candidates, snapshot["state"].reported_ref]:
        second.store.put(ref.name, first.store.get(ref))
    second.algorithm.restore(load_checkpoint(path)[0]["algorithm"])
    second.open = {task.id: task for task in tasks}
    for task in tasks:
        value = fitness(first.input(task, "parameters"))
        first.finish(task, value)
        second.finish(task, value)
