"""Stable-Baselines3's TD3 and SAC with the settings of ours."""

from __future__ import annotations

import gymnasium
import numpy as np
import stable_baselines3
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from erlbench.envs.registry import problem

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
