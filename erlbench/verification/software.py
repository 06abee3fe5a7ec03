"""Whether this machine has the software, and the kernel of the BLAS, that a run was made with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from erlbench.running import machine
from erlbench.verification.check import AGREES, UNKNOWN, Check, Files

APART = frozenset({"versions", "cpu", "cores", "memory_gib", "gpus", "platform", "commit"})  # they change no bit


def check_software(run: Files) -> Check:
    """`AGREES` when all versions are those of the run; else `UNKNOWN`, for then equal bits are not promised."""
    if not run.meta:
        return Check("software", UNKNOWN, "meta.json is missing")
    here = machine.describe()
    others = list(_differences(run.meta, here))
    if others:
        return Check("software", UNKNOWN, f"other versions here, so bits may differ: {'; '.join(others)}")
    return Check("software", AGREES, f"Python {here['python']} and all packages are those of the run")


def _differences(meta: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    there = meta.get("versions")
    for name, version in (there if isinstance(there, Mapping) else {}).items():
        now = here["versions"].get(name) or machine.version(name)
        if now != version:
            yield f"{name} {version}, here {now}"
    for name in sorted(meta.keys() & here.keys() - APART):  # what an older run does not say is not compared
        if meta[name] != here[name]:
            yield f"{name} {meta[name]}, here {here[name]}"
