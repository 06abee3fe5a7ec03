"""The table of noise: one file for all stores of a process, removed by the last."""

import errno
import os

import numpy as np
import pytest
from scipy.stats import kstest

from erlbench.errors import CellError
from erlbench.pool import local_pool
from erlbench.work.noise import DRAWN_AT_ONCE, NoiseTable, slice_of
from erlbench.work.seeding import generator
from erlbench.work.store import Store
from erlbench.work.tasks import Outcome, Perturbed, Task

TABLE = NoiseTable(5000, 1_000_003)  # a seed that no other run on this machine has


@pytest.fixture
def store():
    made = Store.create()
    yield made
    made.close()


def shifted(settings, inputs, key, workspace):
    """Task function: its input back, and the noise it was made of."""
    noise = workspace.store.noise(settings["key"], settings["size"], settings["table"])
    return Outcome({}, {"parameters": inputs["parameters"], "noise": noise})


@pytest.mark.parametrize("table", [None, TABLE])
def test_driver_and_worker_reconstruct_the_same_noise(table):
    with local_pool(1) as pool:
        store = pool.store
        if table:
            store.hold(table)
        centre = store.put("c", np.arange(7, dtype=np.float32))
        for sign in (1, -1):
            parameters = Perturbed(centre, 0.5, (3, 2, 1), sign, table)
            settings = {"key": (3, 2, 1), "size": 7, "table": table}
            pool.submit([Task(1, "es", "tests.work.test_noise:shifted", (1,), settings, {"parameters": parameters})])
            arrays = pool.next_result(60).arrays
            noise = store.noise((3, 2, 1), 7, table)
            np.testing.assert_array_equal(store.get(arrays["noise"]), noise)
            moved = np.arange(7, dtype=np.float32) + np.float32(sign * 0.5) * noise
            np.testing.assert_array_equal(store.get(arrays["parameters"]), moved)
            np.testing.assert_array_equal(store.load(parameters), moved)


def test_a_table_is_the_stream_of_its_seed_in_float32(store):
    table = NoiseTable(DRAWN_AT_ONCE + 10, TABLE.seed)
    store.hold(table)
    numbers = table.open(store.folder / "tables")
    assert (numbers.dtype, numbers.size) == (np.float32, DRAWN_AT_ONCE + 10)
    random = generator(TABLE.seed)
    expected = np.concatenate([random.standard_normal(n, dtype=np.float32) for n in (DRAWN_AT_ONCE, 10)])
    np.testing.assert_array_equal(numbers, expected)
    assert kstest(numbers[::100], "norm").pvalue > 0.001
    with pytest.raises(ValueError, match="read-only"):
        numbers[0] = 1


def test_offsets_are_uniform_to_both_ends():
    table = np.arange(10, dtype=np.float32)
    starts = [slice_of(table, (1, index), 8)[0] for index in range(300)]
    assert {float(start) for start in starts} == {0, 1, 2}
    np.testing.assert_array_equal(slice_of(table, (1,), 10), table)


def test_stores_of_a_process_share_one_file_and_the_last_removes_it(store):
    other = Store.create()
    store.hold(TABLE)
    other.hold(TABLE)
    path = TABLE.path(other.folder / "tables")
    assert path.samefile(TABLE.path(store.folder / "tables"))
    store.close()
    other.clear()
    other.hold(TABLE)
    assert path.stat().st_nlink == 1
    assert other.noise((1,), 100, TABLE).shape == (100,)
    other.close()
    assert not path.exists()
    third = Store.create()
    third.hold(TABLE)
    assert TABLE.open(third.folder / "tables").size == TABLE.size
    third.close()


def test_a_table_that_has_no_room_is_a_clear_error_and_leaves_nothing(store, monkeypatch):
    def full(descriptor, offset, length):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(CellError, match=r"954 MiB .*noise_table=0"):
        store.hold(NoiseTable(250_000_000, TABLE.seed))
    assert not list((store.folder / "tables").iterdir())
