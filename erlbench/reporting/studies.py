"""The runs of studies: their cells, whether a study was run at all, and how its runs depart from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from erlbench.bundle import STUDY
from erlbench.experiment.fairness import find_defaults
from erlbench.records.run import ASIDE
from erlbench.reporting.cells import Warn, list_rows, same_setting
from erlbench.reporting.documents import Record
from erlbench.reporting.page_cells import PARTS, PageCells, make_cells
from erlbench.reporting.runs import env_labels
from erlbench.reporting.statistics import group_items
from erlbench.settings import setting_text

if TYPE_CHECKING:
    from erlbench.experiment.study import Entry, Profile, Study

LONGEST = 60  # characters of a value
MOST_SEEDS = 20  # that are listed


def make_study_pages(study: Study, runs: pd.DataFrame, profile: str | None, warn: Warn) -> list[PageCells]:
    """The study's cells with the runs that fit a profile: one page for each profile with such a run.

    A run fits when environment, name, seed, budget and the settings that the study gives agree. With `profile` only
    that one is considered.
    """
    chosen = {key: select_study_runs(study, key, runs, warn) for key in study.profiles if profile in (None, key)}
    pages = [make_study_page(study, key, fitting) for key, fitting in chosen.items() if len(fitting)]
    return pages if len(pages) < 2 else [replace(page, name=f"{page.name}-{page.profile}") for page in pages]


def make_study_page(study: Study, profile: str, runs: pd.DataFrame) -> PageCells:
    """A study's cells with one of its profiles; `runs` fit them.

    In each environment the entries go by the labels that its runs have, without runs by the first one.
    """
    budget, records, group = study.profiles[profile], list[Record](), 0
    for env in budget.envs:
        entries = [entry for entry in study.entries if env in budget.entry_envs(entry)]
        labels = dict.fromkeys(label for entry in entries for label in _labels(budget, entry, env))
        least = min((budget.timesteps(env, entry) for entry in entries), default=0)  # where each has its own
        for label in [label for label in labels if label in set(runs.env)] or [*labels][:1]:
            head = {
                "group": group,
                "env": label,
                "study_env": env,
                "total_timesteps": budget.timesteps(env) or least,
                "env_published": study.envs_published.get(env, ""),
            }
            here = runs[runs.env == label]
            records += [{**_make_record(budget, entry, env, here), **head} for entry in entries]
            records += [{**head, "name": name, "published": name, "exists": False} for name in study.not_run]
            group += 1
    return PageCells(
        name=study.name, title=study.title, cells=make_cells(records, study.name), study=study.name,
        parts=PARTS[study.kind], source=study.published_source, table=study.table,
        baseline="" if study.compare else study.baseline, profile=profile, statistic=study.statistic, note=study.note,
        x=study.x, item=study.item or study.table, pairs=() if study.compare else None,
    )  # fmt: skip


def _labels(budget: Profile, entry: Entry, env: str) -> tuple[str, ...]:
    return env_labels(env, budget.entry_env_settings(entry))


def _make_record(budget: Profile, entry: Entry, env: str, runs: pd.DataFrame) -> Record:
    return {
        "name": entry.name,
        "label": entry.label or entry.name,
        "published": entry.published,
        "planned": len(budget.seeds),
        "runs": tuple(list_rows(runs[runs.name == entry.name])),
        "nominal": bool(entry.nominal),
        "own_timesteps": budget.own_timesteps(env, entry),
        "study_env": env,
    }


def make_answer_cells(study: Study, profile: str, runs: pd.DataFrame, warn: Warn) -> pd.DataFrame:
    """The runs of each entry in each of its environments, a row each, for all labels of the environment."""
    budget, records = study.profiles[profile], list[Record]()
    fitting = select_study_runs(study, profile, runs, warn)
    for entry in study.entries:
        for env in budget.entry_envs(entry):
            labels = _labels(budget, entry, env)
            record = _make_record(budget, entry, env, fitting[fitting.env.isin(labels)])
            first = record["runs"][0].env if record["runs"] else labels[0]
            records.append({**record, "env": first, "group": len(records)})
    return make_cells(records, study.name)


def select_folder_runs(study: Study, runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that may be a study's: those below the folders of its study.toml, else all."""
    if not is_of_folder(study):
        return runs
    folders = {part.file.resolve().parent for part in study.parts or (study,) if part.file}
    return runs[runs.path.map(lambda path: not folders.isdisjoint(path.resolve().parents)).astype(bool)]


def is_of_folder(study: Study) -> bool:
    """Whether a study is in the study.toml of a folder of results."""
    return study.file is not None and study.file.name == STUDY


def was_run(page: PageCells) -> bool:
    """Whether a study was run, or only shares some cells with other runs.

    It was, if a command that started one of the runs named it, or if one environment has runs of all entries.
    """
    if any(page.study in run.studies for run in page.runs):
        return True
    return any(all(cell.runs for cell in group.cells) for group in page.groups)


def select_study_runs(study: Study, key: str, runs: pd.DataFrame, warn: Warn) -> pd.DataFrame:
    """The runs of the study with the profile `key`; `warn` names runs with other settings, which do not count."""
    profile, fits = study.profiles[key], []
    entries = [(env, entry) for entry in study.entries for env in profile.entry_envs(entry)]
    budgets = {profile.most_timesteps(env, entry) for env, entry in entries}
    named = runs.name.isin([entry.name for entry in study.entries])
    runs = runs[named & runs.seed.isin(profile.seeds) & runs.total_timesteps.isin(budgets)]
    for run in list_rows(runs):
        entry = _find_entry(run, study, profile)
        differing = _differing_settings(run, profile, entry) if entry else []
        if differing:
            warn(
                f"{run.path}: has the name and the budget of study {study.name}, profile {key}, but other settings "
                f"({', '.join(differing)}); it is not shown there"
            )
        fits.append(entry is not None and not differing)
    return runs[np.array(fits, bool)]  # a list without items would choose no column


def _find_entry(run: Any, study: Study, profile: Profile) -> Entry | None:
    """The entry of a study whose cell a run is, by its names, its seed and its budget."""
    entry = next((entry for entry in study.entries if entry.name == run.name), None)
    if entry is None or run.seed not in profile.seeds:
        return None
    env = next((env for env in profile.entry_envs(entry) if run.env in _labels(profile, entry, env)), None)
    if env is None or run.total_timesteps != profile.most_timesteps(env, entry):
        return None
    if (run.total_minutes or None) != profile.total_minutes:
        return None
    return entry if entry.nominal or (run.total_generations or None) == profile.total_generations else None


def _unlike(run: Any, settings: Record) -> list[str]:
    """The settings that a run has with other values; an older version may not have had one."""
    return [
        name for name, value in settings.items() if name in run.settings and not same_setting(run.settings[name], value)
    ]


def _differing_settings(run: Any, profile: Profile, entry: Entry) -> list[str]:
    """The settings that the study gives and a run has with other values."""
    names = _unlike(run, {**profile.settings, **entry.settings})
    if entry.workers is not None and run.workers not in ("", str(entry.workers)):
        names.append("workers")
    if (simulated := profile.simulated_time) is not None:
        processors = simulated.processes or run.workers or 1
        modelled = {"simulated_processes": processors, "simulated_critic": simulated.critic, **profile.costs}
        names += ["simulated_time"] * (not run.simulated_time)
        names += [
            f"costs.{key}" for key, value in modelled.items() if not same_setting(run.costs.get(key, value), value)
        ]
    return names


def add_departures(page: PageCells, study: Study) -> PageCells:
    """The study's page with the settings of each of its cells that are not the study's."""
    budget, entries = study.profiles[page.profile], {entry.name: entry for entry in study.entries}
    departures: Any = [
        find_departures(cell.runs, budget, entries[cell.name], cell.study_env) if cell.runs else ()
        for cell in page.rows
    ]
    return replace(page, cells=page.cells.assign(departures=departures))


def find_departures(runs: Sequence[Any], profile: Profile, entry: Entry, env: str) -> tuple[str, ...]:
    """How `runs` differ from the entry's cells in `env`, such as `hidden 32-32, not 400-300 (in 1 of 3 runs)`."""
    settings, texts = _cell_settings(profile, entry, env), Counter[str]()
    for run in runs:
        if run.algo not in ("", entry.algo):
            texts[f"algo {_shorten(run.algo)}, not {entry.algo}"] += 1
        else:
            texts.update(
                f"{name} {_shorten(run.settings[name])}, not {_shorten(settings[name])}"
                for name in _unlike(run, settings)
            )
        if entry.processes is not None and run.processes not in ("", str(entry.processes)):
            texts[f"processes {run.processes}, not {entry.processes}"] += 1
    return tuple(
        text if count == len(runs) else f"{text} (in {count} of {len(runs)} runs)" for text, count in texts.items()
    )


def _cell_settings(profile: Profile, entry: Entry, env: str) -> Record:
    """The settings of an entry's cells as config.toml holds them; none of an algorithm that is not the suite's."""
    defaults = find_defaults(entry.algo, entry.preset, env)
    if not defaults:
        return {}
    return {
        **defaults,
        **{name: profile.settings[name] for name in profile.settings if name in defaults},
        **entry.settings,
    }


def _shorten(value: Any) -> str:
    text = setting_text(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def find_differences(study: Study, profile: str, cells: pd.DataFrame, runs: pd.DataFrame) -> list[dict[str, str]]:
    """What differs from a study, by entry and environment (`make_answer_cells`); `runs` are all of its folder."""
    budget, entries = study.profiles[profile], {entry.name: entry for entry in study.entries}
    versions, rows = {each.sha256 for each in (study, *study.parts)}, []
    for cell in list_rows(cells):
        entry = entries[cell.name]
        missing = [seed for seed in budget.seeds if seed not in {run.seed for run in cell.runs}]
        lines = [("settings", text) for text in find_departures(cell.runs, budget, entry, cell.study_env)]
        lines += [("seeds missing", _list_seeds(missing))] if missing else []
        labels = _labels(budget, entry, cell.study_env)
        left_out = [
            (_describe_left_out(run, study, budget, entry), run.seed)
            for run in list_rows(runs)
            if run.path.resolve().parent.name == entry.name and run.env in labels
        ]
        lines += [("left out", f"{reason}: seed {seeds}") for reason, seeds in _by_text(left_out)]
        states = ((run.status, run.seed) for run in cell.runs if not run.done)
        lines += [(status, f"seed {seeds}") for status, seeds in _by_text(states)]
        lines += _moved_aside(cell.runs)
        others = (
            (digest, run.seed)
            for run in cell.runs
            for name, digest in run.study_hashes
            if name == study.name and digest not in versions
        )
        what = "another version of the study"
        lines += [(what, f"SHA-256 {digest[:12]}: seed {seeds}") for digest, seeds in _by_text(others)]
        rows += [{"entry": cell.label, "env": cell.env, "what": what, "details": text} for what, text in lines]
    return rows


def _by_text(pairs: Iterable[tuple[str, int]]) -> list[tuple[str, str]]:
    """The seeds of each text, listed; without empty texts."""
    return [(text, _list_seeds(seeds)) for text, seeds in group_items(pairs).items() if text]


def _describe_left_out(run: Any, study: Study, budget: Profile, entry: Entry) -> str:
    """Why a run in the entry's folder and environment is not the study's; empty where it is."""
    if run.seed not in budget.seeds:
        return "another seed"
    if run.name != entry.name:
        return str(run.name)
    if _find_entry(run, study, budget) is None:
        return "another budget"
    return ", ".join(_differing_settings(run, budget, entry))


def _moved_aside(runs: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Runs that `--force` moved aside: listed by the run that took their place, or left where nothing did."""
    again = {run.path.name: len(run.repeats) for run in runs if run.repeats}
    for folder in sorted({run.path.parent for run in runs}):
        for aside in folder.glob(f"seed-*{ASIDE}*"):
            again.setdefault(aside.name.partition(ASIDE)[0], 1)
    if again:
        yield "moved aside", ", ".join(f"{name} ({count})" for name, count in sorted(again.items()))


def _list_seeds(seeds: Iterable[int]) -> str:
    listed = list(dict.fromkeys(seeds))
    more = f" and {len(listed) - MOST_SEEDS} more" if len(listed) > MOST_SEEDS else ""
    return ", ".join(map(str, listed[:MOST_SEEDS])) + more
