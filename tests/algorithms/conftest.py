"""What several of these tests run on."""

import pytest

from erlbench.algorithms.base import Context
from erlbench.envs.registry import problem
from erlbench.work.replay import Replay
from erlbench.work.store import Store

from .fake import Fake


@pytest.fixture
def new_context(tmp_path):
    """Makes the surroundings of an algorithm, with a store and a replay that are closed at the end."""
    opened = []

    def make(task, seed, total, workers=1):
        replay = Replay(tmp_path / f"replay{len(opened)}", task.observation_size, task.action_size)
        opened.extend([replay, store := Store.create()])
        store.attach("replay", replay.folder)
        return Context(problem=task, seed=seed, total_timesteps=total, workers=workers, store=store, replay=replay)

    yield make
    for each in opened:
        each.close()


@pytest.fixture
def context(new_context):
    """650 timesteps of a pendulum, whose episodes have 200."""
    return new_context(problem("Pendulum-v1"), 3, 650)


@pytest.fixture
def new_fake(tmp_path):
    """Makes a `Fake` of an algorithm with settings; all are closed at the end."""
    made = []

    def make(algorithm_type, settings, **more):
        made.append(Fake(tmp_path / str(len(made)), algorithm_type, settings, **more))
        return made[-1]

    yield make
    for fake in made:
        fake.close()
