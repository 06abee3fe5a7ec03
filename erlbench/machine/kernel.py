"""The arithmetic that a run's numbers depend on: BLAS and its kernel, instruction sets, and what overrides them.

Sums in another order differ in the last digit, and training amplifies that: runs on two kernels soon part.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

import threadpoolctl

from erlbench.errors import UsageError
from erlbench.machine.process import read_system_file

# What chooses a kernel of OpenBLAS, MKL, oneDNN or PyTorch, where it is set.
OVERRIDES = (
    "OPENBLAS_CORETYPE", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA",
    "ATEN_CPU_CAPABILITY",
)  # fmt: skip
INSTRUCTIONS = (
    "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "amx_tile",
    "asimd", "sve",
)  # fmt: skip

NUMPY, TORCH = "numpy", "torch"  # whose BLAS multiplies matrices
CHOICE = "ERLBENCH_PRODUCTS"  # the variable that names one of them


def products() -> str:
    """Whose BLAS multiplies the learners' matrices: PyTorch's (MKL) on an Intel with AVX2 or more, else numpy's.

    Each is the faster one there. This is a rule and no measurement, so a machine always gives the same bits. The
    variable `ERLBENCH_PRODUCTS` overrides it; a value other than `numpy` and `torch` is a `UsageError`.
    """
    chosen = os.environ.get(CHOICE, "")
    if chosen not in ("", NUMPY, TORCH):
        raise UsageError(f"{CHOICE} is '{chosen}'; set it to {NUMPY} or {TORCH}, or remove it")
    processor = first_core()
    is_intel = processor.get("vendor_id") == "GenuineIntel" and "avx2" in processor.get("flags", "").split()
    return chosen or (TORCH if is_intel else NUMPY)


def describe() -> dict[str, Any]:
    """`blas` (of numpy, with its version), `kernel` (what it chose here), `products`, `cpu_flags` and `overrides`.

    `products` decides whose BLAS the learners use. PyTorch's kernel follows from the flags and the overrides;
    `versions` names its version.
    """
    import numpy  # noqa: F401  its BLAS is what is asked about

    libraries = [library for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]
    libraries.sort(key=lambda library: "numpy" not in library["filepath"])  # SciPy's may also be loaded
    chosen, processor = libraries[0] if libraries else {}, first_core()
    flags = processor.get("flags") or processor.get("Features") or ""  # of x86 or ARM
    return {
        "blas": " ".join(str(chosen.get(name) or "") for name in ("internal_api", "version")).strip() or "unknown",
        "kernel": str(chosen.get("architecture") or "unknown"),
        "products": products(),
        "cpu_flags": [flag for flag in INSTRUCTIONS if flag in flags.split()],
        "overrides": {name: os.environ[name] for name in OVERRIDES if name in os.environ},
    }


def in_words(meta: Mapping[str, Any], learns: bool = True) -> str:
    """The kernel of a start in one line; two starts with equal lines give equal numbers. Empty: not recorded.

    `learns`: whether the algorithm has learners; only their numbers depend on `products`.
    """
    if not meta.get("kernel"):
        return ""
    overrides = meta.get("overrides") or {}
    parts = [str(meta["blas"]), str(meta["kernel"]), "+".join(meta.get("cpu_flags") or ["no vector instructions"])]
    if learns and meta.get("products", NUMPY) != NUMPY:
        parts.append(f"products by {meta['products']}")
    if meta.get("threads") not in (None, 1):  # a sum over several threads has another order
        parts.append(f"{meta['threads']} threads")
    return ", ".join([*parts, *(f"{key}={value}" for key, value in sorted(overrides.items()))])


@cache
def first_core() -> dict[str, str]:
    """Linux's description of the first core; nothing elsewhere."""
    text = read_system_file("/proc/cpuinfo")
    pairs = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}
