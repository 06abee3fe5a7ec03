"""The replay: what goes in comes out, rings, going back to a saved length."""

import zlib
from pathlib import Path

import numpy as np
import pytest

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
    replay, random = Replay(tmp_path, 3, 2), np.random.default_rng(0)
    first, second = episode(random, 4, 0), episode(random, 3, 4)
    replay.append(*(np.concatenate(parts) for parts in zip(first, second)), lengths=[4, 3])
    third = episode(random, 2, 7)
    replay.append(*third, lengths=[2])
    yield replay, (first, second, third)
    replay.close()


def gather(view, indices):
    reader, count = ReplayReader(view, Path(view.replay)), len(indices)
    observations, following = np.empty((count, 3), np.float32), np.empty((count, 3), np.float32)
    transitions = np.empty((count, 4), np.float32)
    reader.gather(np.array(indices), observations, transitions, following)
    return observations, transitions, following


def state_at(replay, length, rows):
    """What `Replay.state` gave when there were so many transitions and rows of observations."""
    ends = {
        "observations.f32": 4 * replay.observation_size * rows,
        "transitions.f32": 4 * (replay.action_size + 2) * length,
        "rows.i32": 4 * length,
    }
    crcs = {name: zlib.crc32((replay.folder / name).read_bytes()[:end]) for name, end in ends.items()}
    return {"length": length, "rows": rows, "crcs": crcs}


def test_every_transition_comes_back_with_its_next_observation(filled):
    replay, episodes = filled
    observations, transitions, following = gather(replay.view(), list(range(9)))
    np.testing.assert_array_equal(observations, np.concatenate([e[0][:-1] for e in episodes]))
    np.testing.assert_array_equal(following, np.concatenate([e[0][1:] for e in episodes]))
    np.testing.assert_array_equal(transitions[:, :2], np.concatenate([e[1] for e in episodes]))
    np.testing.assert_array_equal(transitions[:, 2], np.arange(9))
    np.testing.assert_array_equal(transitions[:, 3], [1, 1, 1, 0, 1, 1, 0, 1, 0])


def test_a_ring_is_a_view_of_the_last_transitions(filled):
    replay, _ = filled
    assert (replay.view(4).start, replay.view(4).stop) == (5, 9)
    assert (replay.view(100).start, replay.view(100).stop) == (0, 9)


def test_going_back_overwrites_what_came_later(filled):
    replay, (first, *_) = filled
    replay.restore(state_at(replay, 4, 5))
    new = episode(np.random.default_rng(1), 5, 50)
    replay.append(*new, lengths=[5])
    observations, transitions, _ = gather(replay.view(), [3, 4, 8])
    np.testing.assert_array_equal(observations, [first[0][3], new[0][0], new[0][4]])
    np.testing.assert_array_equal(transitions[:, 2], [3, 50, 54])


def test_what_is_beyond_the_saved_length_is_cut_off(filled):
    """Readers take the size of a file for its length; a file that somebody made longer must not hide new rows."""
    replay, (_first, *_) = filled
    for path in replay.folder.iterdir():
        with open(path, "r+b") as file:
            file.truncate(1 << 20)
    replay.restore(state_at(replay, 4, 5))
    reader = ReplayReader(replay.view(), replay.folder)
    assert (len(reader.rows), len(reader.transitions), len(reader.observations)) == (4, 4, 5)


def test_a_replay_shorter_than_the_checkpoint_is_refused(filled):
    replay, _ = filled
    with pytest.raises(CellError, match=r"was truncated"):
        replay.restore(state_at(replay, 12, 14))


@pytest.mark.parametrize("name", ["observations.f32", "transitions.f32", "rows.i32"])
@pytest.mark.parametrize("more", [1, 4, 7, 13])
def test_a_replay_is_read_while_a_row_is_being_written(filled, name, more):
    """A file then ends within a row, at any byte; what the view names is whole."""
    replay, _ = filled
    expected = gather(replay.view(), list(range(9)))
    with open(replay.folder / name, "ab") as file:
        file.write(b"\1" * more)
    for found, before in zip(gather(replay.view(), list(range(9))), expected):
        np.testing.assert_array_equal(found, before)
