"""`erlbench plan`: how many seeds a difference needs, from pilot runs; a plan of a study, written before its runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from erlbench.cli.notices import notices
from erlbench.cli.tables import print_table
from erlbench.errors import UsageError, nearest

if TYPE_CHECKING:
    from erlbench.experiment.plan import Plan
    from erlbench.reporting.data.comparison import Group, RunSet
    from erlbench.reporting.data.runs import Run

CONFIDENCE = 0.8  # of the upper limit of a pilot's standard deviation
Pairs = Sequence[tuple["Group", "RunSet"]]


@click.command()
@click.argument("results", nargs=-1, metavar="[PILOT]...", type=click.Path(path_type=Path))
@click.option("--baseline", metavar="NAME", help="the runs that all others are compared with")
@click.option(
    "--difference", "differences", default="10,20,50", show_default=True, metavar="PCT[,PCT...]",
    help="differences to find, in percent of the baseline's mean",
)  # fmt: skip
@click.option("--power", default=0.8, show_default=True, metavar="P",
              type=click.FloatRange(0, 1, min_open=True, max_open=True),
              help="probability that the test finds a true difference of this size")  # fmt: skip
@click.option("--level", default=0.05, show_default=True, metavar="P",
              type=click.FloatRange(0, 1, min_open=True, max_open=True),
              help="significance level, shared by all comparisons")  # fmt: skip
@click.option(
    "--looks", metavar="N[,N...]", help="plan a study that tests after these numbers of seeds, such as 5,10,15"
)
@click.option(
    "--spending", default="obrien-fleming", show_default=True, type=click.Choice(["obrien-fleming", "pocock"]),
    help="how much of the level the early looks spend: little or much",
)  # fmt: skip
@click.option("--resolve", metavar="FILE", type=click.Path(path_type=Path),
              help="check the plan FILE; print it with all values, its hash and its seeds")  # fmt: skip
@click.option(
    "--write", metavar="DIR", type=click.Path(path_type=Path), help="write the plan to DIR, where the runs will land"
)
def command(
    results: tuple[Path, ...], baseline: str | None, differences: str, power: float, level: float, looks: str | None,
    spending: str, resolve: Path | None, write: Path | None,
) -> None:  # fmt: skip
    """Say how many seeds a difference needs, from the spread of the pilot runs in the folders PILOT.

    The level is shared among all comparisons with the baseline (Bonferroni, the first step of Holm). A pilot estimates
    the spread badly: numbers that are called careful use the upper 80 % confidence limit of the spread.

    \b
    Examples:
      erlbench plan results/pilot --baseline td3
      erlbench plan results/pilot --baseline td3 --difference 20 \\
        --looks 5,10,15 --write results/study
      erlbench run --plan results/study/plan.toml --only-seeds 5
      erlbench report results/study
      erlbench plan --resolve study.toml
    """
    from erlbench.experiment.plan import Test
    from erlbench.reporting.data.pilots import plan_of
    from erlbench.reporting.statistics.simulated_studies import check_looks

    if resolve is not None:
        if results or baseline or looks:
            raise UsageError("--resolve checks a plan that is written; leave PILOT, --baseline and --looks out")
        _resolve(resolve, write)
        return
    if not results or not baseline:
        raise UsageError("name the folders of pilot runs and --baseline, or a plan by --resolve FILE")
    wanted, counts = _numbers(differences, "--difference"), _looks(looks)
    if write and not counts:
        raise UsageError("--write needs --looks: the seeds after which the study is tested, such as --looks 5,10,15")
    pairs = _pairs(results, baseline)
    if counts:
        check_looks(counts, level, spending, len(pairs))
    _print_seeds(pairs, baseline, wanted, level / len(pairs), power)
    text = f"level {level:g} for {len(pairs)} comparisons" if len(pairs) > 1 else f"level {level:g}"
    click.echo(f"Welch's test, two-sided, {text}, power {power:g}. Seeds are for each side.")
    if counts:
        why = _sequential(pairs, baseline, wanted, counts, spending, level, power)
        if write is not None:
            test = Test(counts, level, spending=spending)
            written = datetime.now(UTC).isoformat(timespec="seconds")
            title = f"{', '.join(dict.fromkeys(run_set.name for _, run_set in pairs))} against {baseline}"
            _write(plan_of(_sides(pairs, baseline), test, title=title, why=why, written=written), write)


def _resolve(path: Path, write: Path | None) -> None:
    """Check a plan, print it with all values or write it to a folder."""
    from erlbench.experiment.command import requested_cells, study_plan
    from erlbench.experiment.options import RunArguments
    from erlbench.experiment.plan_file import check_new, plan_text
    from erlbench.reporting.statistics.simulated_studies import check_plan
    from erlbench.running.admission import Rules, problems

    if write is not None:
        check_new(write)
    asked = RunArguments(plan=str(path), out=str(write) if write else None)
    requested_cells(asked, problems(Rules()))
    found = study_plan(asked)[0]
    check_plan(found)
    if write is None:
        click.echo(plan_text(found), nl=False)
        click.echo(f"SHA-256 {found.hash}; seeds {', '.join(map(str, found.assigned_seeds()))}", err=True)
    else:
        _write(found, write)


def _write(plan: Plan, folder: Path) -> None:
    from erlbench.experiment.plan import FILE
    from erlbench.experiment.plan_file import check_new, lay, plan_text

    check_new(folder)
    lay(plan_text(plan), folder)
    click.echo(f"{folder / FILE} written; SHA-256 {plan.hash}; seeds {', '.join(map(str, plan.assigned_seeds()))}")


def _pairs(results: Sequence[Path], baseline: str) -> Pairs:
    """The run sets that are compared with the baseline's, each with its environment."""
    from erlbench.reporting.data.comparison import everything
    from erlbench.reporting.data.runs import find_runs
    from erlbench.reporting.data.study import check_open

    with notices() as warn:
        runs = find_runs(results, warn)
    check_open(results, runs)
    if baseline not in (names := sorted({run.name for run in runs})):
        hint = nearest(baseline, names) or f"; there are {', '.join(names)}"
        raise UsageError(f"--baseline {baseline}: no run has that name{hint}")
    _check_alike(found := everything(runs).groups)
    groups = [group for group in found if (base := group.run_set(baseline)) and len(base.scores) > 1]
    pairs = [(group, run_set) for group in groups for run_set in group.run_sets if _usable(run_set, baseline)]
    if not pairs:
        raise UsageError(f"no environment has two finished runs or more of {baseline} and of another algorithm")
    return pairs


def _check_alike(groups: Iterable[Group]) -> None:
    """Pilots of one name are one cell; those with other settings would be left out of it."""
    for group in groups:
        for run_set in group.run_sets:
            for run in run_set.runs:
                if str(run.asked.get("name") or run_set.name) != run_set.name:
                    raise UsageError(
                        f"{run.path} has other settings than the pilot runs beside it; name folders that agree"
                    )


def _usable(run_set: RunSet, baseline: str) -> bool:
    return run_set.exists and run_set.name != baseline and len(run_set.scores) > 1


def _sides(pairs: Pairs, baseline: str) -> list[tuple[Sequence[Run], Sequence[Run]]]:
    """The finished runs of each pair and of its baseline."""
    return [(run_set.done, base.done) for group, run_set in pairs if (base := group.run_set(baseline)) is not None]


def _print_seeds(pairs: Pairs, baseline: str, wanted: Sequence[float], level: float, power: float) -> None:
    from erlbench.reporting.documents.formats import significant
    from erlbench.reporting.statistics.estimates import mean
    from erlbench.reporting.statistics.power import MOST_SEEDS, seeds_needed, std_upper_limit

    rows = []
    for group, run_set in pairs:
        base = group.run_set(baseline)
        assert base is not None
        sides = run_set, base
        spreads = run_set.score_std, base.score_std  # of single runs, as a new seed will have one
        first, second = (
            std_upper_limit(spread, len(side.scores), confidence=CONFIDENCE)
            for side, spread in zip(sides, spreads, strict=True)
        )
        pilots = ", ".join(
            f"{significant(spread)} ({len(side.scores)})" for side, spread in zip(sides, spreads, strict=True)
        )
        for percent in wanted:
            gap = abs(mean(base.scores)) * percent / 100
            seeds = [
                seeds_needed(gap, *pair, level=level, power=power) or f"more than {MOST_SEEDS:,}"
                if gap else "-" for pair in (spreads, (first, second))
            ]  # fmt: skip
            rows.append((
                group.env, run_set.name, pilots, f"{percent:g} % ({significant(gap)})", *seeds,
            ))  # fmt: skip
    header = ("environment", f"against {baseline}", "std (pilots)", "difference", "seeds", "seeds, careful")
    print_table("", header, rows)


def _score_on(run: Run, stretch: tuple[float, float]) -> float:
    """The mean of a run's curve on a stretch of training steps."""
    from erlbench.experiment.plan import TIMESTEPS
    from erlbench.reporting.data.score import on_the_way, stretch_mean

    return stretch_mean(*on_the_way(run.evaluations, TIMESTEPS)[:2], *stretch)


def _sequential(
    pairs: Pairs, baseline: str, wanted: Sequence[float], looks: tuple[int, ...], spending: str, level: float,
    power: float,
) -> str:  # fmt: skip
    """Print what a study with these looks finds, by Welch's test and the score of plans, and why."""
    from erlbench.reporting.data.pilots import stretch_of
    from erlbench.reporting.data.seeds import seed_means, single_run_std, values_by_seed
    from erlbench.reporting.documents.formats import significant
    from erlbench.reporting.statistics.estimates import mean
    from erlbench.reporting.statistics.power import std_upper_limit
    from erlbench.reporting.statistics.sequential import design
    from erlbench.reporting.statistics.simulated_studies import least_difference, normal_studies

    found = design(looks, level / len(pairs), spending)
    rows, powers = [], []  # powers to find the first difference, which the plan is for
    for (group, run_set), sides in zip(pairs, _sides(pairs, baseline), strict=True):
        stretch = stretch_of(sides[0][0])
        score = partial(_score_on, stretch=stretch)
        samples = [values_by_seed(side, score) for side in sides]
        first, base = (mean(seed_means(values)) for values in samples)
        if math.isnan(first + base):
            raise UsageError(f"the curves of {run_set.name} and {baseline} on {group.env} do not span their last fifth")
        spreads = [single_run_std(values) for values in samples]
        upper = [
            std_upper_limit(spread, len(values), confidence=CONFIDENCE)
            for spread, values in zip(spreads, samples, strict=True)
        ]
        likely, careful = (normal_studies(one, two, looks) for one, two in (spreads, upper))
        least = least_difference(careful, found, power) if sum(upper) else 0.0
        for percent in wanted:
            gap = abs(base) * percent / 100
            stops, careful_power = likely.stopping(found, gap), sum(careful.stopping(found, gap))
            ends = [*stops[:-1], 1 - sum(stops[:-1])]
            powers += [careful_power] if percent == wanted[0] else []
            expected = sum(n * share for n, share in zip(looks, ends))
            rows.append((
                group.env, run_set.name, f"{percent:g} % ({significant(gap)})", f"{sum(stops):.2f}",
                f"{careful_power:.2f}", f"{expected:.1f}", significant(least),
            ))  # fmt: skip
    click.echo()
    header = ("environment", f"against {baseline}", "difference", "power", "power, careful", "expected seeds",
              "detectable, careful")  # fmt: skip
    print_table("", header, rows)
    print_table("", ("look", "seeds", "stop when p is at most"),
                [(i, n, f"{p:.3g}") for i, (n, p) in enumerate(zip(found.looks, found.p), 1)])  # fmt: skip
    click.echo(
        "The score of a run is the mean of its evaluation curve over the last fifth, without the final evaluation."
    )
    said = f"It finds a difference of {wanted[0]:g} % with power {min(powers):.2f} by the pilots' upper limits."
    if round(min(powers), 2) < power:
        click.echo(f"The plan's power is below what was asked for, {power:g}. {said}")
    return f"Chosen for a difference of {wanted[0]:g} % and power {power:g}. {said}"


def _numbers(text: str, option: str) -> list[float]:
    try:
        values = [float(word) for word in text.split(",") if word.strip()]
    except ValueError:
        values = []
    if not values or not all(math.isfinite(value) and value > 0 for value in values):
        raise UsageError(f"{option} must be positive numbers such as 10,20, not '{text}'")
    return values


def _looks(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    values = _numbers(text, "--looks")
    looks = tuple(int(value) for value in values)
    if any(a != b for a, b in zip(looks, values)) or looks[0] < 2 or list(looks) != sorted(set(looks)):
        raise UsageError(f"--looks must be increasing numbers of seeds from 2 on, such as 5,10,15, not '{text}'")
    return looks
