"""The replay: what goes in comes out, rings, going back to a saved length."""

import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from erlbench.errors import CellError
from erlbench.work.replay import Replay, ReplayReader


def episode(random, length, start):
    """Observations (length + 1, 3), actions (length, 2), rewards, continues."""
    observations = random.standard_normal((length + 1, 3), dtype=np.float32)
    actions = random.uniform(-1, 1, (length, 2)).astype(np.float32)
    continues = np.ones(length, np.float32)
    continues[-1] = 0
    return observations, actions, np.arange(start, start + length, dtype=np.float32), continues


@pytest.fixture
def filled(tmp_path):
    """A replay with three episodes, these, and its state after the first one."""
    replay, random = Replay(tmp_path, 3, 2), np.random.default_rng(0)
    first, second, third = (episode(random, length, start) for length, start in ((4, 0), (3, 4), (2, 7)))
    replay.append(*first, lengths=[4])
    saved = replay.state()
    replay.append(*(np.concatenate(parts) for parts in zip(second, third)), lengths=[3, 2])
    yield replay, (first, second, third), saved
    replay.close()


def gather(replay, indices):
    reader, count = ReplayReader(replay.view(), replay.folder), len(indices)
    observations, following = np.empty((count, 3), np.float32), np.empty((count, 3), np.float32)
    transitions = np.empty((count, 4), np.float32)
    reader.gather(np.array(indices), observations, transitions, following)
    return observations, transitions, following


def test_every_transition_comes_back_with_its_next_observation(filled):
    replay, episodes, _ = filled
    observations, transitions, following = gather(replay, list(range(9)))
    assert_array_equal(observations, np.concatenate([e[0][:-1] for e in episodes]))
    assert_array_equal(following, np.concatenate([e[0][1:] for e in episodes]))
    assert_array_equal(transitions[:, :2], np.concatenate([e[1] for e in episodes]))
    assert_array_equal(transitions[:, 2], np.arange(9))
    assert_array_equal(transitions[:, 3], [1, 1, 1, 0, 1, 1, 0, 1, 0])


@pytest.mark.parametrize("checked_at_once", [7, 1 << 20])
def test_going_back_overwrites_what_came_later(filled, checked_at_once, monkeypatch):
    """And cuts off what is beyond: readers take the size of a file for its length."""
    monkeypatch.setattr("erlbench.work.replay.CHECKED_AT_ONCE", checked_at_once)
    replay, (first, *_), saved = filled
    assert [(view.start, view.stop) for view in map(replay.view, (4, 100))] == [(5, 9), (0, 9)]  # the last ones: a ring
    with pytest.raises(CellError, match=r"was truncated"):
        replay.restore(saved | {"length": 12, "rows": 14})
    for path in replay.folder.iterdir():
        os.truncate(path, 1 << 20)
    replay.restore(saved)
    reader = ReplayReader(replay.view(), replay.folder)
    assert (len(reader.rows), len(reader.transitions), len(reader.observations)) == (4, 4, 5)
    new = episode(np.random.default_rng(1), 5, 50)
    replay.append(*new, lengths=[5])
    observations, transitions, _ = gather(replay, [3, 4, 8])
    assert_array_equal(observations, [first[0][3], new[0][0], new[0][4]])
    assert_array_equal(transitions[:, 2], [3, 50, 54])


@pytest.mark.parametrize("name", ["observations.f32", "transitions.f32", "rows.i32"])
def test_a_replay_is_read_while_a_row_is_being_written(filled, name):
    """A file then ends within a row, at any byte; what the view names is whole."""
    replay, *_ = filled
    expected = gather(replay, list(range(9)))
    for more in (1, 4, 2, 6):
        with open(replay.folder / name, "ab") as file:
            file.write(b"\1" * more)
        for part, before in zip(gather(replay, list(range(9))), expected):
            assert_array_equal(part, before)


def test_a_file_that_was_replaced_is_noticed(filled):
    replay, *_ = filled
    replay.flush()
    path = replay.folder / "rows.i32"
    path.rename(path.with_suffix(".old"))
    path.touch()
    with pytest.raises(CellError, match="rows"):
        replay.flush()
