"""Keeps the processors of a virtual machine awake while something is timed.

The host gives processors that sleep to others, and takes its time to give them back. Seen on one host: with all other
programs stopped, up to 90 % of the time that a benchmark asked for was stolen; with busy processors, less than 1 %.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# The lowest scheduling class: gives way at once to whatever else wants the processor. Ends with the benchmark.
SPIN = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while os.getppid() == int(sys.argv[2]):
    for _ in range(1_000_000):
        pass
"""


@contextmanager
def awake() -> Iterator[None]:
    """One process on each processor, which counts; it uses no memory and yields to all other work."""
    words = [[sys.executable, "-S", "-c", SPIN, str(core), str(os.getpid())] for core in os.sched_getaffinity(0)]
    spinning = [subprocess.Popen(one) for one in words]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
        for process in spinning:
            process.wait()
