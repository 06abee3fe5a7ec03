"""What a run was measured on: hardware and versions, for meta.json."""

from __future__ import annotations

import glob
import hashlib
import os
import platform
import shutil
import subprocess
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import erlbench
from erlbench.machine import kernel
from erlbench.machine.process import cores

PACKAGES = ("cma", "gymnasium", "mujoco", "numpy", "torch")


def describe() -> dict[str, Any]:
    """CPU, cores, memory (GiB), GPUs, system, versions, source and kernels of this machine and installation."""
    return {
        "cpu": cpu_model(),
        "cores": cores(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "gpus": gpus(),
        "platform": system(),
        "commit": commit(),
        "source": source(),
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
    """As `platform.platform`, which also asks a process for the processor: Linux-6.1.0-x86_64-with-glibc2.36."""
    uname = os.uname()
    return "-".join((uname.sysname, uname.release, uname.machine, "with", "".join(platform.libc_ver())))


def gpus() -> list[str]:
    """Names of the NVIDIA GPUs, without importing torch."""
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    if shutil.which(command[0]) is None:
        return []
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=10, check=True
        ).stdout.splitlines()
    return []


def commit() -> str:
    """The commit of a source checkout, from the log of its HEAD; empty for an installed wheel."""
    root = Path(erlbench.__file__).parent.parent
    folder = root / ".git"
    with suppress(OSError, IndexError):
        if folder.is_file():  # of a further work tree: "gitdir: FOLDER"
            folder = root / folder.read_text("utf-8").partition(":")[2].strip()
        return (folder / "logs/HEAD").read_text("utf-8").splitlines()[-1].split()[1]
    return ""


def source() -> str:
    """SHA-256 of the suite's modules with their paths."""
    digest, root = hashlib.sha256(), Path(erlbench.__file__).parent
    for path in sorted(Path(file) for file in glob.iglob(f"{glob.escape(str(root))}/**/*.py", recursive=True)):
        digest.update(f"{path.relative_to(root)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()
