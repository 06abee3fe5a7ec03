"""benchmarks.toml: its form, its errors, and the studies that the suite comes with."""

from pathlib import Path

import pytest

from erlbench.errors import UsageError
from erlbench.experiment.studies import load_studies
from erlbench.experiment.study import Entry, profile_settings
from tests.calls import refuse
from tests.experiment.requested import cells_of
from tests.tables import cells

SMALL = """\
[profiles.smoke]
seeds = 2
total_timesteps = 1e3
settings = { start_timesteps = 100 }

[studies.one]
title = "One"
kind = "scores"
baseline = "td3"
entries = [
    { algo = "td3", published = "TD3" },
    { algo = "aes-rl", preset = "linear-fixed", workers = 3, settings = { tau = 0.01 } },
]

[studies.one.envs_published]
"Hopper-v5" = "Hopper-v2"

[studies.one.profiles.smoke]
envs = ["Hopper-v5"]

[studies.two]
title = "Two"
kind = "curves"
entries = [{ algo = "td3" }]

[studies.two.profiles.smoke]
seeds = [4]
envs = ["Hopper-v5", "Walker2d-v5"]
"""


def load(tmp_path, text=SMALL):
    path = tmp_path / "small.toml"
    path.write_text(text)
    return load_studies(path)


def test_a_small_file(tmp_path):
    studies = load(tmp_path)
    one = studies["one"]
    assert [entry.name for entry in one.entries] == ["td3", "aes-rl@linear-fixed"]
    assert one.entries[1] == Entry(
        "aes-rl@linear-fixed", "aes-rl", "linear-fixed", 3, None, {"tau": 0.01}, "", "aes-rl@linear-fixed"
    )
    profile = one.profiles["smoke"]
    assert profile.seeds == (0, 1)
    assert profile.total_timesteps == 1000
    assert profile.eval_freq == 5000
    assert isinstance(profile.total_timesteps, int)
    assert studies["two"].profiles["smoke"].seeds == (4,)
    assert one.envs_published == {"Hopper-v5": "Hopper-v2"}


MISTAKES = """
[profiles.smoke]  | [profile.smoke]    | line 1: unknown key 'profile'; did you mean 'profiles'?
kind = "scores"   | kind = "score"     | line 8: 'kind' must be one of scores, time, curves, timeline
algo = "aes-rl"   | algo = "aesrl"     | line 12: unknown algorithm 'aesrl'; did you mean 'aes-rl'?
workers = 3       | name = "td3"       | line 12: study 'one' has two entries 'td3'
entries = [{ algo = "td3" }] | note = "" | line 21: study 'two' needs 'entries'
seeds = [4]       | env_timesteps = { "Hoper-v5" = 7 } | line 27: 'Hoper-v5' is not in the profile's envs
seeds = [4]       | env_timesteps = { "Hopper-v5" = 7.5 } | line 27: 'env_timesteps' must be a table
"td3" }] | "td3" }, { algo = "sac" }]; compare = [{ first = "td3", second = "sac", axis = "minutes" }] | line 25: 'from'
"td3" }] | "td3" }, { algo = "sac" }]; compare = [{ first = "td3", second = "sac", more-by = "1e400 %" }] | 'more-by'
seeds = 2         | seeds = = 2        | cannot be read: Invalid value (at line 2
{ start_timesteps | { start_timestep   | line 4: no algorithm of study 'one' has a setting 'start_timestep'
"td3" }]          | "cem", settings = { bins = 3 } }, { algo = "td3" }] | line 24: bins=3 is for continuous actions
"td3" }]          | "td3", workers = 2 }] | line 24: 'workers' means nothing to td3
"Walker2d-v5"]    | "Walker3d-v5"]     | line 28: environment 'Walker3d-v5' cannot be made
"""


@pytest.mark.parametrize(("old", "new", "message"), cells(MISTAKES))
def test_errors_name_the_line_and_the_nearest_word(tmp_path, monkeypatch, old, new, message):
    monkeypatch.chdir(tmp_path)
    text = SMALL.replace('"Walker2d-v5"]', '"CartPole-v1"]') if "bins" in message else SMALL
    assert old in text
    Path("studies.toml").write_text(text.replace(old, new.replace("; ", "\n"), 1))
    with pytest.raises(UsageError) as caught:
        cells_of(study="one,two")
    assert str(caught.value).startswith("studies.toml")
    assert message in str(caught.value)


def test_an_entry_has_workers_where_its_schedule_has(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entry = '"cem-rl", workers = 2, settings = { schedule = "steady-state" } }]'
    Path("studies.toml").write_text(SMALL.replace('"td3" }]', entry, 1))
    assert {cell.workers for cell in cells_of(study="one,two") if cell.algo == "cem-rl"} == {2}


LIKE = """
[studies.three]
like = "one"
kind = "curves"
envs = ["Walker2d-v5"]

[studies.three.profiles.smoke]
seeds = [7]
"""


def test_a_study_takes_from_another_what_it_leaves_out(tmp_path):
    one, three = (load(tmp_path, SMALL + LIKE)[name] for name in ("one", "three"))
    assert three.name == "three"
    assert three.title == "One"
    assert three.kind == "curves"
    assert three.entries == one.entries
    assert three.profiles["smoke"].envs == ("Walker2d-v5",)
    assert three.profiles["smoke"].seeds == (7,)
    assert three.envs_published == {}
    assert profile_settings(one.profiles["smoke"], Entry("cem", "cem")) == {}
    assert profile_settings(one.profiles["smoke"], Entry("td3", "td3")) == {"start_timesteps": 100}
    with pytest.raises(UsageError, match="line 31: 'three'"):
        load(tmp_path, SMALL + LIKE.replace('like = "one"', 'like = "three"'))


@pytest.mark.parametrize("was_run", [False, True])
def test_a_mistake_in_the_users_file_is_the_error_of_a_study_that_stands_there(tmp_path, monkeypatch, was_run):
    """Also where an earlier start has put the study as it was into the folder of its results."""
    monkeypatch.chdir(tmp_path)
    if was_run:
        Path("results", "smoke").mkdir(parents=True)
        Path("results", "smoke", "study.toml").write_text(SMALL)
    Path("studies.toml").write_text(SMALL.replace("seeds = 2", "seed = 2"))
    refuse("studies.toml, line 2: unknown key 'seed'", "run", "--study", "one", "--dry-run")
    assert cells_of(study="aes-rl-table-1")  # one of the suite's
