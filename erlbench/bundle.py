"""One file to send: the runs below some folders as a zip file; show, report, verify and convert read it as a folder.

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
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import tomli_w

from erlbench.errors import UsageError, warn
from erlbench.files import Unusable, new_file, read_bytes, read_json, read_toml, readable, reason, table_in, writable
from erlbench.records import run as records
from erlbench.records.run import ASIDE, CONFIG, EVENTS, KIND, META, POLICIES, STATUS

Hide = Callable[[str], str]

SUFFIX = ".zip"
MOST_FILES, MOST_BYTES = 60_000, 4 * 2**30
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the time of all files: the same runs give the same bytes
SMALL = (CONFIG, META, EVENTS, STATUS)  # may name people and machines; status.json has checksums of the others
LARGE = (*records.ROWS, records.POLICY)
STUDY = "study.toml"  # in a folder of results, as `erlbench.experiment.studies` reads it
NAMES_OF_MANY = frozenset({"root", "user", "users", "home", "host", "localhost", "ubuntu", "runner", "worker"})
BROKEN = (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error)

_NAME = re.compile(
    rf"(?:\w[\w .@+()=,-]{{0,199}}/){{1,9}}(?:{re.escape(STUDY)}|seed-\d{{1,20}}(?:{re.escape(ASIDE)}\d{{1,6}})?"
    rf"/(?:{'|'.join(map(re.escape, (*SMALL, *LARGE)))}|{POLICIES}/\d{{1,9}}\.safetensors))"
)
_UNUSUAL = re.compile(r"^\W|[^\w .@+()=,-]")  # characters of the names of folders that `_NAME` lacks
_HOMES = r"(?:/home|/Users)/[^/\s'\":;,]+|/root(?![\w-])"


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
        entries = _list_files(file)
        with zipfile.ZipFile(file) as archive:
            archive.extractall(place, entries)
    except BROKEN as error:
        raise UsageError(f"{file} cannot be read as a bundle: {reason(error)[:200]}") from error
    tops = list(place.iterdir())
    return tops[0] if len(tops) == 1 else place


def _list_files(file: Path) -> list[zipfile.ZipInfo]:
    """The files in a bundle; `Unusable`, or another of `BROKEN`, where it is none."""
    entries: list[zipfile.ZipInfo] = []
    if not (is_too_large := file.stat().st_size > MOST_BYTES):
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
        is_too_large = len(entries) > MOST_FILES or sum(entry.file_size for entry in entries) > MOST_BYTES
    if is_too_large:
        raise Unusable(f"it has more than {MOST_FILES:,} files or 4 GiB; name fewer folders")
    for entry in entries:
        if not _NAME.fullmatch(entry.orig_filename):
            raise Unusable(f"it holds a file that no run has: {entry.orig_filename[:80]!r}")
    if not len({entry.filename.casefold() for entry in entries}) == len(entries) > 0:
        raise Unusable("it holds a file twice" if entries else "it has no runs")
    return entries


def write_bundle(folders: Sequence[Path], target: Path) -> int:
    """Write the runs below `folders` to the zip file `target`; how many. The original files stay as they are.

    Raises `UsageError` for folders without runs, for files that cannot be read, and where something else is `target`.
    """
    try:
        is_free = not os.path.lexists(target) or (is_bundle(target) and not target.is_symlink() and _list_files(target))
    except BROKEN:
        is_free = False
    if target.suffix != SUFFIX or not is_free:
        raise UsageError(f"{target} is no bundle, or not a name of one; choose another that ends with {SUFFIX}")
    runs = _find_runs(folders, hide := name_hider())
    new, named = target.with_name(f".{target.name}"), ""
    try:
        with writable(target):
            with open(new_file(new), "wb") as file, zipfile.ZipFile(file, "w") as archive:
                for name, data in _read_files(runs, hide):
                    text = name + data.decode(errors="replace") if Path(name).name in (*SMALL, STUDY) else name
                    named = named or (name if hide(text) != text else "")
                    archive.writestr(zipfile.ZipInfo(name, EARLIEST), data, zipfile.ZIP_DEFLATED)
            _list_files(new)  # what can be read again, and nothing else, is a bundle
            new.replace(target)
    except Unusable as error:
        raise UsageError(f"{target} cannot be written: {error}") from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
    if named:
        warn(f"{named} still has the name of this user or host: in the study, or as a part of a run's own names")
    return len(runs)


def _find_runs(folders: Sequence[Path], hide: Hide) -> dict[str, Path]:
    """The folders of the runs by their names in the bundle, which begin with the name of their folder of results."""
    runs: dict[str, Path] = {}
    for folder in folders:
        for run in records.require_runs(folder):
            inside = run.relative_to(folder).parts
            first, *others = (*folder.resolve().parts, *inside)[-max(3, len(inside) + 1) :]
            name = "/".join(_UNUSUAL.sub("_", segment) for segment in (hide(first), *others))
            if runs.setdefault(name, run) != run:
                raise UsageError(f"{run} and {runs[name]} would have one name in the bundle; rename one's folder")
    return runs


def _read_files(runs: dict[str, Path], hide: Hide) -> Iterator[tuple[str, bytes]]:
    """Names and contents in the bundle: of studies, which stay as they are, of runs, and of those moved aside."""
    studies = dict[str, bytes]()
    tops = dict.fromkeys((name.rsplit("/", 3)[0], run.parents[2]) for name, run in runs.items() if name.count("/") > 2)
    for top, folder in tops:
        for file, data in _read(folder, [STUDY], f"{top}/"):
            if studies.setdefault(file, data) != data:
                raise UsageError(f"{folder / STUDY} is not the other {file} of the bundle; rename one's folder")
    yield from studies.items()
    for name, run in runs.items():
        for folder in (run, *sorted(run.parent.glob(f"{run.name}{ASIDE}*"))):
            place = f"{name}{folder.name.removeprefix(run.name)}/"
            yield from ((place + file, data) for file, data in _redact(folder, hide).items())
            yield from _read(folder, LARGE if folder == run else ["eval.csv"], place)
        policies = sorted(path.name for path in (run / POLICIES).glob("*.safetensors"))
        yield from _read(run / POLICIES, policies, f"{name}/{POLICIES}/", inside=2)


def _read(folder: Path, names: Sequence[str], place: str = "", inside: int = 1) -> Iterator[tuple[str, bytes]]:
    """The files that are there, by their names in the bundle."""
    for path in (folder / name for name in names if os.path.lexists(folder / name)):
        with readable(path):
            data = read_bytes(path, inside=inside)
        yield place + path.name, data


def _redact(folder: Path, hide: Hide) -> dict[str, bytes]:
    """The `SMALL` files of a run as a bundle has them.

    status.json has the checksums of those that changed, and under `redacted` their former checksums. meta.json has the
    hash of a config.toml that changed, so that the files still agree.
    """
    files, sent = dict(_read(folder, SMALL)), dict[str, bytes]()
    for name, data in files.items():
        with readable(folder / name):
            if name == EVENTS:
                sent[name] = hide(data.decode()).encode()
                continue
            tables = (read_toml if name == CONFIG else read_json)(folder / name, inside=1)
            if not isinstance(tables, dict):
                raise Unusable("no object of JSON")
            hidden = _redact_value(tables, hide)
            if name == CONFIG and "run" in tables:  # environment, algorithm and run keep their names
                hidden["run"] = tables["run"]
            if name == CONFIG and (sources := table_in(table_in(hidden, KIND), "sources")):
                # Event files of TensorBoard have the host in their names.
                hidden[KIND]["sources"] = {hide(file): checksum for file, checksum in sources.items()}
            text = tomli_w.dumps(hidden) if name == CONFIG else f"{json.dumps(hidden, indent=2)}\n"
            sent[name] = data if hidden == tables else text.encode()
    if CONFIG in sent and META in sent:
        before, after = (hashlib.sha256(version[CONFIG]).hexdigest().encode() for version in (files, sent))
        sent[META] = sent[META].replace(before, after)
    if STATUS in sent:
        status = json.loads(sent[STATUS])
        sums = dict(table_in(status, "files"))
        redacted = {name: sums[name] for name in sorted(sums.keys() & sent) if sent[name] != files[name]}
        if redacted:
            sums |= {name: records.data_checksum(sent[name]) for name in redacted}
            status |= {"files": sums, records.REDACTED: redacted}
            sent[STATUS] = f"{json.dumps(status, indent=2)}\n".encode()
    return sent


def _redact_value(value: Any, hide: Hide) -> Any:
    if isinstance(value, dict):
        return {name: _redact_value(item, hide) for name, item in value.items() if name != "command_line"}
    if isinstance(value, list):
        return [_redact_value(item, hide) for item in value]
    return hide(value) if isinstance(value, str) else value


def name_hider() -> Hide:
    """A function that puts `~`, `user` and `host` in the places of home folders, this user's name and this host's."""
    home, node = os.path.expanduser("~"), platform.node()
    names = {node: "host", node.partition(".")[0]: "host", Path(home).name: "user"}
    with suppress(OSError, KeyError, ImportError):
        names[getpass.getuser()] = "user"
    words = sorted((name for name in names if len(name) > 1 and name not in NAMES_OF_MANY), reverse=True)
    word = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, words)) or '(?!)'})(?![^\W_])")
    homes = [rf"{re.escape(place)}(?![\w-])" for place in (home, os.path.realpath(home)) if len(place) > 1]
    folder = re.compile("|".join([*homes, _HOMES]))
    return lambda text: word.sub(lambda match: names[match[0]], folder.sub("~", text))
