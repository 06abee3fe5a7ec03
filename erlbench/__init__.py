"""erlbench: a benchmarking suite for evolutionary reinforcement learning and its parents."""

__version__ = "0.1.0"
