"""How far two versions of MuJoCo are apart on Gymnasium's robots: python -m benchmarks.trajectories --against PYTHON.

Each robot is reset with a seed and gets equal actions in both; PYTHON is the interpreter of another environment, which
needs no more than Gymnasium with MuJoCo. The largest absolute difference of any observation or reward is printed, after
the first step and after the last one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import gymnasium
import numpy as np

ROBOTS = (
    "Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum", "InvertedPendulum",
    "Pusher", "Reacher", "Swimmer", "Walker2d",
)  # fmt: skip
VERSION = "version"  # of MuJoCo, in a recording


def trajectories(robot: str, seeds: int, steps: int) -> np.ndarray:
    """Observations with their rewards, `(seeds, steps, observation + 1)`; a robot goes on where an episode would end.

    Actions are uniform and belong to the seed.
    """
    env = gymnasium.make(f"{robot}-v5").unwrapped
    assert isinstance(env.action_space, gymnasium.spaces.Box)
    low, high = env.action_space.low, env.action_space.high
    found = []
    for seed in range(seeds):
        env.reset(seed=seed)
        actions = np.random.default_rng(seed).uniform(low, high, (steps, *low.shape)).astype(np.float32)
        for action in actions:
            observation, reward, *_ = env.step(action)
            found.append(np.append(observation, float(reward)))
    env.close()
    return np.array(found).reshape(seeds, steps, -1)


def recording(seeds: int, steps: int) -> dict[str, np.ndarray]:
    """The trajectories of all robots, and MuJoCo's version."""
    import mujoco

    return {robot: trajectories(robot, seeds, steps) for robot in ROBOTS} | {VERSION: np.array(mujoco.__version__)}


def differences(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The largest absolute difference after each step `(steps,)`, by robot."""
    return {robot: np.abs(one[robot] - other[robot]).max(axis=(0, 2)) for robot in ROBOTS}


def table(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> list[str]:
    """A Markdown table of the differences."""
    apart = differences(one, other)
    seeds, steps, _ = one[ROBOTS[0]].shape
    rows = [f"| MuJoCo {one[VERSION]} and {other[VERSION]}, {seeds} seeds | after step 1 | after step {steps} |"]
    rows.append("|---|---:|---:|")
    return rows + [f"| {robot}-v5 | {values[0]:.1e} | {values[-1]:.1e} |" for robot, values in apart.items()]


def recorded_by(python: str, seeds: int, steps: int) -> dict[str, np.ndarray]:
    """What an interpreter records in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trajectories.npz"
        script = [python, str(Path(__file__).resolve()), f"--seeds={seeds}", f"--steps={steps}", f"--record={file}"]
        subprocess.run(script, check=True, cwd=folder)
        with np.load(file) as found:
            return dict(found)


def main() -> None:
    """Print the table, or record a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="PYTHON", help="interpreter of the other environment")
    parser.add_argument("--record", metavar="FILE", help="only record this environment, as .npz")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args()
    if given.record:
        np.savez_compressed(given.record, allow_pickle=False, **recording(given.seeds, given.steps))
    elif given.against:
        pythons = sys.executable, given.against
        print("\n".join(table(*(recorded_by(python, given.seeds, given.steps) for python in pythons))))
    else:
        parser.error("--against PYTHON or --record FILE is needed")


if __name__ == "__main__":
    main()
