"""A run's files as they are: whether they are complete, as the run wrote them, and agree with each other."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose, isnan
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from erlbench.algorithms import registry
from erlbench.envs.catalogue import module_of
from erlbench.files import table_in
from erlbench.records.config import imported_of
from erlbench.records.older import find_missing, version_of
from erlbench.records.read import parse_rows
from erlbench.records.run import ASIDE, CONFIG, HASHED, REDACTED, RunFiles, checked, config_hash, starts
from erlbench.records.schema import COUNTED, EpisodeRow, EvaluationRow, Row, TaskRow, header
from erlbench.records.training import MEASURED, WINDOW

if TYPE_CHECKING:
    import pandas as pd

AGREES, DIFFERS, UNKNOWN = "agrees", "differs", "cannot be verified"
PRECISION = 1e-12  # of means and deviations: other programs add in another order
EVALUATION = "evaluation"  # a task's kind
SEED_FOLDER = re.compile(rf"seed-(\d+)({re.escape(ASIDE)}\d+)?")


@dataclass(frozen=True)
class Check:
    """The outcome of one check: `AGREES`, `DIFFERS` or `UNKNOWN`, and what was compared, or why it could not be."""

    name: str
    outcome: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Files:
    """A run's files as they are; rows are None where a file is missing or cannot be read."""

    path: Path
    config: dict[str, Any]
    status: dict[str, Any]
    meta: dict[str, Any]
    rows: Mapping[type[Row], pd.DataFrame | None]
    damage: tuple[str, ...]  # rows and files that were left out, each with the reason
    altered: tuple[str, ...]  # files that do not have the checksum of status.json, each with the reason

    @property
    def evaluations(self) -> pd.DataFrame:
        """The rows of eval.csv; none without the file."""
        import pandas as pd

        rows = self.rows.get(EvaluationRow)
        return pd.DataFrame(columns=pd.Index(header(EvaluationRow))) if rows is None else rows

    @property
    def run(self) -> dict[str, Any]:
        """The table [run] of config.toml."""
        return self.table("run")

    @property
    def starts(self) -> list[dict[str, Any]]:
        """The starts that meta.json lists."""
        return starts(self.meta)

    @property
    def is_done(self) -> bool:
        """Whether its status says that the run is finished."""
        return self.status.get("status") == "done"

    @property
    def last(self) -> dict[str, Any]:
        """The last row of eval.csv; empty without one."""
        return {} if self.evaluations.empty else dict(self.evaluations.iloc[-1])

    def table(self, name: str) -> dict[str, Any]:
        """A table of config.toml; empty without one."""
        return dict(table_in(self.config, name))


def load_files(path: Path) -> Files:
    """The files of a run, each read once; raises `UsageError` when there is no run."""
    folder = RunFiles(path)
    config, status = folder.readable_config("; give a run's folder"), folder.status()
    sums = table_in(status, "files")
    altered: list[str] = []
    damage: list[str] = []
    rows: dict[type[Row], pd.DataFrame | None] = {}
    kinds: dict[str, type[Row]] = {row.file: row for row in COUNTED}
    for name in (name for name in HASHED if os.path.lexists(path / name)):
        data, problem = checked(path / name, sums.get(name))
        altered += [f"{name} ({problem})"] if problem else []
        if (row := kinds.get(name)) is None:
            continue
        whole = data if status.get("status") == "done" else data[: data.rfind(b"\n") + 1]  # a running one writes on
        del data  # files may be large: of one at a time there is more than its rows
        try:
            rows[row] = parse_rows(whole, row, Path(name), damage.append)
        except ValueError as error:
            damage.append(f"{name}: {error}")
        del whole
    return Files(
        path=path, config=config, status=status, meta=folder.meta(), rows=rows, damage=tuple(damage),
        altered=tuple(altered),
    )  # fmt: skip


def outcome(name: str, wrong: Sequence[str], text: str) -> Check:
    """`DIFFERS` with what is wrong, the first three named; `AGREES` with `text` where nothing is."""
    if not wrong:
        return Check(name, AGREES, text)
    more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    return Check(name, DIFFERS, "; ".join(wrong[:3]) + more)


def check_files(run: Files) -> Iterator[Check]:
    """Status, completeness, checksums, configuration, folder and damage; of an imported run what it can have."""
    status = str(run.status.get("status", "unknown"))
    yield Check("status", AGREES if run.is_done else UNKNOWN, f"the run is {status}")
    yield _check_sums(run)
    yield outcome("damage", run.damage, "no row is damaged or repeated")
    yield _check_folder(run)
    if not imported_of(run.config):
        yield _check_version(run)
        yield _check_config(run)


def _check_version(run: Files) -> Check:
    """Whether the run has all that its version writes; a program beside the suite writes what it likes."""
    algo = str(run.run.get("algo"))
    if algo not in registry.ALGORITHMS and not module_of(algo):
        return Check("version", UNKNOWN, f"'{algo}' is no algorithm of the suite: another program wrote the files")
    version = ".".join(map(str, version_of(run.meta))) or "of any version"
    wrong = find_missing(run.meta, run.starts, run.status, run.evaluations)
    return outcome("version", wrong, f"all that erlbench {version} writes is there")


def _check_sums(run: Files) -> Check:
    sums = table_in(run.status, "files")
    if not sums:
        return Check("checksums", UNKNOWN, "status.json has none: the run is not done, or an early version made it")
    missing = [name for name in sums if not (run.path / name).exists()]
    if run.altered:
        return Check("checksums", DIFFERS, "; ".join(run.altered))
    if EvaluationRow.file in missing:
        return Check("checksums", DIFFERS, f"not there: {', '.join(missing)}; without eval.csv nothing is left of it")
    if missing:  # published without its large files
        return Check("checksums", UNKNOWN, f"not there: {', '.join(missing)}; the others are as the run wrote them")
    if redacted := table_in(run.status, REDACTED):
        return Check("checksums", UNKNOWN, f"{', '.join(redacted)}: redacted for a bundle, with a new checksum")
    return Check("checksums", AGREES, f"{', '.join(sums)} are as the run wrote them")


def _check_config(run: Files) -> Check:
    recorded = [str(start["config_sha256"]) for start in run.starts if start.get("config_sha256")]
    if not recorded:
        return Check("config", UNKNOWN, "the run did not record with which config.toml it was started")
    wrong = [] if recorded[-1] == config_hash(run.path) else [f"{CONFIG} is not that of the last start"]
    return outcome("config", wrong, f"{CONFIG} is that of the last of {len(run.starts)} starts")


def _check_folder(run: Files) -> Check:
    name, seed = run.path.resolve().name, run.run.get("seed")
    if not (match := SEED_FOLDER.fullmatch(name)):
        return Check("folder", UNKNOWN, f"{name} is not the name of a seed's folder")
    wrong = [] if int(match[1]) == seed else [f"{CONFIG} has seed {seed}, the folder is {name}"]
    return outcome("folder", wrong, f"the folder is that of seed {seed}")


def check_rows(run: Files) -> Iterator[Check]:
    """Evaluations, episodes and tasks, and the scores of status.json."""
    for name, check in (("evaluations", _evaluations), ("episodes", _episodes), ("tasks", _tasks), ("scores", _scores)):
        try:
            yield check(run)
        except (KeyError, TypeError, ValueError) as error:
            yield Check(name, DIFFERS, f"a row cannot be read: {error!r}")


def _evaluations(run: Files) -> Check:
    rows = run.evaluations
    if rows.empty:
        return Check("evaluations", UNKNOWN, "eval.csv is missing or has no row")
    if not any(rows["returns"]):
        text = "eval.csv names no single returns, as of a program that reports means only"
        return Check("evaluations", UNKNOWN, text)
    played = 0
    wrong: list[str] = []
    for index, row in enumerate(rows.to_dict("records")):
        returns = row["returns"]
        played += sum(row["lengths"])
        expected = {
            "evaluation": index, "evaluation_timesteps": played, "return_mean": fmean(returns),
            "return_std": stdev(returns) if len(returns) > 1 else 0.0,
        }  # fmt: skip
        wrong += [f"row {index}: {name} {row[name]}, not {value}" for name, value in expected.items()
                  if not (isnan(row[name]) or isclose(row[name], value, rel_tol=PRECISION))]  # fmt: skip
    return outcome("evaluations", wrong, f"mean, deviation and steps of {len(rows)} rows from their episodes")


def _episodes(run: Files) -> Check:
    episodes = run.rows.get(EpisodeRow)
    if reason := _why_not_counted(run, EpisodeRow):
        return Check("episodes", UNKNOWN, reason)
    assert episodes is not None
    counted, played = run.last["timesteps"] + run.last["fitness_timesteps"], episodes["l"].sum()
    text = f"{len(episodes):,} episodes have {played:,.0f} of {counted:,.0f} steps of training and fitness"
    open_episode = played < counted and _leaves_open(str(run.run.get("algo")))
    wrong = [] if played == counted or open_episode else [text]
    recorded = run.status.get("training_return")
    trained = episodes[~episodes["kind"].isin(MEASURED)]["r"].tail(WINDOW).tolist()
    if isinstance(recorded, int | float) and not (trained and isclose(recorded, fmean(trained), rel_tol=PRECISION)):
        wrong.append(f"status.json has training_return {recorded}, not the mean of the last {len(trained)} episodes")
    return outcome("episodes", wrong, text)


def _why_not_counted(run: Files, row: type[EpisodeRow | TaskRow]) -> str:
    """Why the rows of a file cannot be compared with the last evaluation; empty where they can."""
    if run.rows.get(row) is None:
        return f"{row.file} is missing"
    if not run.last:
        return "there is no evaluation to compare with"
    return "" if run.is_done else "the run is not done: its files go on after its last evaluation"


def _leaves_open(algo: str) -> bool:
    """Whether runs of the algorithm may end within an episode; not known of one that is not the suite's own."""
    return algo in registry.ALGORITHMS and registry.find(algo).open_episodes


def _tasks(run: Files) -> Check:
    tasks = run.rows.get(TaskRow)
    if reason := _why_not_counted(run, TaskRow):
        return Check("tasks", UNKNOWN, reason)
    assert tasks is not None
    last, evaluating = run.last, tasks["kind"] == EVALUATION
    training = tasks[~evaluating]
    counted = {
        "critic_updates": (training["critic_updates"].sum(), last["critic_updates"]),
        "actor_updates": (training["actor_updates"].sum(), last["actor_updates"]),
        "steps": (training["timesteps"].sum(), last["timesteps"] + last["fitness_timesteps"]),
        "evaluation steps": (tasks["timesteps"][evaluating].sum(), last["evaluation_timesteps"]),
    }
    wrong = [f"{name}: {total:,.0f} in tasks, {n:,.0f} counted" for name, (total, n) in counted.items() if total != n]
    backwards = tasks["task"][tasks["end_s"] < tasks["start_s"]]
    wrong += [f"task {task} ends before it starts" for task in backwards]
    return outcome("tasks", wrong, f"{len(tasks):,} tasks have the steps and updates that were counted")


def _scores(run: Files) -> Check:
    if not run.last:
        return Check("scores", UNKNOWN, "there is no evaluation")
    wrong = []
    for name in ("return_mean", "timesteps"):
        recorded = run.status.get(name)
        if isinstance(recorded, int | float) and run.last[name] != recorded:
            wrong.append(f"status.json has {name} {recorded}, the last evaluation {run.last[name]}")
    budget, reached = run.run.get("total_timesteps"), run.last["timesteps"]
    minutes, trained = run.run.get("total_minutes"), run.last["train_time_s"] / 60
    if run.is_done and run.run.get("total_generations") is None:
        if isinstance(budget, int) and reached < budget:
            wrong.append(f"the last evaluation is after {reached:,} of {budget:,} steps")
        if isinstance(minutes, int | float) and trained < minutes:
            wrong.append(f"the last evaluation is after {trained:.6g} of {minutes:g} modelled minutes")
    return outcome("scores", wrong, f"status.json has the last evaluation's {run.last['return_mean']:.6g}")
