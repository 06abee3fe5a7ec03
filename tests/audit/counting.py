"""An environment that counts its own steps: Gymnasium's InvertedPendulum-v5 with a counter."""

import gymnasium
from gymnasium.envs.mujoco.inverted_pendulum_v5 import InvertedPendulumEnv

ID = "CountingPendulum-v0"


class CountingPendulum(InvertedPendulumEnv):
    """Counts the steps of all of its instances in this process."""

    steps = 0

    def step(self, action):
        CountingPendulum.steps += 1
        return super().step(action)


if ID not in gymnasium.registry:
    gymnasium.register(ID, CountingPendulum, max_episode_steps=1000)
