"""`erlbench list studies`: the studies, how many of their runs are done, and what those that are missing cost."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import click

from erlbench.cli.tables import print_table
from erlbench.errors import UsageError

if TYPE_CHECKING:
    from erlbench.experiment.study import Pair, Profile, Study


def stored_studies() -> dict[str, Study]:
    """All studies that can be named here, with those that lie in folders of results."""
    from erlbench.experiment.command import RESULTS
    from erlbench.experiment.studies import FILE, known_studies

    files = (
        path for depth in ("*", "*/*") for path in sorted(RESULTS.glob(f"{depth}/{FILE}")) if not path.is_symlink()
    )
    return known_studies(folders=[path.parent for path in files])


def describe_study(study: Study) -> str:
    """The text in which words are searched."""
    return f"{study.published_source} {study.table} {study.title} {study.claim} {study.source}"


def print_studies(studies: list[Study]) -> None:
    """A line for each study."""
    rows = []
    for study in studies:
        done = [(name, _done_runs(study, name), _run_count(study, profile)) for name, profile in study.profiles.items()]
        begun = [f"{name} {count} of {total}".strip() for name, count, total in done if count or not name]
        source = study.published_source or study.source or "-"
        rows.append((study.name, source, ", ".join(begun) or "-", study.claim or study.title))
    print_table("", ("study", "source", "runs done", "claim or title"), rows)


def print_study(study: Study) -> None:
    """Claim, entries and budgets of one study, with the runs that are missing and their price."""
    from erlbench.settings import setting_text

    click.echo()
    texts = [("claim", study.claim), ("source", study.source), ("SHA-256", study.sha256)]
    print_table(study.title, ("", ""), [row for row in texts if row[1]])
    click.echo()
    print_table(
        f"Entries of {study.name}",
        ("name", "algorithm", "preset", "workers", "label"),
        [(e.name, e.algo, e.preset, e.workers or "-", e.label) for e in study.entries],
    )
    if study.compare:
        pairs = [(pair.first, pair.second, _metric(pair), ", ".join(pair.envs) or "all") for pair in study.compare]
        click.echo()
        print_table(f"Pairs of {study.name}", ("first", "second", "compared", "environments"), pairs)
    rows, remarks = [], []
    for name, profile in study.profiles.items():
        done, total = _done_runs(study, name), _run_count(study, profile)
        price, remark = _price(study, name)
        settings = ", ".join(f"{key}={setting_text(value)}" for key, value in profile.settings.items()) or "-"
        count = len(profile.seeds)
        rows.append(
            (name or "-", count, _budget(study, profile), done, total - done, price, ", ".join(profile.envs), settings)
        )
        remarks += [remark] if remark and remark not in remarks else []
    click.echo()
    print_table(
        f"{'Profiles' if study.has_profiles else 'Budget'} of {study.name}",
        ("profile", "seeds", "budget", "done", "missing", "core-hours", "environments", "settings"),
        rows,
    )
    for remark in remarks:
        click.echo(remark)


def _metric(pair: Pair) -> str:
    """`curve, 80,000 to 100,000 steps`, with the claimed difference."""
    stretch = "" if pair.begin is None else f"{pair.begin:,g} to {pair.end:,g} {pair.axis}"
    score = "" if pair.score is None else f"{pair.score:g}"
    claimed = f"more by {pair.more_by}" if pair.more_by else f"less by {pair.less_by}" if pair.less_by else ""
    return ", ".join(filter(None, [pair.metric or "score", stretch, score, claimed]))


def _results_folder(study: Study, profile: str) -> Path:
    from erlbench.experiment.command import RESULTS
    from erlbench.experiment.studies import FILE

    in_results = study.file is not None and study.file.name == FILE
    return study.file.parent if in_results and study.file else RESULTS / (profile or study.name)


def _run_count(study: Study, profile: Profile) -> int:
    return len(profile.seeds) * sum(len(profile.entry_envs(entry)) for entry in study.entries)


def _done_runs(study: Study, profile: str) -> int:
    """How many of the runs of a study's profile are done."""
    from erlbench.experiment.cells import folder_name
    from erlbench.records.run import RunFiles

    out, budget = _results_folder(study, profile), study.profiles[profile]
    count = 0
    for entry in study.entries:
        folders = [out / folder_name(env) / entry.name for env in budget.entry_envs(entry)]
        for folder, seed in product([folder for folder in folders if folder.is_dir()], budget.seeds):
            count += RunFiles(folder / f"seed-{seed:03d}").status().get("status") == "done"
    return count


def _price(study: Study, profile: str) -> tuple[str, str]:
    """The core-hours of the runs that are missing, and why there is no number."""
    from erlbench.experiment.arguments import arguments
    from erlbench.experiment.command import requested_cells
    from erlbench.experiment.estimate import estimate_cell
    from erlbench.records.run import RunFiles
    from erlbench.running.admission import Rules, problems

    problem_of = problems(Rules(anyway=True))
    asked = {"study": (study.name,), "profile": profile or None, "out": str(_results_folder(study, profile))}
    try:
        cells = requested_cells(arguments(asked), problem_of)
    except UsageError as error:
        return "-", str(error)
    seconds, total = dict[tuple[str, str], float](), 0.0
    for cell in cells:
        if RunFiles(cell.directory).status().get("status") != "done":
            key = cell.env, cell.name
            if key not in seconds:
                seconds[key] = estimate_cell(cell, 1, problem_of).core_seconds
            total += seconds[key]
    hours = total / 3600
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}", ""


def _budget(study: Study, profile: Profile) -> str:
    """`1,000,000; Ant-v5: 5,000,000`, or `300 generations` where they end the runs."""
    if profile.total_generations is not None:
        return f"{profile.total_generations:,} generations"
    minutes = f"{profile.total_minutes:g} modelled minutes" if profile.total_minutes else ""
    own = [f"{env}: {steps:,}" for env, steps in profile.env_timesteps.items()]
    own += [
        f"{entry} on {env}: {steps:,}" for entry, envs in profile.entry_timesteps.items() for env, steps in envs.items()
    ]
    own += [f"{entry.name}: {entry.total_timesteps:,}" for entry in study.entries if entry.total_timesteps]
    steps = f"{profile.total_timesteps:,}" if profile.total_timesteps else ""
    return "; ".join(filter(None, [steps, minutes, *own]))
