"""The first generation and the first updates of short runs, in numbers that all kernels share.

`python -m tests.first_values [NAME ...]` writes them into `first_values.json`. What kernels do not decide is exact and
of the whole run: counters, and tasks with their keys, numbers and start states. What they round differently is
taken from the first generation and the first task of each kind that learns; training amplifies differences afterwards.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erlbench.algorithms import registry
from erlbench.algorithms.base import Algorithm
from erlbench.algorithms.training.critic import learner_parts
from erlbench.algorithms.training.update_settings import CrossQUpdate, SACUpdate
from erlbench.work.tasks import Output, ReplayView, Result, Task
from tests.runs import make_cell, returns, rows, run

FILE = Path(__file__).parent / "first_values.json"
CELLS = {  # name -> what differs from the defaults and from SMALL, as the command line has it
    name: dict(change.split("=") for change in changes.split())
    for name, _, changes in (
        line.partition(": ")
        for line in """
td3
td3, leaky-relu: activation=tanh critic_activation=leaky-relu policy_delay=1
sac
sac, fixed temperature: temperature=0.2
sac, value network: critic=v1 temperature=1.0 reward_scale=5.0
crossq
ddpg
multi-actor-td3: actors=2 updates_per_step=0.2
cem-rl
cem-rl, sac: learner=sac
cem-rl, crossq: learner=crossq
cem-rl, ddpg: learner=ddpg
p-cem-rl
p-cem-rl, barriers: barriers=true
p-cem-rl, sac: learner=sac
p-cem-rl, ddpg: learner=ddpg
aes-rl: actor_episodes=1 mean_episodes=1
erl: population=3 updates_per_step=0.1 sync_period=2 steps=400
esac: gradient_interval=2 sac_episodes=4 validation_every=2 validation_episodes=2 steps=300
trpo: rollout_steps=64 value_epochs=1 steps=128
ppo: rollout_steps=64 epochs=1 steps=128
cem
openai-es: hidden=16-16
cma-es: hidden=8 population=6
nevergrad: hidden=8 population=6
snes
ga: parents=2
ars: directions=2 top=1
pgpe
evorainbow-exp
pderl: population=4 memory=60 distillation_batch=16 updates_per_step=0.1 sync_period=2 batch_size=8 steps=400
""".strip().splitlines()
    )
}
LIMIT = 10  # steps of an episode
SMALL: Mapping[str, Any] = {
    "hidden": (128, 96), "critic_hidden": (128, 96), "batch_size": 64,  # with products of either library
    "population": 4, "n_grad": 2, "elites": 2, "critic_block": 6, "start_timesteps": 38, "replay_size": 150,
}  # fmt: skip
COUNTED = ("timesteps", "fitness_timesteps", "episodes", "generation", "critic_updates", "actor_updates")
MOVES, DIRECTIONS = " moves", " directions"  # of the vectors of an array, at the end of its name
GENERATION = "first generation"


class Watch:
    """Notes what an algorithm asks for and is told."""

    def __init__(self) -> None:
        self.tasks: list[tuple[Any, ...]] = []
        self.inputs: dict[int, dict[str, np.ndarray]] = {}  # of tasks that may be the first that learn
        self.first: dict[str, dict[str, Any]] = {GENERATION: {"returns": []}}

    def start(self, patch: pytest.MonkeyPatch) -> None:
        """Watch every algorithm until `patch` is undone."""
        ask, tell = Algorithm.ask, Algorithm.tell

        def watched_ask(algorithm: Algorithm[Any, Any]) -> list[Task]:
            tasks = ask(algorithm)
            for task in tasks:
                self._note_task(algorithm, task)
            return tasks

        def watched_tell(algorithm: Algorithm[Any, Any], task: Task, result: Result) -> None:
            is_first = algorithm.counters.generation == algorithm.counters.critic_updates == 0
            tell(algorithm, task, result)
            if is_first and not result.values.get("critic_updates"):
                self._note_generation(algorithm, result)
            self._note_updates(algorithm, task, result)

        patch.setattr(Algorithm, "ask", watched_ask)
        patch.setattr(Algorithm, "tell", watched_tell)

    def _note_task(self, algorithm: Algorithm[Any, Any], task: Task) -> None:
        values = [getattr(task.settings, field.name) for field in fields(task.settings)]
        counts = [value for value in values if isinstance(value, int)]
        views = [(view.start, view.stop) for view in task.inputs.values() if isinstance(view, ReplayView)]
        more = views, task.individual, int(task.counts), getattr(task.settings, "seeds", ())
        self.tasks.append((task.id, task.kind, task.function, task.key, counts, *more))
        is_first = algorithm.counters.generation <= 1 and not algorithm.counters.critic_updates
        if not is_first and (not task.gradient or _name(task) in self.first):
            return
        known = {key: value for key, value in task.inputs.items() if not isinstance(value, (Output, ReplayView))}
        arrays = {key: np.array(algorithm.context.store.load(value)) for key, value in sorted(known.items())}
        self.inputs[task.id] = arrays
        if is_first:
            name = f"generation {algorithm.counters.generation}{DIRECTIONS}"
            self.first[GENERATION].setdefault(name, []).extend(direction(array) for array in arrays.values())

    def _note_generation(self, algorithm: Algorithm[Any, Any], result: Result) -> None:
        """The returns of the first generation, and the distribution and the columns that they lead to."""
        values = self.first[GENERATION]
        values["returns"].extend(map(float, result.values.get("returns", ())))
        if algorithm.counters.generation:
            policy = np.asarray(algorithm.context.store.load(algorithm.policy()))
            columns = {name: float(value) for name, value in algorithm.metrics().items()}
            values |= {f"policy{DIRECTIONS}": [direction(policy)], "policy length": length(policy)}
            values |= {name: value for name, value in columns.items() if math.isfinite(value)}

    def _note_updates(self, algorithm: Algorithm[Any, Any], task: Task, result: Result) -> None:
        """What the first task of a kind that learns makes of its arrays."""
        before, values = self.inputs.pop(task.id, {}), result.values
        if not (values.get("critic_updates") or values.get("actor_updates")) or _name(task) in self.first:
            return
        names = "critic_updates", "actor_updates", "critic_loss", "entropy", "temperature"
        noted = {name: values[name] for name in names if name in values} | values.get("metrics", {})
        for name in sorted(before.keys() & result.arrays.keys()):
            old = [*vectors(task.settings, before[name])]
            new = [*vectors(task.settings, np.asarray(algorithm.context.store.get(result.arrays[name])))]
            noted[name + DIRECTIONS] = [direction(vector) for vector in new]
            noted[name + MOVES] = [length(b.astype(float) - a) for a, b in zip(old, new, strict=True)]
        self.first[_name(task)] = noted


def _name(task: Task) -> str:
    return f"{task.function.partition(':')[2]}, {task.kind}"


def direction(vector: np.ndarray) -> float:
    """The product of the vector, scaled to length 1, and a fixed vector: every entry and its place count."""
    flat = vector.astype(float).ravel()
    return round(float(flat @ np.cos(np.arange(flat.size)) / (np.linalg.norm(flat) or 1.0)), 7)


def length(vector: np.ndarray) -> float:
    """The Euclidean norm."""
    return float(f"{np.linalg.norm(vector.astype(float)):.7g}")


def vectors(settings: Any, array: np.ndarray) -> Iterator[np.ndarray]:
    """What an array of a learner is made of: parameters, targets and Adam's moments of each network."""
    update = getattr(settings, "update", None)
    if array.ndim == 1 and update is not None and array.size > update.policy.size:
        shapes = [(4, update.policy.size), update.critic.shape]
        if isinstance(update, SACUpdate | CrossQUpdate):
            more = getattr(update, "value_network", False), getattr(update, "actor_norm", False)
            shapes = [*learner_parts(update.policy, update.critic, *more).values()]
        for matrix in np.split(array, np.cumsum([math.prod(shape) for shape in shapes])[:-1]):
            yield from matrix.reshape(shapes.pop(0))
    else:
        yield from np.atleast_2d(array)


def first_values(name: str, folder: Path) -> dict[str, Any]:
    """A short run of a cell: exact values of the whole run, and the first ones that kernels round."""
    algo, changes = name.partition(",")[0], dict(CELLS[name])
    steps, known = int(changes.pop("steps", 200)), registry.find(algo).settings_type.__dataclass_fields__
    settings = {key: value for key, value in SMALL.items() if key in known} | changes
    limit = {"max_episode_steps": LIMIT}
    cell = make_cell(algo, folder, "Pendulum-v1", steps, evaluate="after", settings=settings, env_settings=limit)
    watch = Watch()
    with pytest.MonkeyPatch.context() as patch:
        watch.start(patch)
        assert run(cell) == 0
    begin, *_, last = rows(cell.directory, "eval.csv")
    watch.first[GENERATION]["evaluated returns"] = returns(begin)
    return {
        "exact": {
            **{key: int(last[key]) for key in COUNTED},
            "keys": hashlib.sha256(json.dumps(watch.tasks).encode()).hexdigest()[:16],
        },
        **watch.first,
    }


def main() -> None:
    """Write the values of the cells that are named, by default of all."""
    names = sys.argv[1:] or [*CELLS]
    with tempfile.TemporaryDirectory() as folder:
        made = {name: first_values(name, Path(folder) / str(number)) for number, name in enumerate(names)}
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    cells = [
        f" {json.dumps(name)}: {{\n"
        + ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in values.items())
        + "\n }"
        for name, values in ((name, (known | made)[name]) for name in CELLS if name in known | made)
    ]
    FILE.write_text("{\n" + ",\n".join(cells) + "\n}\n")


if __name__ == "__main__":
    main()
