"""The schedule on two cores: what a step of CEM-RL takes, and how busy P-CEM-RL and AES-RL keep two processes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.cells import PROCESSES, short_problem, train
from benchmarks.harness import Claim, median
from benchmarks.peers.floors import Floors
from erlbench.machine.resources import cores

HIDDEN, BATCH = (400, 300), 100  # CEM-RL's
STEPS, TURNS = 4000, 5  # the first 900 are warm-up


def measure() -> Iterator[Claim]:
    """A ratio and two shares."""
    if cores() < PROCESSES:
        yield Claim("schedules on 2 cores", math.nan, 0.95, note="not measured: it takes 2 cores")
        return
    yield _cem_rl()
    for algo, label in (("p-cem-rl", "P-CEM-RL"), ("aes-rl", "AES-RL")):
        tasks = train(algo, STEPS, start_timesteps=900)
        samples = {"start": tasks.start, "end": tasks.end, "process": tasks.process}
        yield Claim(f"{label}, 2 processes: busy", tasks.busy_share, 0.95, samples=samples)


def _cem_rl() -> Claim:
    """The floors are measured before and after the run, which has both cores."""
    task = short_problem()
    floors = Floors(task.observation_size, task.action_size, HIDDEN, BATCH)
    floor = [floors.critic() + 5 * floors.actor() for _ in range(TURNS)]
    tasks = train("cem-rl", STEPS, start_timesteps=900)
    floor += [floors.critic() + 5 * floors.actor() for _ in range(TURNS)]
    ratio = tasks.seconds_per_step / (median(np.array(floor)) / PROCESSES)
    samples = {"seconds_per_step": np.array([tasks.seconds_per_step]), "one_core_floor": np.array(floor)}
    claim = "CEM-RL HalfCheetah, 2 processes: time per step / ((critic + 5 actor floors) / 2)"
    return Claim(claim, ratio, 1.5, at_least=False, samples=samples)
