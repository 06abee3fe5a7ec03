"""Tables of measured times, computed from stored runs: `<!-- computed: NAME -->` in a page."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.page_tables import BENCH, spread, table
from benchmarks.reference_comparisons import ROOT
from benchmarks.wall_clock import SERIAL
from erlbench.reporting.data.published import load_published

CLAIMS = ROOT / "results/claims"
ENTRIES = {
    "cem-rl": ("CEM-RL, minibatches of 100", "CEM-RL serial sync W=1"),
    "p-cem-rl-b256@barriers": ("P-CEM-RL, 5 workers", "P-CEM-RL parallel sync W=5"),
    "aes-rl": ("AES-RL, 5 workers and a critic", "AES-RL parallel async W=5"),
    "aes-rl@w9": ("AES-RL, 9 workers and a critic", "AES-RL parallel async W=9"),
}  # as the table says it, and as the paper does


def published_minutes(name: str) -> float:
    """Minutes of a million steps of HalfCheetah in the AES-RL paper's table 1."""
    found = load_published().find("AES-RL paper", "Table 1", "HalfCheetah-v2", name, "time_min")
    assert found is not None
    return found.value


def wall_clock() -> str:
    """Minutes a million steps of each entry on processors and on a GPU, and as shares of the serial ones."""
    on_cores, on_gpu = (pd.read_csv(CLAIMS / name / "rows.csv") for name in ("wall-clock", "wall-clock-gpu"))
    (alone,) = on_gpu.minutes[on_gpu.name == SERIAL]
    serial, rows = published_minutes(ENTRIES[SERIAL][1]), []
    for name, (words, theirs) in ENTRIES.items():
        own, (gpu,), paper = (
            on_cores[on_cores.name == name],
            on_gpu.minutes[on_gpu.name == name],
            published_minutes(theirs),
        )
        rows.append([
            words, spread(own.minutes), spread(own.share_of_serial, 2), f"{own.updates_a_step.mean():.2f}",
            f"{paper:.0f}", f"{paper / serial:.2f}", f"{gpu:.1f}", f"{gpu / alone:.2f}",
        ])  # fmt: skip
    heads = (
        "| | minutes | of serial | critic updates a step | paper, minutes | of serial | one GPU, minutes | of serial |"
    )
    return table(heads, f"|---|{7 * '---:|'}", rows)


def gpu_updates() -> str:
    """Milliseconds a step with its update, on a core and on a GPU."""
    rows, names = pd.read_csv(BENCH / "gpu_updates.csv", comment="#"), {"td3": "TD3", "sac": "SAC", "ddpg": "DDPG"}
    found = []
    for algorithm, words in names.items():
        took = {}
        for device, own in rows[(rows.algorithm == algorithm) & (rows.critic_updates > 0)].groupby("device"):
            seconds, steps = (float(np.ptp(own[column])) for column in ("train_time_s", "timesteps"))
            took[device] = 1e3 * seconds / steps
        core = f"{took['cpu']:.2f}" if "cpu" in took else "not measured"
        found.append([words, core, f"{took['cuda']:.2f}"])
    return table("| | one core | GPU |", "|---|---:|---:|", found)


COMPUTED: dict[str, Callable[[], str]] = {"wall-clock": wall_clock, "gpu-updates": gpu_updates}
