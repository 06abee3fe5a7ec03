"""Run the benchmarks: python -m benchmarks [NAME]... [--out FILE]."""

from __future__ import annotations

from erlbench.machine.process import limit_threads

limit_threads()

import importlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import time  # noqa: E402
import traceback  # noqa: E402
from datetime import UTC, datetime  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import click  # noqa: E402

from benchmarks.harness import Claim, Stolen  # noqa: E402
from erlbench.machine import description  # noqa: E402

NAMES = ("driver", "rollouts", "populations", "learning", "atari")
CHOICES = ("OPENBLAS_", "MKL_", "OMP_")  # variables that may change the speed of products
PEERS = ("stable-baselines3", "evotorch")


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="[NAME]...")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="[default: results/bench/<time>.json]")
def main(names: tuple[str, ...], out: Path | None) -> None:
    """Measure speed against targets, by all modules or those that are named; print a table and write JSON.

    Modules: driver, rollouts, populations, learning, atari.
    """
    import torch

    torch.set_num_threads(1)
    began, started, load, stolen = time.monotonic(), datetime.now(UTC), os.getloadavg(), Stolen()
    claims: list[Claim] = []
    failed: list[str] = []
    for name in names or NAMES:
        click.echo(f"{name} ...", err=True)
        try:
            for claim in importlib.import_module(f"benchmarks.speed.{name}").measure():
                claims.append(claim)
                click.echo(f"  {claim.claim}: {claim.measured:.3g} {claim.unit}", err=True)
        except Exception:  # what the other modules measure takes minutes and is kept
            traceback.print_exc()
            failed.append(name)
    for line in table(claims):
        click.echo(line)
    described, taken = description.describe(), stolen.share()
    described["versions"] |= {name: description.version(name) for name in PEERS}
    record = {
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - began, 1),
        "load_average": load,
        "stolen": taken,
        "threads": {"blas": 1, "torch": torch.get_num_threads()},
        "environment": {name: value for name, value in os.environ.items() if name.startswith(CHOICES)},
        "machine": described,
        "claims": [as_json(claim) for claim in claims],
    }
    out = out or Path("results/bench") / f"{started:%Y%m%d-%H%M%S}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(record, indent=1) + "\n")
    click.echo(f"{out}: {described['cpu']}, {described['cores']} cores, load {load[0]:.1f} when it began, "
               f"{100 * taken:.1f} % of the time taken by the host of this machine")  # fmt: skip
    if failed:
        raise click.ClickException(f"not measured to the end: {', '.join(failed)}; the errors are above")


def table(claims: list[Claim]) -> list[str]:
    """A Markdown table."""
    rows = ["| claim | measured | target | |", "|---|---|---|---|"]
    for claim in claims:
        unit = f" {claim.unit}" if claim.unit else ""
        measured = claim.note if claim.ok is None else f"{claim.measured:.3g}{unit}"
        target = f"{'≥' if claim.at_least else '≤'} {claim.target:g}{unit}"
        mark = {True: "yes", False: "NO", None: "–"}[claim.ok]
        rows.append(f"| {claim.claim} | {measured} | {target} | {mark} |")
    return rows


def as_json(claim: Claim) -> dict[str, Any]:
    """Everything that was measured for a claim."""
    samples = {name: values.tolist() for name, values in claim.samples.items()}
    return {**vars(claim), "measured": None if claim.ok is None else claim.measured, "ok": claim.ok, "samples": samples}


if __name__ == "__main__":
    main()
