"""Task functions for the tests of the pools."""

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from erlbench.errors import NumericalError
from erlbench.machine.threads import threads_of_libraries
from erlbench.work.seeding import generator
from erlbench.work.tasks import Outcome


def draw(settings, inputs, key, workspace):
    """Random numbers of the key plus the sum of all inputs."""
    array = generator(*key).standard_normal(settings.get("size", 5)).astype(np.float32)
    for value in inputs.values():
        array = array + value.sum(dtype=np.float32)
    return Outcome({"sum": float(array.sum()), **settings.get("values", {})}, {"array": array})


def sleep(settings, inputs, key, workspace):
    time.sleep(settings["seconds"])
    return Outcome({"lengths": [int(settings.get("length", 0))]}, {"array": np.ones(1, np.float32)})


def threads(settings, inputs, key, workspace):
    return Outcome({"threads": threads_of_libraries()})


def surroundings(settings, inputs, key, workspace):
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "PYTHONSAFEPATH")
    threads = sys.modules["torch"].get_num_threads() if "torch" in sys.modules else 0
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return Outcome(
        {
            "modules": sorted(sys.modules),
            "environment": {name: os.environ.get(name) for name in names},
            "torch_threads": threads,
            "pid": os.getpid(),
            "device": workspace.device,
            "resident": resident,
            "main": getattr(sys.modules["__main__"], "__file__", None),
        }
    )


def die(settings, inputs, key, workspace):
    """End the process the first `times` times, counted in a file; then do as `draw`."""
    log = Path(settings["log"])
    with open(log, "a") as file:
        file.write("x")
    if log.stat().st_size <= settings["times"]:
        (workspace.store.folder / f"half.part{os.getpid()}").touch()
        if settings["how"] == "child" and os.fork() == 0:
            time.sleep(3)  # with the worker's connection
            os._exit(0)
        if isinstance(settings["how"], int):
            with suppress(OSError):  # of SIGKILL
                signal.signal(settings["how"], signal.SIG_DFL)  # programs behind nohup ignore SIGHUP
            os.kill(os.getpid(), settings["how"])
        if settings["how"] == "hang":
            time.sleep(60)
        os._exit(3)
    return draw({}, inputs, key, workspace)


def wrong(settings, inputs, key, workspace):
    """Raise what `settings["error"]` names."""
    error = settings.get("error", "")
    if error == "numerical":
        raise NumericalError("the reward of step 3 is nan")
    if error == "import":
        import no_such_library  # noqa: F401
    if error == "exit":
        sys.exit(4)
    if error == "memory":
        raise MemoryError("1 TiB")
    if error == "full":
        (workspace.store.folder / f"1.array.part{os.getpid()}").symlink_to("/dev/full")
        return Outcome({}, {"array": np.ones(1000)})
    if error == "nothing":
        return None
    if error == "pickle":
        return Outcome({"function": lambda: None})
    return Outcome({"quotient": 1 / 0} if error else {})


def sleep_in_parts(settings, inputs, key, workspace):
    """What comes up meanwhile becomes what `settings["made_of_it"]` says."""
    end = time.monotonic() + settings["seconds"]
    try:
        while time.monotonic() < end:
            time.sleep(0.01)
    except BaseException:
        if settings.get("made_of_it") == "an outcome":
            return Outcome({})
        if settings.get("made_of_it") == "an ImportError":
            raise ImportError("half a library") from None
        raise
    return Outcome({})


def enter(settings, inputs, key, workspace):
    """Go into `settings["folder"]`, and give the current folder of before."""
    before = os.getcwd()
    os.chdir(settings["folder"])
    return Outcome({"before": before})


def busy(settings, inputs, key, workspace):
    """Never end, mostly in calls of C code."""
    matrix = np.ones((300, 300), np.float32)
    while True:
        matrix @ matrix


def hold_lock(settings, inputs, key, workspace):
    """Sleep with Python's lock, as C code of an environment may."""
    while True:
        ctypes.PyDLL(None).sleep(600)
