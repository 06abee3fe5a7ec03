"""Which share of an asynchronous population is trained by gradients."""

from __future__ import annotations


def probability_of_rl(n_rl: int, n_es: int, desired: float, gain: float) -> float:
    """AES-RL eq. 3: clip(-K_rl (n_rl / (n_rl + n_es) - p_desired) + 0.5, 0, 1), for the numbers launched so far."""
    return min(1.0, max(0.0, -gain * (n_rl / (n_rl + n_es) - desired) + 0.5))
