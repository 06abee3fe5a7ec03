"""How a policy moves, in numbers, and how far the movements of policies lie apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from erlbench.playing.traces import Motion
from erlbench.reporting.statistics.intervals import NONE, expanded_tail

RANGE = 5.0, 95.0  # percentiles of a joint's angles, whose distance is its range
RESAMPLES = 2000


def distance_travelled(trace: Motion) -> float:
    """From the start to the end, in metres on the ground."""
    return float(np.linalg.norm(trace.place[-1] - trace.place[0]))


def path_length(trace: Motion) -> float:
    """Of the way between, in metres on the ground."""
    return float(np.linalg.norm(np.diff(trace.place, axis=0), axis=1).sum())


def speed(trace: Motion) -> float:
    """Mean of the motion along x, in metres a second; backwards is negative."""
    steps = len(trace.place) - 1
    return float(trace.place[-1, 0] - trace.place[0, 0]) / (steps * trace.seconds)


def straightness(trace: Motion) -> float:
    """The distance travelled as a share of the path, 0 for a robot that stays."""
    path = path_length(trace)
    return distance_travelled(trace) / path if path else 0.0


def gait_frequency(trace: Motion) -> float:
    """Of the strongest oscillation of the joint that moves most, in hertz; 0 where no joint moves.

    The maximum of the periodogram; its resolution is one over the seconds of the episode.
    """
    joint = trace.joints[:, trace.joints.std(axis=0).argmax()]
    power = np.abs(np.fft.rfft((joint - joint.mean()) * np.hanning(len(joint)))) ** 2
    strongest = int(power[1:].argmax()) + 1 if len(power) > 1 else 0
    return strongest / (len(joint) * trace.seconds) if strongest and power[strongest] > 0 else 0.0


def joint_ranges(trace: Motion) -> np.ndarray:
    """Between the 5th and the 95th percentile of each joint, in radians."""
    low, high = np.percentile(trace.joints, RANGE, axis=0)
    return np.asarray(high - low)


def descriptors(traces: Sequence[Motion]) -> dict[str, np.ndarray]:
    """By kind, what the episodes of one policy are on average: speed, straightness, gait, contacts, joints."""
    values = {
        "speed": [[speed(one)] for one in traces],
        "straightness": [[straightness(one)] for one in traces],
        "gait": [[gait_frequency(one)] for one in traces],
        "contacts": [one.contacts.mean(axis=0) for one in traces],
        "joints": [joint_ranges(one) for one in traces],
    }
    return {kind: np.mean(rows, axis=0) for kind, rows in values.items()}


def distances(policies: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
    """Between policies, `(policies, policies)`; each kind of descriptor counts the same.

    Every number is divided by its standard deviation over these policies; numbers that all have are left out. The
    distance is the root of the mean over kinds of the mean squared difference within a kind, so that of two random
    policies is about the square root of 2.
    """
    squares = []
    for kind in policies[0]:
        rows = np.array([policy[kind] for policy in policies])
        deviation = rows.std(axis=0)
        rows = rows[:, deviation > 0] / deviation[deviation > 0]
        if rows.shape[1]:
            squares.append(((rows[:, None] - rows[None]) ** 2).mean(axis=2))
    return np.sqrt(np.mean(squares, axis=0)) if squares else np.zeros((len(policies), len(policies)))


def diversity(apart: np.ndarray, group: Sequence[int] | np.ndarray) -> float:
    """The mean distance between two different policies of a group, which may hold one twice; NaN where all are one."""
    counts = np.bincount(group, minlength=len(apart)).astype(float)
    pairs = counts.sum() ** 2 - (counts**2).sum()
    return float(counts @ apart @ counts / pairs) if pairs else float("nan")


def diversity_difference(
    apart: np.ndarray, first: Sequence[int], second: Sequence[int], confidence: float = 0.95, seed: int = 0
) -> tuple[float, tuple[float, float]]:
    """How much larger the diversity of a group is than that of another, with a bootstrap interval over policies.

    Policies are drawn with replacement within each group; a policy has no distance to its own copy. The tails are
    those of `bootstrap_interval`. There is no interval where a group has fewer than two policies.
    """
    gap = diversity(apart, first) - diversity(apart, second)
    if min(len(first), len(second)) < 2:
        return gap, NONE
    random, gaps = np.random.default_rng(seed), []
    for _ in range(RESAMPLES):
        one, two = (random.choice(group, len(group)) for group in (first, second))
        gaps.append(diversity(apart, one) - diversity(apart, two))
    tail = expanded_tail([len(first), len(second)], confidence)
    low, high = np.nanquantile(gaps, [tail, 1 - tail])
    return gap, (float(low), float(high))
