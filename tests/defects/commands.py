"""The command, its results as a user finds them, and small runs that several tests share."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner, Result

import erlbench
from erlbench.cli import cli

MODULE = "tests.defects.environments"
FINAL = ("--config", str(Path(__file__).with_name("final.toml")))  # five episodes of the final evaluation
# A search of four small individuals, whose run takes a moment.
TINY = (
    "--set=population=4",
    "--set=elites=2",
    "--set=hidden=8",
    "--total-timesteps=200",
    "--eval-freq=100",
    "--eval-episodes=3",
    *FINAL,
    "--processes=0",
)


def call(*words: object) -> Result:
    """The command `erlbench` with these words."""
    return CliRunner().invoke(cli, [str(word) for word in words])


def succeed(*words: object) -> Result:
    """The same, and it ends with exit code 0."""
    result = call(*words)
    assert result.exit_code == 0, f"{result.output}{result.exception!r}"
    return result


def import_runs(out: Path, *words: object) -> pd.DataFrame:
    """Import files into the folder `out`; its runs, one a row."""
    succeed("convert", *words, "--origin", "Jane Doe", "--out", out)
    return erlbench.load_results(out).cells


def config(folder: Path) -> dict[str, Any]:
    """The configuration of the one run below a folder."""
    (path,) = folder.rglob("config.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def save_evaluations(path: Path, steps: list[int], **arrays: object) -> Path:
    """An archive as Stable-Baselines3's EvalCallback writes it, with five episodes in each evaluation."""
    path.parent.mkdir(parents=True, exist_ok=True)
    results = np.arange(5.0 * len(steps)).reshape(-1, 5)
    lengths = np.full(results.shape, 20)
    np.savez(path, timesteps=steps, results=results, ep_lengths=lengths, **arrays)  # type: ignore[arg-type]
    return path
