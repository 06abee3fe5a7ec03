"""What several of these tests run on."""

import pytest

from erlbench.algorithms.base import Context
from erlbench.envs.registry import problem
from erlbench.work.replay import Replay
from erlbench.work.store import Store


@pytest.fixture
def context(tmp_path):
    """650 timesteps of a pendulum, whose episodes have 200."""
    pendulum = problem("Pendulum-v1")
    replay = Replay(tmp_path / "replay", pendulum.observation_size, pendulum.action_size)
    store = Store.create()
    yield Context(pendulum, 3, 650, 1, store, replay)
    store.close()
    replay.close()
