"""What this machine has for runs, and what to do where something is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from erlbench.envs import catalogue
from erlbench.machine import description, kernel
from erlbench.machine.resources import available_memory, cores
from erlbench.playing import renderer
from erlbench.words import counted
from erlbench.work.store import shared_memory_folder

SHARED = Path("/dev/shm")
LEAST_SHARED = 2**29  # bytes; the parameters and noise of a large run
EXTRAS: Mapping[str, tuple[str, ...]] = MappingProxyType(  # for users -> modules that it installs
    {
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
)
GIB = 2**30


@dataclass(frozen=True)
class Finding:
    """What was looked at, what is there, and what the user can do."""

    what: str
    found: str
    advice: str = ""
    serious: bool = False  # runs fail without it


def examine() -> Iterator[Finding]:
    """All findings, in the order of their importance."""
    yield Finding("processor", f"{description.cpu_model()}, {counted(cores(), 'core')} for this process")
    memory = available_memory()
    few = "" if memory > GIB else "close other programs: a run with gradients needs 260 MiB a process"
    yield Finding("memory", f"{memory / GIB:.1f} GiB available", few)
    yield _shared_memory()
    free = shutil.disk_usage(".").free
    yield Finding("disk", f"{free / GIB:.0f} GiB free in this folder", "" if free > GIB else "free some space")
    yield _numpy()
    yield _torch()
    yield _gpu()
    yield _window()
    yield _films()
    yield from _extras()


def _shared_memory() -> Finding:
    if not os.access(SHARED, os.W_OK | os.X_OK):
        advice = f"make it writable for this user; until then arrays lie in {shared_memory_folder()}"
        return Finding("shared memory", f"{SHARED} cannot be written", advice)
    usage = shutil.disk_usage(SHARED)
    advice = "" if usage.free >= LEAST_SHARED else "free some; in a container: docker run --shm-size=2g"
    return Finding("shared memory", f"{usage.free / GIB:.1f} of {usage.total / GIB:.1f} GiB free", advice)


def _numpy() -> Finding:
    import numpy as np

    here = kernel.describe()
    return Finding("numpy", f"{np.__version__}, {here['blas']}, kernel {here['kernel']}")


def _torch() -> Finding:
    import torch

    capability = torch.backends.cpu.get_cpu_capability()
    library = "MKL" if torch.backends.mkl.is_available() else "OpenBLAS or other"  # type: ignore[no-untyped-call]
    advice = "" if capability != "DEFAULT" else "gradient steps are slow: this processor has no AVX2"
    return Finding("torch", f"{torch.__version__}, {library}, kernels {capability}", advice)


def _gpu() -> Finding:
    import torch

    names = description.gpus()
    if torch.cuda.is_available():
        return Finding("GPU", ", ".join(names) or torch.cuda.get_device_name())
    if names:
        return Finding("GPU", f"{', '.join(names)}, which this torch cannot use", "install PyPI's torch, with CUDA")
    return Finding("GPU", "none; none is needed")


def _window() -> Finding:
    if renderer.has_display():
        return Finding("window", "there is a display")
    return Finding("window", "no display", "erlbench play RUN --video film.mp4")


def _films() -> Finding:
    if chosen := renderer.unusable_choice():
        variable = renderer.VARIABLE
        return Finding("films", f"MuJoCo does not start: {variable} is '{chosen}'", f"unset {variable}", serious=True)
    if names := [*filter(renderer.works, renderer.OFFSCREEN)]:
        return Finding("films", f"MuJoCo draws by {' and '.join(names)}")
    packages = " or ".join(renderer.PACKAGES.values())
    return Finding("films", "MuJoCo cannot draw without a display", f"sudo apt install {packages}")


def _extras() -> Iterator[Finding]:
    for extra, modules in EXTRAS.items():
        absent = any(find_spec(module) is None for module in modules)
        command = f"pip install 'erlbench[{extra}]'" if absent else ""
        yield Finding(f"extra {extra}", "not installed" if absent else "installed", command)
