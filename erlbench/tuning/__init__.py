"""Tuning hyper-parameters with Optuna: each trial is a few runs with the same settings."""

from erlbench.tuning.space import parse_space
from erlbench.tuning.tuner import Tuned, tune

__all__ = ["Tuned", "parse_space", "tune"]
