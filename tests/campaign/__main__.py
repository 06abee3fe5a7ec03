"""`python -m tests.campaign`: the whole campaign, or a part of it, or one trial by its number."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
import traceback
from collections import Counter

from erlbench.threads import limit_threads

limit_threads()

from tests.campaign.parts import PARTS  # noqa: E402
from tests.campaign.trials import Part, new_trial  # noqa: E402


def main() -> int:
    """Run the trials and print the table; 1 when a promise did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts, of {', '.join(PARTS)}")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="default: a new one")
    parser.add_argument("--trial", type=int, help="this one alone")
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--share", type=float, default=1.0, help="share of the full number of trials")
    parser.add_argument("--minutes", type=float, default=55.0, help="no trial begins later")
    asked = parser.parse_args()
    end, failures = time.monotonic() + 60 * asked.minutes, 0
    print(f"seed {asked.seed}, {os.cpu_count()} cores", flush=True)
    for name in asked.only.split(","):
        failures += _run(PARTS[name], asked, end)
    return int(failures > 0)


def _run(part: Part, asked: argparse.Namespace, end: float) -> int:
    counts: Counter[str] = Counter()
    numbers = range(asked.first, asked.first + max(1, round(part.full * asked.share)))
    done, failures, begun = 0, 0, time.monotonic()
    for number in [asked.trial] if asked.trial is not None else numbers:
        if time.monotonic() > end:
            break
        done += 1
        with new_trial(part.name, asked.seed, number, counts) as trial:
            try:
                part.trial(trial)
            except Exception as error:
                failures += 1
                again = f"--only {part.name} --seed {asked.seed} --trial {number}"
                print(f"FAILED {again}: {type(error).__name__}: {error}", flush=True)
                if asked.trial is not None:
                    traceback.print_exc()
    facts = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
    print(
        f"{part.name}: {done:,} of {part.full:,} trials, {failures} failed, {time.monotonic() - begun:.0f} s"
        f"{': ' + facts if facts else ''}",
        flush=True,
    )
    return failures


if __name__ == "__main__":
    sys.exit(main())
