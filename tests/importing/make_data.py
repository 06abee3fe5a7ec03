"""Makes the files of tests/importing/data by the programs that write such files: `python -m tests.importing.make_data`.

Stable-Baselines3 trains PPO with its EvalCallback and its Monitor. The second part is the logging of CleanRL's
ppo_continuous_action.py (MIT licence): Gymnasium's RecordEpisodeStatistics and PyTorch's SummaryWriter, with the same
folder's name and the same tags; its policy is random.
"""

from __future__ import annotations

import shutil
from pathlib import Path

DATA = Path(__file__).parent / "data"
STEPS, SEEDS = 3000, (1, 2)


def stable_baselines3(folder: Path) -> None:
    """Two runs of PPO: evaluations.npz and monitor.csv."""
    import gymnasium as gym
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import EvalCallback
    from stable_baselines3.common.monitor import Monitor

    for seed in SEEDS:
        run = folder / "ppo" / f"Pendulum-v1_{seed}"
        run.mkdir(parents=True)
        env = Monitor(gym.make("Pendulum-v1"), str(run / "monitor.csv"))
        model = PPO("MlpPolicy", env, seed=seed, n_steps=250, batch_size=50, n_epochs=2, device="cpu")
        played = Monitor(gym.make("Pendulum-v1"))
        callback = EvalCallback(played, log_path=str(run), eval_freq=250, n_eval_episodes=3, verbose=0)
        model.learn(STEPS, callback=callback)
        env.close()


def cleanrl(folder: Path) -> None:
    """Two runs: an event file each."""
    import gymnasium as gym
    from torch.utils.tensorboard import SummaryWriter

    for seed in SEEDS:
        run = folder / f"InvertedPendulum-v5__ppo_continuous_action__{seed}__1700000000"
        writer = SummaryWriter(str(run))
        writer.add_text("hyperparameters", f"|param|value|\n|-|-|\n|seed|{seed}|")
        envs = gym.vector.SyncVectorEnv([lambda: gym.wrappers.RecordEpisodeStatistics(gym.make("InvertedPendulum-v5"))])
        envs.single_action_space.seed(seed)
        envs.action_space.seed(seed)
        envs.reset(seed=seed)
        for global_step in range(1, 600):
            _, _, _, _, infos = envs.step(envs.action_space.sample())
            if "episode" in infos:
                writer.add_scalar("charts/episodic_return", infos["episode"]["r"][0], global_step)
                writer.add_scalar("charts/episodic_length", infos["episode"]["l"][0], global_step)
                writer.add_scalar("charts/SPS", 1000, global_step)
        envs.close()
        writer.close()
        (events,) = run.iterdir()
        events.rename(run / "events.out.tfevents.1700000000.host.1.0")


if __name__ == "__main__":
    shutil.rmtree(DATA, ignore_errors=True)
    stable_baselines3(DATA / "sb3")
    cleanrl(DATA / "cleanrl")
