"""Which starts a run repeats: what `--force` moved aside, with its score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from erlbench.records.run import ASIDE, RunFiles, starts

Entry = Mapping[str, Any]


def repeats_of(run: Path, meta: Mapping[str, Any] | None = None) -> list[Entry]:
    """The earlier runs of the folder `run`, the oldest first, as meta.json lists them in `repeats`.

    They are the folders `<run>.old-N` beside it, and those that they or the run itself list: these may be gone. `meta`:
    of the run, where it was read before.
    """
    found: dict[str, Entry] = {}
    for folder in (run, *sorted(run.parent.glob(f"{run.name}{ASIDE}*"))):
        of_folder = meta if folder is run and meta is not None else RunFiles(folder).meta()
        listed = _dicts(of_folder.get("repeats")) + ([] if folder is run else [_entry(folder, of_folder)])
        for entry in listed:
            found.setdefault(str(entry.get("folder")), entry)
    return sorted(found.values(), key=lambda entry: (str(entry.get("started")), str(entry.get("folder"))))


def _entry(folder: Path, meta: Mapping[str, Any]) -> Entry:
    """What is known of a run that was moved aside to `folder`."""
    status = RunFiles(folder).status()
    return {
        "folder": folder.name,
        "status": str(status.get("status", "unknown")),
        "score": status.get("return_mean"),
        "timesteps": status.get("timesteps"),
        "started": str(next(iter(starts(meta)), meta).get("started", "")),
    }


def _dicts(value: Any) -> list[Entry]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def scores_in_words(repeats: Iterable[Entry]) -> str:
    """Earlier runs in a line: "done, score -1,455; failed"."""
    return "; ".join(map(_in_words, repeats))


def _in_words(entry: Entry) -> str:
    score, status = entry.get("score"), str(entry.get("status", "unknown"))[:20]
    return f"{status}, score {score:,.4g}" if isinstance(score, int | float) else status
