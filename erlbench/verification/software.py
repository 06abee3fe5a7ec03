"""Whether this machine has the software, the kernel of the BLAS, and the problem that a run was made with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from erlbench.algorithms.registry import ALGORITHMS
from erlbench.envs.catalogue import module_of
from erlbench.errors import ErlbenchError
from erlbench.files import table_in
from erlbench.machine import description, process
from erlbench.records.run import admission_marks
from erlbench.running.admission import identity_of_run
from erlbench.verification.files import Files, Findings, Unverifiable
from erlbench.words import counted
from erlbench.work import identity


def compare_software(run: Files) -> Findings:
    """Whether all versions are those of the run; else equal bits are not promised."""
    if not run.meta:
        raise Unverifiable("meta.json is missing")
    kernels = {start["arithmetic"] for start in run.starts if start.get("arithmetic")}
    if len(kernels) > 1:
        raise Unverifiable(f"several kernels computed the run: {' | '.join(sorted(kernels))}")
    if others := "; ".join(_differences(run)):
        raise Unverifiable(f"other versions here, so bits may differ: {others}")
    if not run.meta.get("kernel"):
        raise Unverifiable("the run does not say which kernel computed it, so bits may differ")
    here = description.software()
    return [], f"Python {here['python']}, the kernel {here['kernel']} and all packages are those of the run"


def _differences(run: Files) -> Iterator[str]:
    here = description.software()
    for name, version in table_in(run.meta, "versions").items():
        now = here["versions"].get(name) or description.version(name)
        if now != version:
            yield f"{name} {version}, here {now}"
    for name in sorted(run.meta.keys() & here.keys() - {"versions"}):  # what an older run lacks is not compared
        if run.meta[name] != here[name]:
            yield f"{name} {run.meta[name]}, here {here[name]}"


def compare_identity(run: Files, trusted: bool) -> Findings:
    """Whether each start of the run had the identity that its problem has here.

    A module that the folder names is only imported where it is `trusted`: importing runs its code.
    """
    starts = identity.list_identities(run.meta)
    if not starts:
        raise Unverifiable("the run did not record which packages, files and model it was made with")
    if within := dict.fromkeys(line for later in starts for line in identity.changes(starts[0], later)):
        raise Unverifiable(f"changed within the run (--anyway): {'; '.join(within)}")
    if not trusted and (module_of(run.env) or run.algo not in ALGORITHMS):
        raise Unverifiable("its modules are not the suite's and would run code; --import allows that")
    for module in filter(None, map(module_of, (run.algo, run.env))):
        process.name_module(module)
    try:
        here = identity_of_run(run.algo, run.env, run.table("env_settings"), run.table("settings"))
    except ErlbenchError as error:
        raise Unverifiable(error) from error
    if not here:
        raise Unverifiable("environment and algorithm cannot be made here")
    if changes := identity.changes(starts[-1], here):
        raise Unverifiable(f"another one here, so bits may differ: {'; '.join(changes)}")
    kinds = {"versions": "package", "modules": "source file", "files": "named file"}
    compared = [counted(len(here[part]), noun) for part, noun in kinds.items() if here[part]]
    return [], ", ".join([*compared, *(["the MuJoCo model"] if here["model"] else [])])


def check_admission(run: Files) -> Findings:
    """Whether the environment was tried at each start, and is repeatable."""
    if marks := admission_marks(run.meta):
        raise Unverifiable("; ".join(marks))
    if not any(isinstance(start.get("admission"), Mapping) for start in run.starts):
        raise Unverifiable("the run did not record whether its environment was tried")
    return [], "the environment was tried: its seed decides an episode"
