"""The shared-memory store: round trips, perturbations, and the removal of abandoned stores."""

import fcntl
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from erlbench.work.held import remove_abandoned
from erlbench.work.noise import NoiseTable
from erlbench.work.private import private_folder
from erlbench.work.seeding import generator
from erlbench.work.store import Store, shared_memory_folder
from erlbench.work.tasks import Output, Perturbed


@pytest.fixture
def store():
    made = Store.create()
    yield made
    made.close()


def test_an_array_comes_back_read_only(store):
    array = np.arange(6, dtype=np.float64).reshape(2, 3)
    ref = store.put("a", array)
    other = Store(store.folder)
    assert (ref.shape, ref.dtype) == ((2, 3), "float64")
    np.testing.assert_array_equal(other.get(ref), array)
    with pytest.raises(ValueError, match="read-only"):
        other.get(ref)[0, 0] = 1


def test_an_empty_array_comes_back(store):
    assert store.get(store.put("e", np.empty((0, 3), np.float32))).shape == (0, 3)


def test_a_freed_array_is_gone_but_open_maps_stay(store):
    ref = store.put("a", np.ones(3))
    view = store.get(ref)
    store.free(["a"])
    assert view.sum() == 3
    with pytest.raises(FileNotFoundError):
        store.get(ref)


def test_a_perturbation_is_centre_plus_scaled_noise_of_its_key(store):
    centre, scale = np.array([1, 2, 3], np.float32), np.array([0.5, 0.0, 2.0], np.float32)
    refs = store.put("c", centre), store.put("s", scale)
    noise = generator(7, 2, 5).standard_normal(3, dtype=np.float32)
    plus = store.load(Perturbed(*refs, key=(7, 2, 5)))
    minus = store.load(Perturbed(*refs, key=(7, 2, 5), sign=-1))
    np.testing.assert_array_equal(plus, centre + scale * noise)
    np.testing.assert_array_equal(minus, centre - scale * noise)
    np.testing.assert_array_equal(store.load(Perturbed(refs[0], 0.0, (1,))), centre)


def test_an_output_that_does_not_exist_yet_cannot_be_loaded(store):
    with pytest.raises(TypeError, match="not been computed"):
        store.load(Output(3, "critic"))


def test_a_held_store_stays_and_an_abandoned_one_is_removed(store):
    script = "import os; from erlbench.work.store import Store; print(Store.create().folder, flush=True); os._exit(9)"
    abandoned = Path(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout.strip())
    assert abandoned.parent == private_folder(shared_memory_folder())
    remove_abandoned(shared_memory_folder())
    assert not abandoned.exists()
    assert store.folder.exists()


def test_a_store_that_is_being_made_is_not_taken_for_an_abandoned_one(monkeypatch):
    """Another driver begins at the same moment: it looks for abandoned stores before each lock is taken."""
    lock, busy = fcntl.flock, []

    def looking(descriptor, operation):
        if not busy:
            busy.append(True)
            remove_abandoned(shared_memory_folder())
            busy.clear()
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", looking)
    made = Store.create()
    assert made.get(made.put("a", np.ones(3))).sum() == 3
    made.close()


def test_the_blocks_of_a_vector_are_its_bits(store):
    random = np.random.default_rng(0)
    centre, scale = (store.put(name, random.standard_normal(1000, dtype=np.float32)) for name in ("centre", "scale"))
    table = NoiseTable(5000, 1)
    store.hold(table)
    for value in (
        centre,
        Perturbed(centre, scale, (1, 2)),
        Perturbed(centre, scale, (1, 2), -1),
        Perturbed(centre, 0.5, (3,)),
        Perturbed(centre, 0.5, (3,), table=table),
        Perturbed(centre, 0.5, (3,), size=990),
    ):
        for size in (7, 500, 1000, 4096):
            blocks = [block.copy() for block in store.blocks(value, size)]
            assert [len(block) for block in blocks[:-1]] == [size] * (len(blocks) - 1)
            assert np.concatenate(blocks).tobytes() == np.asarray(store.load(value)).tobytes()
