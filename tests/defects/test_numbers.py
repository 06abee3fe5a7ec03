"""An individual whose return is no number."""

import pandas as pd
import pytest

from tests.calls import call

# So that some of the first individuals, and at most half of a generation, are beyond the environment's boundary.
SETTINGS = {
    "cem": ("population=10", "initial_variance=0.1"),
    "cma-es": ("population=10", "sigma_init=0.3"),
    "openai-es": ("population=10", "sigma=0.3", "observation_share=0.0"),
}


def train(algo, env, out, *more):
    """A run of 50 episodes, and its folder."""
    words = ["--total-timesteps=500", "--eval-freq=250", "--eval-episodes=1", "--processes=0", "--out", out]
    settings = [word for text in ("hidden=8", *SETTINGS[algo], *more) for word in ("--set", text)]
    env = f"tests.faults:{env}-v0"
    result = call("run", "--algo", algo, "--env", env, *settings, *words)
    return result, out / env.replace(":", "_") / algo / "seed-000"


@pytest.mark.parametrize("algo", SETTINGS)
def test_an_individual_without_a_number_is_refused_or_has_the_worst_rank(tmp_path, algo):
    """CEM goes by ranks: the policy is that of the same run with a very low return in place of NaN, to the byte."""
    refused, _ = train(algo, "NoNumber", tmp_path / "refused")
    assert (refused.exit_code, "nan_fitness" in refused.output) == (1, True)
    lowest, low = train(algo, "Worst", tmp_path)
    ranked, none = train(algo, "NoNumber", tmp_path, "nan_fitness=worst")
    assert (lowest.exit_code, ranked.exit_code) == (0, 0), ranked.output
    beyond = int((pd.read_csv(low / "episodes.csv", comment="#")["r"] < -1000.0).sum())
    count = pd.read_csv(none / "train.csv")["nan_fitness"].sum()
    assert min(beyond, count) >= 1
    assert "nan" in ranked.output.casefold()
    if algo == "cem":
        assert count == beyond
        assert (none / "policy.safetensors").read_bytes() == (low / "policy.safetensors").read_bytes()
