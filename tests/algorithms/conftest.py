"""What several of these tests run on."""

import pytest

from erlbench.envs.registry import problem

from .fake import Fake, make_context


@pytest.fixture
def new_context(tmp_path):
    """Makes the surroundings of an algorithm; what they hold is closed at the end."""
    made = []

    def make(task, seed, total, workers=1):
        made.append(make_context(tmp_path / f"replay{len(made)}", task, seed, total, workers))
        return made[-1]

    yield make
    for each in made:
        each.replay.close()
        each.store.close()


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
