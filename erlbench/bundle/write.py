"""Writes a bundle: the files of runs, `meta.json` and messages redacted, and what was taken out written down."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from erlbench.bundle.contents import (
    FORMAT,
    JOURNAL,
    MANIFEST,
    MOST_BYTES,
    MOST_FILES,
    OF_A_RUN,
    OF_A_RUN_ASIDE,
    OF_A_STUDY,
    SUFFIX,
    check_entries,
    is_part,
    is_run,
    largest,
)  # fmt: skip
from erlbench.bundle.redact import Redactor, redactor_here
from erlbench.errors import UsageError
from erlbench.files import Unusable, plain, read_bytes, readable, reason
from erlbench.records.run import ASIDE, CONFIG, META, POLICIES, REDACTED, STATUS, checksum, run_folders
from erlbench.words import counted

EARLIEST = (1980, 1, 1, 0, 0, 0)  # the time of all files: the same runs give the same bytes
REGULAR = 0o100644 << 16
MOST_SHOWN = 20  # lines of the preview


@dataclass(frozen=True)
class Redaction:
    """What a bundle has taken out, and what it had to leave in files whose hashes stand in others."""

    taken: tuple[str, ...]  # a line each, with its count
    left: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # file: what it still says

    def lines(self) -> Iterator[str]:
        """The preview."""
        yield f"Redacted in meta.json, messages and journals: {'' if self.taken else 'nothing found.'}".rstrip()
        yield from (f"  {line}" for line in self.taken[:MOST_SHOWN])
        if len(self.taken) > MOST_SHOWN:
            yield f"  {len(self.taken) - MOST_SHOWN} more"
        for name, texts in list(self.left.items())[:MOST_SHOWN]:
            yield f"Not redacted, as its checksum stands in other files: {name} says {', '.join(texts)}"
        if len(self.left) > MOST_SHOWN:
            yield f"{len(self.left) - MOST_SHOWN} more such files"


def write_bundle(
    folders: Sequence[Path], target: Path, say: Callable[[str], None], redactor: Redactor | None = None
) -> Redaction:
    """Write the runs below `folders` to the zip file `target`; `say` gets the lines of the preview before that.

    The runs' own files stay as they are. In the bundle, `meta.json` is a redacted copy; `status.json` has its new
    checksum, and under `redacted` the one of before. Raises `UsageError` for what cannot be read, or written there.
    """
    if target.suffix != SUFFIX:
        raise UsageError(f"--bundle {target}: give a name that ends with {SUFFIX}")
    _check_target(target)
    redactor = redactor or redactor_here()
    places = _places(folders)
    for path in places.values():
        _learn(path, redactor)
    redactor.found.clear()
    changed = {name: data for name, path in places.items() for name, data in _redacted(name, path, redactor).items()}
    redaction = Redaction(
        tuple(f"{found}, {counted(number, 'time')}" for found, number in redactor.found.most_common()),
        _left(places, changed, redactor),
    )
    for line in redaction.lines():
        say(line)
    try:
        check_entries(places)
    except Unusable as error:
        raise UsageError(f"no bundle can be written: {error}") from error
    if len(places) >= MOST_FILES:
        raise UsageError(f"{len(places):,} files are too many for one bundle; name fewer folders")
    with _replacing(target) as file:
        _write(file, places, changed, redaction)
    return redaction


def _places(folders: Sequence[Path]) -> dict[str, Path]:
    """Where each file of the runs is, by its name in the bundle: under the name of its folder of results."""
    found: dict[str, Path] = {}
    roots: dict[str, Path] = {}
    for folder in folders:
        root = folder.resolve()
        runs = [run for run in run_folders(folder) if is_run((root / run.relative_to(folder)).name)]
        if not runs:
            raise UsageError(f"no run found in {folder}; name a folder of results")
        for run in runs:
            below = run.relative_to(folder)
            own = (root / below).parts
            first, *others = own[-max(3, len(below.parts) + 1) :]  # the root's name, then environment, name, seed
            top = "/".join((_part(first), *others))
            if roots.setdefault(top, run) != run:
                raise UsageError(f"{run} and {roots[top]} would have one name in the bundle; rename one's folder")
            found |= {f"{top}/{name}": run / name for name in OF_A_RUN if (run / name).is_file()}
            found |= {f"{top}/{POLICIES}/{file.name}": file for file in sorted((run / POLICIES).glob("*.safetensors"))}
            for aside in sorted(run.parent.glob(f"{run.name}{ASIDE}*")):
                place = f"{top.rpartition('/')[0]}/{aside.name}"
                found |= {f"{place}/{name}": aside / name for name in OF_A_RUN_ASIDE if (aside / name).is_file()}
            if study := "/".join(top.split("/")[:-3]):
                found |= {f"{study}/{name}": file for name in OF_A_STUDY if (file := run.parents[2] / name).is_file()}
    return found


def _part(text: str) -> str:
    """A folder's name; of a folder of results that no other system could have, a plain one."""
    return text if is_part(text) else "results"


def _read(path: Path) -> bytes:
    with readable(path):
        return read_bytes(path, largest(path.name), inside=2 if path.parent.name == POLICIES else 1)


def _json(data: bytes) -> Any:
    with suppress(ValueError, RecursionError):
        return plain(json.loads(data))
    return None


def _learn(path: Path, redactor: Redactor) -> None:
    """Find the names of users in the paths of one file, before any is redacted."""
    if path.name in (META, STATUS):
        redactor.values(_json(_read(path)))


def _redacted(name: str, path: Path, redactor: Redactor) -> dict[str, bytes]:
    """The files of the bundle that change with this one: nothing, or itself, or with meta.json also status.json."""
    if path.name == JOURNAL:
        lines = _read(path).decode("utf-8", errors="replace").splitlines()
        text = "".join(f"{_line(line, redactor)}\n" for line in lines)
        return {name: text.encode()} if text.encode() != _read(path) else {}
    if path.name != STATUS:
        return {}
    folder, changed = path.parent, {}
    status = _json(_read(path))
    if not isinstance(status, dict):
        return {}
    new = redactor.values(status)
    if (folder / META).is_file():
        data = _read(folder / META)
        meta = _json(data)
        if isinstance(meta, dict) and (other := redactor.values(meta)) != meta:
            copy = f"{json.dumps(other, indent=2)}\n".encode()
            changed[f"{name.rpartition('/')[0]}/{META}"] = copy
            sums = new.get("files")
            if isinstance(sums, dict) and META in sums:
                new["files"] = {**sums, META: checksum(len(copy), zlib.crc32(copy))}
            new[REDACTED] = {META: checksum(len(data), zlib.crc32(data))}
    if new != status:
        changed[name] = f"{json.dumps(new, indent=2)}\n".encode()
    return changed


def _line(line: str, redactor: Redactor) -> str:
    found = _json(line.encode())
    return line if found is None else json.dumps(redactor.values(found))


def _left(places: Mapping[str, Path], changed: Mapping[str, bytes], redactor: Redactor) -> dict[str, tuple[str, ...]]:
    """What config.toml, meta.json and plans still say; rows and policies are numbers."""
    left = {}
    for name, path in places.items():
        if path.name in (CONFIG, META, *OF_A_STUDY):
            text = changed[name] if name in changed else _read(path)
            if found := redactor.left_in(text.decode("utf-8", errors="replace")):
                left[name] = tuple(sorted(found))
    return left


def _write(file: Any, places: Mapping[str, Path], changed: Mapping[str, bytes], redaction: Redaction) -> None:
    sums = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=False) as archive:
        for name, path in places.items():
            data = changed[name] if name in changed else _read(path)
            sums[name] = hashlib.sha256(data).hexdigest()
            if archive.fp is not None and archive.fp.tell() + len(data) > MOST_BYTES:
                raise UsageError("the runs are too large for one bundle (4 GiB); name fewer folders")
            _add(archive, name, data)
        manifest = {
            "format": FORMAT, "files": sums, "redacted": list(redaction.taken),
            "not_redacted": {name: list(texts) for name, texts in redaction.left.items()},
        }  # fmt: skip
        _add(archive, MANIFEST, f"{json.dumps(manifest, indent=1)}\n".encode())


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, EARLIEST)
    entry.external_attr, entry.compress_type = REGULAR, zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)


def _check_target(target: Path) -> None:
    """Only an earlier bundle is replaced."""
    if not os.path.lexists(target):
        return
    with suppress(OSError, zipfile.BadZipFile, NotImplementedError, ValueError):
        if target.is_file() and not target.is_symlink():
            with zipfile.ZipFile(target) as archive:
                if MANIFEST in archive.namelist():
                    return
    raise UsageError(f"--bundle {target}: something else stands there; choose another name")


class _replacing:
    """A new file beside `target`, which takes its place at the end and is removed after an error."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def __enter__(self) -> Any:
        try:
            descriptor, name = tempfile.mkstemp(prefix=".bundle-", dir=self._target.parent)
        except OSError as error:
            raise UsageError(f"--bundle {self._target}: cannot be written: {reason(error)}") from error
        self._path = Path(name)
        self._file = os.fdopen(descriptor, "wb")
        return self._file

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self._file.close()
        if error is None:
            os.chmod(self._path, 0o666 & ~_umask())
            os.replace(self._path, self._target)
            return
        self._path.unlink(missing_ok=True)
        if isinstance(error, OSError | zipfile.LargeZipFile):
            raise UsageError(f"--bundle {self._target}: cannot be written: {error}") from error


def _umask() -> int:
    os.umask(mask := os.umask(0o077))
    return mask
