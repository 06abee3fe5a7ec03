"""Training results in files of other programs: Stable-Baselines3, CleanRL, and tables with a row for each evaluation.

The files are data of strangers: regular files of at most `LARGEST` bytes, packed or not, numbers without pickles.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from erlbench.errors import UsageError, nearest, warn
from erlbench.files import Table, Values, printable, read_bytes, readable
from erlbench.records.run import folders

LARGEST, MOST_ROWS = 256 * 2**20, 5_000_000
LARGEST_NUMBER = 1e100  # sums and squares of these are finite
MOST_STEPS, MOST = 2**53, 2**31 - 1  # what a float64 counts; of seeds and of the steps of an episode
SB3, CLEANRL, TABLE = "sb3", "cleanrl", "imported"  # programs
ARCHIVES = ("evaluations.npz", "final_evaluation.npz")
ARRAYS = ("timesteps", "results", "ep_lengths", "successes")  # the last two may be missing
MONITOR, EVENTS = "monitor.csv", ".tfevents."
FORMATS = (
    f"{ARCHIVES[0]}, {MONITOR}, TensorBoard's event files, or a CSV with the columns env, algo, seed, step, return"
)
WHOLE = {"seed": (0, MOST), "step": (0, MOST_STEPS), "l": (1, MOST)}  # columns of whole numbers with their limits
NOUNS = {"step": "steps", "l": "lengths", "return": "returns", "t": "times"}
SUCCESS = ("success", "is_success")  # columns of a monitor file; the first one that is there counts
TRUTH = {"true": "1", "false": "0", "none": "", "nan": ""}
THOUSANDS = re.compile(r"\d{1,3}([.,]\d{3})+")
NUMBER = re.compile(r"[0-9]{1,15}")
KEYS = ("seed", "total_timesteps")  # of CleanRL's settings, which are a text of lines |setting|value|
CLEANRL_SETTING = re.compile(r"^\|(\w+)\|(.*)\|$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class ForeignRun:
    """What the files of one run hold: evaluations, episodes of training, or both.

    `evaluations` has timesteps, return_mean, returns, lengths and success, the last three with a tuple for each
    evaluation, which is empty where the file lacks it. `episodes` has r, l, t, timesteps and success, NaN where the
    file lacks it. Steps and seconds go on counting where the program started again. `names` are env, algo, seed and
    total_timesteps as the text of each file has them. `config` are the tables of config.toml, once they are known.
    """

    paths: Sequence[Path]
    program: str
    format: str
    names: Sequence[Values]
    evaluations: pd.DataFrame = field(default_factory=pd.DataFrame)
    episodes: pd.DataFrame = field(default_factory=pd.DataFrame)
    notes: Sequence[str] = ()
    config: Table = field(default_factory=dict)


def read_runs(path: Path) -> Iterator[ForeignRun]:
    """The runs in a file, or in a folder and all below it.

    Raises `UsageError` for a file that cannot be read, and where there is none.
    """
    if path.is_dir():
        within = ([file for file in sorted(folder.iterdir()) if _is_of_run(file)] for folder in folders(path, warn))
        runs = [run for files in within if (run := _read_files(files))]
        if not runs:
            raise UsageError(f"{path} holds nothing to import; there may be {FORMATS}, which is named as a file")
        yield from runs
    elif not path.exists():
        raise UsageError(f"{path} does not exist")
    elif run := _read_files([path]):
        yield run
    elif path.suffix.lower() == ".csv":
        yield from read_table(path)
    else:
        raise UsageError(f"{path} is nothing that can be imported; give {FORMATS}")


def _is_of_run(path: Path) -> bool:
    """Whether a file may be one of a run by its name; hidden ones and other arrays are of other programs."""
    is_other = path.name.startswith(".") or (path.suffix == ".npz" and path.name not in ARCHIVES)
    return not is_other and not path.is_dir()


def _read_files(files: Sequence[Path]) -> ForeignRun | None:
    """The one run that the files of a folder are of.

    Of Stable-Baselines3 these are evaluations of EvalCallback, training episodes of Monitor, or both.
    """
    archives = [path for path in files if path.suffix == ".npz"]
    monitors = [path for path in files if path.name.endswith(MONITOR)]
    events = [path for path in files if EVENTS in path.name]
    if not archives and not monitors:
        return read_events(events) if events else None
    names, notes, evaluations = list[Values](), list[str](), pd.DataFrame()
    for path in archives:  # the last one has all episodes of evaluations that evaluations.npz may have in part
        new = _read_archive(path, notes)
        earlier = evaluations[evaluations["timesteps"] < new["timesteps"].iloc[0]] if len(evaluations) else evaluations
        evaluations = pd.concat([earlier, new], ignore_index=True)
    episodes = _read_monitors(monitors, names, notes)
    if episodes.empty and evaluations.empty:
        refuse(monitors[0], "it has no row")
    return ForeignRun(
        paths=[*archives, *monitors],
        program=SB3,
        format="Stable-Baselines3's " + " and ".join([ARCHIVES[0]] * bool(archives) + [MONITOR] * bool(monitors)),
        names=names,
        evaluations=evaluations,
        episodes=episodes,
        notes=notes,
    )


def _read_archive(path: Path, notes: list[str]) -> pd.DataFrame:
    """Evaluations of arrays: steps (e,), returns, lengths and successes (e, episodes)."""
    arrays = _read_arrays(path)
    steps, returns = _check(path, "step", arrays["timesteps"]), _check(path, "return", arrays["results"])
    if steps.ndim != 1 or returns.ndim != 2 or len(steps) != len(returns) or not returns.size:
        refuse(path, f"timesteps {steps.shape} and results {returns.shape} are no evaluations of Stable-Baselines3")
    nothing = np.zeros((len(steps), 0))
    lengths, success = _check(path, "l", arrays.get("ep_lengths", nothing)), arrays.get("successes", nothing)
    if lengths.shape not in (returns.shape, nothing.shape):
        refuse(path, "ep_lengths are no lengths of the episodes of results")
    if success.size not in (0, returns.size) or not np.isfinite(success).all():
        success = nothing
        notes.append(f"{path.name} has successes of other episodes, which are left out")
    success = (success != 0).reshape(len(steps), -1).astype(int)
    starts = _find_starts(path, np.diff(steps) <= 0, notes)  # within a start the steps grow
    arrays = {"returns": returns, "lengths": lengths, "success": success}
    frame = pd.DataFrame({name: [*map(tuple, values.tolist())] for name, values in arrays.items()})
    frame["timesteps"], frame["return_mean"] = _check(path, "step", _count_on(steps, starts)), returns.mean(axis=1)
    return frame.drop_duplicates("timesteps")  # a start may evaluate what the last one did


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Numbers and truth values of an archive of numpy."""
    data = read_content(path)
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > LARGEST:
            refuse(path, f"it unpacks to more than {LARGEST >> 20} MiB")
        with np.load(BytesIO(data), allow_pickle=False) as file:
            if missing := [name for name in ARRAYS[:2] if name not in file]:
                refuse(path, f"it has no array {', '.join(missing)}{nearest(missing[0], file)}")
            arrays = {name: np.asarray(file[name]) for name in ARRAYS if name in file}
    except UsageError:
        raise
    except Exception as error:  # of zipfile, zlib and numpy there are a dozen
        refuse(path, f"it is no archive of arrays of numbers: {' '.join(str(error).split())[:200] or type(error)}")
    if others := [name for name, array in arrays.items() if array.dtype.kind not in "biuf"]:
        refuse(path, f"the array {others[0]} holds no numbers")
    return arrays


def _read_monitors(paths: Sequence[Path], names: list[Values], notes: list[str]) -> pd.DataFrame:
    """The training episodes of the files of one run, merged by the clock as Stable-Baselines3's `load_results` does it.

    Training steps are the lengths added up. Monitor appends to a file where it is told to, and its clock begins again.
    """
    frames = []
    for path in paths:
        header, rows = _read_cells(path, ("r", "l", "t"), notes)
        try:
            about = json.loads(header or "{}")
            begun, env = float(about.get("t_start", 0 if len(paths) == 1 else "")), about.get("env_id")
            if not abs(begun) < 1e12:
                raise ValueError
        except (ValueError, RecursionError, AttributeError, TypeError, OverflowError):
            refuse(path, "its first line is no header of Stable-Baselines3's Monitor")
        names.append({"env": env if isinstance(env, str) and env != "None" else ""})
        if rows.empty:  # no episode of a worker has ended
            continue
        starts = _find_starts(path, np.diff(rows["t"]) < 0, notes)
        success = next((_read_success(path, rows[name]) for name in SUCCESS if name in rows), np.nan)
        seconds = _count_on(rows["t"].to_numpy(), starts)
        frames.append(rows[["r", "l"]].assign(t=seconds, begun=begun, success=success))
    if not frames:
        return pd.DataFrame()
    rows = pd.concat(frames)
    rows["t"] += rows["begun"] - rows["begun"].min()
    rows = rows.sort_values("t", kind="stable", ignore_index=True) if len(paths) > 1 else rows
    return rows.assign(timesteps=_check(paths[0], "step", rows["l"].cumsum()))


def _read_success(path: Path, cells: pd.Series) -> np.ndarray:
    """1.0 and 0.0, NaN where the environment gave none; as texts of truth values, numbers, or arrays of one."""
    texts = cells.str.strip("[] ").str.casefold().replace(TRUTH)
    values = pd.to_numeric(texts, errors="coerce").to_numpy(float)
    if (wrong := np.isnan(values) & (texts != "").to_numpy()).any():
        _refuse_cell(path, cells[wrong], "is neither true nor false")
    return np.where(np.isnan(values), np.nan, values != 0)


def read_table(path: Path) -> Iterator[ForeignRun]:
    """A CSV with any number of runs; several rows of one step are the episodes of one evaluation."""
    _, rows = _read_cells(path, ("env", "algo", "seed", "step", "return"))
    groups: Any = rows.groupby(["env", "algo", "seed"], sort=False)
    for (env, algo, seed), run in groups:
        frame = run.groupby("step")["return"].agg(["mean", tuple]).reset_index()
        frame.columns = pd.Index(["timesteps", "return_mean", "returns"])
        frame["lengths"] = frame["success"] = [()] * len(frame)
        if len(frame) == len(run):  # one row of a step may be a mean
            frame["returns"] = frame["lengths"]
        names = {"env": env, "algo": algo, "seed": int(seed)}
        yield ForeignRun(paths=[path], program=TABLE, format="CSV", names=[names], evaluations=frame)


def _read_cells(path: Path, needed: Sequence[str], notes: list[str] | None = None) -> tuple[str, pd.DataFrame]:
    """The first line where it is a comment, and columns of a table, each row under the number of its line.

    With `notes` of a program's file, a last line without its end is left out and noted: a run still writes it.

    Finite numbers in the columns `needed` but env and algo, else texts. Commas, semicolons or tabulators separate the
    cells, and headings may have capitals. Where no comma does, it may be the decimal sign: then a point is none, so
    that thousands are never guessed.
    """
    try:
        text, comment = read_content(path).decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        refuse(path, "it is no text in UTF-8; save it as that")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.startswith("#"):
        comment, _, text = text.partition("\n")
    if notes is not None and not text.endswith("\n"):
        text = text[: text.rfind("\n") + 1]
        notes.append(f"{path.name} ends within a row")
    if text.count("\n") > MOST_ROWS:
        refuse(path, f"it has more than {MOST_ROWS:,} lines")
    separator, begin = max(",;\t", key=text.partition("\n")[0].count), bool(comment)
    lines = csv.reader(StringIO(text), delimiter=separator, skipinitialspace=True, strict=True)
    try:
        rows = [(lines.line_num + begin, [cell.strip() for cell in row]) for row in lines if row]
    except csv.Error as error:
        refuse(path, f"line {lines.line_num + begin}: {error}")
    header = [name.casefold() for name in rows.pop(0)[1]] if rows else []
    if missing := [name for name in needed if header.count(name) != 1]:
        if missing[0] in header:
            refuse(path, f"it has several columns {missing[0]}")
        hint = nearest(missing[0], header) or f"; it has {printable(', '.join(header)[:100])}"
        refuse(path, f"it has no column {', '.join(missing)}{hint}")
    if not rows and notes is None:
        refuse(path, "it has no row")
    for line, row in rows:
        if len(row) != len(header):
            refuse(path, f"line {line} has {len(row)} cells, the header {len(header)}")
    frame = pd.DataFrame([row for _, row in rows], [line for line, _ in rows], header)
    frame = frame.loc[:, ~frame.columns.duplicated()].copy()
    numbers = [name for name in needed if name not in ("env", "algo")]
    commas = separator != "," and any(frame[name].str.contains(",").any() for name in numbers)
    signs = str.maketrans(",.", ".?") if commas else {}
    for name in numbers:
        cells = frame[name]
        if name in WHOLE and separator != "," and (wrong := cells.str.fullmatch(THOUSANDS)).any():
            _refuse_cell(path, cells[wrong], "may be thousands; write whole numbers as digits alone")
        values = pd.to_numeric(cells.str.translate(signs), errors="coerce")
        frame[name] = _check(path, name, values, cells, " where commas are decimal signs" * commas)
    return comment[1:].strip(), frame


def read_events(paths: Sequence[Path]) -> ForeignRun:
    """CleanRL: `charts/episodic_return` by global step, which counts all steps; it evaluates no policy."""
    if importlib.util.find_spec("tensorboard") is None:
        raise UsageError(f"{paths[0]} needs a package: pip install 'erlbench[exports]'")
    scalars: dict[str, list[tuple[float, float, float]]] = {}
    names, notes = list[Values](), list[str]()
    began: dict[int, float] = {}  # row -> when the file began in which it is the first one
    for path in paths:
        settings = b""
        for number, event in enumerate(_read_event_file(path, notes)):
            if number == 0:
                began[len(scalars.get("charts/episodic_return", []))] = event.wall_time
            for value in event.summary.value:
                rows = scalars.setdefault(value.tag, [])
                if value.tag == "hyperparameters/text_summary" and value.tensor.string_val:
                    settings = value.tensor.string_val[0]
                if value.tag.startswith("charts/episodic_") and value.HasField("simple_value"):
                    rows.append((event.step, value.simple_value, event.wall_time))
        values = dict(CLEANRL_SETTING.findall(settings.decode(errors="replace")))
        env = values.get("env_id") or values.get("gym_id", "")
        whole = {key: int(values[key]) for key in KEYS if NUMBER.fullmatch(values.get(key, ""))}
        names.append({"env": env, "algo": values.get("exp_name", ""), **whole})
    path, episodes = paths[0], pd.DataFrame(scalars.get("charts/episodic_return", []), columns=["step", "return", "t"])
    if episodes.empty:
        scalar_names = ", ".join(sorted(map(printable, scalars))[:5])
        refuse(path, f"it has no charts/episodic_return; its scalars are {scalar_names or 'none'}")
    lengths = _check(path, "l", [length for _, length, _ in scalars.get("charts/episodic_length", [])])
    steps, returns, _ = (_check(path, name, episodes[name]) for name in ("step", "return", "t"))
    starts = _find_starts(path, np.diff(steps) < 0, notes)
    begins = pd.Series(began).reindex(episodes.index).fillna(episodes["t"]).clip(upper=episodes["t"])
    seconds = episodes["t"] - begins.groupby(starts.cumsum()).transform("first")
    lasting = lengths if len(lengths) == len(steps) else np.nan
    episodes = pd.DataFrame({"timesteps": _check(path, "step", _count_on(steps, starts)), "r": returns, "l": lasting})
    episodes = episodes.assign(t=_count_on(seconds.to_numpy(), starts), success=np.nan)
    return ForeignRun(
        paths=paths, program=CLEANRL, format="CleanRL's event files", names=names, episodes=episodes, notes=notes
    )


def _read_event_file(path: Path, notes: list[str]) -> Iterator[Any]:
    """The events of a file; one that is still written, or was cut off, ends with its last whole record."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.tensorflow_stub.errors import DataLossError, OutOfRangeError
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import PyRecordReader_New

    read_content(path)  # a regular file that is not too large
    reader = PyRecordReader_New(str(path))
    try:
        while True:
            reader.GetNext()
            yield Event.FromString(reader.record())
    except OutOfRangeError:
        return
    except DataLossError as error:
        if "truncated" not in str(error):
            refuse(path, error)
        notes.append(f"{path.name} ends within a record")
    except Exception as error:  # protobuf's errors, of which there are several
        refuse(path, f"it holds no events of TensorBoard ({type(error).__name__})")


def read_content(path: Path) -> bytes:
    """The bytes of a file; `UsageError` for none, for no regular file and for a large one."""
    with readable(path):
        return read_bytes(path, LARGEST)


def refuse(path: Path, why: object) -> NoReturn:
    """Raise the error of a file whose content does not fit its name."""
    raise UsageError(f"{path} cannot be imported: {why}")


def _refuse_cell(path: Path, cells: pd.Series, why: str) -> NoReturn:
    """The same for the first of the wrong cells of a column."""
    cell = printable(str(cells.iloc[0])[:40])
    refuse(path, f"line {cells.index[0]}: its column {cells.name} has {cell!r}, which {why}")


def _check(path: Path, name: str, values: Any, cells: pd.Series | None = None, hint: str = "") -> np.ndarray:
    """Finite numbers, whole ones within the limits of `WHOLE`; `cells` are their texts by lines."""
    array = np.asarray(values, np.float64)
    is_right, kind = np.abs(array) < LARGEST_NUMBER, f"number within ±{LARGEST_NUMBER:g}"
    if name in WHOLE:
        least, most = WHOLE[name]
        is_right &= (array % 1 == 0) & (array >= least) & (array <= most)
        kind = f"whole number from {least} to {most:,}"
    if not is_right.all():
        if cells is not None:
            _refuse_cell(path, cells[~is_right], f"is no {kind}{hint}")
        refuse(path, f"its {NOUNS[name]} are not all {kind}s")
    return array.astype(int) if name in WHOLE else array


def _count_on(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """A count (rows,) that begins again at each row of `starts`, as one that goes on."""
    return np.asarray(values + np.cumsum(np.where(starts, np.append(0, values[:-1]), 0)))


def _find_starts(path: Path, falls: np.ndarray, notes: list[str]) -> np.ndarray:
    """At which rows (rows,) the program started again, where a count falls from the row before; they are noted."""
    starts = np.append(False, falls)
    if starts.any():
        notes.append(f"{path.name} has {1 + starts.sum()} starts of one run, whose steps and times go on counting")
    return starts
