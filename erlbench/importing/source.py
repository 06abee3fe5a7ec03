"""What a file of another program says: evaluations, training episodes, and whose run they are."""

from __future__ import annotations

import hashlib
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from erlbench.errors import UsageError
from erlbench.files import read_bytes, readable

LARGEST = 256 * 2**20  # bytes of a file, also of what it unpacks to
MOST_ROWS = 5_000_000  # of a file
MOST_STEPS = 2**53  # which a float64 counts


@dataclass(frozen=True)
class Evaluated:
    """Evaluations: steps (e,), mean returns (e,), and of each the returns and lengths of its episodes, where known."""

    timesteps: np.ndarray
    means: np.ndarray
    returns: tuple[tuple[float, ...], ...] = ()
    lengths: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class TrainingEpisodes:
    """Training episodes in their order: returns, lengths, seconds and training steps by then, all (episodes,).

    NaN where the file does not say.
    """

    returns: np.ndarray
    lengths: np.ndarray
    seconds: np.ndarray
    timesteps: np.ndarray


@dataclass(frozen=True)
class ForeignRun:
    """One file, or the files of one kind in a folder, read."""

    path: Path
    format: str
    _: KW_ONLY
    program: str  # before the algorithm's name
    digests: dict[str, str]  # file name -> SHA-256
    env: str = ""  # as the file says, else empty
    algo: str = ""
    seed: int | None = None
    total_timesteps: int | None = None  # the budget
    evaluated: Evaluated | None = None
    played: TrainingEpisodes | None = None
    fitness_timesteps: float = float("nan")  # 0 where the format counts all steps of training
    note: str = ""  # what was left out


def content(path: Path) -> tuple[bytes, str]:
    """The bytes of a file and their SHA-256; `UsageError` for none, for no regular file and for a large one."""
    with readable(path):
        data = read_bytes(path, LARGEST)
    return data, hashlib.sha256(data).hexdigest()


def refuse(path: Path, why: object) -> NoReturn:
    """Raise the error of a file that is not what its name says."""
    raise UsageError(f"{path} cannot be imported: {why}")


def checked_steps(path: Path, steps: np.ndarray) -> np.ndarray:
    """Steps as whole numbers, which never fall; else `UsageError`."""
    steps = np.asarray(steps, np.float64)
    if not np.isfinite(steps).all() or (steps < 0).any() or (steps > MOST_STEPS).any() or (steps % 1).any():
        refuse(path, "its steps are not all whole numbers")
    if (np.diff(steps) < 0).any():
        refuse(path, "its steps fall; a file of several runs is given as one file each")
    return steps


def checked_returns(path: Path, returns: np.ndarray) -> np.ndarray:
    """Returns, all of them finite; else `UsageError`."""
    returns = np.asarray(returns, np.float64)
    if not np.isfinite(returns).all():
        refuse(path, "a return is infinite or no number")
    return returns
