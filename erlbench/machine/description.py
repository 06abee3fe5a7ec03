"""What a run was measured on: hardware and versions, for meta.json."""

from __future__ import annotations

import os
import platform
import subprocess
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
        "platform": platform.platform(),
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


def gpus() -> list[str]:
    """Names of the NVIDIA GPUs, without importing torch."""
    return _output(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]).splitlines()


def commit() -> str:
    """The commit of a source checkout, with `+changes` when the tree differs; empty for an installed wheel."""
    root = Path(erlbench.__file__).parent.parent
    if not os.path.exists(root / ".git"):  # also where another user may not look there
        return ""
    git = ["git", "--no-optional-locks", "-C", str(root)]  # no lock may stay where this process is killed
    changes = "+changes" if _output([*git, "status", "--porcelain", "-uno"]) else ""
    return _output([*git, "rev-parse", "HEAD"]) + changes


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=10, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
