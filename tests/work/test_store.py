"""The shared-memory store: round trips, perturbations, tables of noise, and the removal of abandoned stores."""

import errno
import os
import stat
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import kstest

from erlbench.envs.registry import problem
from erlbench.errors import CellError
from erlbench.work.noise import NoiseTable, draw_slice
from erlbench.work.seeding import Purpose, environment_seed, generator
from erlbench.work.store import Store, make_store_folder
from erlbench.work.tasks import Counts, Output, Perturbed, Priority, Task, count_timesteps, in_phases
from tests.calls import python
from tests.users import FIRST, needs_root


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
    assert_array_equal(other.get(ref), array)
    with pytest.raises(ValueError, match="read-only"):
        other.get(ref)[0, 0] = 1
    view = other.get(ref)
    store.free(["a"])
    assert view.sum() == 15
    with pytest.raises(FileNotFoundError):
        store.get(ref)
    empty = other.get(store.put("e", np.empty((0, 3), np.float32)))
    assert (empty.shape, empty.dtype) == ((0, 3), np.float32)
    with pytest.raises(TypeError):
        store.load(Output(1, "a"))


def test_purposes_and_tasks_are_numbered_counted_and_ordered():
    """Every stream of random numbers is of one purpose."""
    assert [*Purpose] == [*range(1, 10)]
    assert [*Priority] == [*Counts] == [*range(4)]
    assert [count_timesteps(values) for values in ({"steps": 4, "lengths": [9]}, {"lengths": [2, 3]}, {})] == [4, 5, 0]
    one, two, three, four = (Task(number, "es", "a:b", (), after=(9,) * (number == 3)) for number in (1, 2, 3, 4))
    assert [task.after for task in in_phases([one], [], [two, three], [four])] == [(), (1,), (9, 1), (2, 3)]
    assert 2**30 < max(environment_seed(1, index) for index in range(50)) < 2**31


def test_a_workspace_that_is_closed_keeps_nothing(workspace):
    closed = []
    env = workspace.environment(problem("tests.faults:Line-v0").env)
    assert workspace.environment(problem("tests.faults:Line-v0").env) is env
    env.close = lambda: closed.append("environment")
    workspace.scratch |= {1: SimpleNamespace(close=lambda: closed.append("buffer")), 2: []}
    workspace.close()
    assert (closed, workspace.scratch) == (["environment", "buffer"], {})
    assert workspace.environment(problem("tests.faults:Line-v0").env) is not env


def test_a_perturbation_is_centre_plus_scaled_noise_of_its_key(store):
    centre, scale = np.array([1, 2, 3], np.float32), np.array([0.5, 0.0, 2.0], np.float32)
    refs = store.put("c", centre), store.put("s", scale)
    noise = generator(7, 2, 5).standard_normal(3, dtype=np.float32)
    for sign in (1, -1):
        assert_array_equal(store.load(Perturbed(*refs, (7, 2, 5), sign)), centre + sign * scale * noise)
    store.hold(TABLE)
    moved = centre + np.float32(0.5) * store.noise((7, 2, 5), 3, TABLE)
    assert_array_equal(store.load(Perturbed(refs[0], 0.5, (7, 2, 5), table=TABLE)), moved)
    learnt = Perturbed(refs[0], 0.5, (7, 2, 5), -1, size=2)  # the rest does not move
    assert_array_equal(store.load(learnt), [*(centre - np.float32(0.5) * noise)[:2], 3])


def dead_process():
    return int(python("-c", "import os; print(os.getpid())").stdout)


def test_a_killed_drivers_store_is_removed_by_the_next_start_and_a_living_ones_stays(store):
    script = "import os; from erlbench.work.store import Store; print(Store.create().folder, flush=True); os._exit(9)"
    left = Path(python("-c", script).stdout.strip())
    assert left.is_dir()
    Store.create().close()
    assert not left.exists()
    assert store.folder.exists()
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700


def test_nothing_but_a_folder_of_a_dead_process_of_this_user_is_removed(tmp_path):
    mine = make_store_folder(tmp_path)
    prefix, pid = mine.name.rpartition(f"-{os.getpid()}-")[0], dead_process()
    (tmp_path / "precious").mkdir()
    (tmp_path / f"{prefix}-{pid}-link").symlink_to(tmp_path / "precious")
    (tmp_path / f"{prefix}-{pid}-file").touch()
    (tmp_path / f"{prefix}-none-x").mkdir()
    (tmp_path / f"erlbench-{os.geteuid()}").mkdir()
    abandoned = tmp_path / f"{prefix}-{pid}-abc"
    (abandoned / "replays").mkdir(parents=True)
    (abandoned / "replays" / "replay").symlink_to(tmp_path / "precious")
    (tmp_path / "precious" / "file").touch()
    before = set(tmp_path.iterdir())
    second = make_store_folder(tmp_path)
    assert set(tmp_path.iterdir()) == before - {abandoned} | {second}
    assert (tmp_path / "precious" / "file").exists()


@needs_root
def test_another_users_folder_is_left_alone_and_hurts_nobody(tmp_path):
    tmp_path.chmod(0o777)
    prefix = make_store_folder(tmp_path).name.rpartition(f"-{os.getpid()}-")[0]
    planted = tmp_path / f"{prefix}-{dead_process()}-abc"
    planted.mkdir()
    os.chown(planted, FIRST, FIRST)
    assert make_store_folder(tmp_path).stat().st_uid == os.geteuid()
    assert planted.exists()


TABLE = NoiseTable(5000, 1_000_003)  # a seed that no other run on this machine has


def test_a_table_is_the_stream_of_its_seed_in_float32(store):
    table = NoiseTable(100_001, TABLE.seed)
    store.hold(table)
    numbers = table.open(store.folder / "tables")
    assert (numbers.dtype, numbers.size) == (np.float32, table.size)
    random = generator(TABLE.seed)
    expected = np.concatenate([random.standard_normal(n, dtype=np.float32) for n in (100_000, 1)])
    assert_array_equal(numbers, expected)
    assert kstest(numbers[::100], "norm").pvalue > 0.001
    with pytest.raises(ValueError, match="read-only"):
        numbers[0] = 1


def test_offsets_are_uniform_to_both_ends():
    table = np.arange(10, dtype=np.float32)
    starts = [draw_slice(table, (1, index), 8)[0] for index in range(300)]
    assert {float(start) for start in starts} == {0, 1, 2}
    assert_array_equal(draw_slice(table, (1,), 10), table)


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
    assert np.isin(other.noise((1,), 100, TABLE), TABLE.open(other.folder / "tables")).all()
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
