"""The discrete cyclic Markov decision process of the ESAC paper (Suri et al., 2020), figure 2."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

STATES = 3
CLOCKWISE = 1  # of the actions 0, 1, 2, as in the authors' code


class CyclicMDP(gymnasium.Env[np.ndarray, np.int64]):
    """Three states in a circle, observed as one-hot vectors (3,) float32; an episode starts in state 0.

    Clockwise moves to the next state for a reward of 1; any other action is rewarded by -1 and terminates. The
    paper's horizon of 2000 steps is the time limit, a truncation, so the best return is 2000.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  Gymnasium's own form

    def __init__(self) -> None:
        self.observation_space = Box(0.0, 1.0, (STATES,), np.float32)
        self.action_space = Discrete(STATES)
        self._state = 0

    def _observation(self) -> np.ndarray:
        observation = np.zeros(STATES, np.float32)
        observation[self._state] = 1.0
        return observation

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._state = 0
        return self._observation(), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if int(action) != CLOCKWISE:
            return self._observation(), -1.0, True, False, {}
        self._state = (self._state + 1) % STATES
        return self._observation(), 1.0, False, False, {}
