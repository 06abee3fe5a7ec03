"""A user's study without profiles: its keys, its pairs, its errors, its canonical text and its hash."""

import re
from pathlib import Path

import pytest

from erlbench.errors import UsageError
from erlbench.experiment.studies import BENCHMARKS, load_studies
from erlbench.experiment.study import NO_PROFILE, Pair, read_amount, study_text
from tests.tables import cells

RESULTS = Path(__file__).parents[2] / "results"
WALL_CLOCK = """\
[studies.wall-clock]
title = "Does asynchrony save time?"
claim = "With five workers, AES-RL needs about 75 % less time."
source = "AES-RL paper, contributions"
envs = ["HalfCheetah-v5", "Hopper-v5"]
seeds = 5
total_timesteps = 30_000
entries = [
    { algo = "cem-rl", processes = 1 },
    { algo = "aes-rl@fixed-ratio", workers = 5, envs = ["Hopper-v5"], total_timesteps = 20_000 },
]
compare = [
    { first = "aes-rl@fixed-ratio", second = "cem-rl", metric = "minutes", less-by = "75 %" },
]
"""


def load(tmp_path, old="", new=""):
    assert old in WALL_CLOCK
    path = tmp_path / "studies.toml"
    path.write_text(WALL_CLOCK.replace(old, new, 1))
    return load_studies(path)["wall-clock"]


def test_a_study_of_ten_lines(tmp_path):
    study = load(tmp_path)
    assert study.kind == "scores"
    assert not study.has_profiles
    assert study.times_cells
    profile = study.profiles[NO_PROFILE]
    assert profile.seeds == (0, 1, 2, 3, 4)
    assert profile.total_timesteps == 30_000
    assert profile.eval_freq == 3000
    aes_rl = study.entries[1]
    assert aes_rl.name == "aes-rl@fixed-ratio"
    assert aes_rl.algo == "aes-rl"
    assert aes_rl.preset == "fixed-ratio"
    assert [profile.entry_envs(entry) for entry in study.entries] == [("HalfCheetah-v5", "Hopper-v5"), ("Hopper-v5",)]
    assert [profile.timesteps("Hopper-v5", entry) for entry in study.entries] == [30_000, 20_000]
    assert study.compare == (Pair("aes-rl@fixed-ratio", "cem-rl", metric="minutes", less_by="75 %"),)
    curve = 'metric = "curve", from = 5000, to = 10_000, axis = "simulator-steps", envs = ["Hopper-v5"]'
    (pair,) = load(tmp_path, 'metric = "minutes", less-by = "75 %"', curve).compare
    assert pair == Pair(pair.first, pair.second, ("Hopper-v5",), "curve", 5000.0, 10_000.0, "simulator-steps")


AMOUNTS = """
0.00001 | 0.00001
1e-7    | 0.0000001
1e16    | 10000000000000000
10_000_000_000_000_000 | 10000000000000000
3       | 3
2.50    | 2.5
0.0     | 0
"7.5 %" | 7.5 %
"12"    | 12
"""


@pytest.mark.parametrize(("value", "text"), cells(AMOUNTS))
def test_a_claimed_difference_is_any_number_or_a_percentage(tmp_path, value, text):
    (pair,) = load(tmp_path, 'less-by = "75 %"', f"more-by = {value}").compare
    assert pair.more_by == text == read_amount(text, "more-by")


@pytest.mark.parametrize("value", ["-1", "-1e-7", "inf", "nan", "true", '"much"', '"1e-7 %"'])
def test_a_claimed_difference_that_is_no_amount_is_refused(tmp_path, value):
    with pytest.raises(UsageError, match="line 13: 'more-by' must be a number or a percentage"):
        load(tmp_path, 'less-by = "75 %"', f"more-by = {value}")


PAIR = '{ first = "aes-rl@fixed-ratio", second = "cem-rl", metric = "minutes", less-by = "75 %" }'
TWICE = (PAIR, f"{PAIR},; {PAIR}", "line 14: 'compare' has this pair twice")
MISTAKES = """
total_timesteps = 30_000 | total_timestep = 30_000     | line 7: unknown key 'total_timestep' in [studies.wall-clock]
[studies.wall-clock]     | [studies.'../wall-clock']   | line 1: a study's name '../wall-clock'
seeds = 5                | seeds = 5; total_minutes = 3.5 | line 7: 'total_minutes' is about modelled times
["Hopper-v5"], total     | ["Hoper-v5"], total         | line 10: 'Hoper-v5' is in no profile's envs
second = "cem-rl"        | second = "cem-lr"           | line 13: 'cem-lr' is no entry; did you mean 'cem-rl'?
first = "aes-rl@fixed-ratio" | first = "cem-rl"        | line 13: 'cem-rl' is compared with itself
less-by = "75 %"         | less-by = "120 %"           | line 13: 'less-by' is at most
less-by = "75 %"         | more-by = 3, less-by = "75 %" | line 13: a pair has 'more-by' or 'less-by'
"minutes"                | "curve", from = 9000, to = 8000 | line 13: 'from' must be below 'to'
"minutes"                | "curve", from = 9000, to = 18_000 | line 13: the curve of 'aes-rl@fixed-ratio' may end
"minutes"                | "minutes", envs = ["HalfCheetah-v5"] | line 13: 'aes-rl@fixed-ratio' and 'cem-rl' do
"""


@pytest.mark.parametrize(("old", "new", "message"), [*cells(MISTAKES), TWICE])
def test_mistakes_in_a_study_name_the_line_and_the_nearest_word(tmp_path, old, new, message):
    with pytest.raises(UsageError, match=re.escape(f"studies.toml, {message}")):
        load(tmp_path, old, new.replace("; ", "\n"))


@pytest.mark.parametrize("stored", [BENCHMARKS, *sorted(RESULTS.rglob("study.toml"))])
def test_the_text_of_a_study_is_that_study(tmp_path, stored):
    often = load(tmp_path, "total_timesteps = 30_000", "total_timesteps = 30_000\neval_freq = 5000")
    for study in (load(tmp_path), often, *load_studies(stored).values()):
        path = tmp_path / "study.toml"
        path.write_text(study_text(study.name, study.as_table))
        again = load_studies(path)[study.name]
        assert again == study
        assert again.sha256 == study.sha256


@pytest.mark.parametrize("table", ["env_settings", "settings"])
def test_the_text_of_a_study_keeps_what_kind_its_numbers_are(tmp_path, table):
    """To an environment, 2.0 may be another thing than 2; the hash takes them for one."""
    mixed = "{ batch_size = 64, tau = 1.0, by = [2, 2.0], deep = { gain = 3.0 } }"
    study = load(tmp_path, "total_timesteps = 30_000", f"total_timesteps = 30_000\n{table} = {mixed}")
    path = tmp_path / "written.toml"
    path.write_text(study_text(study.name, study.as_table))
    again = load_studies(path)[study.name]
    first, second = (repr(dict(getattr(each.profiles[NO_PROFILE], table))) for each in (study, again))
    assert first == second == "{'batch_size': 64, 'tau': 1.0, 'by': [2, 2.0], 'deep': {'gain': 3.0}}"
    assert load(tmp_path, "seeds = 5", f"seeds = 5\n{table} = {mixed.replace('3.0', '3')}").sha256 == again.sha256


CHANGES = """
title = "Does    | title = "Did                                | same
processes = 1    | processes = 1, label = "CEM-RL"             | same
seeds = 5        | eval_freq = 3000; seeds = 5                 | same
75 % less time   | 70 % less time                              | other
less-by = "75 %" | less-by = "70 %"                            | other
seeds = 5        | seeds = 5; settings = { batch_size = 64 }   | other
"""


@pytest.mark.parametrize(("old", "new", "hashed"), cells(CHANGES))
def test_the_hash_is_of_what_decides(tmp_path, old, new, hashed):
    changed = load(tmp_path, old, new.replace("; ", "\n"))
    assert (changed.sha256 == load(tmp_path).sha256) == (hashed == "same")
