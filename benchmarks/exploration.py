"""How far random policies travel: with noise in the parameters against noise in the actions.

python -m benchmarks.exploration results/claims/exploration

Both sides have the first networks of OpenAI-ES, one for each seed, and the same start states. With noise in the
parameters a network is one of ES's first generation, and acts without noise. With noise in the actions it is the one in
their middle, and each action gets the normal noise that PPO and TRPO begin with.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy as np

from benchmarks.random_scores import SEED
from erlbench.algorithms import registry
from erlbench.algorithms.policy_settings import policy_of
from erlbench.claims.rows import measurements_text
from erlbench.envs.registry import build, problem
from erlbench.machine.description import describe
from erlbench.playing.behaviour import distance_travelled, path_length, straightness
from erlbench.playing.traces import trace_of
from erlbench.policy import NumpyPolicy, initial_policy
from erlbench.settings import resolve
from erlbench.work.seeding import Purpose, generator

ENVIRONMENTS, SEEDS = ("HalfCheetah-v5", "Swimmer-v5"), range(20)
PARAMETERS, ACTIONS = "noise-in-parameters", "noise-in-actions"
ACTION_NOISE = 1.0  # standard deviation of normalised actions


@dataclass(frozen=True)
class Travelled:
    """A row of the table: an episode of one random policy."""

    env: str
    name: str
    seed: int
    distance: float  # metres on the ground, from start to end
    path: float  # metres
    straightness: float
    steps: int


def travelled(env_id: str, seed: int) -> list[Travelled]:
    """Both sides of a seed."""
    task, cls = problem(env_id), registry.find("openai-es")
    changes = {"bins": None, "squashing": "tanh", "normalise_observations": False}
    settings = resolve(cls.settings_type, env_id, registry.preset("openai-es", "paper"), changes)
    spec = policy_of(task, settings, normalisation=False)
    centre = initial_policy(spec, (seed, int(Purpose.PARAMETERS)), settings.initialisation)
    noise = generator(seed, int(Purpose.NOISE)).standard_normal(spec.size, dtype=np.float32)
    sides = ((PARAMETERS, centre + np.float32(settings.sigma) * noise, 0.0), (ACTIONS, centre, ACTION_NOISE))
    rows = []
    for name, parameters, sigma in sides:
        env = build(task.env)
        trace = trace_of(env, NumpyPolicy(spec, parameters), task.env.max_episode_steps, SEED + seed, sigma)
        env.close()
        rows.append(
            Travelled(
                env_id, name, seed, distance_travelled(trace), path_length(trace), straightness(trace),
                len(trace.place) - 1,
            )
        )  # fmt: skip
    return rows


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
def main(out: Path) -> None:
    """Write rows.csv and machine.json to the folder OUT."""
    rows = [row for env_id in ENVIRONMENTS for seed in SEEDS for row in travelled(env_id, seed)]
    out.mkdir(parents=True, exist_ok=True)
    (out / "rows.csv").write_text(measurements_text([asdict(row) for row in rows]), encoding="utf-8")
    (out / "machine.json").write_text(json.dumps(describe(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
