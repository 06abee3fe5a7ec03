"""Makes the files of tests/importing/data by the programs that write such files: `python -m tests.importing.make_data`.

Stable-Baselines3 trains PPO with its EvalCallback and its Monitor. With the folder of a clone of CleanRL (MIT licence,
github.com/vwxyzjn/cleanrl, commit fe8d8a03c41a7ef5b523e2e354bd01c363e786bb) as an argument, CleanRL's own
ppo_continuous_action.py trains; it needs the packages tyro and gymnasium==0.29.1 in an environment of its own. The
names of the folders and files have the time of the run, which tests name.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
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


def cleanrl(folder: Path, checkout: Path) -> None:
    """Two runs of CleanRL's own program: an event file each, and the licence."""
    folder.mkdir(parents=True)
    shutil.copy(checkout / "LICENSE", folder / "LICENSE")
    program = checkout.resolve() / "cleanrl" / "ppo_continuous_action.py"
    for seed in SEEDS:
        words = f"--env-id Pendulum-v1 --seed {seed} --total-timesteps 6000 --num-steps 500 --no-cuda"
        more = "--num-minibatches 5 --update-epochs 2"
        with tempfile.TemporaryDirectory() as place:
            subprocess.run([sys.executable, program, *words.split(), *more.split()], cwd=place, check=True)
            shutil.copytree(Path(place) / "runs", folder, dirs_exist_ok=True)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        shutil.rmtree(DATA / "cleanrl", ignore_errors=True)
        cleanrl(DATA / "cleanrl", Path(sys.argv[1]))
    else:
        shutil.rmtree(DATA / "sb3", ignore_errors=True)
        stable_baselines3(DATA / "sb3")
