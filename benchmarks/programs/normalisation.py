"""Measures the random policy of erlbench/reporting/normalisation.csv: uniform actions, the same seeds everywhere.

python -m benchmarks.programs.normalisation    # rewrites the column `random` and its error; ten minutes on one core
"""

from __future__ import annotations

from erlbench.resources import limit_threads

limit_threads()

import csv  # noqa: E402
from pathlib import Path  # noqa: E402

import click  # noqa: E402
import numpy as np  # noqa: E402

from erlbench.envs.registry import build, problem  # noqa: E402

PATH = Path("erlbench/reporting/normalisation.csv")
EPISODES = 100


def play_randomly(name: str, episodes: int) -> np.ndarray:
    """The returns (episodes,) of uniform actions, with the seeds 0, 1, ... for start states and actions."""
    task = problem(name).env
    env, returns = build(task), []
    for seed in range(episodes):
        env.reset(seed=seed)
        env.action_space.seed(seed)
        total = 0.0
        for _ in range(task.max_episode_steps):
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            total += float(reward)
            if terminated or truncated:
                break
        returns.append(total)
    env.close()
    return np.array(returns)


@click.command()
@click.argument("names", nargs=-1, metavar="[ENVIRONMENT]...")
@click.option("--episodes", default=EPISODES, show_default=True)
def main(names: tuple[str, ...], episodes: int) -> None:
    """Measure all environments of the file, or only these."""
    with PATH.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if names and row["env"] not in names:
            continue
        returns = play_randomly(row["env"], episodes)
        row["random"] = f"{returns.mean():.2f}"
        row["random_error"] = f"{returns.std(ddof=1) / np.sqrt(len(returns)):.2g}"
        row["episodes"] = str(episodes)
        click.echo(f"{row['env']}: {row['random']} +- {row['random_error']}, reference {row['reference']}")
        with PATH.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
