"""`erlbench plan`: how many seeds a difference needs, from pilot runs; a sequential plan, written before the runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from erlbench.cli.notices import notices
from erlbench.cli.tables import print_table
from erlbench.errors import UsageError, nearest

if TYPE_CHECKING:
    from erlbench.reporting.data.comparison import Group, RunSet

CONFIDENCE = 0.8  # of the upper limit of a pilot's standard deviation


@click.command()
@click.argument("results", nargs=-1, required=True, metavar="PILOT...", type=click.Path(path_type=Path))
@click.option("--baseline", required=True, metavar="NAME", help="the runs that all others are compared with")
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
@click.option("--looks", metavar="N[,N...]", help="a sequential plan: test after so many seeds, such as 5,10,15")
@click.option(
    "--spending", default="obrien-fleming", show_default=True, type=click.Choice(["obrien-fleming", "pocock"]),
    help="how much of the level the early looks spend: little or much",
)  # fmt: skip
@click.option(
    "--write", metavar="DIR", type=click.Path(path_type=Path), help="write the plan to DIR, where the runs will land"
)
def command(
    results: tuple[Path, ...], baseline: str, differences: str, power: float, level: float, looks: str | None,
    spending: str, write: Path | None,
) -> None:  # fmt: skip
    """Say how many seeds a difference needs, from the spread of the pilot runs in the folders PILOT.

    The level is shared among all comparisons with the baseline (Bonferroni, the first step of Holm). A pilot estimates
    the spread badly: the second number of seeds uses the upper 80 % confidence limit of the spread.

    \b
    Examples:
      erlbench plan results/pilot --baseline td3
      erlbench plan results/pilot --baseline td3 --difference 20 \\
        --looks 5,10,15 --write results/study
      erlbench run --algo td3,aes-rl --env Hopper-v5 --seeds 5 --out results/study
      erlbench report results/study
    """
    from erlbench.reporting.data.comparison import everything
    from erlbench.reporting.data.runs import find_runs

    wanted, counts = _numbers(differences, "--difference"), _looks(looks)
    if write and not counts:
        raise UsageError("--write needs --looks: the seeds after which the study is tested, such as --looks 5,10,15")
    with notices() as warn:
        runs = find_runs(results, warn)
    if baseline not in (names := sorted({run.name for run in runs})):
        hint = nearest(baseline, names) or f"; there are {', '.join(names)}"
        raise UsageError(f"--baseline {baseline}: no run has that name{hint}")
    groups = [group for group in everything(runs).groups if (base := group.run_set(baseline)) and len(base.scores) > 1]
    pairs = [(group, run_set) for group in groups for run_set in group.run_sets if _usable(run_set, baseline)]
    if not pairs:
        raise UsageError(f"no environment has two finished runs or more of {baseline} and of another algorithm")
    share = level / len(pairs)
    _print_seeds(pairs, baseline, wanted, share, power)
    text = f"level {level:g} for {len(pairs)} comparisons" if len(pairs) > 1 else f"level {level:g}"
    click.echo(f"Welch's test, two-sided, {text}, power {power:g}. Seeds are for each side.")
    if counts:
        _sequential(pairs, baseline, wanted, counts, spending, level, power, write)


def _usable(run_set: RunSet, baseline: str) -> bool:
    return run_set.exists and run_set.name != baseline and len(run_set.scores) > 1


def _print_seeds(
    pairs: Sequence[tuple[Group, RunSet]], baseline: str, wanted: Sequence[float], level: float, power: float
) -> None:
    from erlbench.reporting.documents.formats import significant
    from erlbench.reporting.statistics.estimates import mean, std
    from erlbench.reporting.statistics.power import MOST_SEEDS, seeds_needed, std_upper_limit

    rows = []
    for group, run_set in pairs:
        base = group.run_set(baseline)
        assert base is not None
        x, y = run_set.scores, base.scores
        for percent in wanted:
            gap = abs(mean(y)) * percent / 100
            spreads = (std(x), std(y))
            upper = (std_upper_limit(std(x), len(x), confidence=CONFIDENCE),
                     std_upper_limit(std(y), len(y), confidence=CONFIDENCE))  # fmt: skip
            seeds = [
                seeds_needed(gap, *pair, level=level, power=power) or f"more than {MOST_SEEDS:,}"
                if gap else "-" for pair in (spreads, upper)
            ]  # fmt: skip
            rows.append((
                group.env, run_set.name, f"{significant(std(x))} ({len(x)}), {significant(std(y))} ({len(y)})",
                f"{percent:g} % ({significant(gap)})", *seeds,
            ))  # fmt: skip
    header = ("environment", f"against {baseline}", "std (pilots)", "difference", "seeds", "seeds, careful")
    print_table("", header, rows)


def _sequential(
    pairs: Sequence[tuple[Group, RunSet]], baseline: str, wanted: Sequence[float], looks: tuple[int, ...],
    spending: str, level: float, power: float, write: Path | None,
) -> None:  # fmt: skip
    from erlbench.experiment.plan import StudyPlan, write_plan
    from erlbench.reporting.statistics.estimates import mean
    from erlbench.reporting.statistics.sequential import design

    found = design(looks, level / len(pairs), spending)
    click.echo()
    rows, powers = [], []  # powers to find the first difference, which the plan is for
    for group, run_set in pairs:
        base = group.run_set(baseline)
        assert base is not None
        error = math.sqrt((run_set.scores.var(ddof=1) + base.scores.var(ddof=1)) / looks[-1])
        for percent in wanted:
            stops = found.stopping(abs(mean(base.scores)) * percent / 100 / error) if error else [1.0]
            ends = [*stops[:-1], 1 - sum(stops[:-1])]
            powers += [sum(stops)] if percent == wanted[0] else []
            expected = sum(n * share for n, share in zip(looks, ends))
            rows.append((group.env, run_set.name, f"{percent:g} %", f"{sum(stops):.2f}", f"{expected:.1f}"))
    print_table("", ("environment", f"against {baseline}", "difference", "power", "expected seeds"), rows)
    print_table("", ("look", "seeds", "stop when p is at most"),
                [(i, n, f"{p:.3g}") for i, (n, p) in enumerate(zip(found.looks, found.p), 1)])  # fmt: skip
    if round(least := min(powers), 2) < power:
        click.echo(
            f"The plan's power is below what was asked for: it finds a difference of {wanted[0]:g} % with {least:.2f}, "
            f"not {power:g}."
        )
    if write is None:
        return
    plan = StudyPlan(
        baseline, tuple(dict.fromkeys(run_set.name for _, run_set in pairs)),
        tuple(dict.fromkeys(group.env for group, _ in pairs)), pairs[0][0].total_timesteps, level, power,
        wanted[0] / 100, spending, found.looks, found.p, datetime.now(UTC).isoformat(timespec="seconds"),
        round(least, 4),
    )  # fmt: skip
    if len(pairs) != plan.comparisons or len({group.total_timesteps for group, _ in pairs}) > 1:
        raise UsageError("a plan needs every algorithm in every environment with one budget; name other pilot folders")
    digest = write_plan(plan, write)
    click.echo(f"{write / 'plan.toml'} written; SHA-256 {digest}")


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
