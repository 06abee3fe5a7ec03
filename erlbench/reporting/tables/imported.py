"""The table of imported runs: whose they are, which program wrote them, and what nobody says of them."""

from __future__ import annotations

from dataclasses import dataclass

from erlbench.records.config import Imported
from erlbench.reporting.data.comparison import Comparison
from erlbench.reporting.data.runs import Run
from erlbench.reporting.documents.formats import NONE
from erlbench.reporting.documents.model import Column, Table


@dataclass(frozen=True)
class ImportedRuns:
    """One row: the runs of one origin, in one environment, under one name."""

    env: str
    name: str
    about: Imported
    runs: tuple[Run, ...]

    @property
    def unknown(self) -> str:
        """What its files do not say, of what tables and figures read."""
        run = self.runs[0]
        last = run.evaluations
        known = {
            "budget": bool(run.total_timesteps),
            "settings": bool(run.settings),
            "training time": bool(len(last)) and last.train_time_s[-1] == last.train_time_s[-1],
            "steps beside training": bool(len(last)) and last.fitness_timesteps[-1] == last.fitness_timesteps[-1],
            "gradient steps": bool(len(last)) and last.critic_updates[-1] == last.critic_updates[-1],
        }
        return ", ".join(name for name, there in known.items() if not there) or NONE


def imported_table(comparison: Comparison) -> Table[ImportedRuns] | None:
    """The imported runs of a page; None without any."""
    found: dict[tuple[str, str, str, str], list[Run]] = {}
    for run in comparison.runs:
        if run.imported:
            found.setdefault((run.env, run.name, run.imported.origin, run.imported.format), []).append(run)
    rows = [
        ImportedRuns(env, name, runs[0].imported, tuple(runs))
        for (env, name, _, _), runs in found.items()
        if runs[0].imported is not None
    ]
    if not rows:
        return None
    columns: list[Column[ImportedRuns]] = [
        Column("Environment", lambda row: row.env),
        Column("Algorithm", lambda row: row.name),
        Column("Seeds", lambda row: ", ".join(str(run.seed) for run in row.runs)),
        Column("Origin", lambda row: row.about.origin, note="as the person said who imported them."),
        Column("Licence", lambda row: row.about.licence or NONE),
        Column("Read from", lambda row: row.about.format),
        Column("Returns are of", lambda row: row.about.returns,
               note="training episodes: running means of the last 100, of a policy that explores; they are compared "
               "with no evaluations."),
        Column("Not recorded", lambda row: row.unknown),
    ]  # fmt: skip
    remarks = ("Other programs made these runs. Nothing of them was computed again here.",)
    return Table("imported", comparison.heading("imported runs"), columns, rows, remarks)
