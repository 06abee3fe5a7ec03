"""The return of a random policy: uniform actions, 100 episodes from other start states than any run has.

python -m benchmarks.random_scores Hopper-v5 Swimmer-v5 >> erlbench/reporting/random_scores.csv
"""

from __future__ import annotations

import math

import click
import numpy as np

from erlbench.envs.registry import build, problem

SEED = 2_000_000_000  # of the first episode


def random_returns(name: str, episodes: int) -> np.ndarray:
    """The returns (episodes,) of uniform actions in an environment."""
    spec = problem(name).env
    env, random = build(spec), np.random.default_rng(SEED)
    space, returns = env.action_space, []
    for episode in range(episodes):
        env.reset(seed=SEED + episode)
        total, steps, over = 0.0, 0, False
        while not over and steps < spec.max_episode_steps:
            action = random.uniform(space.low, space.high) if hasattr(space, "low") else random.integers(space.n)
            _, reward, terminated, truncated, _ = env.step(action)
            total, steps, over = total + float(reward), steps + 1, terminated or truncated
        returns.append(total)
    return np.array(returns)


@click.command()
@click.argument("envs", nargs=-1, required=True)
@click.option("--episodes", default=100, show_default=True)
def main(envs: tuple[str, ...], episodes: int) -> None:
    """Print rows of random_scores.csv: environment, mean, its standard error, episodes."""
    for name in envs:
        returns = random_returns(name, episodes)
        click.echo(f"{name},{returns.mean():.2f},{returns.std(ddof=1) / math.sqrt(episodes):.2g},{episodes}")


if __name__ == "__main__":
    main()
