"""A plan from pilot runs: their cells with all settings, none of their seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from erlbench.errors import UsageError
from erlbench.experiment.plan import Contrast, Evaluation, Plan, PlannedCell, Simulated, Test
from erlbench.files import table_in
from erlbench.records.run import RunFiles
from erlbench.reporting.data.runs import Run

LAST = 0.8  # where the stretch of a score begins, as a share of its end


def stretch_of(run: Run) -> tuple[float, float]:
    """The last fifth before the last evaluation on the way that is certain, in training steps.

    Raises `UsageError` for a run without such an evaluation.
    """
    end = run.total_timesteps - int(table_in(RunFiles(run.path).readable_config(), "run").get("eval_freq") or 0)
    if end <= 0 or end == run.total_timesteps:
        raise UsageError(f"{run.path} has no evaluation before its final one, which a plan's score is made of")
    return LAST * end, float(end)


def plan_of(pairs: Sequence[tuple[Sequence[Run], Sequence[Run]]], test: Test, **texts: str) -> Plan:
    """The plan that compares runs with runs of the baseline, pair by pair, as these were run.

    Raises `UsageError` for runs of one side with several configurations, for evaluations that differ between cells, and
    for runs that a plan cannot repeat.
    """
    cells: dict[str, PlannedCell] = {}
    evaluations, times, contrasts = set(), [], []
    pilots: set[int] = set()
    for sides in pairs:
        labels = []
        for runs in sides:
            config = _shared_config(runs)
            run = config["run"]
            cell = _cell(runs[0], config)
            cells[cell.label] = cell
            labels.append(cell.label)
            evaluations.add(
                Evaluation(**{item.name: run[item.name] for item in fields(Evaluation) if item.name in run})
            )
            times.append(_time(config))
            pilots.update(one.seed for one in runs)
        contrasts.append(Contrast(labels[0], labels[1], stretch_of(sides[0][0])))
    if len(evaluations) > 1 or any(one != times[0] for one in times):
        raise UsageError(
            "the pilots differ in their evaluations or in their time; a plan has one protocol for all cells"
        )
    simulated, costs = times[0]
    return Plan(
        seeds=test.looks[-1],
        cells=tuple(cells.values()),
        contrasts=tuple(contrasts),
        test=test,
        evaluation=evaluations.pop(),
        pilot_seeds=tuple(sorted(pilots)),
        simulated_time=simulated,
        costs=costs,
        **texts,
    )


def _shared_config(runs: Iterable[Run]) -> dict[str, Any]:
    """The configuration of runs that differ in their seeds alone."""
    configs = []
    for run in runs:
        config = RunFiles(run.path).readable_config()
        configs.append({**config, "run": {**table_in(config, "run"), "seed": 0}})
        if configs[-1] != configs[0]:
            raise UsageError(f"{run.path} has other settings than the pilot runs beside it; name folders that agree")
    return configs[0]


def _cell(run: Run, config: Mapping[str, Any]) -> PlannedCell:
    table, settings = config["run"], table_in(config, "settings")
    if run.total_generations or not settings:
        what = "ends by generations" if run.total_generations else "has no settings in its config.toml"
        raise UsageError(f"{run.path} {what}, which a plan cannot repeat")
    return PlannedCell(
        algo=f"{table['algo']}@{table['preset']}",
        env=str(table["env"]),
        label=f"{run.name} on {run.env}",
        name=run.name,
        workers=int(table.get("workers") or 0),
        total_timesteps=run.total_timesteps or None,
        total_minutes=table.get("total_minutes"),
        settings=dict(settings),
        env_settings=dict(table_in(config, "env_settings")),
    )


def _time(config: Mapping[str, Any]) -> tuple[Simulated | None, dict[str, Any] | None]:
    run = config["run"]
    if run.get("simulated_time") is not True:
        return None, None
    simulated = Simulated(
        int(run.get("simulated_processes") or 0), str(run.get("simulated_critic") or Simulated().critic)
    )
    return simulated, dict(table_in(config, "costs"))
