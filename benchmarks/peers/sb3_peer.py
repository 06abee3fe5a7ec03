"""Stable-Baselines3's TD3 and SAC as peers: same settings, same evaluations, same kind of run directory.

python -m benchmarks.peers.sb3_peer td3 --env HalfCheetah-v5 --seeds 0,1,2 --total-timesteps 50000 \\
    --out results/td3-vs-sb3
erlbench run --algo td3 --env HalfCheetah-v5 --seeds 3 --total-timesteps 50000 \
        --set start_timesteps=10000 --out results/td3-vs-sb3
erlbench report results/td3-vs-sb3
"""

from __future__ import annotations

from erlbench.machine.resources import limit_threads

limit_threads()

import shlex  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from datetime import UTC, datetime  # noqa: E402
from pathlib import Path  # noqa: E402

import click  # noqa: E402
import gymnasium  # noqa: E402
import numpy as np  # noqa: E402
import stable_baselines3  # noqa: E402
import torch  # noqa: E402
from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402
from stable_baselines3.common.noise import NormalActionNoise  # noqa: E402
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm  # noqa: E402

from erlbench.envs.registry import problem  # noqa: E402
from erlbench.experiment.cells import FINAL_EPISODES  # noqa: E402
from erlbench.machine import description  # noqa: E402
from erlbench.records.schema import EvaluationRow, row_of  # noqa: E402
from erlbench.records.write import RowFile  # noqa: E402
from erlbench.running.evaluation import evaluation_seeds  # noqa: E402
from erlbench.running.results import RunDirectory  # noqa: E402

COMMON = {
    "learning_rate": 3e-4, "buffer_size": 1_000_000, "batch_size": 256, "tau": 0.005, "gamma": 0.99, "train_freq": 1,
    "gradient_steps": 1, "policy_kwargs": {"net_arch": [256, 256]}, "device": "cpu",
}  # fmt: skip


def create(algo: str, env_id: str, seed: int, start_timesteps: int) -> OffPolicyAlgorithm:
    """The peer's model with the settings of `erlbench run --algo ALGO`."""
    env = gymnasium.make(env_id)
    common = {**COMMON, "env": env, "seed": seed, "learning_starts": start_timesteps}
    if algo == "sac":
        return stable_baselines3.SAC("MlpPolicy", ent_coef="auto_1.0", **common)
    size = problem(env_id).action_size
    noise = NormalActionNoise(np.zeros(size), 0.1 * np.ones(size))
    return stable_baselines3.TD3(
        "MlpPolicy", policy_delay=2, action_noise=noise, target_policy_noise=0.2, target_noise_clip=0.5, **common
    )


class Evaluate(BaseCallback):
    """Evaluates the deterministic policy from erlbench's start states, every `frequency` steps."""

    def __init__(
        self, file: RowFile, env_id: str, seed: int, frequency: int, episodes: int, final_episodes: int
    ) -> None:
        super().__init__()
        self._file, self._seed, self._frequency = file, seed, frequency
        self._episodes, self._final_episodes = episodes, final_episodes
        self._env = gymnasium.make(env_id)
        self._index = self._steps = 0
        self._start, self._excluded = time.monotonic(), 0.0

    def _on_training_start(self) -> None:
        self._evaluate()

    def _on_step(self) -> bool:
        if self.num_timesteps % self._frequency == 0 and self.num_timesteps < self.locals["total_timesteps"]:
            self._evaluate()
        return True

    def _on_training_end(self) -> None:
        self._evaluate(final=True)

    def _evaluate(self, final: bool = False) -> None:
        began = time.monotonic()
        episodes = self._final_episodes if final else self._episodes
        seeds = evaluation_seeds(self._seed, None if final else self.num_timesteps, episodes)
        returns, lengths = zip(*map(self._episode, seeds), strict=True)
        self._steps += sum(lengths)
        updates = int(self.model._n_updates)
        self._file.write(row_of(EvaluationRow, {
            "evaluation": self._index, "final": int(final), "timesteps": self.num_timesteps, "fitness_timesteps": 0,
            "evaluation_timesteps": self._steps, "episodes": self.model._episode_num, "generation": 0,
            "critic_updates": updates, "actor_updates": updates // getattr(self.model, "policy_delay", 1),
            "train_time_s": began - self._start - self._excluded, "total_time_s": began - self._start,
            "return_mean": float(np.mean(returns)), "return_std": float(np.std(returns, ddof=1)),
            "returns": list(returns), "lengths": list(lengths),
        }))  # fmt: skip
        self._index += 1
        self._excluded += time.monotonic() - began

    def _episode(self, seed: int) -> tuple[float, int]:
        observation, _ = self._env.reset(seed=seed)
        total, length, over = 0.0, 0, False
        while not over:
            action, _ = self.model.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, _ = self._env.step(action)
            total, length, over = total + float(reward), length + 1, terminated or truncated
        return total, length


@click.command()
@click.argument("algo", type=click.Choice(["td3", "sac"]))
@click.option("--env", "env_id", default="HalfCheetah-v5", show_default=True)
@click.option("--seeds", default="0,1,2", show_default=True, help="Run seeds, separated by commas.")
@click.option("--total-timesteps", default=50_000, show_default=True)
@click.option("--start-timesteps", default=10_000, show_default=True, help="Random actions before this step.")
@click.option("--eval-freq", default=5_000, show_default=True)
@click.option("--eval-episodes", default=10, show_default=True)
@click.option("--final-episodes", default=FINAL_EPISODES, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), required=True)
def main(
    algo: str, env_id: str, seeds: str, total_timesteps: int, start_timesteps: int, eval_freq: int, eval_episodes: int,
    final_episodes: int, out: Path,
) -> None:  # fmt: skip
    """Run Stable-Baselines3's ALGO with the settings of `erlbench run --algo ALGO`, one thread."""
    torch.set_num_threads(1)
    name = f"sb3-{algo}"
    for seed in map(int, seeds.split(",")):
        directory = RunDirectory(out / env_id / name / f"seed-{seed:03d}")
        directory.hold()
        if directory.status().get("status") == "done":
            continue
        config = {"env": env_id, "algo": name, "preset": "paper", "name": name, "seed": seed, "workers": 1,
                  "total_timesteps": total_timesteps, "eval_freq": eval_freq, "eval_episodes": eval_episodes,
                  "final_episodes": final_episodes,
                  "evaluate": "during", "simulated_time": False}  # fmt: skip
        directory.write_config({"run": config, "settings": {"start_timesteps": start_timesteps}})
        file = RowFile(directory.path, EvaluationRow)
        file.start()
        described = description.describe()
        described["versions"]["stable-baselines3"] = stable_baselines3.__version__
        started = datetime.now(UTC).isoformat(timespec="seconds")
        command = shlex.join(["python", "-m", "benchmarks.peers.sb3_peer", *sys.argv[1:]])
        start = {"started": started, "processes": 1, "jobs": 1, "device": "cpu", "threads_per_process": 1}
        directory.add_start(described, {**start, "command_line": command})
        model = create(algo, env_id, seed, start_timesteps)
        callback = Evaluate(file, env_id, seed, eval_freq, eval_episodes, final_episodes)
        model.learn(total_timesteps, callback=callback)
        directory.write_status(status="done", message="", timesteps=total_timesteps, total_timesteps=total_timesteps)
        file.close()
        directory.release()


if __name__ == "__main__":
    main()
