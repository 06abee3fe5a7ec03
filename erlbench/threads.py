"""Cores, BLAS threads and BLAS kernels; imports nothing heavy, so that it can run before numpy is imported."""

from __future__ import annotations

import os
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
KERNELS = "OPENBLAS_CORETYPE"
AVX512 = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}  # what OpenBLAS's SkylakeX kernels need
ZEN5 = 26  # AMD's processor family


def limit_threads() -> None:
    """One BLAS and OpenMP thread for this process and its children; to be called before numpy is imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def choose_kernels() -> None:
    """Have OpenBLAS use its AVX-512 kernels on AMD's Zen 5, which it takes for a Haswell with half their speed.

    For this process and its children; to be called before numpy is imported, by programs only: a driver and its
    workers must use the same kernels, as those differ in the last bits of a product. What the user has chosen stays.
    """
    if KERNELS not in os.environ and unknown_to_openblas(processor()):
        os.environ[KERNELS] = "SkylakeX"


def processor() -> dict[str, str]:
    """What Linux says of the first core; empty elsewhere."""
    try:
        first = CPUINFO.read_text().partition("\n\n")[0]
    except OSError:
        return {}
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first.splitlines())}


def unknown_to_openblas(found: dict[str, str]) -> bool:
    """Whether this is a processor with AVX-512 that OpenBLAS does not know; Intel's and AMD's older ones it knows."""
    amd = found.get("vendor_id") == "AuthenticAMD" and int(found.get("cpu family", 0)) >= ZEN5
    return amd and set(found.get("flags", "").split()) >= AVX512


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
