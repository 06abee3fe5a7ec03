"""Observations of any shape as one float32 vector, by `gymnasium.spaces.flatten`, without the parts of no numbers."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Graph, MultiBinary, MultiDiscrete, OneOf, Sequence, Tuple
from gymnasium.spaces.utils import flatdim, flatten, flatten_space

from erlbench.envs.wrappers import Env
from erlbench.errors import TaskError, UsageError, describe_error

MOST = 10_000  # numbers of a flattened observation; images have more
NUMERIC = (Box, Discrete, MultiBinary, MultiDiscrete)
CHANGING = (Sequence, Graph, OneOf)  # their flat size is not fixed


def is_flat(space: gymnasium.Space[Any]) -> bool:
    """Whether observations are vectors already."""
    return isinstance(space, Box) and len(space.shape) == 1


class FlatObservation(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Observes one float32 vector: the parts in the order of the space, a Discrete one-hot.

    `flat_parts` has "name (numbers)" of each part, `parts_left_out` the names of those without numbers. Raises
    `UsageError` for a space whose flat size is not fixed, is zero, or is above `MOST`.
    """

    def __init__(self, env: Env, name: str) -> None:
        super().__init__(env)
        self.parts_left_out: list[str] = []
        space = _numeric(env.observation_space, "", self.parts_left_out, f"environment '{name}'")
        size = 0 if space is None else flatdim(space)
        if space is None or not size:
            raise UsageError(f"environment '{name}' observes no numbers ({env.observation_space})")
        if size > MOST:
            raise UsageError(
                f"environment '{name}' has observations of {size:,} numbers ({_first_line(env.observation_space)}); "
                f"the networks here read up to {MOST:,}, and no images: register it with a smaller observation, as a "
                "state, or by gymnasium.wrappers.ResizeObservation and GrayscaleObservation"
            )
        self.flat_parts = [f"{key or 'all'} ({flatdim(subspace)})" for key, subspace in _leaves(space, "")]
        self._space, flat = space, flatten_space(space)
        assert isinstance(flat, Box)
        self.observation_space = Box(flat.low.astype(np.float32), flat.high.astype(np.float32), dtype=np.float32)

    def observation(self, observation: Any) -> np.ndarray:
        try:
            flat: np.ndarray = flatten(self._space, observation)  # type: ignore[assignment]
        except Exception as error:
            raise TaskError(
                f"the environment's observation is not in its observation_space ({describe_error(error)})"
            ) from error
        return flat.astype(np.float32)


def _numeric(space: gymnasium.Space[Any], name: str, dropped: list[str], of: str) -> gymnasium.Space[Any] | None:
    """The part of a space that has numbers; None without any. What a Dict leaves out is added to `dropped`."""
    if isinstance(space, NUMERIC):
        return space
    if isinstance(space, CHANGING):
        raise UsageError(
            f"{of} has observations whose size changes ({name or space}); wrap it with a Box of fixed size"
        )
    if isinstance(space, Dict):
        subspaces = {
            key: _numeric(subspace, f"{name}.{key}".lstrip("."), dropped, of) for key, subspace in space.spaces.items()
        }
        kept = OrderedDict((key, subspace) for key, subspace in subspaces.items() if subspace is not None)
        return Dict(kept) if kept else None
    if isinstance(space, Tuple):
        members = [
            _numeric(subspace, f"{name}.{index}".lstrip("."), dropped, of)
            for index, subspace in enumerate(space.spaces)
        ]
        if None in members:
            raise UsageError(
                f"{of} observes a Tuple with a part without numbers ({space}); wrap it with a Dict or a Box"
            )
        return Tuple([subspace for subspace in members if subspace is not None]) if members else None
    dropped.append(name or type(space).__name__)
    return None


def _leaves(space: gymnasium.Space[Any], name: str) -> list[tuple[str, gymnasium.Space[Any]]]:
    if isinstance(space, (Dict, Tuple)):
        parts = space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces)
        return [leaf for key, subspace in parts for leaf in _leaves(subspace, f"{name}.{key}".lstrip("."))]
    return [(name, space)]


def _first_line(space: gymnasium.Space[Any]) -> str:
    if isinstance(space, Box):
        return f"shape {space.shape}, {math.prod(space.shape):,} numbers, {space.dtype}"
    return str(space)[:120]
