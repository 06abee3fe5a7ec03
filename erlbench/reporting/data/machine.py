"""What meta.json says about the machine, the versions and the starts of a run: columns of the frame of runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from erlbench.records.run import admission_marks, shared_cores, starts
from erlbench.work.identity import list_identities

TEXTS = {  # columns, and the entries of meta.json's last start that they hold
    "cpu": "cpu", "cores": "cores", "memory": "memory_gib", "gpus": "gpus", "device": "device",
    "processes": "processes", "jobs": "jobs", "python": "python", "commit": "commit", "command": "command_line",
}  # fmt: skip


def parse_machine(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Where and how a run ran, at its last start; keys that are absent or of another shape are empty texts.

    `memory` in GiB; `jobs`: cells that ran at once by --jobs; `shared_cores`: None where not recorded; `threads` per
    process; `kernels`: BLAS, kernel and instruction sets, and `identities` of software, both of all starts, each once;
    `study_hashes`: of the studies that starts named, name and SHA-256; `marks`: why it may not be repeatable;
    `differ`: the starts had different processes, jobs or devices.
    """
    all_starts = starts(meta)
    last = {**meta, **(all_starts[-1] if all_starts else {})}
    each = all_starts or [last]
    found: dict[str, Any] = {column: _text(last, key) for column, key in TEXTS.items()}
    named = [start.get("studies") for start in all_starts]
    identities = list_identities(meta)
    kinds = {tuple(_text(start, key) for key in ("processes", "jobs", "device")) for start in all_starts}
    versions = last.get("versions")
    found |= {
        "threads": _text(last, "threads") or _text(last, "threads_per_process"),  # the name of 0.2
        "shared_cores": shared_cores(meta),
        "versions": tuple((str(k), str(v)) for k, v in versions.items()) if isinstance(versions, Mapping) else (),
        "started": tuple(filter(None, (_text(start, "started") for start in each))),
        "kernels": tuple(sorted(filter(None, {_kernel(start, last) for start in each}))),
        "studies": _unique(str(name) for names in named if isinstance(names, list | Mapping) for name in names),
        "study_hashes": _unique(
            (str(name), str(digest)) for names in named if isinstance(names, Mapping) for name, digest in names.items()
        ),
        "identities": tuple(item for number, item in enumerate(identities) if item not in identities[:number]),
        "marks": tuple(admission_marks(meta)),
        "differ": len(kinds) > 1,
    }
    return {**found, "hardware": _hardware(found), "software": _software(found)}


def _hardware(found: Mapping[str, Any]) -> str:
    """CPU, cores and GPU in one line."""
    if not found["cpu"] and not found["cores"]:
        return "not recorded"
    return f"{found['cpu'] or 'CPU not recorded'}, {found['cores'] or '?'} cores, {found['gpus'] or 'no GPU'}"


def _software(found: Mapping[str, Any]) -> str:
    """Python, packages and commit in one line."""
    versions = [*([("Python", found["python"])] if found["python"] else []), *found["versions"]]
    text = ", ".join(f"{name} {version}" for name, version in versions)
    return (text or "not recorded") + (f", commit {found['commit'][:12]}" if found["commit"] else "")


def _kernel(start: Mapping[str, Any], last: Mapping[str, Any]) -> str:
    """The kernel of a start; programs beside the suite record only that of the machine."""
    return _text(start, "arithmetic") or ", ".join(filter(None, (_text(last, "blas"), _text(last, "kernel"))))


def _text(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    if isinstance(value, list):
        return ", ".join(f"{value.count(item)} x {item}" for item in dict.fromkeys(map(str, value)))
    return "" if value is None or isinstance(value, Mapping) else str(value)


def _unique(values: Any) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))
