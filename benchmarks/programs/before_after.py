"""`make bench` of two checkouts in turns.

python -m benchmarks.programs.before_after BEFORE AFTER [NAME]... [--minutes 10]

Each checkout runs its own benchmarks on its own code, with this Python. What both print may be ratios to floors or
peers that have changed, so rows are compared by their own times where the JSON file has them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.__main__ import NAMES

DEFAULT = ("updates", "driver", "schedule", "learning", "rollouts")
OWN = ("erlbench", "td3", "sac", "critic", "actor", "seconds_per_step")  # samples that are times of erlbench's own


@click.command()
@click.argument("before", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("after", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="[NAME]...")
@click.option("--minutes", type=float, default=10.0, show_default=True, help="begin nothing that would take longer")
def main(before: Path, after: Path, names: tuple[str, ...], minutes: float) -> None:
    """Measure the modules NAME in the checkouts BEFORE and AFTER in turns; print a table of the ratios."""
    checkouts, end = (before.resolve(), after.resolve()), time.monotonic() + 60 * minutes
    found: dict[str, list[list[float]]] = defaultdict(lambda: [[], []])
    units: dict[str, bool] = {}  # whether more is better
    commits, took, turn = ["", ""], dict.fromkeys(names or DEFAULT, 0.0), 0
    while fitting := [name for name, seconds in took.items() if time.monotonic() + seconds < end]:
        for name in fitting:
            begun = time.monotonic()
            if begun + took[name] >= end:
                continue
            for place in (0, 1) if turn % 2 == 0 else (1, 0):
                try:
                    record = run(checkouts[place], name)
                except subprocess.CalledProcessError:  # its traceback is printed above
                    click.echo(f"{checkouts[place]}: its benchmark '{name}' fails, so it is left out", err=True)
                    del took[name]
                    break
                commits[place] = str(record["machine"]["commit"])[:12]
                for claim in record["claims"]:
                    if (number := own(claim)) is not None:
                        found[claim["claim"]][place].append(number[0])
                        units[claim["claim"]] = number[1]
            else:
                took[name] = time.monotonic() - begun
                click.echo(f"turn {turn + 1}: {name}, {took[name]:.0f} s", err=True)
        turn += 1
    for line in table(found, units, commits):
        click.echo(line)


def run(checkout: Path, name: str) -> Mapping[str, Any]:
    """The JSON record of one module in one checkout."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "bench.json"
        command = [sys.executable, "-m", "benchmarks", name, "--out", str(out)]
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        subprocess.run(command, cwd=checkout, env=environment, check=True, stdout=subprocess.DEVNULL)
        record: Mapping[str, Any] = json.loads(out.read_text())
        return record


def own(claim: Mapping[str, Any]) -> tuple[float, bool] | None:
    """A row's number, and whether more is better; None: not measured."""
    if claim["measured"] is None:
        return None
    samples: Mapping[str, Sequence[float]] = claim["samples"]
    first = next(iter(samples), "")
    if not claim["unit"] and first in OWN:
        return float(np.median(samples[first])), False
    return float(claim["measured"]), bool(claim["at_least"])


def table(
    found: Mapping[str, Sequence[Sequence[float]]], more: Mapping[str, bool], commits: Sequence[str]
) -> list[str]:
    """Medians over the turns, and by how much AFTER is better: above 1 it is the faster one."""
    lines = [f"| row | before ({commits[0]}) | after ({commits[1]}) | turns | better by |", "|---|---|---|---|---|"]
    for claim, numbers in found.items():
        if all(numbers):
            first, second = (float(np.median(values)) for values in numbers)
            factor = second / first if more[claim] else first / second
            lines.append(f"| {claim} | {first:.3g} | {second:.3g} | {len(numbers[1])} | {factor:.2f} |")
    return lines


if __name__ == "__main__":
    main()
