"""What meta.json says about the machine, the versions and the starts of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from erlbench.records.run import admission_marks, shared_cores, starts
from erlbench.work.identity import Identity, recorded


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where and how a run ran, at its last start; empty texts where meta.json does not say."""

    cpu: str = ""
    cores: str = ""
    memory: str = ""  # GiB
    gpus: str = ""
    device: str = ""
    processes: str = ""
    jobs: str = ""  # cells that ran at once by --jobs
    shared_cores: bool | None = None  # whether other cells of the command ran on its cores; None: not recorded
    threads: str = ""  # per process
    python: str = ""
    commit: str = ""
    command: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    started: tuple[str, ...] = ()  # the time of each start
    kernels: tuple[str, ...] = ()  # BLAS, kernel and instruction sets, each once
    studies: tuple[str, ...] = ()  # that the commands of its starts named
    study_hashes: tuple[tuple[str, str], ...] = ()  # of these studies, where a start recorded it: name, SHA-256
    identities: tuple[Identity, ...] = ()  # of its starts, each once, where they were recorded
    marks: tuple[str, ...] = ()  # why it may not be repeatable
    repeats: tuple[Mapping[str, Any], ...] = ()  # runs of its folder that were moved aside before it
    differ: bool = False  # the starts had different processes, jobs or devices

    @property
    def hardware(self) -> str:
        """CPU, cores and GPU in one line."""
        if not self.cpu and not self.cores:
            return "not recorded"
        return f"{self.cpu or 'CPU not recorded'}, {self.cores or '?'} cores, {self.gpus or 'no GPU'}"

    @property
    def software(self) -> str:
        """Python, packages and commit in one line."""
        versions = [("Python", self.python)] if self.python else []
        text = ", ".join(f"{name} {version}" for name, version in [*versions, *self.versions])
        return (text or "not recorded") + (f", commit {self.commit[:12]}" if self.commit else "")


def mixed_kernels(cells: Iterable[tuple[str, Iterable[Machine]]]) -> Iterator[str]:
    """A remark on the cells (label, machines of their runs) whose runs were computed by several kernels."""
    mixed = []
    for label, machines in cells:
        kernels = {kernel for machine in machines for kernel in machine.kernels}
        if len(kernels) > 1:
            mixed.append(f"{label} ({' | '.join(sorted(kernels))})")
    if mixed:
        yield f"MIXED KERNELS: sums round differently on them, so equal seeds part: {'; '.join(dict.fromkeys(mixed))}."


def parse_machine(meta: Mapping[str, Any]) -> Machine:
    """The machine of a run; keys that are absent or of another shape are left empty."""
    found = starts(meta)
    last = {**meta, **(found[-1] if found else {})}
    versions = last.get("versions")
    identities = recorded(meta)
    kinds = {tuple(_text(start, key) for key in ("processes", "jobs", "device")) for start in found}
    return Machine(
        cpu=_text(last, "cpu"),
        cores=_text(last, "cores"),
        memory=_text(last, "memory_gib"),
        gpus=_text(last, "gpus"),
        device=_text(last, "device"),
        processes=_text(last, "processes"),
        jobs=_text(last, "jobs"),
        shared_cores=shared_cores(meta),
        threads=_text(last, "threads") or _text(last, "threads_per_process"),  # the name of 0.2
        python=_text(last, "python"),
        commit=_text(last, "commit"),
        command=_text(last, "command_line"),
        versions=tuple((str(k), str(v)) for k, v in versions.items()) if isinstance(versions, Mapping) else (),
        started=tuple(time for start in (found or [last]) if (time := _text(start, "started"))),
        kernels=tuple(sorted({kernel for start in (found or [last]) if (kernel := _kernel(start, last))})),
        studies=tuple(dict.fromkeys(str(name) for start in found for name in _names(start.get("studies")))),
        study_hashes=tuple(
            dict.fromkeys(
                (str(name), str(digest))
                for start in found
                if isinstance(start.get("studies"), Mapping)
                for name, digest in start["studies"].items()
            )
        ),
        identities=tuple(item for number, item in enumerate(identities) if item not in identities[:number]),
        marks=tuple(admission_marks(meta)),
        differ=len(kinds) > 1,
    )


def _kernel(start: Mapping[str, Any], last: Mapping[str, Any]) -> str:
    """The kernel of a start; programs beside the suite record only that of the machine."""
    return _text(start, "arithmetic") or ", ".join(filter(None, (_text(last, "blas"), _text(last, "kernel"))))


def _text(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    if isinstance(value, list):
        return ", ".join(f"{value.count(item)} x {item}" for item in dict.fromkeys(map(str, value)))
    return "" if value is None or isinstance(value, Mapping) else str(value)


def _names(value: Any) -> list[Any]:
    """Names in a list, or the keys of a table."""
    return [*value] if isinstance(value, list | Mapping) else []
