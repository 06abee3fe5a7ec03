"""Defects of the core: an individual whose return is no number."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from tests.defects.commands import FINAL, MODULE, call, succeed

NAN_SETTING = "nan_fitness"
NAN_OPTION = ("--set", f"{NAN_SETTING}=worst")
NAN_COLUMN = "nan_fitness"  # of train.csv: how many individuals of a generation have no number

WORDS = ("--set=hidden=8", "--total-timesteps=500", "--eval-freq=250", "--eval-episodes=1", *FINAL)
# So that some of the first individuals, and at most half of a generation, are beyond the environment's boundary.
SETTINGS = {
    "cem": ("--set", "population=10", "--set", "initial_variance=0.1"),
    "cma-es": ("--set", "population=10", "--set", "sigma_init=0.3"),
    "openai-es": ("--set", "population=10", "--set", "sigma=0.3", "--set", "observation_share=0.0"),
}


def run_folder(algo: str, env: str, out: Path) -> Path:
    """The folder of the run that the command below writes."""
    (folder,) = out.glob(f"*{env}-v0/{algo}/seed-000")
    return folder


def words(algo: str, env: str, out: Path) -> tuple[object, ...]:
    """The command of a run of 50 episodes."""
    return "run", "--algo", algo, "--env", f"{MODULE}:{env}-v0", *SETTINGS[algo], *WORDS, "--processes=0", "--out", out


def beyond(folder: Path) -> int:
    """Individuals with the worst return, in a run where that is a number; none of its evaluated policies has it."""
    assert (pd.read_csv(folder / "eval.csv")["return_mean"] > -1000.0).all()
    return int((pd.read_csv(folder / "episodes.csv", comment="#")["r"] < -1000.0).sum())


@pytest.mark.parametrize("algo", [*SETTINGS])
def test_an_individual_without_a_number_has_the_worst_rank(tmp_path, algo):
    """The run ends as planned, and says how many there were."""
    succeed(*words(algo, "Worst", tmp_path))
    assert beyond(run_folder(algo, "Worst", tmp_path)) >= 1
    result = succeed(*words(algo, "NoNumber", tmp_path), *NAN_OPTION)
    rows = pd.read_csv(run_folder(algo, "NoNumber", tmp_path) / "train.csv")
    assert NAN_COLUMN in rows.columns
    assert rows[NAN_COLUMN].sum() >= 1
    assert re.search(r"\bnan\b", result.output, re.IGNORECASE)


def test_no_number_ranks_as_the_lowest_return(tmp_path):
    """CEM goes by ranks: the policy is that of the same run with a very low return in place of NaN, to the byte."""
    succeed(*words("cem", "Worst", tmp_path))
    succeed(*words("cem", "NoNumber", tmp_path), *NAN_OPTION)
    low, none = (run_folder("cem", env, tmp_path) for env in ("Worst", "NoNumber"))
    assert pd.read_csv(none / "train.csv")[NAN_COLUMN].sum() == beyond(low)
    assert (none / "policy.safetensors").read_bytes() == (low / "policy.safetensors").read_bytes()


@pytest.mark.parametrize("algo", [*SETTINGS])
def test_the_refusal_of_an_individual_without_a_number_names_the_setting(tmp_path, algo):
    result = call(*words(algo, "NoNumber", tmp_path))
    assert result.exit_code == 1
    assert "nan" in result.output.casefold()
    assert NAN_SETTING in result.output
