"""Tuning hyper-parameters with Optuna: each trial is a few runs with the same settings."""

from erlbench.tuning.space import Range, parse_space
from erlbench.tuning.tuner import Tuned, tune

__all__ = ["Range", "Tuned", "parse_space", "tune"]
