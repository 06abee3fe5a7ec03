"""A run's folder: the names and the contents of its files, and where runs are."""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from erlbench.errors import UsageError, warn
from erlbench.files import Unusable, read_bytes, read_json, read_toml, readable, reason, table_in
from erlbench.records.older import update_names
from erlbench.records.schema import COUNTED, EventRow

CONFIG, STATUS, META = "config.toml", "status.json", "meta.json"
IDENTITY: Mapping[str, type] = MappingProxyType({"env": str, "name": str, "seed": int})  # in config.toml's [run]
ROWS = tuple(row.file for row in COUNTED)  # what a run must never lose
EVENTS = EventRow.file
POLICY = "policy.safetensors"
HASHED = (*ROWS, POLICY, EVENTS, CONFIG, META)  # files whose checksums status.json of a finished run has
EDITED = f"was edited after the run: it has not the checksum of {STATUS}"
POLICIES = "policies"  # of evaluations on the way
CHECKPOINTS, REPLAY = "checkpoint", "replay"  # folders of a run that is under way
TRAINING_END = "training-end"  # the checkpoint from which a larger budget goes on
NEVER_TRAINED = "done, never trained"  # the status in words of a run that ended before its first gradient step
REDACTED = "redacted"  # in status.json of a run in a bundle: the checksums that files had before
FORMAT = 5  # of a run's files; another number for every change of what they are made of
ERROR = "error.txt"  # the traceback of a failed run
ASIDE = ".old-"  # in the name of a run's folder that was moved aside; a number follows
NOT_TRIED = "the environment was not tried"
_WITHOUT_RUNS = frozenset({CHECKPOINTS, REPLAY, TRAINING_END})
LONGEST = 200  # characters
_NAME = re.compile(r"\w[\w .:@+()=,-]*")  # of which new runs have fewer characters
KIND = "imported"  # `kind` in the table [run], and the name of the table with the rest
EVALUATIONS, TRAINING, UNSAID = "evaluations", "training episodes", "not recorded"
RETURNS = (EVALUATIONS, TRAINING, UNSAID)  # what the returns of eval.csv are of


class RunFiles:
    """The files of the run in the folder `path`, each read when it is asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def readable_config(self, advice: str = "") -> dict[str, Any]:
        """As `read_config` of config.toml. Raises `UsageError`, which ends with `advice`."""
        with readable(self.path / CONFIG, advice=advice):
            return read_config(self.path / CONFIG)

    def run_config(self) -> dict[str, Any]:
        """As `readable_config`, for a run: its tables `run`, `settings` and `env_settings` are there."""
        config = self.readable_config()
        tables = {name: table_in(config, name) for name in ("run", "settings", "env_settings")}
        if not all(type(tables["run"].get(name)) is kind for name, kind in IDENTITY.items()):
            raise UsageError(f"{self.path / CONFIG} is not of a run: its table [run] lacks env, name or seed")
        return config | tables

    def status(self) -> dict[str, Any]:
        """status.json, or an empty dict."""
        return _read_object(self.path / STATUS)

    def is_edited(self, name: str, data: bytes) -> bool:
        """Whether a file with this content has not its checksum of status.json."""
        return not is_as_written(data, table_in(self.status(), "files").get(name))

    def list_edits(self, *names: str) -> list[str]:
        """What is wrong with those of the files that have not their checksum of status.json."""
        sums = table_in(self.status(), "files")
        contents = ((self.path / name, *checked(self.path / name, None)) for name in names if name in sums)
        edited = (path for path, data, unread in contents if not unread and not is_as_written(data, sums[path.name]))
        return [f"{path} {EDITED}" for path in edited]

    def meta(self) -> dict[str, Any]:
        """meta.json, or an empty dict."""
        return _read_object(self.path / META)

    def has_rows(self) -> bool:
        """Whether a CSV file holds more than its header."""
        for path in (self.path / name for name in ROWS):
            if path.is_file():
                with suppress(OSError), open(path, "rb") as file:
                    lines = (line for line in file if line.strip() and not line.startswith(b"#"))
                    if len([*islice(lines, 2)]) == 2:
                        return True
        return False

    def has_checkpoint(self, folder: str = CHECKPOINTS) -> bool:
        """Whether there is a checkpoint, be it whole or not; a renamed copy of one is none.

        From one of `TRAINING_END` a larger budget can go on.
        """
        return any(path.name.isdigit() for path in (self.path / folder).glob("[0-9]*"))


def starts(meta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The starts that a run's meta.json lists, the oldest first; other values are left out."""
    return _dicts(meta.get("starts"))


def later_version(meta: Mapping[str, Any]) -> str:
    """The later version of the suite that wrote a run, in words; empty for none."""
    written = meta.get("format")
    is_later = isinstance(written, int) and written > FORMAT
    return f"a later version of erlbench (format {written}, here {FORMAT})" if is_later else ""


def shared_cores(meta: Mapping[str, Any]) -> bool | None:
    """Whether other cells of its command ran on a run's cores in any of its starts; None where no start records it."""
    recorded = [start for start in starts(meta) if type(start.get("cells_at_once")) is int]
    return any(start["cells_at_once"] > 1 and start.get("exclusive") is not True for start in recorded) or (
        False if recorded else None
    )


def admission_marks(meta: Mapping[str, Any]) -> list[str]:
    """Why a run may not be repeatable, by any of its starts, each once; empty where all is well or not recorded."""
    marks = []
    for start in starts(meta):
        admission = start.get("admission")
        if not isinstance(admission, Mapping):
            continue
        if isinstance(reason := admission.get("unrepeatable"), str) and reason:
            marks.append(f"the environment cannot be repeated: {reason[:300]}")
        elif admission.get("tried") is False:
            marks.append(NOT_TRIED)
    return list(dict.fromkeys(marks))


def read_repeats(run: Path, meta: Mapping[str, Any] | None = None) -> list[Mapping[str, Any]]:
    """The earlier runs of the folder `run`, the oldest first, as meta.json lists them in `repeats`.

    They are the folders `<run>.old-N` next to it, and the runs that these or the run itself list, which may be gone.
    `meta`: of the run, where it was read before.
    """
    by_folder: dict[str, Mapping[str, Any]] = {}
    for folder in (run, *sorted(run.parent.glob(f"{run.name}{ASIDE}*"))):
        of_folder = meta if folder is run and meta is not None else RunFiles(folder).meta()
        moved = [] if folder is run else [_entry(folder, of_folder)]
        for entry in (*_dicts(of_folder.get("repeats")), *moved):
            by_folder.setdefault(str(entry.get("folder")), entry)
    return sorted(by_folder.values(), key=lambda entry: (str(entry.get("started")), str(entry.get("folder"))))


def _entry(folder: Path, meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is known of a run that was moved aside to `folder`."""
    status = RunFiles(folder).status()
    return {
        "folder": folder.name,
        "status": str(status.get("status", "unknown")),
        "score": status.get("return_mean"),
        "timesteps": status.get("timesteps"),
        "started": str(next(iter(starts(meta)), meta).get("started", "")),
    }


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def scores_in_words(repeats: Iterable[Mapping[str, Any]]) -> str:
    """Earlier runs in a line: "done, score -1,455; failed"."""
    return "; ".join(map(_in_words, repeats))


def _in_words(entry: Mapping[str, Any]) -> str:
    score, status = entry.get("score"), str(entry.get("status", "unknown"))[:20]
    return f"{status}, score {score:,.4g}" if isinstance(score, int | float) else status


def checksum(length: int, crc: int) -> str:
    """Length in bytes and CRC-32, as status.json holds them."""
    return f"{length}:{crc:08x}"


def data_checksum(data: bytes) -> str:
    """The `checksum` of a file with this content."""
    return checksum(len(data), zlib.crc32(data))


def file_checksum(path: Path) -> str:
    """The `checksum` of a file as it is."""
    return data_checksum(read_bytes(path, inside=1))


def config_hash(folder: Path) -> str:
    """SHA-256 of the config.toml in a run's folder, as a start records it."""
    return hashlib.sha256(read_bytes(folder / CONFIG, inside=1)).hexdigest()


def checked(path: Path, recorded: Any) -> tuple[bytes, str]:
    """The content of a run's file, and what is wrong with it by its checksum in status.json (None: not known)."""
    try:
        data = read_bytes(path, inside=1)
    except (OSError, ValueError) as error:
        return b"", reason(error)
    return data, "" if recorded in (None, data_checksum(data)) else "edited or truncated"


def is_as_written(data: bytes, recorded: Any) -> bool:
    """Whether a text file has the checksum of status.json; None: not known.

    Line ends and a byte-order mark may differ: version control and editors change these, and no number with them.
    """
    plain = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    return recorded in (None, data_checksum(data), data_checksum(plain))


def run_folders(root: Path, warn: Callable[[str], None] = lambda message: None) -> list[Path]:
    """The folders of runs at or below `root`, in order; below it none that was moved aside. `warn`: see `folders`.

    They have config.toml, or status.json alone where the other was lost.
    """
    return sorted(
        path for path in folders(root, warn)
        if (path == root or ASIDE not in path.name) and any((path / name).is_file() for name in (CONFIG, STATUS))
    )  # fmt: skip


def folders(root: Path, warn: Callable[[str], None]) -> Iterator[Path]:
    """`root` and all folders below it in order, without those that a run keeps for itself.

    Links are followed once, and none in a run's folder. A folder that vanishes meanwhile is left out, and one that
    cannot be read, of which `warn` is told.
    """

    def leave_out(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            warn(f"{Path(error.filename)} cannot be read: {error.strerror}; left out")

    seen: set[Path] = set()
    for folder, names, files in os.walk(root, onerror=leave_out, followlinks=True):
        try:
            os.stat(os.path.join(folder, "."))  # as its files are: listing needs another permission
        except OSError as error:
            leave_out(error)
            names.clear()
            continue
        place = Path(folder).resolve()
        if place in seen:
            names.clear()
            continue
        seen.add(place)
        names[:] = sorted(set(names) - _WITHOUT_RUNS)
        if not {CONFIG, STATUS}.isdisjoint(files):
            names[:] = [name for name in names if not os.path.islink(os.path.join(folder, name))]
        yield Path(folder)


def require_runs(folder: Path) -> list[Path]:
    """As `run_folders`; a `UsageError` where there is none, a warning of what cannot be read."""
    if not (runs := run_folders(folder, warn)):
        reason = "is a file" if folder.is_file() else "holds no runs" if folder.is_dir() else "does not exist"
        raise UsageError(f"{folder} {reason}; give a folder such as results/Hopper-v5/td3/seed-000")
    return runs


def _read_object(path: Path) -> dict[str, Any]:
    """The object of a JSON file; empty where there is none that can be read."""
    try:
        value = read_json(path, inside=1)
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


# -- config.toml: names become folders of an export and words of a report; all commands refuse the same ones -----------


def read_config(path: Path) -> dict[str, Any]:
    """The tables of a run's config.toml, settings under the names of today; raises OSError and ValueError."""
    config = update_names(read_toml(path, inside=1))
    check_called(config)
    return config


def is_name(text: str) -> bool:
    """Whether a run can have this name: one folder, whose name begins no option."""
    return len(text) <= LONGEST and _NAME.fullmatch(text) is not None


def is_environment(text: str) -> bool:
    """Whether a text can be an environment's id with its preset and settings."""
    return len(text) <= LONGEST and all(map(is_name, text.split("/")))


def check_called(config: dict[str, Any]) -> None:
    """Raise `Unusable` where the table [run] of config.toml has a name, an environment or a seed that no run has."""
    run = config.get("run")
    if not isinstance(run, dict):
        return
    for key, noun, is_valid in (
        ("env", "environment", is_environment), ("name", "name", is_name), ("algo", "algorithm", is_environment),
        ("preset", "preset", is_environment),
    ):  # fmt: skip
        value = run.get(key, "")
        if not isinstance(value, str) or not (is_valid(value) or not value):
            raise Unusable(f"its {noun} is none that a run can have: {str(value)[:80]!r}")
    seed = run.get("seed", 0)
    if type(seed) is not int or seed < 0:
        raise Unusable(f"its seed is none that a run can have: {str(seed)[:80]!r}")


@dataclass(frozen=True)
class Imported:
    """Whose data a run is, which program wrote them, and what their returns are of."""

    format: str
    origin: str
    licence: str  # empty where not known
    returns: str  # of `RETURNS`
    sources: Mapping[str, str]  # file name -> SHA-256

    def table(self) -> dict[str, Any]:
        """The table [imported] of config.toml."""
        return {name: value for name, value in asdict(self).items() if name != "licence" or value}


def read_imported(config: Mapping[str, Any]) -> Imported | None:
    """What config.toml records of an imported run; None for a run of this suite."""
    entries = table_in(config, KIND)
    if table_in(config, "run").get("kind") != KIND:
        return None
    defaults = {"format": UNSAID, "origin": UNSAID, "licence": "", "returns": UNSAID}
    texts = {name: str(entries.get(name) or default)[:200] for name, default in defaults.items()}
    if texts["returns"] not in RETURNS:
        texts["returns"] = UNSAID
    return Imported(**texts, sources={name: str(value) for name, value in table_in(entries, "sources").items()})
