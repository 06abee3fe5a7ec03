"""A run's files as they are: whether they are complete, as the run wrote them, and agree with each other."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isclose, isnan
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from erlbench.algorithms import registry
from erlbench.envs.catalogue import find_module
from erlbench.files import Table, restore_hint, table_in
from erlbench.records.older import OF_FORMATS, read_version
from erlbench.records.read import read_rows
from erlbench.records.run import ASIDE, CONFIG, HASHED, REDACTED, RunFiles, checked, config_hash, read_imported, starts
from erlbench.records.schema import COUNTED, EpisodeRow, EvaluationRow, Row, TaskRow, header
from erlbench.records.training import MEASURED, WINDOW

if TYPE_CHECKING:
    import pandas as pd

AGREES, DIFFERS, UNKNOWN = "agrees", "differs", "cannot be verified"
DIGESTS = ("digest", "policy_sha256")  # columns of eval.csv
PRECISION = 1e-12  # of means and deviations: other programs add in another order
SEED_FOLDER = re.compile(rf"seed-(\d+)({re.escape(ASIDE)}\d+)?")
NOT_DONE = "the run is not done: its files go on after its last evaluation"
Findings = tuple[Sequence[str], str]  # what is wrong, and what was compared


class Check(NamedTuple):
    """The outcome of one check: `AGREES`, `DIFFERS` or `UNKNOWN`, and what was compared, or why it could not be."""

    name: str
    outcome: str
    text: str


class Unverifiable(Exception):
    """Why something cannot be verified."""


def make_check(name: str, function: Callable[..., Findings], *arguments: Any) -> Check:
    """The check by a function that returns what is wrong, of which three are named, or raises `Unverifiable`."""
    try:
        wrong, text = function(*arguments)
    except Unverifiable as reason:
        return Check(name, UNKNOWN, str(reason))
    if not wrong:
        return Check(name, AGREES, text)
    suffix = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    return Check(name, DIFFERS, "; ".join(wrong[:3]) + suffix)


@dataclass(frozen=True)
class Files:
    """A run's files as they are."""

    path: Path
    config: Table
    status: Table
    meta: Table
    rows: dict[type[Row], pd.DataFrame] = field(default_factory=dict)  # of files that are there and can be read
    damage: list[str] = field(default_factory=list)  # rows and files that were left out, each with the reason
    altered: list[str] = field(default_factory=list)  # files without their checksum of status.json, with the reason

    @property
    def evaluations(self) -> pd.DataFrame:
        """The rows of eval.csv; none without the file."""
        import pandas as pd

        return self.rows.get(EvaluationRow, pd.DataFrame(columns=pd.Index(header(EvaluationRow))))

    @property
    def last(self) -> Table:
        """The last row of eval.csv. Raises `Unverifiable` without one."""
        if self.evaluations.empty:
            raise Unverifiable("eval.csv is missing or has no row")
        return dict(self.evaluations.iloc[-1])

    @property
    def algo(self) -> str:
        return str(self.table("run").get("algo"))

    @property
    def env(self) -> str:
        return str(self.table("run").get("env"))

    @property
    def starts(self) -> list[Table]:
        """The starts that meta.json lists."""
        return starts(self.meta)

    @property
    def is_done(self) -> bool:
        """Whether the run is finished, by its status."""
        return self.status.get("status") == "done"

    def table(self, name: str) -> Table:
        """A table of config.toml; empty without one."""
        return dict(table_in(self.config, name))

    def rows_to_count(self, row: type[Row]) -> pd.DataFrame:
        """The rows of a file that the last evaluation counts. Raises `Unverifiable` where they may be others."""
        if row not in self.rows:
            raise Unverifiable(f"{row.file} is missing")
        if not self.is_done:
            raise Unverifiable(NOT_DONE)
        return self.rows[row]


def load_files(path: Path) -> Files:
    """The files of a run, each read once; raises `UsageError` when there is no run."""
    folder = RunFiles(path)
    run = Files(path, folder.readable_config("; give a run's folder"), folder.status(), folder.meta())
    kinds: dict[str, type[Row]] = {row.file: row for row in COUNTED}
    for name in (name for name in HASHED if os.path.lexists(path / name)):
        data, problem = checked(path / name, table_in(run.status, "files").get(name))
        run.altered.extend([f"{name} ({problem})"] if problem else [])
        if name in kinds:
            data = data if run.is_done else data[: data.rfind(b"\n") + 1]  # a running one writes on
            try:
                if (rows := read_rows(Path(), kinds[name], run.damage.append, data)) is not None:
                    run.rows[kinds[name]] = rows
            except ValueError as error:
                run.damage.append(f"{name}: {error}")
        del data  # files may be large: of one at a time there is more than its rows
    return run


def check_files(run: Files) -> Iterator[Check]:
    """Status, completeness, checksums, configuration, folder and damage; of an imported run what it can have."""
    status = str(run.status.get("status", "unknown"))
    yield Check("status", AGREES if run.is_done else UNKNOWN, f"the run is {status}")
    yield make_check("checksums", _check_sums, run)
    yield make_check("damage", lambda: (run.damage, "no row is damaged or repeated"))
    yield make_check("folder", _check_folder, run)
    if not read_imported(run.config):
        yield make_check("version", _check_version, run)
        yield make_check("config", _check_config, run)


def _check_version(run: Files) -> Findings:
    """Whether the run has all that its version writes, columns where that version also began it.

    Another program writes what it likes.
    """
    if run.algo not in registry.ALGORITHMS and not find_module(run.algo):
        raise Unverifiable(f"'{run.algo}' is no algorithm of the suite: another program wrote the files")
    version = read_version(run.meta)
    if not version:
        return ["meta.json does not name the version of erlbench, which each version writes"], ""
    has_format = version >= OF_FORMATS
    entries = ("starts", "format") if has_format else ("starts",)
    missing = [f"{name} in meta.json" for name in entries if not run.meta.get(name)]
    if has_format and (len(run.starts) < 2 or run.starts[0].get("format")):
        missing += [f"{name} in eval.csv" for name in DIGESTS if (run.evaluations[name] == "").any()]
    if has_format and run.is_done:
        summed = HASHED if any(start.get("config_sha256") for start in run.starts) else HASHED[: len(COUNTED) + 1]
        missing += [f"the checksum of {name}" for name in summed if name not in table_in(run.status, "files")]
    return missing, f"all that erlbench {'.'.join(map(str, version))} writes is there"


def _check_sums(run: Files) -> Findings:
    sums = table_in(run.status, "files")
    if not sums:
        raise Unverifiable("status.json has none: the run is not done, or an early version made it")
    missing = [name for name in sums if not (run.path / name).exists()]
    absent = f"not there: {', '.join(missing)}"
    if run.altered or EvaluationRow.file in missing:
        return run.altered or [f"{absent}; without eval.csv nothing is left of it"], ""
    if missing:  # published without its large files
        raise Unverifiable(f"{absent}; the others are as the run wrote them{restore_hint(run.path)}")
    if redacted := table_in(run.status, REDACTED):
        raise Unverifiable(f"{', '.join(redacted)}: redacted for a bundle, with a new checksum")
    return [], f"{', '.join(sums)} are as the run wrote them"


def _check_config(run: Files) -> Findings:
    recorded = [str(start["config_sha256"]) for start in run.starts if start.get("config_sha256")]
    if not recorded:
        raise Unverifiable("the run did not record with which config.toml it was started")
    wrong = [] if recorded[-1] == config_hash(run.path) else [f"{CONFIG} differs from the last start's"]
    return wrong, f"{CONFIG} fits the last of {len(run.starts)} starts"


def _check_folder(run: Files) -> Findings:
    name, seed = run.path.resolve().name, run.table("run").get("seed")
    if not (match := SEED_FOLDER.fullmatch(name)):
        raise Unverifiable(f"{name} is not the name of a seed's folder")
    wrong = [] if int(match[1]) == seed else [f"{CONFIG} has seed {seed}, the folder is {name}"]
    return wrong, f"the folder fits seed {seed}"


def check_rows(run: Files) -> Iterator[Check]:
    """Evaluations, episodes and tasks, and the scores of status.json."""
    for function in (_evaluations, _episodes, _tasks, _scores):
        name = function.__name__.strip("_")
        try:
            yield make_check(name, function, run)
        except (KeyError, TypeError, ValueError) as error:
            yield Check(name, DIFFERS, f"a row cannot be read: {error!r}")


def _evaluations(run: Files) -> Findings:
    """Means, deviations and steps against the single episodes."""
    rows, played, wrong = run.evaluations, 0, list[str]()
    if run.last and not any(rows["returns"]):
        raise Unverifiable("eval.csv names no single returns, as of a program that reports means only")
    for index, row in enumerate(rows.to_dict("records")):
        returns = row["returns"]
        played += sum(row["lengths"])
        expected = {
            "evaluation": index,
            "evaluation_timesteps": played,
            "return_mean": fmean(returns),
            "return_std": stdev(returns) if len(returns) > 1 else 0.0,
        }
        for name, value in expected.items():
            if not (isnan(row[name]) or _is_rounded(row[name], value, returns)):
                wrong.append(f"row {index}: {name} {row[name]}, not {value}")
    return wrong, f"mean, deviation and steps of {len(rows)} rows from their episodes"


def _is_rounded(recorded: float, value: float, returns: Sequence[float]) -> bool:
    """Whether a mean or a deviation of returns is `value` but for rounding, which is that of the returns near 0."""
    return isclose(recorded, value, rel_tol=PRECISION, abs_tol=PRECISION * max(map(abs, returns)))


def _episodes(run: Files) -> Findings:
    """Steps against the last evaluation; the training return of status.json."""
    episodes, last = run.rows_to_count(EpisodeRow), run.last
    counted, played = last["timesteps"] + last["fitness_timesteps"], episodes["l"].sum()
    text = f"{len(episodes):,} episodes have {played:,.0f} of {counted:,.0f} steps of training and fitness"
    if played != counted and read_imported(run.config):
        raise Unverifiable(f"{text}: another program need not end both together")
    # Whether the last episode may be open is not known of an algorithm that is not the suite's.
    is_open = played < counted and run.algo in registry.ALGORITHMS and registry.find(run.algo).open_episodes
    wrong = [] if played == counted or is_open else [text]
    recorded = run.status.get("training_return")
    trained = episodes[~episodes["kind"].isin(MEASURED)]["r"].tail(WINDOW).tolist()
    if isinstance(recorded, int | float) and not (trained and _is_rounded(recorded, fmean(trained), trained)):
        wrong.append(f"status.json has training_return {recorded}, not the mean of the last {len(trained)} episodes")
    return wrong, text


def _tasks(run: Files) -> Findings:
    """Steps and updates against the last evaluation."""
    tasks, last = run.rows_to_count(TaskRow), run.last
    is_evaluation = tasks["kind"] == "evaluation"
    totals = tasks[~is_evaluation][["critic_updates", "actor_updates", "timesteps"]].sum()
    totals["evaluation_timesteps"] = tasks["timesteps"][is_evaluation].sum()
    counted: dict[Any, Any] = {**last, "timesteps": last["timesteps"] + last["fitness_timesteps"]}
    wrong = [
        f"{name}: {total:,.0f} in tasks, {counted[name]:,.0f} counted"
        for name, total in totals.items()
        if total != counted[name]
    ]
    return wrong, f"{len(tasks):,} tasks have the steps and updates that were counted"


def _scores(run: Files) -> Findings:
    """The score of status.json against the last evaluation, and that against the budget."""
    last, wrong, imported = run.last, [], read_imported(run.config)
    if not (run.is_done or imported):
        raise Unverifiable(NOT_DONE)
    for name in ("return_mean", "timesteps"):
        recorded = run.status.get(name)
        if isinstance(recorded, int | float) and last[name] != recorded:
            wrong.append(f"status.json has {name} {recorded}, the last evaluation {last[name]}")
    budgets, minutes = {} if imported else run.table("run"), last["train_time_s"] / 60
    for key, reached, unit in (("total_timesteps", last["timesteps"], "steps"), ("total_minutes", minutes, "minutes")):
        budget = budgets.get(key)
        if budgets.get("total_generations") is not None or not isinstance(budget, int | float):
            continue
        if reached < budget:
            wrong.append(f"the last evaluation is after {reached:,.10g} of {budget:,} {unit}")
    return wrong, f"status.json has the last evaluation's {last['return_mean']:.6g}"
