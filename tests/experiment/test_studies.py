"""benchmarks.toml: its form, its errors, and the studies that the suite comes with."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.experiment.arguments import arguments
from erlbench.experiment.command import requested_cells
from erlbench.experiment.studies import load_studies
from erlbench.experiment.study import Entry, Profile, profile_settings
from erlbench.experiment.toml_file import find_lines, nearest_line

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


def load(tmp_path: Path, old: str = "", new: str = "", text: str = SMALL):
    assert old in text
    path = tmp_path / "small.toml"
    path.write_text(text.replace(old, new, 1) if old else text)
    return load_studies(path)


def test_a_small_file(tmp_path):
    studies = load(tmp_path)
    one = studies["one"]
    assert [entry.name for entry in one.entries] == ["td3", "aes-rl@linear-fixed"]
    assert one.entries[1] == Entry(
        "aes-rl@linear-fixed", "aes-rl", "linear-fixed", 3, None, {"tau": 0.01}, "", "aes-rl@linear-fixed"
    )
    profile = one.profiles["smoke"]
    assert (profile.seeds, profile.total_timesteps, profile.eval_freq, profile.evaluate) == (
        (0, 1),
        1000,
        5000,
        "after",
    )
    assert isinstance(profile.total_timesteps, int)
    assert studies["two"].profiles["smoke"].seeds == (4,)
    assert one.envs_published == {"Hopper-v5": "Hopper-v2"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[profiles.smoke]", "[profile.smoke]", "line 1: unknown key 'profile'; did you mean 'profiles'?"),
        ("seeds = 2", "seed = 2", "line 2: unknown key 'seed' in [profiles.smoke]; did you mean 'seeds'?"),
        ("seeds = [4]", "seeds = [4, 4]", "line 27: 'seeds': '[4, 4]' must name each seed once"),
        ("total_timesteps = 1e3", 'total_timesteps = "1e3"', "line 3: 'total_timesteps' must be an integer, not '1e3'"),
        ("total_timesteps = 1e3", "", "line 18: 'total_timesteps' is missing in [studies.one.profiles.smoke]"),
        ('kind = "scores"', 'kind = "score"', "line 8: 'kind' must be one of scores, time, curves, timeline, "
         "not 'score'; did you mean 'scores'?"),
        ('baseline = "td3"', 'baseline = "td4"', "line 9: 'baseline' is 'td4', which is no entry; did you mean 'td3'?"),
        ('algo = "aes-rl"', 'algo = "aesrl"', "line 12: unknown algorithm 'aesrl'; did you mean 'aes-rl'?"),
        ("workers = 3", 'name = "td3"', "line 12: study 'one' has two entries 'td3'"),
        ("workers = 3", 'name = "a/b"', "line 12: an entry's name 'a/b' must be a-z"),
        ("settings = { tau", "settings = 3 # { tau", None),
        ('"Hopper-v5" = ', '"Hoper-v5" = ', "line 16: 'Hoper-v5' is in no profile's envs; did you mean 'Hopper-v5'?"),
        ('envs = ["Hopper-v5"]', "envs = []", "line 19: 'envs' must be a list without repetitions, not empty"),
        ('"Walker2d-v5"]', '"Walker2d-v5@v5"]', "line 28: 'Walker2d-v5@v5' names the default preset; write "
         "'Walker2d-v5'"),
        ('entries = [{ algo = "td3" }]', "", "line 21: study 'two' needs 'entries', a list of tables"),
        ("seeds = [4]", "env_timesteps = { \"Hoper-v5\" = 7 }", "line 27: 'Hoper-v5' is not in the profile's envs; did "
         "you mean 'Hopper-v5'?"),
        ("seeds = [4]", "env_timesteps = { \"Hopper-v5\" = 0 }", "line 27: 'env_timesteps' must be at least 1, not 0"),
        ("seeds = [4]", "entry_timesteps = { td4 = { \"Hopper-v5\" = 7 } }", "line 27: 'td4' is no entry; did you mean "
         "'td3'?"),
        ("seeds = 2", "seeds = = 2", "cannot be read: Invalid value (at line 2"),
    ],
)  # fmt: skip
def test_errors_name_the_line_and_the_nearest_word(tmp_path, old, new, message):
    with pytest.raises(UsageError) as caught:
        load(tmp_path, old, new)
    if message is not None:
        assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "small.toml"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{ start_timesteps", "{ start_timestep", "line 4: no algorithm of study 'one' has a setting 'start_timestep'; "
         "did you mean 'start_timesteps'?"),
        ("linear-fixed", "linear-fixd", "line 12: unknown preset 'linear-fixd' of aes-rl; "
         "did you mean 'linear-fixed'?"),
        ("tau = 0.01", "tua = 0.01", "line 12: unknown setting 'tua' of aes-rl; did you mean 'tau'?"),
        ("tau = 0.01", "tau = -1", "line 12: setting 'tau' of aes-rl must be at least 0, not -1"),
        ('"td3" }]', '"cem", settings = { bins = 3 } }, { algo = "td3" }]',
         "line 24: bins=3 is for continuous actions; CartPole-v1 has"),
        ('"td3" }]', '"td3", workers = 2 }]', "line 24: 'workers' means nothing to td3"),
        ("seeds = 2", "seeds = 2\nenv_settings = { frame_skp = 2 }", "line 20: environment 'Hopper-v5' has no setting "
         "'frame_skp'; did you mean 'frame_skip'?"),
        ('"Walker2d-v5"]', '"Walker3d-v5"]', "line 28: environment 'Walker3d-v5' cannot be made"),
    ],
)  # fmt: skip
def test_mistakes_in_cells_name_the_line_and_the_nearest_word(tmp_path, monkeypatch, old, new, message):
    monkeypatch.chdir(tmp_path)
    text = SMALL.replace('"Walker2d-v5"]', '"CartPole-v1"]') if "CartPole" in message else SMALL
    assert old in text
    Path("studies.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError) as caught:
        requested_cells(arguments({"study": "one,two"}))
    assert str(caught.value).startswith(f"studies.toml, {message}")


def test_the_error_on_a_study_of_a_file_with_a_mistake_is_the_mistake(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("studies.toml").write_text(SMALL.replace("seeds = 2", "seed = 2", 1))
    with pytest.raises(UsageError, match=r"line \d+: unknown key 'seed'.*did you mean 'seeds'\?$"):
        requested_cells(arguments({"study": "one"}))


@pytest.mark.parametrize("given", [{"set": ("td3.tau=-1",)}, {"env_set": ("frame_skip=-1",)}])
def test_a_mistake_of_the_command_has_no_line_of_the_study(tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    Path("studies.toml").write_text(SMALL)
    assert len(requested_cells(arguments({"study": "one,two"}))) == 6
    with pytest.raises(UsageError) as caught:
        requested_cells(arguments({"study": "two", **given}))
    assert "studies.toml" not in str(caught.value)


def test_a_studys_environments_are_those_of_every_profile(tmp_path):
    old = 'title = "Two"\nkind = "curves"'
    text = SMALL.replace('[studies.two.profiles.smoke]\nseeds = [4]\nenvs = ["Hopper-v5", "Walker2d-v5"]\n', "")
    two = load(tmp_path, old, old + '\nenvs = ["Walker2d-v5"]', text)["two"]
    assert {name: profile.envs for name, profile in two.profiles.items()} == {"smoke": ("Walker2d-v5",)}


LIKE = """
[studies.three]
like = "one"
kind = "curves"
envs = ["Walker2d-v5"]

[studies.three.profiles.smoke]
seeds = [7]
"""


def test_a_study_takes_from_another_what_it_leaves_out(tmp_path):
    one, three = (load(tmp_path, text=SMALL + LIKE)[name] for name in ("one", "three"))
    assert (three.name, three.title, three.kind) == ("three", "One", "curves")
    assert three.entries == one.entries
    assert three.profiles["smoke"].envs == ("Walker2d-v5",)
    assert three.profiles["smoke"].seeds == (7,)
    assert three.envs_published == {}


@pytest.mark.parametrize("other", ["ona", "three"])
def test_a_study_is_like_one_that_stands_for_itself(tmp_path, other):
    with pytest.raises(UsageError, match=f"line 31: '{other}'"):
        load(tmp_path, text=SMALL + LIKE.replace('like = "one"', f'like = "{other}"'))


def test_an_entry_has_its_own_budget_where_it_is_given():
    erl, other = Entry("erl", "erl"), Entry("td3", "td3")
    profile = Profile((0,), 10, ("Hopper-v5", "Ant-v5"), entry_timesteps={"erl": {"Hopper-v5": 40}})
    assert [profile.timesteps(env, entry) for entry in (erl, other) for env in profile.envs] == [40, 10, 10, 10]
    assert profile.most_timesteps("Hopper-v5", erl) == 40


def test_profile_settings_go_to_the_algorithms_that_have_them(tmp_path):
    profile = load(tmp_path)["one"].profiles["smoke"]
    assert profile_settings(profile, Entry("cem", "cem")) == {}
    assert profile_settings(profile, Entry("td3", "td3")) == {"start_timesteps": 100}
    assert profile_settings(profile, Entry("td3", "td3", settings={"start_timesteps": 5})) == {"start_timesteps": 5}


def test_unknown_studies_and_profiles(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("studies.toml").write_text(SMALL)
    with pytest.raises(UsageError, match="'on'; did you mean 'one'"):
        requested_cells(arguments({"study": "on"}))
    with pytest.raises(UsageError, match="'papr' of study 'one'; there are smoke"):
        requested_cells(arguments({"study": "one", "profile": "papr"}))


@pytest.mark.parametrize("was_run", [False, True])
def test_a_mistake_in_the_users_file_is_the_error_of_a_study_that_stands_there(tmp_path, monkeypatch, was_run):
    """Also where an earlier start has put the study as it was into the folder of its results."""
    monkeypatch.chdir(tmp_path)
    if was_run:
        Path("results", "smoke").mkdir(parents=True)
        Path("results", "smoke", "study.toml").write_text(SMALL)
    Path("studies.toml").write_text(SMALL.replace("seeds = 2", "seed = 2"))
    result = CliRunner().invoke(cli, ["run", "--study", "one", "--dry-run"])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith("erlbench: studies.toml, line 2: unknown key 'seed'")
    assert len(requested_cells(arguments({"study": "aes-rl-table-1"}))) > 0  # one of the suite's


def test_lines_of_keys():
    lines = find_lines('a = 1\n[b."c.d"]\n"e f" = [\n  { x = 1 },\n  { x = 2 },\n]\n[[g]]\nh = 1\n[[g]]\nh = 2\n')
    assert nearest_line(lines, ("a",)) == 1
    assert nearest_line(lines, ("b",)) == 2
    assert nearest_line(lines, ("b", "c.d", "e f")) == 3
    assert nearest_line(lines, ("b", "c.d", "e f", 1, "x")) == 5
    assert nearest_line(lines, ("g", 1, "h")) == 10
    assert nearest_line(lines, ("g", 1, "h", "nothing")) == 10
    assert nearest_line(lines, ("b", "nothing", "x"), ("a", "nothing")) == 1
    assert nearest_line(lines, ("nothing",)) is None
