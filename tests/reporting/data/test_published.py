from __future__ import annotations

from erlbench.reporting.published import read_published

TABLES = ("AES-RL paper", "Table 1"), ("AES-RL paper", "Table 2"), ("AES-RL paper", "Table 3")


def test_numbers_of_the_papers_tables():
    published = read_published()
    times = published.get((*TABLES[0], "Hopper-v2", "AES-RL parallel async W=9", "time_min"))
    assert times is not None
    assert (times.value, times.steps, times.seeds) == (91, 1_000_000, 10)
    rules = published.get((*TABLES[1], "Walker2d-v2", "Relative+Adaptive", "std"))
    assert rules is not None
    assert rules.value == 223
    erl = published.get((*TABLES[2], "Walker2d-v2", "ERL", "median"))
    assert erl is not None
    assert (erl.value, erl.steps) == (2338, 10_000_000)


def test_each_number_has_its_own_steps_and_seeds():
    """Also after the rows that repeat another one, which are left out."""
    number = read_published().get(("TD3-paper(OurDDPG)", "", "HalfCheetah-v1", "DDPG", "mean"))
    assert (number.value, number.steps, number.seeds) == (8577.3, 1_000_000, 10)
