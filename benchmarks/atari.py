"""What noise does to policies of Atari, and how random policies find Montezuma's key.

python -m benchmarks.atari noise OUT [--networks N]         # perturbed networks on images of random play
python -m benchmarks.atari keys OUT KIND SEED --frames N    # KIND: actions, networks, normalised
python -m benchmarks.atari compare OUT                      # keys per episode of all files, by kind

The first two write a CSV file to the folder OUT and print means with 95 % intervals over networks, or over episodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import torch

from erlbench.algorithms.openai_es import OpenAIES, OpenAIESSettings
from erlbench.algorithms.policy_settings import initial_mean, play_reference
from erlbench.envs.registry import Problem, build, problem
from erlbench.policy import NumpyPolicy, PolicySpec
from erlbench.policy.pixels import pack_frames
from erlbench.reporting.statistics import mean_interval, share_interval
from erlbench.settings import resolve
from erlbench.work.seeding import environment_seed, generator

GAMES = ("ALE/Pong-v5@paper", "ALE/Freeway-v5@paper")
MONTEZUMA = "ALE/MontezumaRevenge-v5@paper"
IMAGES, PERTURBATIONS = 100, 10  # that a policy acts on, and of each network
STATES, START, NOISE = 0, 1, 2  # purposes of keys


def new_policy(task: Problem, reference: int) -> tuple[PolicySpec, OpenAIESSettings]:
    """The policy of OpenAI-ES on a game, with so many images of virtual batch normalisation."""
    settings = resolve(OpenAIESSettings, task.env.id, {}, {"reference_batch": reference})
    return OpenAIES.policy_for(settings, task), settings


def first_vector(task: Problem, spec: PolicySpec, settings: OpenAIESSettings, number: int) -> np.ndarray:
    """The network `number` with its reference batch."""
    vector = initial_mean(spec, settings, (START, number))
    if spec.reference:
        vector[spec.learnt_size :] = pack_frames(play_reference(task.env, spec, (STATES, 1)))
    return vector


def chosen_actions(spec: PolicySpec, vector: np.ndarray, images: np.ndarray) -> np.ndarray:
    """The action on each image `(images,)`."""
    policy = NumpyPolicy(spec, vector)
    return np.array([policy.act(image.ravel()) for image in images])


def perturb(networks: int) -> Iterator[dict[str, Any]]:
    """A row for each game, normalisation, network and perturbation: what the noise changes."""
    for game in GAMES:
        task = problem(game)
        for reference in (0, 128):
            spec, settings = new_policy(task, reference)
            states = PolicySpec(**{**vars(spec), "reference": IMAGES})
            images = play_reference(task.env, states, (STATES, 0))
            for number in range(networks):
                vector = first_vector(task, spec, settings, number)
                before = chosen_actions(spec, vector, images)
                for perturbation in range(PERTURBATIONS):
                    noise = generator(NOISE, number, perturbation).standard_normal(spec.learnt_size, np.float32)
                    moved = vector.copy()
                    moved[: spec.learnt_size] += settings.sigma * noise
                    after = chosen_actions(spec, moved, images)
                    yield {"game": game, "normalised": bool(reference), "network": number,
                           "perturbation": perturbation, "changed": np.mean(after != before),
                           "one_action": len(set(after)) == 1}  # fmt: skip


@click.group()
def main() -> None:
    """Atari without learning."""
    torch.set_num_threads(1)


@main.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--networks", default=50)
def noise(out: Path, networks: int) -> None:
    """What noise of OpenAI-ES's size changes, with and without virtual batch normalisation."""
    out.mkdir(parents=True, exist_ok=True)
    rows = pd.DataFrame(perturb(networks))
    rows.to_csv(out / "noise.csv", index=False)
    rows["any_change"] = rows.changed > 0
    means = rows.groupby(["game", "normalised", "network"])[["any_change", "changed", "one_action"]].mean()
    for (game, normalised), part in means.groupby(["game", "normalised"]):
        shares = [f"{name} {values.mean():.3f} [{low:.3f}, {high:.3f}]"
                  for name, values in part.items() for low, high in [mean_interval(values)]]  # fmt: skip
        click.echo(f"{game} {'normalised' if normalised else 'plain'}: {', '.join(shares)}")


@main.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("kind", type=click.Choice(("actions", "networks", "normalised")))
@click.argument("seed", type=int)
@click.option("--frames", default=1_000_000)
def keys(out: Path, kind: str, seed: int, frames: int) -> None:
    """Episodes of random actions, or of random networks, until the key or the end of the game."""
    out.mkdir(parents=True, exist_ok=True)
    task = problem(MONTEZUMA)
    spec, settings = new_policy(task, 128 if kind == "normalised" else 0)
    rows: list[dict[str, Any]] = []
    with closing(build(task.env)) as env:
        while sum(row["frames"] for row in rows) < frames:
            number = 1_000_000 * seed + len(rows)
            vector = None if kind == "actions" else first_vector(task, spec, settings, number)
            rows.append(
                {"kind": kind, "seed": seed, "episode": len(rows), **play_for_key(task, env, spec, vector, number)}
            )
    table = pd.DataFrame(rows)
    table.to_csv(out / f"keys-{kind}-{seed}.csv", index=False)
    keys, episodes = int(table.key.sum()), len(table)
    low, high = share_interval(keys, episodes)
    click.echo(f"{kind}: {keys} keys in {episodes} episodes [{low:.5f}, {high:.5f}], {table.frames.sum():,} frames")


def share_difference(of: int, runs: int, of_other: int, others: int) -> tuple[float, float, float]:
    """A share minus another one, with Newcombe's 95 % interval from Wilson's of both (1998, method 10)."""
    first, second = of / runs, of_other / others
    (low, high), (other_low, other_high) = share_interval(of, runs), share_interval(of_other, others)
    below, above = np.hypot(first - low, other_high - second), np.hypot(high - first, second - other_low)
    return first - second, first - second - float(below), first - second + float(above)


@main.command
@click.argument("out", type=click.Path(path_type=Path, exists=True))
def compare(out: Path) -> None:
    """Keys per episode of each kind, and those of networks minus those of random actions."""
    table = pd.concat([pd.read_csv(path) for path in sorted(out.glob("keys-*.csv"))])
    kinds = table.groupby("kind").agg(keys=("key", "sum"), episodes=("key", "size"), frames=("frames", "sum"))
    for kind, (keys, episodes, frames) in kinds.iterrows():
        line = f"{kind}: {keys} keys in {episodes:,} episodes, {frames:,} frames"
        if kind != "actions":
            value, low, high = share_difference(keys, episodes, *kinds.loc["actions", ["keys", "episodes"]])
            line += f"; keys per episode minus those of actions {value:.4f} [{low:.4f}, {high:.4f}]"
        click.echo(line)


def play_for_key(task: Problem, env: Any, spec: PolicySpec, vector: np.ndarray | None, number: int) -> dict[str, Any]:
    """One episode: its frames, and whether it got the key, the first reward of the game."""
    random, policy = generator(NOISE, number), None if vector is None else NumpyPolicy(spec, vector)
    image, info = env.reset(seed=environment_seed(NOISE, number, 0))
    first, steps, key, ends = info["frame_number"], 0, False, False
    while not (key or ends or steps >= task.env.max_episode_steps):
        action = int(random.integers(task.action_size)) if policy is None else policy.act(image)
        image, reward, terminated, truncated, info = env.step(action)
        steps, key, ends = steps + 1, reward > 0, terminated or truncated
    return {"frames": info["frame_number"] - first, "key": key}


if __name__ == "__main__":
    main()
