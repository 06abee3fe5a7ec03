"""Whether policies of one algorithm move in more ways than those of another: distances of behaviour between seeds.

python -m benchmarks.diversity results openai-es ppo --env HalfCheetah-v5 --out /tmp/diversity
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from erlbench.claims.rows import measurements_text
from erlbench.errors import UsageError
from erlbench.playing.behaviour import descriptors, distances, diversity, diversity_difference
from erlbench.playing.traces import trace_run
from erlbench.records.run import POLICY
from erlbench.reporting.data.runs import Run, find_runs
from erlbench.reporting.documents.formats import with_interval
from erlbench.reporting.figures import style
from erlbench.reporting.figures.model import PALETTE, Sheet


@dataclass(frozen=True)
class Behaviours:
    """Policies of two algorithms: (policies,) each; `apart` is `(policies, policies)`."""

    names: list[str]
    seeds: list[int]
    described: list[dict[str, np.ndarray]]
    apart: np.ndarray

    def of(self, name: str) -> list[int]:
        """The places of an algorithm's policies."""
        return [place for place, one in enumerate(self.names) if one == name]


def chosen(results: Path, env: str, names: Sequence[str]) -> list[Run]:
    """The finished runs of these names on an environment whose policy is stored, two of each name at least."""
    runs = [run for run in find_runs([results], lambda said: None) if run.env == env and run.name in names and run.done]
    runs = [run for run in runs if (run.path / POLICY).is_file()]
    for name in names:
        if (many := sum(run.name == name for run in runs)) < 2:
            raise UsageError(f"{results} has {many} policies of {name} on {env}; two are the fewest with a distance")
    return runs


def behaviours(runs: Sequence[Run], episodes: int) -> Behaviours:
    """Play the policies and compare how they move."""
    described = [descriptors(trace_run(run.path, episodes)) for run in runs]
    return Behaviours([run.name for run in runs], [run.seed for run in runs], described, distances(described))


def table(found: Behaviours, env: str) -> list[dict[str, object]]:
    """A row for each policy: its descriptors, its distance to each seed of its algorithm, and their mean to others."""
    rows = []
    for place, (name, seed, kinds) in enumerate(zip(found.names, found.seeds, found.described, strict=True)):
        others = [other for other in found.of(name) if other != place]
        numbers = {
            f"{kind}_{index}" if len(values) > 1 else kind: round(float(value), 6)
            for kind, values in kinds.items()
            for index, value in enumerate(values)
        }
        mean = round(float(found.apart[place, others].mean()), 6)
        apart = {f"to_{found.seeds[other]}": round(float(found.apart[place, other]), 6) for other in found.of(name)}
        rows.append({"env": env, "name": name, "seed": seed, **numbers, "mean_distance": mean, **apart})
    return rows


def on_a_plane(apart: np.ndarray) -> np.ndarray:
    """Places `(policies, 2)` whose distances are about those: classical scaling (Torgerson 1952)."""
    count = len(apart)
    centre = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centre @ apart**2 @ centre)
    return np.asarray(vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0)))


def draw(found: Behaviours, names: Sequence[str], path: Path) -> None:
    """Left, policies, numbered, placed by distances; right, all distances within each algorithm, and means."""
    places = on_a_plane(found.apart)
    with style.new_figure(2.9, Sheet()) as figure:
        plane, within = figure.subplots(1, 2, width_ratios=(3, 2))
        for index, name in enumerate(names):
            group, colour = found.of(name), PALETTE[index]
            marker = style.MARKERS[("circle", "square")[index]]
            plane.plot(*places[group].T, marker, color=colour, label=name, markersize=9)
            for number, place in enumerate(group, 1):  # of the algorithm's rows in rows.csv
                plane.annotate(str(number), places[place], ha="center", va="center", color="white", fontsize=6)
            pairs = found.apart[np.ix_(group, group)][np.triu_indices(len(group), 1)]
            spread = np.linspace(-0.15, 0.15, len(pairs))
            within.plot(index + spread, pairs, marker, color=colour, alpha=0.5, markersize=4)
            within.hlines(diversity(found.apart, group), index - 0.3, index + 0.3, color=colour)
        plane.set(xlabel="behaviour, first axis", ylabel="second axis", aspect="equal")
        plane.legend(loc="best")
        within.set(ylabel="distance between two seeds", xticks=range(len(names)), xlim=(-0.6, len(names) - 0.4))
        within.set_xticklabels(names)
        within.set_ylim(bottom=0)
        style.save(figure, path, ["png"])


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.argument("first")
@click.argument("second")
@click.option("--env", required=True, help="as the report calls it; a robot of Gymnasium")
@click.option("--episodes", default=5, show_default=True, type=click.IntRange(min=1), help="of each policy")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="folder for rows.csv and diversity.png")
def main(results: Path, first: str, second: str, env: str, episodes: int, out: Path) -> None:
    """Compare the diversity of the policies of FIRST and SECOND in the folder RESULTS."""
    found = behaviours(chosen(results, env, (first, second)), episodes)
    gap, interval = diversity_difference(found.apart, found.of(first), found.of(second))
    for name in (first, second):
        click.echo(
            f"{name}: mean distance {diversity(found.apart, found.of(name)):.3f}, {len(found.of(name))} policies"
        )
    click.echo(f"{first} - {second}: {with_interval(gap, *interval)}, bootstrap over policies")
    out.mkdir(parents=True, exist_ok=True)
    (out / "rows.csv").write_text(measurements_text(table(found, env)), encoding="utf-8")
    draw(found, (first, second), out / "diversity")


if __name__ == "__main__":
    main()
