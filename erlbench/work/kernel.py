"""The arithmetic that a run's numbers depend on: BLAS and its kernel, instruction sets, and what overrides them.

Sums in another order differ in the last digit, and training amplifies that: runs on two kernels soon part.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import threadpoolctl

# What chooses a kernel of OpenBLAS, MKL, oneDNN or PyTorch, where it is set.
OVERRIDES = (
    "OPENBLAS_CORETYPE", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA",
    "ATEN_CPU_CAPABILITY",
)  # fmt: skip
INSTRUCTIONS = (
    "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "amx_tile",
    "asimd", "sve",
)  # fmt: skip


def describe() -> dict[str, Any]:
    """`blas` (of numpy, with its version), `kernel` (what it chose here), `cpu_flags` and `overrides`, for meta.json.

    PyTorch brings its own BLAS, whose kernel follows from the flags and the overrides; `versions` names its version.
    """
    import numpy  # noqa: F401  its BLAS is what is asked about

    libraries = [found for found in threadpoolctl.threadpool_info() if found["user_api"] == "blas"]
    libraries.sort(key=lambda found: "numpy" not in found["filepath"])  # SciPy's may be loaded, too
    chosen = libraries[0] if libraries else {}
    return {
        "blas": " ".join(str(chosen.get(name) or "") for name in ("internal_api", "version")).strip() or "unknown",
        "kernel": str(chosen.get("architecture") or "unknown"),
        "cpu_flags": [flag for flag in INSTRUCTIONS if flag in _flags()],
        "overrides": {name: os.environ[name] for name in OVERRIDES if name in os.environ},
    }


def name(meta: Mapping[str, Any]) -> str:
    """The kernel of a start in one line; two starts with equal lines give equal numbers. Empty: not recorded."""
    if not meta.get("kernel"):
        return ""
    overrides = meta.get("overrides") or {}
    parts = [str(meta["blas"]), str(meta["kernel"]), "+".join(meta.get("cpu_flags") or ["no vector instructions"])]
    return ", ".join([*parts, *(f"{key}={value}" for key, value in sorted(overrides.items()))])


def _flags() -> set[str]:
    """The instruction sets of this processor, as Linux names them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return next((set(line.split(":", 1)[1].split()) for line in lines if line.startswith(("flags", "Features"))), set())
