"""What a run was measured on: hardware and versions, for meta.json."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import erlbench
from erlbench.machine import kernel
from erlbench.machine.resources import cores

PACKAGES = ("cma", "gymnasium", "mujoco", "numpy", "torch")


def describe() -> dict[str, Any]:
    """CPU, cores, memory (GiB), GPUs, system, versions, commit and kernels of this machine and installation."""
    return {
        "cpu": cpu_model(),
        "cores": cores(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "gpus": gpus(),
        "platform": system(),
        "commit": commit(),
        **software(),
    }


def software() -> dict[str, Any]:
    """Of `describe`, what may change bits: versions and kernels, which no other program is asked for."""
    return {
        "python": platform.python_version(),
        "versions": {"erlbench": erlbench.__version__, **{name: version(name) for name in PACKAGES}},
        **kernel.describe(),
    }


def version(package: str) -> str:
    """The installed version, without importing the package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def cpu_model() -> str:
    """The processor's name as Linux gives it, else what Python knows."""
    return kernel.first_core().get("model name") or platform.processor()


def system() -> str:
    """As `platform.platform`, which asks a process for the processor, too: Linux-6.1.0-x86_64-with-glibc2.36."""
    if not sys.platform.startswith("linux"):
        return platform.platform()
    kernel, libc = os.uname(), "".join(platform.libc_ver())
    return "-".join((kernel.sysname, kernel.release, kernel.machine, *(("with", libc) if libc else ())))


def gpus() -> list[str]:
    """Names of the NVIDIA GPUs, without importing torch."""
    return _output(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]).splitlines()


def commit() -> str:
    """The commit of a source checkout, with `+changes` when the tree differs; empty for an installed wheel."""
    root = Path(erlbench.__file__).parent.parent
    if not os.path.exists(root / ".git"):  # also where another user may not look there
        return ""
    git = ["git", "--no-optional-locks", "-C", str(root)]  # no lock may stay where this process is killed
    return _output([*git, "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+changes"])


def _output(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        return ""
    try:
        return subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=10, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
