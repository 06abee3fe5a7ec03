"""What this machine has for runs, and what to do where something is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from erlbench import playing
from erlbench.envs import catalogue
from erlbench.machine import description, kernel
from erlbench.machine.process import available_memory, cores
from erlbench.words import counted
from erlbench.work.store import shared_memory_folder

SHARED = Path("/dev/shm")
LEAST_SHARED = 2**29  # bytes; the parameters and noise of a large run
EXTRAS = {  # for users -> modules that it installs
    **catalogue.EXTRAS,
    "nevergrad": ("nevergrad",),
    "ppo": ("stable_baselines3",),
    "trpo": ("sb3_contrib",),
    "video": ("imageio_ffmpeg",),
    "exports": ("tensorboard",),
    "tune": ("optuna",),
    "ray": ("ray",),
    "slurm": ("submitit",),
}
GIB = 2**30


class Finding(NamedTuple):
    """What was looked at, what is there, and what the user can do."""

    what: str
    state: str
    advice: str = ""
    serious: bool = False  # runs fail without it


def examine() -> Iterator[Finding]:
    """All findings, in the order of their importance."""
    import numpy as np
    import torch

    memory, disk = available_memory(), shutil.disk_usage(".").free
    few = "" if memory > GIB else "close other programs: a run with gradients needs 260 MiB a process"
    yield Finding("processor", f"{description.cpu_model()}, {counted(cores(), 'core')} for this process")
    yield Finding("memory", f"{memory / GIB:.1f} GiB available", few)
    if os.access(SHARED, os.W_OK | os.X_OK):
        free = shutil.disk_usage(SHARED).free
        advice = "" if free >= LEAST_SHARED else "free some; in a container: docker run --shm-size=2g"
        yield Finding("shared memory", f"{free / GIB:.1f} GiB free", advice)
    else:
        advice = f"make it writable for this user; until then arrays lie in {shared_memory_folder()}"
        yield Finding("shared memory", f"{SHARED} cannot be written", advice)
    yield Finding("disk", f"{disk / GIB:.0f} GiB free in this folder", "" if disk > GIB else "free some space")
    here, capability, names = kernel.describe(), torch.backends.cpu.get_cpu_capability(), description.gpus()
    yield Finding("numpy", f"{np.__version__}, {here['blas']}, kernel {here['kernel']}")
    slow = "" if capability != "DEFAULT" else "gradient steps are slow: this processor has no AVX2"
    yield Finding("torch", f"{torch.__version__}, kernels {capability}", slow)
    unused = bool(names) and not torch.cuda.is_available()
    gpus = f"{', '.join(names) or 'none; none is needed'}{', which this torch cannot use' * unused}"
    yield Finding("GPU", gpus, "install PyPI's torch, with CUDA" if unused else "")
    display = playing.has_display()
    advice = "" if display else "erlbench play RUN --video film.mp4"
    yield Finding("window", "there is a display" if display else "no display", advice)
    yield _examine_films()
    for extra, modules in EXTRAS.items():
        absent = any(find_spec(module) is None for module in modules)
        command = f"pip install 'erlbench[{extra}]'" if absent else ""
        yield Finding(f"extra {extra}", "not installed" if absent else "installed", command)


def _examine_films() -> Finding:
    variable = playing.VARIABLE
    chosen, command = os.environ.get(variable), [sys.executable, "-P", "-c", "import mujoco"]
    if chosen and subprocess.run(command, capture_output=True).returncode:
        return Finding("films", f"MuJoCo does not start: {variable} is '{chosen}'", f"unset {variable}", serious=True)
    if names := [*filter(playing.can_draw, playing.OFFSCREEN)]:
        return Finding("films", f"MuJoCo draws by {' and '.join(names)}")
    packages = " or ".join(playing.PACKAGES.values())
    return Finding("films", "MuJoCo cannot draw without a display", f"sudo apt install {packages}")
