"""The public Python functions: run cells, read results as DataFrames, write a report."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import tomli_w

from erlbench.bundle import open_bundles
from erlbench.errors import ErlbenchError, Interrupted, UsageError, check_known, warn
from erlbench.files import Table, Values, readable
from erlbench.records.read import final_status, read_rows
from erlbench.records.run import CONFIG, IDENTITY, RunFiles, read_imported, require_runs, shared_cores
from erlbench.records.schema import EpisodeRow, EvaluationRow, GenerationRow, Row, TaskRow, header
from erlbench.words import counted

Names = str | Sequence[str]
Made = Any  # a name, a class, a function, or a list of these
Folder = str | Path
T = TypeVar("T")
RUN = ("algo", "preset", "workers", "eval_freq", "eval_episodes")  # of config.toml's table [run]
STATUS = (  # of status.json
    "status",
    "message",
    "timesteps",
    "total_timesteps",
    "train_time_s",
    "total_time_s",
    "paused_s",
)


@dataclass(frozen=True)
class Results:
    """The runs below some folders; each frame is read when it is asked for, and begins with `env`, `name`, `seed`."""

    runs: tuple[Path, ...]
    unpacked: Any = field(default=None, repr=False, compare=False)  # folders of bundles, which go with this object

    @property
    def cells(self) -> pd.DataFrame:
        """One row a run: status, counted steps, times in seconds, final score, settings as `settings.NAME`, folder."""
        rows = list(_read_each(_read_cell, self.runs))
        columns = (*IDENTITY, *RUN, *STATUS, "score", "path", "shared_cores")
        return pd.DataFrame(rows) if rows else pd.DataFrame(columns=pd.Index(columns))

    @property
    def evaluations(self) -> pd.DataFrame:
        """One row an evaluation: the columns of eval.csv; `returns` and `lengths` are tuples."""
        return self._read_rows(EvaluationRow)

    @property
    def episodes(self) -> pd.DataFrame:
        """One row a training episode: the columns of episodes.csv."""
        return self._read_rows(EpisodeRow)

    @property
    def tasks(self) -> pd.DataFrame:
        """One row a task of a worker process: the columns of tasks.csv."""
        return self._read_rows(TaskRow)

    @property
    def generations(self) -> pd.DataFrame:
        """One row an update of the search distribution: the columns of train.csv, which algorithms choose."""
        return self._read_rows(GenerationRow)

    def _read_rows(self, row: type[Row]) -> pd.DataFrame:
        """The rows of one kind of all runs; damage is left out with a warning. All columns of the schema are there."""

        def read(path: Path) -> pd.DataFrame | None:
            named = RunFiles(path).run_config()["run"]
            with readable(path / row.file):
                rows = read_rows(path, row, warn)
            if rows is None or not len(rows):
                return None
            identity = pd.DataFrame({column: named[column] for column in IDENTITY}, index=rows.index)
            return identity.join(rows.drop(columns=[*IDENTITY], errors="ignore"))

        paths = [path for path in self.runs if (path / row.file).exists()]
        frames = [frame for frame in _read_each(read, paths) if frame is not None]
        return pd.concat(frames or [pd.DataFrame(columns=pd.Index([*IDENTITY, *header(row)]))], ignore_index=True)

    def __repr__(self) -> str:
        return f"<{counted(len(self.runs), 'run')}; frames: cells, evaluations, episodes, tasks, generations>"


def _read_each(read: Callable[[Path], T], paths: Iterable[Path]) -> Iterator[T]:
    """What is read of each run; one with files of another kind is left out with a warning."""
    for path in paths:
        try:
            yield read(path)
        except UsageError as error:
            warn(error)


def _read_cell(path: Path) -> Table:
    """A row of `Results.cells`; values that the files lack are missing."""
    run = RunFiles(path)
    config, status = run.run_config(), final_status(run)
    row = {column: config["run"].get(column) for column in (*IDENTITY, *RUN)}
    row |= {column: status.get(column) for column in STATUS}
    score = status.get("return_mean") if status.get("status") == "done" else None  # else it is the last one so far
    row |= {"score": score, "path": str(path), "shared_cores": shared_cores(run.meta())}
    if about := read_imported(config):
        row |= {f"imported.{key}": value for key, value in about.table().items() if key != "sources"}
    for key, value in config["settings"].items():
        row[f"settings.{key}"] = tuple(value) if isinstance(value, list) else None if value == "none" else value
    return row


def run(algo: Made = (), env: Made = (), *, study: Names = (), quiet: bool | None = None, **options: Any) -> Results:
    """Train, as `erlbench run` does, and return the results; runs that are done already are only read.

    `algo` and `env` are names or lists of names; `study` takes the cells of studies instead. In place of a name, `algo`
    takes a class or function that makes an object with ask and tell (`erlbench.maximise`), and `env` takes an
    environment's class, or a function that makes one. `options` are the command's by their names: `seeds=5`,
    `total_timesteps=100_000`, `set={"population": 20}`, `env_set={"frame_skip": 2}`, `processes=4`, `jobs=2`,
    `out="results"`, `force=True`, ... Progress is shown in a terminal and in a notebook, and elsewhere with
    `quiet=False`; `quiet=True` shows errors only.

    Raises `erlbench.errors.UsageError` for a mistake in the arguments, `Interrupted` after Ctrl-C (everything is saved,
    the same call continues), and `ErlbenchError` when a cell failed; all other cells are finished then.
    """
    from erlbench.algorithms.registry import find_name
    from erlbench.envs.made import check_importable, name_environment
    from erlbench.experiment.arguments import OPTIONS, arguments
    from erlbench.experiment.requested_cells import requested_cells, run_options
    from erlbench.machine.process import check_device
    from erlbench.running.admission import make_rules, problem_finder
    from erlbench.running.command import run_cells
    from erlbench.running.progress import is_watched
    from erlbench.settings import setting_text

    _check_names(options, OPTIONS.keys() - {"dry_run", "verbose", "slurm"}, "run")
    options = {name: _to_python(value) for name, value in options.items()}
    envs, algos = (list(made) if isinstance(made, list | tuple) else [made] for made in (env, algo))
    for key in ("set", "env_set"):
        given = options.get(key, {})
        if not (isinstance(given, dict) and all(isinstance(name, str) for name in given)):
            raise UsageError(f"{key} must be a dict such as {{'population': 20}}, not {given!r}")
    named: Table = {
        "algo": tuple(made if isinstance(made, str) else find_name(made) for made in algos),
        "env": tuple(made if isinstance(made, str) else name_environment(made) for made in envs),
        "study": study,
        "quiet": (not is_watched() if quiet is None else quiet) or None,
    }
    texts = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    texts["env_set"] = {name: _to_toml(name, value) for name, value in options.get("env_set", {}).items()}
    texts["set"] = {name: setting_text(value) for name, value in options.get("set", {}).items()}
    request = arguments(named | texts)
    check_device(request.device)
    how = run_options(request, ("erlbench.run",))
    check_importable(request.env, how.processes)
    cells = requested_cells(request, problem_finder(make_rules(how, () if request.study else request.algo)))
    code = run_cells(cells, how)
    if code == Interrupted.exit_code:
        raise Interrupted(f"interrupted; the same call{' without force' * how.force} continues")
    results = Results(tuple(cell.directory for cell in cells if (cell.directory / CONFIG).exists()))
    if code:
        ended = results.cells.to_dict("records")
        failed = [f"{row['path']}: {row['message'] or row['status']}" for row in ended if row["status"] != "done"]
        refused = "a cell was refused: `erlbench verify` names the files that do not fit"
        raise ErlbenchError("; ".join(failed) or (refused if ended else "no run could begin; see above"))
    return results


def _to_python(value: Any) -> Any:
    """The value with Python's numbers and lists in place of NumPy's."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _to_python(item) for key, item in value.items()}
    return type(value)(map(_to_python, value)) if type(value) in (list, tuple) else value


def _to_toml(name: str, value: Any) -> Any:
    """The value of an environment's setting as config.toml will hold it; a `UsageError` where it cannot."""
    try:
        return tomllib.loads(tomli_w.dumps({name: value}))[name]
    except TypeError as error:
        raise UsageError(f"env_set: '{name}' must be a number, text, list or table, not {value!r}") from error


def _check_names(options: Values, valid: set[str], function: str) -> None:
    for name in options:
        check_known(name, valid, f"erlbench.{function}() has no option '{name}'")


def load_results(*folders: Folder) -> Results:
    """The runs below `folders` (default: `results`), which may be bundles; a `UsageError` where one has none."""
    unpacked = ExitStack()
    runs = dict[Path, None]()
    for folder in unpacked.enter_context(open_bundles(_paths(folders or ("results",)))):
        runs |= dict.fromkeys(require_runs(folder))
    return Results(tuple(runs), unpacked)


def report(*folders: Folder, out: Folder = "report", study: Names = (), **options: Any) -> Path:
    """Write the report of the runs below `folders` (default: `results`) as `erlbench report` does; its page's path.

    `study` restricts it to these studies. `options` are the command's by their names: `at=300_000` or
    `at="30min"`, `x="timesteps"`, `reach=(1000, 2000)`, `baseline="td3"`, `paper="style.toml"`, `reference="mine"`, ...

    Raises `UsageError` for a mistake in the arguments and when there is no run.
    """
    from erlbench.options import list_options, make_options
    from erlbench.reporting import requested_report
    from erlbench.reporting.options import ReportOptions

    _check_names(options, list_options(ReportOptions).keys() - {"results"}, "report")
    texts = {
        name: ",".join(map(str, value)) if isinstance(value, list | tuple) else value for name, value in options.items()
    }
    given = {"results": _paths(folders), "out": out, "study": study, **texts}
    return requested_report(make_options(ReportOptions, given))[0]


def _paths(names: Sequence[Folder]) -> list[Path]:
    for name in names:
        if not isinstance(name, str | Path) or name == "":
            raise UsageError(f"folders of results are given by their names, not as {name!r}")
    return [Path(os.path.expanduser(name)) for name in names]
