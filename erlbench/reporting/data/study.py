"""A study under a written plan: its runs and journal, which seeds are complete, what may be shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from erlbench.errors import UsageError
from erlbench.experiment import journal
from erlbench.experiment.departures import Departure, of_run, planned_cell
from erlbench.experiment.plan import FILE, Plan, PlannedCell
from erlbench.experiment.plan_file import read_plan
from erlbench.records.read import ignore
from erlbench.records.run import ASIDE, RunFiles, run_folders, starts
from erlbench.records.schema import TaskRow
from erlbench.reporting.data.runs import Run
from erlbench.words import counted


@dataclass(frozen=True)
class Record:
    """What the files of one run say of it, be it planned or not."""

    path: Path
    config: Mapping[str, Any]
    meta: Mapping[str, Any]
    status: str

    @property
    def seed(self) -> int | None:
        """Its seed; None where config.toml does not say."""
        run = self.config.get("run")
        seed = run.get("seed") if isinstance(run, Mapping) else None
        return seed if isinstance(seed, int) else None

    @property
    def label(self) -> str:
        """How messages name it: its folder below that of the results."""
        return "/".join(self.path.parts[-3:])

    @property
    def starts(self) -> list[dict[str, Any]]:
        """Its starts."""
        return starts(self.meta)


@dataclass(frozen=True)
class PlannedStudy:
    """The folder of a plan with all runs in it."""

    folder: Path
    plan: Plan
    records: tuple[Record, ...]
    aside: tuple[Record, ...]  # runs that were moved aside
    journal: tuple[Mapping[str, Any], ...]

    @cached_property
    def differing(self) -> list[Departure]:
        """In what the settings of the runs depart from the plan."""
        return [one for record in self.records for one in of_run(self.plan, record.config, record.label)]

    @cached_property
    def done(self) -> Mapping[tuple[str, int], Record]:
        """The finished runs that are as planned, by the label of their cell and their seed."""
        found = {}
        for record in self.records:
            cell = planned_cell(self.plan, record.config)
            if cell is None or record.seed is None or record.status != "done":
                continue
            if not of_run(self.plan, record.config, record.label):
                found[cell.label, record.seed] = record
        return found

    @cached_property
    def complete(self) -> tuple[int, ...]:
        """The planned seeds, in their order, of which every cell has finished."""
        labels = [cell.label for cell in self.plan.cells]
        return tuple(seed for seed in self.plan.assigned_seeds() if all((one, seed) in self.done for one in labels))

    @cached_property
    def reached(self) -> tuple[int, ...]:
        """The looks whose seeds, the first of the plan, are complete."""
        seeds = self.plan.assigned_seeds()
        return tuple(look for look in self.plan.test.looks if set(seeds[:look]) <= set(self.complete))

    @cached_property
    def open_seeds(self) -> frozenset[int]:
        """The seeds of the last look that was reached: only their scores may be seen."""
        return frozenset(self.plan.assigned_seeds()[: self.reached[-1] if self.reached else 0])

    @cached_property
    def withheld(self) -> frozenset[Path]:
        """The folders of runs of planned cells that no report shows yet."""
        return frozenset(
            record.path.resolve()
            for record in self.records
            if planned_cell(self.plan, record.config) and record.seed not in self.open_seeds
        )

    def runs_of(self, cell: PlannedCell, seeds: Sequence[int], runs: Mapping[Path, Run]) -> list[Run] | None:
        """The cell's runs with these seeds; None while one is missing or cannot be read. `runs` are by folder."""
        paths = [self.done[cell.label, seed].path.resolve() for seed in seeds if (cell.label, seed) in self.done]
        found = [runs[path] for path in paths if path in runs]
        return found if len(found) == len(seeds) else None

    def core_hours(self, runs: Mapping[Path, Run]) -> tuple[float, bool]:
        """What the complete seeds cost: processor time where tasks.csv has it for all, else time of training."""
        paths = [self.done[cell.label, seed].path for cell in self.plan.cells for seed in self.complete]
        processor = [_processor_seconds(path) for path in paths]
        if all(seconds is not None for seconds in processor):
            return sum(seconds or 0.0 for seconds in processor) / 3600, True
        return sum(runs[path.resolve()].train_time_s for path in paths if path.resolve() in runs) / 3600, False


def folder_of_results(run: Run) -> Path:
    """The folder that a run was written to by `--out`."""
    return run.path.resolve().parent.parent.parent


def studies_of(folders: Iterable[Path], runs: Iterable[Run]) -> list[PlannedStudy]:
    """The studies of the folders and of the folders that runs lie in, `OUT/<env>/<name>/seed-NNN`."""
    places = {place.resolve(): place for place in (*map(folder_of_results, runs), *folders)}
    return [read_study(place) for place in places.values() if (place / FILE).exists()]


def check_open(folders: Iterable[Path], runs: Iterable[Run]) -> None:
    """Raise `UsageError` where a plan withholds some of the runs."""
    for study in studies_of(folders, runs):
        if study.withheld:
            raise UsageError(
                f"{study.folder} is under a plan, and {counted(len(study.withheld), 'run')} of it may not be seen "
                "before its next look; `erlbench report` says how far it is"
            )


def read_study(folder: Path) -> PlannedStudy:
    """The study in a folder of results. Raises `UsageError` for a plan that cannot be read."""
    runs = [_record(path) for path in run_folders(folder)]
    aside = [_record(path) for path in folder.glob(f"*/*/*{ASIDE}*") if path.is_dir()]
    return PlannedStudy(folder, read_plan(folder / FILE), tuple(runs), tuple(aside), tuple(journal.read(folder)))


def _record(path: Path) -> Record:
    run = RunFiles(path)
    try:
        config = run.config()
    except (OSError, ValueError):
        config = {}
    return Record(path, config, run.meta(), str(run.status().get("status") or "unknown"))


def _processor_seconds(path: Path) -> float | None:
    """The processor time of a run's tasks; None where the file does not say."""
    tasks = RunFiles(path).rows(TaskRow, ignore)
    if tasks is None or (len(tasks) and tasks["cpu_s"].isna().all()):
        return None
    return float(sum(tasks["cpu_s"].dropna()))
