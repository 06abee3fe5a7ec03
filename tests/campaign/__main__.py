"""`python -m tests.campaign`: the whole campaign, or a part of it, or one trial by its number."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from erlbench.machine.process import cores, limit_threads

limit_threads()

from tests.campaign.attempt import NOW, Outcome, attempt  # noqa: E402
from tests.campaign.parts import PARTS  # noqa: E402
from tests.campaign.trials import Part  # noqa: E402


def main() -> int:
    """Run the trials and print the table; 1 when a promise did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts, of {', '.join(PARTS)}")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="default: a new one")
    parser.add_argument("--trial", type=int, help="this one alone")
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--share", type=float, default=1.0, help="share of the full number of trials")
    parser.add_argument("--minutes", type=float, default=50.0, help="no trial begins later")
    parser.add_argument("--jobs", type=int, default=cores(), help="trials side by side; default: one for each core")
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes  # the machine's clock, the same in all processes
    print(f"seed {asked.seed}, {os.cpu_count()} cores, {asked.jobs} trials at once", flush=True)
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory(prefix="campaign-shared-") as shared,
        ProcessPoolExecutor(asked.jobs, context) as executor,
    ):
        submitted = {
            name: [
                executor.submit(attempt, name, asked.seed, number, Path(shared), end)
                for number in _numbers(part, asked)
            ]
            for name, part in PARTS.items()
            if name in asked.only.split(",")
        }
        try:
            failures = sum(_collect(PARTS[name], futures, asked) for name, futures in submitted.items())
        except BrokenProcessPool:
            running = sorted(path.read_text() for path in Path(shared).glob(f"{NOW}*"))
            print(f"FAILED one of {'; '.join(running)}: a process of the campaign was ended by it", flush=True)
            return 1
    return int(failures > 0)


def _numbers(part: Part, asked: argparse.Namespace) -> Iterable[int]:
    if asked.trial is not None:
        return [asked.trial]
    return range(asked.first, asked.first + max(1, round(part.full * asked.share)))


def _collect(part: Part, futures: list[Future[Outcome]], asked: argparse.Namespace) -> int:
    """Wait for the trials of a part, name those that failed, and print its line; the number of failures."""
    counts: Counter[str] = Counter()
    done = failures = 0
    for future in as_completed(futures):
        outcome = future.result()
        done += outcome.begun
        counts.update(outcome.counts)
        if outcome.failure:
            failures += 1
            again = f"--only {part.name} --seed {asked.seed} --trial {outcome.number}"
            text = outcome.failure if asked.trial is not None else outcome.failure[-1500:]
            print(f"FAILED {again}: {text}", flush=True)
    seconds = counts.pop("seconds", 0)
    facts = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
    heading = f"{part.name}: {done:,} of {part.full:,} trials, {failures} failed, {seconds:,} s"
    print(f"{heading}: {facts}" if facts else heading, flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(main())
