"""The log of the authors' CEM-RL program as a run directory, so that `erlbench report` compares it with ours.

The program is es_grad.py of github.com/apourchot/CEM-RL, patched as docs/measurements/comparisons.md says: it writes
log.csv with `total_steps`, `mu_score` (mean return of the mean's ten episodes), and the seconds before and after that
evaluation.

python -m benchmarks.peers.authors_cem_rl seed-000/log.csv seed-001/log.csv --seeds 0,1 --out results/authors-cem-rl
erlbench run --algo cem-rl --env HalfCheetah-v5 --seeds 2 --total-timesteps 80000 --eval-freq 10000 --processes 1 \
        --one-core --out results/authors-cem-rl
erlbench report results/authors-cem-rl
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import pandas as pd

from erlbench.machine import description
from erlbench.records.schema import EvaluationRow, row_of
from erlbench.records.write import RowFile
from erlbench.running.results import RunDirectory

NAME = "authors-cem-rl"
EPISODES = 10  # of each of the program's evaluations
START, TRAINED = 10_000, 5  # the program's start_steps and n_grad


def evaluations(log: pd.DataFrame) -> list[dict[str, object]]:
    """The rows of eval.csv; the single episodes' returns are not in the log.

    Updates are counted by the program's rule: after more than `START` steps, for each of `TRAINED` actors a fifth of
    the steps of the generation before for the critic, and all of them for the actor. Each row of the log must be a
    generation.
    """
    steps = log["total_steps"].to_numpy(int)
    played = np.diff(steps, prepend=0)
    trained = np.concatenate([[0], np.where(steps[:-1] > START, played[:-1], 0)])
    critic, actor = np.cumsum(TRAINED * (trained // TRAINED)), np.cumsum(TRAINED * trained)
    before, after = log["start_mu"].to_numpy(float), log["wall_s"].to_numpy(float)
    train_time = before - np.concatenate([[0.0], np.cumsum(after - before)[:-1]])
    return [
        {
            "evaluation": row, "final": 0, "timesteps": int(steps[row]), "fitness_timesteps": 0,
            "evaluation_timesteps": 0, "episodes": 0, "generation": row + 1, "critic_updates": int(critic[row]),
            "actor_updates": int(actor[row]), "train_time_s": float(train_time[row]), "total_time_s": float(after[row]),
            "return_mean": float(log["mu_score"].iloc[row]), "return_std": float("nan"), "returns": [], "lengths": [],
        }
        for row in range(len(log))
    ]  # fmt: skip


def write(log: pd.DataFrame, out: Path, env: str, seed: int, commit: str, total: int) -> Path:
    """One run directory from one log, interrupted if it ends before `total` steps; its path."""
    directory = RunDirectory(out / env / NAME / f"seed-{seed:03d}")
    directory.hold()
    rows, reached = evaluations(log), int(log["total_steps"].iloc[-1])
    rows[-1]["final"] = int(reached >= total)
    run = {"env": env, "algo": NAME, "preset": "paper", "name": NAME, "seed": seed, "workers": 1,
           "total_timesteps": total, "eval_freq": START, "eval_episodes": EPISODES, "final_episodes": EPISODES,
           "evaluate": "during", "simulated_time": False}  # fmt: skip
    directory.write_config({"run": run, "settings": {"start_timesteps": START, "n_grad": TRAINED}})
    file = RowFile(directory.path, EvaluationRow)
    file.start()
    for row in rows:
        file.write(row_of(EvaluationRow, row))
    file.close()
    described = description.describe()
    described["versions"]["CEM-RL"] = commit
    start = {"started": "", "processes": 1, "jobs": 1, "device": "cpu", "threads_per_process": 1}
    directory.add_start(described, {**start, "command_line": f"python es_grad.py --use_td3 --env {env} --seed {seed}"})
    status = "done" if reached >= total else "interrupted"
    directory.write_status(status=status, message="", timesteps=reached, total_timesteps=total)
    directory.release()
    return directory.path


@click.command()
@click.argument("logs", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--seeds", required=True, help="The logs' seeds, separated by commas.")
@click.option("--env", default="HalfCheetah-v5", show_default=True)
@click.option("--commit", default="1a45822", show_default=True, help="Of the authors' repository.")
@click.option("--total-timesteps", default=80_000, show_default=True, help="Where the runs were to end.")
@click.option("--out", required=True, type=click.Path(path_type=Path))
def main(logs: tuple[Path, ...], seeds: str, env: str, commit: str, total_timesteps: int, out: Path) -> None:
    """Write the LOGS of the authors' program as runs of one algorithm below OUT."""
    numbers = [int(seed) for seed in seeds.split(",")]
    if len(numbers) != len(logs):
        raise click.UsageError(f"{len(logs)} logs need as many seeds, not {len(numbers)}")
    for path, seed in zip(logs, numbers):
        print(write(pd.read_csv(path), out, env, seed, commit, total_timesteps))


if __name__ == "__main__":
    main()
