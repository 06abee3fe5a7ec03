"""One file to send: the runs below some folders as a zip file, which every command reads as a folder.

A bundle has no command line, and neither home folder, user nor host of the machine that wrote it. It may be anybody's:
names that no run has, and more than `MOST_BYTES` or `MOST_FILES`, are refused before anything is unpacked; zipfile
writes regular files only, each up to the size that the list of files has.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import platform
import re
import struct
import tempfile
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import tomli_w

from erlbench.errors import UsageError, warn
from erlbench.files import Unusable, new_file, read_bytes, readable, reason, table_in
from erlbench.records.run import (
    ASIDE,
    CONFIG,
    EVENTS,
    META,
    POLICIES,
    POLICY,
    REDACTED,
    ROWS,
    STATUS,
    checksum,
    run_folders,
)

Hide = Callable[[str], str]

SUFFIX = ".zip"
MOST_FILES, MOST_BYTES = 60_000, 4 * 2**30
MOST_DIRECTORY = 32 * 2**20  # bytes of the zip file's list of files
LARGE = b"PK\x06\x07"  # 42 bytes before the end of zip files of more than 4 GiB; others end with 22 bytes
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the time of all files: the same runs give the same bytes
FILES = (CONFIG, META, EVENTS, STATUS, *ROWS, POLICY)
FILES_ASIDE = (CONFIG, META, STATUS, "eval.csv")  # enough to know that a run was moved aside, and its score
SMALL = (CONFIG, META, STATUS, EVENTS)  # may name people and machines
STUDY = "study.toml"  # in a folder of results, as `erlbench.experiment.studies` reads it
NAMES_OF_MANY = frozenset({"root", "user", "users", "home", "host", "localhost", "ubuntu", "runner", "worker"})

_FOLDER = re.compile(r"\w[\w .@+()=,-]{0,199}/")
_NAME = re.compile(
    rf"(?:{_FOLDER.pattern}){{1,9}}(?:{re.escape(STUDY)}|seed-\d{{1,20}}(?:{re.escape(ASIDE)}\d{{1,6}})?"
    rf"/(?:{'|'.join(map(re.escape, FILES))}|{POLICIES}/\d{{1,9}}\.safetensors))"
)
_EARLIER = re.compile(r"bundle\.json|(?:[^/]+/){1,9}(?:plan\.toml|journal\.jsonl)")  # of bundles of earlier versions
_UNPACKED = re.compile(r"\S*?/erlbench-bundle-\w{8}/")
_HOMES = r"(?:/home|/Users)/[^/\s'\":;,]+|/root(?![\w-])"
_NODE = re.compile(r"[\w.-]+(?= \([0-9a-f]{6}\))")  # of a Ray cluster, in events


def strip_unpacked(text: str) -> str:
    """A text with the bundles' own names of files: `study.zip/results/Hopper-v5/td3/seed-000`."""
    return _UNPACKED.sub("", text)


def is_bundle(path: Path) -> bool:
    """Whether a path that is given as a folder of results is a file to unpack."""
    return path.suffix == SUFFIX and path.is_file()


@contextmanager
def open_bundles(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """The paths, bundles as folders of results as long as the block lasts.

    Raises `UsageError` for a file that is no bundle.
    """
    with ExitStack() as stack:
        yield [_unpack(path, stack) if is_bundle(path) else path for path in paths]


def _unpack(file: Path, stack: ExitStack) -> Path:
    """The folder of results of a bundle, which goes with `stack`."""
    place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="erlbench-bundle-"))) / file.name
    try:
        _check_size(file)
        with zipfile.ZipFile(file) as archive:
            entries = [entry for entry in archive.infolist() if not _EARLIER.fullmatch(entry.orig_filename)]
            wrong = [entry.orig_filename for entry in entries if not _NAME.fullmatch(entry.orig_filename)]
            if wrong or not entries:
                raise Unusable(f"it holds a file that no run writes: {wrong[0][:80]!r}" if wrong else "it has no runs")
            if len({entry.filename.casefold() for entry in entries}) < len(entries):
                raise Unusable("it holds a file twice")
            if sum(entry.file_size for entry in entries) > MOST_BYTES:
                raise Unusable("its files have more than 4 GiB")
            archive.extractall(place, entries)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        raise UsageError(f"{file} cannot be read as a bundle: {reason(error)[:200]}") from error
    tops = list(place.iterdir())
    return tops[0] if len(tops) == 1 else place


def _check_size(file: Path) -> None:
    """Raise `Unusable` for a list of files that is not small; zipfile would read it as a whole."""
    size = file.stat().st_size
    with open(file, "rb") as opened:
        opened.seek(max(0, size - 42))
        tail = opened.read().rjust(42)
    signature, entries, directory = struct.unpack("<4s6xHL6x", tail[-22:])
    if signature != b"PK\x05\x06" or tail.startswith(LARGE):
        raise Unusable(f"it does not end as a bundle of at most {MOST_FILES:,} files and 4 GiB does")
    if size > MOST_BYTES or entries > MOST_FILES or directory > MOST_DIRECTORY:
        raise Unusable(f"it has more than {MOST_FILES:,} files or 4 GiB")


def write_bundle(folders: Sequence[Path], target: Path) -> int:
    """Write the runs below `folders` to the zip file `target`; how many. Their own files stay as they are.

    Raises `UsageError` for folders without runs, for files that cannot be read, and where something else is `target`.
    """
    if target.suffix != SUFFIX:
        raise UsageError(f"{target}: a bundle has a name that ends with {SUFFIX}")
    if os.path.lexists(target) and not _is_replaceable(target):
        raise UsageError(f"{target} is something else than a bundle; choose another name")
    hide = name_hider()
    runs = _find_runs(folders, hide)
    new, named, size = target.with_name(f".{target.name}"), [], 0
    try:
        with open(new_file(new), "wb") as file, zipfile.ZipFile(file, "w") as archive:
            files = chain(_read_studies(runs), *(_read_run(top, run, hide) for top, run in runs.items()))
            for count, (name, data) in enumerate(files, 1):
                size += len(data)
                if not _NAME.fullmatch(name):
                    raise UsageError(f"no bundle has a file {name}; rename the folders above it")
                if count > MOST_FILES or size > MOST_BYTES:
                    raise UsageError(f"more than {MOST_FILES:,} files or 4 GiB are no bundle; name fewer folders")
                text = f"{name} {data.decode(errors='replace')}" if Path(name).name in (*SMALL, STUDY) else name
                named += [name] if hide(text) != text else []
                archive.writestr(zipfile.ZipInfo(name, EARLIEST), data, zipfile.ZIP_DEFLATED)
        new.replace(target)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {reason(error)}") from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
    if named:
        warn(f"{named[0]} still has the name of this user or host: in the study, or as a part of a run's own names")
    return len(runs)


def _is_replaceable(target: Path) -> bool:
    """Whether a file is a bundle, whose files have names of runs."""
    with suppress(OSError, zipfile.BadZipFile, NotImplementedError, ValueError), zipfile.ZipFile(target) as archive:
        return not target.is_symlink() and any(map(_NAME.fullmatch, archive.namelist()))
    return False


def _find_runs(folders: Sequence[Path], hide: Hide) -> dict[str, Path]:
    """The folders of the runs by their names in the bundle, which begin with the name of their folder of results."""
    runs: dict[str, Path] = {}
    for folder in folders:
        root, below = folder.resolve(), run_folders(folder)
        if not below:
            raise UsageError(f"no run found in {folder}; name a folder of results")
        for run in below:
            parts = (root / run.relative_to(folder)).parts
            first, *others = parts[-max(3, len(run.relative_to(folder).parts) + 1) :]
            first = hide(first) if _FOLDER.fullmatch(f"{hide(first)}/") else "results"
            if runs.setdefault(name := "/".join((first, *others)), run) != run:
                raise UsageError(f"{run} and {runs[name]} would have one name in the bundle; rename one's folder")
    return runs


def _read_studies(runs: Mapping[str, Path]) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the studies in the folders of results, as they are: each start has their hash."""
    folders = {top.rsplit("/", 3)[0]: run.parents[2] for top, run in runs.items() if top.count("/") > 2}
    for name, folder in folders.items():
        if os.path.lexists(folder / STUDY):
            yield f"{name}/{STUDY}", _read(folder / STUDY)


def _read_run(top: str, run: Path, hide: Hide) -> Iterator[tuple[str, bytes]]:
    """Names and contents of a run's files in the bundle, and of those of its runs that were moved aside."""
    for folder in (run, *sorted(run.parent.glob(f"{run.name}{ASIDE}*"))):
        names = FILES_ASIDE if folder != run else FILES
        paths = [folder / name for name in names if os.path.lexists(folder / name)]
        paths += sorted((run / POLICIES).glob("*.safetensors")) if folder == run else []
        sent = _redact(folder, {path.name: _read(path) for path in paths if path.name in SMALL}, hide)
        for path in paths:
            name = f"{top}{folder.name.removeprefix(run.name)}/{path.relative_to(folder)}"
            yield name, sent[path.name] if path.name in sent else _read(path)


def _read(path: Path) -> bytes:
    with readable(path):
        return read_bytes(path, inside=2 if path.parent.name == POLICIES else 1)


def _redact(folder: Path, files: Mapping[str, bytes], hide: Hide) -> dict[str, bytes]:
    """The small files of a run as a bundle has them.

    status.json has the checksums of those that changed, and under `redacted` those of before. meta.json has the hash of
    a config.toml that changed, so that the files still agree.
    """
    sent: dict[str, bytes] = {}
    for name, data in files.items():
        with readable(folder / name):
            try:
                sent[name] = _change(name, data, hide)
            except RecursionError:
                raise Unusable("nested too deeply") from None
    if CONFIG in sent and META in sent:
        before, after = (hashlib.sha256(some[CONFIG]).hexdigest().encode() for some in (files, sent))
        sent[META] = sent[META].replace(before, after)
    changed = sorted({name for name, data in sent.items() if data != files[name]} - {STATUS})
    if changed and STATUS in sent:
        status = json.loads(sent[STATUS])
        old, new = (
            {name: checksum(len(some[name]), zlib.crc32(some[name])) for name in changed} for some in (files, sent)
        )
        status["files"] = {name: new.get(name, value) for name, value in table_in(status, "files").items()}
        sent[STATUS] = f"{json.dumps({**status, REDACTED: old}, indent=2)}\n".encode()
    return sent


def _change(name: str, data: bytes, hide: Hide) -> bytes:
    """A small file without names and command lines; the same bytes where it has none."""
    text = data.decode()
    if name == EVENTS:
        return hide(text).encode()
    tables = tomllib.loads(text) if name == CONFIG else json.loads(text)
    if not isinstance(tables, dict):
        raise Unusable("no object of JSON")
    hidden = _change_value(tables, hide)
    if name == CONFIG and "run" in tables:  # environment, algorithm and run keep their names
        hidden["run"] = tables["run"]
    written = tomli_w.dumps(hidden) if name == CONFIG else f"{json.dumps(hidden, indent=2)}\n"
    return data if hidden == tables else written.encode()


def _change_value(value: Any, hide: Hide) -> Any:
    if isinstance(value, dict):
        return {name: _change_value(item, hide) for name, item in value.items() if name != "command_line"}
    if isinstance(value, list):
        return [_change_value(item, hide) for item in value]
    return hide(value) if isinstance(value, str) else value


def name_hider() -> Hide:
    """A function that puts `~`, `user` and `host` in the places of home folders, this user's name and this host's."""
    home = os.path.expanduser("~")
    users, hosts = {Path(home).name}, {platform.node(), platform.node().partition(".")[0]}
    with suppress(OSError, KeyError, ImportError):
        users.add(getpass.getuser())
    homes = "".join(rf"{re.escape(place)}(?![\w-])|" for place in {home, os.path.realpath(home)} if len(place) > 1)
    changes = [(re.compile(homes + _HOMES), "~"), (_NODE, "host")]
    for names, instead in ((users, "user"), (hosts, "host")):
        words = "|".join(
            re.escape(name) for name in sorted(names, reverse=True) if len(name) > 1 and name not in NAMES_OF_MANY
        )
        changes += [(re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])"), instead)] if words else []

    def hide(text: str) -> str:
        for pattern, instead in changes:
            text = pattern.sub(instead, text)
        return text

    return hide
