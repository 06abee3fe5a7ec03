"""Whether this machine has the software, the kernel of the BLAS, and the problem that a run was made with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from erlbench.algorithms.registry import ALGORITHMS
from erlbench.envs.catalogue import module_of
from erlbench.errors import ErlbenchError
from erlbench.files import table_in
from erlbench.machine import description, process
from erlbench.records.run import admission_marks
from erlbench.running.admission import identity_of_run
from erlbench.verification.files import AGREES, UNKNOWN, Check, Files
from erlbench.words import counted
from erlbench.work import identity


def check_software(run: Files) -> Check:
    """`AGREES` when all versions are those of the run; else `UNKNOWN`, for then equal bits are not promised."""
    if not run.meta:
        return Check("software", UNKNOWN, "meta.json is missing")
    here = description.software()
    kernels = {start["arithmetic"] for start in run.starts if start.get("arithmetic")}
    if len(kernels) > 1:
        return Check("software", UNKNOWN, f"several kernels computed the run: {' | '.join(sorted(kernels))}")
    others = list(_differences(run.meta, here))
    if others:
        return Check("software", UNKNOWN, f"other versions here, so bits may differ: {'; '.join(others)}")
    if not run.meta.get("kernel"):
        return Check("software", UNKNOWN, "the run does not say which kernel computed it, so bits may differ")
    text = f"Python {here['python']}, the kernel {here['kernel']} and all packages are those of the run"
    return Check("software", AGREES, text)


def check_identity(run: Files, trusted: bool) -> Check:
    """Whether each start of the run had the identity that its problem has here.

    A module that the folder names is only imported where it is `trusted`: importing runs its code.
    """
    starts = identity.recorded(run.meta)
    if not starts:
        return Check("identity", UNKNOWN, "the run did not record which packages, files and model it was made with")
    within = list(dict.fromkeys(line for later in starts for line in identity.changes(starts[0], later)))
    if within:
        return Check("identity", UNKNOWN, f"changed within the run (--anyway): {'; '.join(within)}")
    algo, env = str(run.run.get("algo")), str(run.run.get("env"))
    if not trusted and (module_of(env) or algo not in ALGORITHMS):
        return Check("identity", UNKNOWN, "its modules are not the suite's and would run code; --import allows that")
    for module in filter(None, map(module_of, (algo, env))):
        process.name_module(module)
    try:
        here = identity_of_run(algo, env, run.table("env_settings"), run.table("settings"))
    except ErlbenchError as error:
        return Check("identity", UNKNOWN, str(error))
    if not here:
        return Check("identity", UNKNOWN, "environment and algorithm cannot be made here")
    if found := identity.changes(starts[-1], here):
        return Check("identity", UNKNOWN, f"another one here, so bits may differ: {'; '.join(found)}")
    kinds = (("versions", "package"), ("modules", "source file"), ("files", "named file"))
    compared = [counted(len(here[part]), one) for part, one in kinds if here[part]]
    return Check("identity", AGREES, f"{', '.join(compared)}{', the MuJoCo model' if here['model'] else ''}")


def check_admission(run: Files) -> Check:
    """Whether the environment was tried at each start, and is repeatable."""
    if marks := admission_marks(run.meta):
        return Check("admission", UNKNOWN, "; ".join(marks))
    if not any(isinstance(start.get("admission"), Mapping) for start in run.starts):
        return Check("admission", UNKNOWN, "the run did not record whether its environment was tried")
    return Check("admission", AGREES, "the environment was tried: its seed decides an episode")


def _differences(meta: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    for name, version in table_in(meta, "versions").items():
        now = here["versions"].get(name) or description.version(name)
        if now != version:
            yield f"{name} {version}, here {now}"
    for name in sorted(meta.keys() & here.keys() - {"versions"}):  # what an older run does not say is not compared
        if meta[name] != here[name]:
            yield f"{name} {meta[name]}, here {here[name]}"
