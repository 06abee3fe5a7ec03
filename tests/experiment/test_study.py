"""A user's study without profiles: its keys, its pairs, its errors, its canonical text and its hash."""

from __future__ import annotations

from pathlib import Path

import pytest

from erlbench.errors import UsageError
from erlbench.experiment.costs import built_in_costs
from erlbench.experiment.studies import BENCHMARKS, load_studies
from erlbench.experiment.study import NO_PROFILE, Pair, Simulated, study_text

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


def load(tmp_path: Path, old: str = "", new: str = "", text: str = WALL_CLOCK):
    assert old in text
    path = tmp_path / "studies.toml"
    path.write_text(text.replace(old, new, 1))
    return load_studies(path)["wall-clock"]


def test_a_study_of_ten_lines(tmp_path):
    study = load(tmp_path)
    assert (study.kind, study.has_profiles, study.times_cells) == ("scores", False, True)
    profile = study.profiles[NO_PROFILE]
    assert (profile.seeds, profile.total_timesteps, profile.eval_freq) == ((0, 1, 2, 3, 4), 30_000, 3000)
    aes_rl = study.entries[1]
    assert (aes_rl.name, aes_rl.algo, aes_rl.preset) == ("aes-rl@fixed-ratio", "aes-rl", "fixed-ratio")
    assert [profile.entry_envs(entry) for entry in study.entries] == [("HalfCheetah-v5", "Hopper-v5"), ("Hopper-v5",)]
    assert [profile.timesteps("Hopper-v5", entry) for entry in study.entries] == [30_000, 20_000]
    assert study.compare == (Pair("aes-rl@fixed-ratio", "cem-rl", metric="minutes", less_by="75 %"),)


@pytest.mark.parametrize(
    ("line", "pair"),
    [
        ("less_by = 906", Pair("cem-rl", "aes-rl@fixed-ratio", less_by="906")),
        ('more-by = "7.5%"', Pair("cem-rl", "aes-rl@fixed-ratio", more_by="7.5%")),
        ('metric = "reach", score = 1000', Pair("cem-rl", "aes-rl@fixed-ratio", metric="reach", score=1000.0)),
        (
            'metric = "curve", from = 5000, to = 10_000, axis = "simulator-steps", envs = ["Hopper-v5"]',
            Pair("cem-rl", "aes-rl@fixed-ratio", ("Hopper-v5",), "curve", 5000.0, 10_000.0, "simulator-steps"),
        ),
    ],
)
def test_what_is_compared(tmp_path, line, pair):
    old = WALL_CLOCK[WALL_CLOCK.index("    { first") : -2]
    study = load(tmp_path, old, f'    {{ first = "cem-rl", second = "aes-rl@fixed-ratio", {line} }}\n')
    assert study.compare == (pair,)
    assert not study.times_cells


PAIR = '{ first = "aes-rl@fixed-ratio", second = "cem-rl", metric = "minutes", less-by = "75 %" }'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("total_timesteps = 30_000", "total_timestep = 30_000", "line 7: unknown key 'total_timestep' in "
         "[studies.wall-clock]; did you mean 'total_timesteps'?"),
        ("total_timesteps = 30_000", "", "line 1: 'total_timesteps' is missing in [studies.wall-clock]"),
        ("seeds = 5", "seeds = []", "line 6: 'seeds' names no seed"),
        ("[studies.wall-clock]", "[studies.'../wall-clock']", "line 1: a study's name '../wall-clock' must be a-z"),
        ("seeds = 5", "seeds = 5\nprofiles = { a = { seeds = 3 } }", "line 6: 'seeds' is in a study with profiles"),
        ("seeds = 5", "seeds = 5\ntotal_minutes = 3.5", "line 7: 'total_minutes' is about modelled times"),
        ("seeds = 5", "seeds = 5\nsimulated_time = { critik = 1 }", "line 7: unknown key 'critik' in "
         "[studies.wall-clock.simulated_time]; did you mean 'critic'?"),
        ("seeds = 5", "seeds = 5\nsimulated_time = {}\ncosts = { timestep = 1.0 }", "line 8: 'critic_update' is "
         "missing"),
        ('"aes-rl@fixed-ratio", workers', '"aes-rl@fixed-ratio", preset = "default", workers', "line 10: 'algo' names "
         "the preset 'fixed-ratio' already; omit 'preset'"),
        ('["Hopper-v5"], total', '["Hoper-v5"], total', "line 10: 'Hoper-v5' is in no profile's envs; did you mean "
         "'Hopper-v5'?"),
        (PAIR, PAIR.replace('second = "cem-rl"', 'second = "cem-lr"'), "line 13: 'cem-lr' is no entry; did you mean "
         "'cem-rl'?"),
        (PAIR, PAIR.replace('"aes-rl@fixed-ratio"', '"cem-rl"'), "line 13: 'cem-rl' is compared with itself"),
        (PAIR, PAIR.replace("minutes", "minute"), "line 13: 'metric' must be one of final, curve, minutes, reach, "
         "not 'minute'; did you mean 'minutes'?"),
        (PAIR, PAIR.replace("75 %", "much"), "line 13: 'less-by' must be a number or a percentage"),
        (PAIR, PAIR.replace("less-by", "more-by = 3, less-by"), "line 13: a pair has 'more-by' or 'less-by', not both"),
        (PAIR, PAIR.replace("minutes", "reach"), "line 13: 'score' belongs to metric = \"reach\", which needs it"),
        (PAIR, PAIR.replace("minutes", "curve"), "line 13: 'from' and 'to' belong to metric = \"curve\""),
        (PAIR, PAIR.replace('"minutes"', '"curve", from = 9000, to = 8000'), "line 13: 'from' must be below 'to', not "
         "9,000 and 8,000"),
        (PAIR, PAIR.replace('"minutes"', '"curve", from = "a", to = 8000'), "line 13: 'from' must be"),
        (PAIR, PAIR.replace('"minutes"', '"curve", from = 9000, to = 18_000'), "line 13: the curve of "
         "'aes-rl@fixed-ratio' may end before 18,000; its total_timesteps must be at least 21,000, not 20,000"),
        (PAIR, PAIR.replace("less-by", 'envs = ["HalfCheetah-v5"], less-by'), "line 13: 'aes-rl@fixed-ratio' and "
         "'cem-rl' do not both run on HalfCheetah-v5"),
        (PAIR, f"{PAIR},\n{PAIR}", "line 14: 'compare' has this pair twice"),
        (PAIR, '"all"', "line 12: 'compare' must be a list of tables"),
        ('{ algo = "cem-rl", processes = 1 }', '"cem-rl"', "line 8: 'entries' must be a list of tables"),
        ('algo = "cem-rl"', 'name = "cem-rl"', "line 9: an entry needs 'algo', an algorithm"),
    ],
)  # fmt: skip
def test_mistakes_in_a_study_name_the_line_and_the_nearest_word(tmp_path, old, new, message):
    with pytest.raises(UsageError) as caught:
        load(tmp_path, old, new)
    assert f"studies.toml, {message}" in str(caught.value)


def test_simulated_time_has_its_costs_in_the_study(tmp_path):
    more = "simulated_time = { processes = 5 }\ntotal_minutes = 20\n"
    text = WALL_CLOCK.replace("total_timesteps = 30_000\n", more)
    profile = load(tmp_path, text=text).profiles[NO_PROFILE]
    assert (profile.simulated_time, profile.total_timesteps) == (Simulated(5, "own"), 0)
    assert profile.costs["critic_update"] == built_in_costs().critic_update
    with pytest.raises(UsageError, match="'to' must be below total_minutes, 20, not 30"):
        load(tmp_path, '"minutes"', '"curve", from = 3, to = 30, axis = "minutes"', text)


def test_a_study_like_another_has_its_budget_or_its_profiles(tmp_path):
    profiles = '\n[studies.other]\nlike = "wall-clock"\n\n[studies.other.profiles.short]\nseeds = 2\n'
    load(tmp_path, text=f"{WALL_CLOCK}{profiles}total_timesteps = 9\nenvs = ['Hopper-v5']\n")
    other = load_studies(tmp_path / "studies.toml")["other"]
    assert {name: one.total_timesteps for name, one in other.profiles.items()} == {"short": 9}
    text = f'{WALL_CLOCK}\n[studies.other]\nlike = "wall-clock"\nseeds = 2\n'
    load(tmp_path, text=text)
    other = load_studies(tmp_path / "studies.toml")["other"]
    assert (other.profiles[NO_PROFILE].seeds, other.profiles[NO_PROFILE].total_timesteps) == ((0, 1), 30_000)


@pytest.mark.parametrize("stored", [BENCHMARKS, *sorted(RESULTS.rglob("study.toml"))])
def test_the_text_of_a_study_is_that_study(tmp_path, stored):
    for study in (load(tmp_path), *load_studies(stored).values()):
        path = tmp_path / "study.toml"
        path.write_text(study_text(study.name, study.as_table))
        again = load_studies(path)[study.name]
        assert again == study
        assert again.sha256 == study.sha256


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('title = "Does', 'title = "Did', True),
        ('"AES-RL paper, contributions"', '"AES-RL paper, abstract"', True),
        ("processes = 1", 'processes = 1, label = "CEM-RL"', True),
        ("total_timesteps = 30_000", "eval_freq = 3000\ntotal_timesteps = 30_000", True),
        ("75 % less time", "70 % less time", False),
        ("seeds = 5", "seeds = 6", False),
        ("workers = 5", "workers = 6", False),
        ('less-by = "75 %"', 'less-by = "70 %"', False),
        ("seeds = 5", "seeds = 5\nsettings = { batch_size = 64 }", False),
    ],
)  # fmt: skip
def test_the_hash_is_of_what_decides(tmp_path, old, new, same):
    assert (load(tmp_path, old, new).sha256 == load(tmp_path).sha256) == same
