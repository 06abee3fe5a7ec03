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
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from erlbench.machine.process import cores, limit_threads

limit_threads()

from tests.campaign.parts import PARTS, attempt  # noqa: E402


def main() -> int:
    """Run the trials and print the table; 1 when a promise did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts, of {', '.join(PARTS)}")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="default: a new one")
    parser.add_argument("--trial", type=int, help="this one alone")
    parser.add_argument("--share", type=float, default=1.0, help="share of the full number of trials")
    parser.add_argument("--minutes", type=float, default=50.0, help="no trial begins later")
    parser.add_argument("--jobs", type=int, default=cores(), help="trials side by side; default: one for each core")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes  # the machine's clock, the same in all processes
    print(f"seed {options.seed}, {os.cpu_count()} cores, {options.jobs} trials at once", flush=True)
    failures, context = 0, multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory(prefix="campaign-shared-") as shared,
        ProcessPoolExecutor(options.jobs, context) as executor,
    ):
        for name in options.only.split(","):
            counts: Counter[str] = Counter()
            count = max(1, round(PARTS[name][1] * options.share))
            numbers = range(count) if options.trial is None else [options.trial]
            futures = {
                executor.submit(attempt, name, options.seed, number, Path(shared), end): number for number in numbers
            }
            for future in as_completed(futures):
                failure, of_trial = future.result()
                counts.update(of_trial)
                if failure:
                    failures += 1
                    again = f"--only {name} --seed {options.seed} --trial {futures[future]}"
                    print(f"FAILED {again}: {failure[-1500:]}", flush=True)
            print(f"{name}: {', '.join(f'{count:,} {what}' for what, count in counts.items())}", flush=True)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
