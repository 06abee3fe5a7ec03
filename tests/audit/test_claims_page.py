"""docs/claims.md: its table, and the numbers of its sentences that are means of stored runs."""

import csv

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks.claims_table import TABLE, claim_rows
from tests.audit.page_numbers import ROOT, mean_of

pytestmark = pytest.mark.data

RESULTS = ROOT / "results"


def of_seeds(folder, value):
    """`value` of each eval.csv of a folder below results/, by seed."""
    return [value(pd.read_csv(path)) for path in sorted(RESULTS.glob(f"{folder}/seed-*/eval.csv"))]


def first_solved(rows):
    """The steps of the first evaluation with the best return of the cyclic MDP."""
    return int(rows[rows.return_mean >= 2000].timesteps.iloc[0])


def lander(plan, name):
    """The mean of each run's curve from 100,000 to 800,000 steps."""
    return of_seeds(f"claims/{plan}/*/{name}", lambda rows: mean_of(rows[rows.final != 1], 1e5, 8e5))


def savings(name):
    """The minutes that five runs save, in percent of serial CEM-RL's."""
    rows = pd.read_csv(RESULTS / "claims/wall-clock/rows.csv")
    return 100 * (1 - rows.share_of_serial[rows.name == name])


def welch(x, y):
    return np.mean(x) - np.mean(y), *stats.ttest_ind(x, y, equal_var=False).confidence_interval()


def shown(numbers, unit=""):
    middle, low, high = (f"{number:,.0f}".replace("-", "−") for number in numbers)
    return f"{middle}{unit} [{low}, {high}]"


def listed(numbers):
    *first, last = (f"{number:,.0f}" for number in numbers)
    return f"{', '.join(first)} and {last}"


def test_the_sentences_have_the_numbers_of_the_runs():
    mdp = "reference/cyclic-mdp/erlbench_CyclicMDP-v0/{}"
    skips = [of_seeds(f"claims/frame-skip/*/openai-es-skip-{skip}", lambda rows: rows.return_mean.iloc[-1])
             for skip in (1, 2, 4, 8)]  # fmt: skip
    full, diagonal, es = (lander("cma-lander", name) for name in ("cma-es", "cma-es-diagonal", "openai-es"))
    later = welch(*(lander("cma-lander-2", name) for name in ("cma-es", "cma-es-diagonal")))
    phrases = [
        *(listed(of_seeds(mdp.format(name), first_solved)) for name in ("es-n50", "ddpg")),
        f"{listed(map(np.mean, skips))} with frame skips",
        f"full less diagonal is {shown(later)}, and {shown(welch(full, diagonal))} with ten earlier seeds",
        f"CMA-ES leads OpenAI-ES by {shown(welch(full, es))}",
        f"a further {shown(welch(savings('aes-rl'), savings('p-cem-rl-b256@barriers')), ' percentage points')}",
    ]
    text = " ".join((ROOT / "docs/claims.md").read_text(encoding="utf-8").split())
    assert [phrase for phrase in phrases if phrase not in text] == []


def test_the_table_has_what_the_stored_runs_answer():
    """`python -m benchmarks.claims_table` writes it."""
    with open(TABLE, encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == list(claim_rows())
