"""What other users put into shared memory and the temporary folder: no row differs, no run fails, all of it stays.

A second user plants it, so these trials need root. The run is that of a third user, in a forked process.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from random import Random
from unittest import mock

import numpy as np

from erlbench.work import store
from erlbench.work.noise import NoiseTable
from tests.campaign.trials import Trial, check
from tests.runs import all_rows, make_cell, run
from tests.users import FIRST, SECOND, as_user, others_may_read

SIZE, STEPS = 20_000, 300
TABLE = NoiseTable(SIZE, 1)
LOCKS = "lock", ".lock", "unlocked"


def trial(trial: Trial) -> None:
    """One kind of plant: a table of noise, a folder in the way, a copy of a run, or an address of a cluster."""
    kind = (_noise, _in_the_way, _copy)[trial.number % 3]
    _check_address(trial)
    if os.geteuid() or not others_may_read():  # the simulator's models are read as that user
        trial.counts["trials that need root and a repository that others may read, skipped"] += 1
        return
    trial.counts[f"plants: {kind.__name__.strip('_').replace('_', ' ')}"] += 1
    trial.folder.chmod(0o755)
    memory, results = trial.folder / "memory", trial.folder / "results"
    for folder in (memory, results):
        folder.mkdir()
        folder.chmod(0o1777)
    expected = _run(trial.folder / "alone", trial.folder / "undisturbed")  # also imports what a user cannot read
    planter = partial(kind, memory, trial.random, trial.folder / "undisturbed")
    as_user(SECOND if kind is not _copy else FIRST, planter)
    before = _content(memory)
    with ExitStack() as held:
        for path in memory.rglob("lock"):
            if kind is _noise and path.is_file():
                fcntl.flock(held.enter_context(open(path, "rb")), fcntl.LOCK_SH)  # as by a process of that user
        found = as_user(FIRST, partial(_run, memory, results))
    what = f"{kind.__name__}: {', '.join(sorted(before))}"
    check(found["code"] == 0, f"{what}: exit code {found['code']}: {found['said']}")
    check(found["rows"] == expected["rows"], f"{what}: other rows")
    after = _content(memory)
    changed = [name for name in before if after.get(name) != before[name]]
    check(not changed, f"{what}: changed or removed: {', '.join(changed)}")


def _run(memory: Path, out: Path) -> dict[str, object]:
    """A run of openai-es with a table of noise, whose shared memory is `memory`: how it ended, and its rows."""
    memory.mkdir(exist_ok=True)
    settings = {"noise_table": SIZE, "noise_table_seed": 1}
    cell = make_cell("openai-es", out, steps=STEPS, settings=settings)
    with mock.patch.object(store, "shared_memory_folder", return_value=memory):
        code = run(cell)
    status = cell.directory / "status.json"
    said = status.read_text()[:400] if status.exists() else ""
    return {"code": code, "said": said, "rows": all_rows(cell.directory) if code == 0 else None}


def _content(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Everything in a folder, with owner and content, but the own folder of the one who runs."""
    found = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        name = str(path.relative_to(folder))
        if status.st_uid != FIRST or not name.startswith(f"erlbench-{FIRST}"):
            content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            found[name] = (status.st_uid, content)
    return found


def _noise(memory: Path, random: Random, undisturbed: Path) -> None:
    """A table of other numbers, where one lies or lay, with its lock held."""
    home = memory / random.choice((f"erlbench-{FIRST}", f"erlbench-{FIRST}-aaaa", "."))
    home.mkdir(exist_ok=True)
    named = {TABLE.folder(home), home / f"noise-{SIZE}-1", memory / f"erlbench-noise-{FIRST}-{SIZE}-1"}
    for folder in named:
        folder.mkdir(exist_ok=True)
        scale = random.choice((0.0, 1.0, 1e30, float("nan")))
        length = random.choice((SIZE, SIZE, SIZE - 1, 2 * SIZE, 0))
        numbers = scale * np.random.default_rng(random.randrange(99)).standard_normal(length)
        numbers.astype(np.float32).tofile(folder / "table")
        for name in ("lock", "making"):
            (folder / name).touch()
            (folder / name).chmod(0o666)
        (folder / "table").chmod(0o644)
        folder.chmod(random.choice((0o755, 0o777, 0o1777)))
    if home != memory:
        _open(home, random)


def _in_the_way(memory: Path, random: Random, undisturbed: Path) -> None:
    """Something with a name that the run's own folders have or could have."""
    for _ in range(random.randint(1, 4)):
        names = "x", "store-1", f"noise-{FIRST}-{SIZE}-1", f"replay-{random.randrange(99)}", f"{FIRST}", f"{FIRST}-0000"
        path = memory / f"erlbench-{random.choice(names)}"
        if not os.path.lexists(path):
            random.choice(_MAKERS)(path, random)


def _folder(path: Path, random: Random) -> None:
    path.mkdir()
    for name in LOCKS:
        (path / name).touch()
        (path / name).chmod(random.choice((0o600, 0o666)))
    (path / "store-2").mkdir()
    shutil.copy(path / LOCKS[0], path / "store-2" / "lock")
    _open(path, random)


def _closed(path: Path, random: Random) -> None:
    path.mkdir(mode=0o700)


def _file(path: Path, random: Random) -> None:
    path.write_text("mine")


def _pipe(path: Path, random: Random) -> None:
    os.mkfifo(path, 0o666)


def _link(path: Path, random: Random) -> None:
    path.symlink_to(random.choice(("/", "/etc", "nowhere", path.name, "..")))


_MAKERS: tuple[Callable[[Path, Random], None], ...] = (_folder, _folder, _closed, _file, _pipe, _link)


def _copy(memory: Path, random: Random, undisturbed: Path) -> None:
    """A copy of a run, by the user himself, under a name that begins as those of the suite."""
    name = random.choice(("seed0", "best-run", "replay-old", f"noise-{FIRST}", "store-3", f"{FIRST}-backup"))
    [run_folder] = undisturbed.glob("*/*/seed-*")
    place = memory / f"erlbench-{name}"
    if random.random() < 0.5:
        place = memory / f"erlbench-{name}" / "seed-000"
    shutil.copytree(run_folder, place)
    if random.random() < 0.5:
        (place / "lock").touch()


def _open(folder: Path, random: Random) -> None:
    folder.chmod(random.choice((0o700, 0o755, 0o777, 0o1777)))


def _check_address(trial: Trial) -> None:
    """Random addresses are private by Python's own list, where that list has nothing but the internet's and private."""
    from erlbench.pool.cluster.connection import is_private_address

    draw = trial.random
    bits = draw.choice((32, 128))
    address = ip_address(draw.getrandbits(bits).to_bytes(bits // 8, "big"))
    inside = draw.choice(("10.0.0.0", "172.16.0.0", "192.168.0.0", "127.0.0.0", "169.254.0.0"))
    private = ip_address(int(ip_address(inside)) + draw.getrandbits(16))
    check(is_private_address(str(private)), f"{private} is not private")
    check(not (address.is_global and is_private_address(str(address))), f"{address} is private")
    trial.counts["addresses"] += 2
