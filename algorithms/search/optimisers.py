"""Gradient steps in numpy for what the driver itself learns: Adam, and SGD with momentum.

Both as OpenAI's evolution-strategies-starter has them. They minimise: to maximise, give them the gradient of the
negative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass
class Moments:
    """What an optimiser keeps: means over steps of the gradient and of its square, `(P,)` float64 each."""

    first: np.ndarray
    second: np.ndarray  # empty where the optimiser needs none
    steps: int = 0


@dataclass(frozen=True)
class Adam:
    """Kingma and Ba, ICLR 2015, in the form at the end of their section 2.

    There epsilon is added to the uncorrected root of the second moment; PyTorch adds it to the corrected one,
    which makes a difference only for gradients near epsilon.
    """

    learning_rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def start(self, size: int) -> Moments:
        """The moments before the first step of `size` parameters: all that is remembered."""
        return Moments(np.zeros(size), np.zeros(size))

    def step(self, moments: Moments, gradient: np.ndarray) -> np.ndarray:
        """What to add to the parameters, `(P,)` float64; `moments` move on."""
        moments.steps += 1
        moments.first = self.beta1 * moments.first + (1.0 - self.beta1) * gradient
        moments.second = self.beta2 * moments.second + (1.0 - self.beta2) * gradient**2
        correction = math.sqrt(1.0 - self.beta2**moments.steps) / (1.0 - self.beta1**moments.steps)
        step: np.ndarray = (-self.learning_rate * correction) * moments.first
        step /= np.sqrt(moments.second) + self.epsilon
        return step


@dataclass(frozen=True)
class Sgd:
    """Steps along an exponential mean of the gradients, v = momentum * v + (1 - momentum) * g from v = 0 on.

    Momentum 0 is plain gradient descent. PyTorch's SGD is this with dampening = momentum, but for its first step,
    which starts from v = g.
    """

    learning_rate: float
    momentum: float = 0.9

    def start(self, size: int) -> Moments:
        return Moments(np.zeros(size), np.empty(0))

    def step(self, moments: Moments, gradient: np.ndarray) -> np.ndarray:
        moments.steps += 1
        moments.first = self.momentum * moments.first + (1.0 - self.momentum) * gradient
        step: np.ndarray = -self.learning_rate * moments.first
        return step


Optimiser = Adam | Sgd


@dataclass(frozen=True)
class ClipUp:
    """Toklu, Liskowski, Srivastava, PPSN 2020, algorithm 1: gradients of one length, and a velocity of bounded length.

    It maximises, unlike the others. A zero gradient adds nothing to the velocity.
    """

    step_size: float
    max_speed: float
    momentum: float = 0.9

    def start(self, size: int) -> Moments:
        return Moments(np.zeros(size), np.empty(0))

    def step(self, moments: Moments, gradient: np.ndarray) -> np.ndarray:
        moments.steps += 1
        length = float(np.linalg.norm(gradient))
        velocity: np.ndarray = self.momentum * moments.first
        if length > 0.0:
            velocity += self.step_size * (gradient / length)
        speed = float(np.linalg.norm(velocity))
        if speed > self.max_speed:
            velocity *= self.max_speed / speed
        moments.first = velocity
        return velocity
