"""The numbers of an update in the device's memory, where operations read them while a program runs.

So a program that was recorded once goes on with another learning rate, discount or tau. On a CPU no bit differs from
numbers that are bound in Python, and operations start sooner.
"""

from __future__ import annotations

import torch
from torch import Tensor

from erlbench.algorithms.training.update_settings import Update

RATES = "learning_rate", "actor_learning_rate", "critic_learning_rate"
FACTORS = "discount", "tau"


def in_memory(settings: Update, device: str) -> dict[str, Tensor]:
    """The learning rates, discount and tau that `settings` has, by their names there: tensors with one element.

    PyTorch's Adam reads a learning rate as float64 on a CPU and as float32 on a GPU.
    """
    rate = torch.float64 if device == "cpu" else torch.float32
    types = {**dict.fromkeys(RATES, rate), **dict.fromkeys(FACTORS, torch.float32)}
    return {
        name: torch.zeros((), dtype=types[name], device=device).fill_(value)
        for name, value in vars(settings).items()
        if name in types
    }
