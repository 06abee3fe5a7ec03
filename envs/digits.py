"""Handwritten digits as a task of one step: supervised learning for algorithms that know returns alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

HELD_OUT = 450  # of 1,797 images: the last ones, which other people wrote than the first
BRIGHTEST = 16.0
LARGEST = 10.0  # of a logit, where the policy's actions are bounded


@lru_cache(maxsize=1)
def load_images() -> tuple[np.ndarray, np.ndarray]:
    """Pixels in [0, 1], (1797, 64) float32, and labels (1797,): scikit-learn has them in its package."""
    from sklearn.datasets import load_digits

    found = load_digits()
    return (found.data / BRIGHTEST).astype(np.float32), found.target


def images(held_out: bool) -> tuple[np.ndarray, np.ndarray]:
    """Pixels `(images, 64)` and labels `(images,)` to train with, or those that are held out."""
    chosen = slice(-HELD_OUT, None) if held_out else slice(-HELD_OUT)
    pixels, labels = load_images()
    return pixels[chosen], labels[chosen]


def log_likelihood(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Of each label by softmax: `(images,)` float64 from logits `(images, 10)`."""
    logits = np.asarray(logits, np.float64)
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted[np.arange(len(labels)), labels] - np.log(np.exp(shifted).sum(axis=1))


class Digits(gymnasium.Env[np.ndarray, np.ndarray]):
    """An episode shows one image, 8 x 8 pixels; the action is ten logits, the reward the label's log-likelihood.

    The seed names the image: seed modulo the number of images. Only the time limit, one step, ends an episode, so the
    images of a minibatch go on together (`erlbench.work.rollout`).
    """

    metadata = {"render_modes": []}  # noqa: RUF012  Gymnasium's own form

    def __init__(self, held_out: bool = False) -> None:
        """With `held_out` it shows the images that are held out."""
        self._pixels, self._labels = images(held_out)
        self.observation_space = Box(0.0, 1.0, (self._pixels.shape[1],), np.float32)
        self.action_space = Box(-LARGEST, LARGEST, (10,), np.float32)
        self._shown = np.zeros(1, np.intp)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        number = int(self.np_random.integers(2**31)) if seed is None else seed
        return self.reset_all([number])[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        observations, rewards = self.step_all(np.asarray(action)[None])
        return observations[0], float(rewards[0]), False, False, {}

    def reset_all(self, seeds: Sequence[int]) -> np.ndarray:
        """Show an image for each seed: `(episodes, 64)` float32."""
        self._shown = np.asarray(seeds) % len(self._labels)
        return self._pixels[self._shown]

    def step_all(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same images, and the log-likelihoods `(episodes,)` of their labels by logits `(episodes, 10)`."""
        return self._pixels[self._shown], log_likelihood(actions, self._labels[self._shown])
