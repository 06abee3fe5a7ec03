"""The campaign's bounded share, with fixed seeds; `make campaign` runs all of it with new ones."""

from collections import Counter

import pytest

from tests.campaign import memory
from tests.campaign.parts import PARTS
from tests.campaign.trials import new_trial

SEED = 0


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("commands", 60),
        pytest.param("power", 1, marks=pytest.mark.slow),
        pytest.param("kills", 1, marks=pytest.mark.slow),
    ],
)
def test_a_share_of_the_campaign(name, count, tmp_path_factory):
    counts = Counter()
    for number in range(count):
        with new_trial(name, SEED, number, counts, tmp_path_factory.getbasetemp()) as trial:
            PARTS[name][0](trial)
    assert sum(counts.values()) >= count


@pytest.mark.slow
def test_memory_and_open_files_stay_as_they_are(tmp_path):
    with new_trial("memory", SEED, 0, Counter(), tmp_path) as trial:
        memory.trial(trial, generations=600)
        assert trial.counts["generations"] == 600
