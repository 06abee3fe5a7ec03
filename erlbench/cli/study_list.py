"""`erlbench list studies`: the studies, how many of their runs are done, and what those that are missing cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from erlbench.cli.tables import print_table
from erlbench.errors import UsageError
from erlbench.experiment.arguments import arguments
from erlbench.experiment.cells import run_folder
from erlbench.experiment.command import RESULTS, requested_cells
from erlbench.experiment.estimate import estimate_cell
from erlbench.experiment.studies import FILE, known_studies
from erlbench.experiment.study import Study, study_text
from erlbench.records.run import RunFiles
from erlbench.running.admission import Rules, problems


def stored_studies() -> dict[str, Study]:
    """All studies that can be named here, with those that lie in folders of results."""
    files = (path for depth in ("*", "*/*") for path in sorted(RESULTS.glob(f"{depth}/{FILE}")))
    return known_studies(folders=[path.parent for path in files if not path.is_symlink()])


def print_studies(studies: Sequence[Study]) -> None:
    """A line for each study."""
    rows = []
    for study in studies:
        begun = []
        for name in study.profiles:
            missing, total = _find_missing(study, name)
            if missing < total or not name:
                begun.append(f"{name} {total - missing} of {total}".strip())
        source = study.published_source or study.source or "-"
        rows.append((study.name, source, ", ".join(begun) or "-", study.claim or study.title))
    print_table("", ("study", "source", "runs done", "claim or title"), rows)


def print_study(study: Study) -> None:
    """One study as its file has it, and the runs of each budget that are missing, with their price."""
    click.echo(f"\n{study_text(study.name, study.as_table)}\nSHA-256 {study.sha256}")
    rows, remarks = [], dict[str, None]()
    for name, profile in study.profiles.items():
        missing, total = _find_missing(study, name)
        try:
            price = _price(study, name)
        except UsageError as error:
            price, remarks[str(error)] = "-", None
        rows.append((name or "-", len(profile.seeds), total - missing, missing, price))
    title = f"{'Profiles' if study.has_profiles else 'Budget'} of {study.name}"
    print_table(title, ("profile", "seeds", "done", "missing", "core-hours"), rows)
    for remark in remarks:
        click.echo(remark)


def _results_folder(study: Study, profile: str) -> Path:
    return study.file.parent if study.file and study.file.name == FILE else RESULTS / (profile or study.name)


def _find_missing(study: Study, profile: str) -> tuple[int, int]:
    """How many runs of a study's profile are not done, and how many it has."""
    out, budget = _results_folder(study, profile), study.profiles[profile]
    pairs = [(env, entry.name) for entry in study.entries for env in budget.entry_envs(entry)]
    runs = [run_folder(out, env, name, seed) for env, name in pairs for seed in budget.seeds]
    return sum(not _is_done(run) for run in runs), len(runs)


def _is_done(run: Path) -> bool:
    return RunFiles(run).status().get("status") == "done"


def _price(study: Study, profile: str) -> str:
    """The core-hours of the runs that are missing; `UsageError` where there is no number."""
    problem_of = problems(Rules(anyway=True))
    request = {"study": (study.name,), "profile": profile or None, "out": str(_results_folder(study, profile))}
    cells = [cell for cell in requested_cells(arguments(request), problem_of) if not _is_done(cell.directory)]
    runs = Counter((cell.env, cell.name) for cell in cells)
    first = {(cell.env, cell.name): cell for cell in cells}  # seeds cost the same
    hours = sum(number * estimate_cell(first[key], 1, problem_of).core_seconds for key, number in runs.items()) / 3600
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"
