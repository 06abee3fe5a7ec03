"""benchmarks.toml: its form, its errors, and the studies that the suite comes with."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from erlbench.algorithms import registry
from erlbench.envs.catalogue import LISTED, Preset, split
from erlbench.errors import UsageError
from erlbench.experiment.settings import resolve
from erlbench.experiment.studies import (
    Entry,
    Profile,
    benchmarks_file,
    find,
    find_profile,
    load_studies,
    profile_settings,
    validate,
)
from erlbench.experiment.toml_file import TomlLines
from erlbench.reporting.data.published import load_published

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
    validate(studies, tmp_path / "small.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[profiles.smoke]", "[profile.smoke]", "line 1: unknown key 'profile'; did you mean 'profiles'?"),
        ("seeds = 2", "seed = 2", "line 2: unknown key 'seed' in [profiles.smoke]; did you mean 'seeds'?"),
        ("seeds = 2", "seeds = 0", "line 2: 'seeds' must be at least 1 or a list, not 0"),
        ("seeds = [4]", "seeds = [4, 4]", "line 27: 'seeds' must be a list without repetitions, not empty"),
        ("seeds = [4]", "seeds = [-4]", "line 27: 'seeds' must be at least 0, not [-4]"),
        ("total_timesteps = 1e3", 'total_timesteps = "1e3"', "line 3: 'total_timesteps' must be an integer, not '1e3'"),
        ("total_timesteps = 1e3", "total_timesteps = true", "line 3: 'total_timesteps' must be an integer, not True"),
        ("total_timesteps = 1e3", "", "line 18: 'total_timesteps' is missing in [studies.one.profiles.smoke]"),
        ('kind = "scores"', 'kind = "score"', "line 8: 'kind' must be one of scores, time, curves, timeline, "
         "not 'score'; did you mean 'scores'?"),
        ('baseline = "td3"', 'baseline = "td4"', "line 9: 'baseline' is 'td4', which is no entry; did you mean 'td3'?"),
        ('algo = "aes-rl"', 'algo = "aesrl"', "line 12: unknown algorithm 'aesrl'; did you mean 'aes-rl'?"),
        ('algo = "aes-rl"', 'aglo = "aes-rl"', "line 12: unknown key 'aglo' in [studies.one.entries.1]; "
         "did you mean 'algo'?"),
        ("workers = 3", "workers = 0", "line 12: 'workers' must be at least 1, not 0"),
        ("workers = 3", 'name = "td3"', "line 12: study 'one' has two entries 'td3'"),
        ("workers = 3", 'name = "a/b"', "line 12: an entry's name 'a/b' must be letters"),
        ("settings = { tau", "settings = 3 # { tau", None),
        ('"Hopper-v5" = ', '"Hoper-v5" = ', "line 16: 'Hoper-v5' is in no profile's envs; did you mean 'Hopper-v5'?"),
        ('envs = ["Hopper-v5"]', "envs = []", "line 19: 'envs' must be a list without repetitions, not empty"),
        ('entries = [{ algo = "td3" }]', "", "line 21: study 'two' needs 'entries', a list of tables"),
        ("seeds = [4]", "eval_freq = 7", "line 24: entry 'td3' of study 'two' is not as in study 'one' on "
         "Hopper-v5: it differs in eval_freq of profile smoke; make them equal or give one another name"),
        ('[{ algo = "td3" }]', '[{ algo = "td3", processes = 1 }]', "line 24: entry 'td3' of study 'two' is not as in "
         "study 'one' on Hopper-v5: it differs in processes; make them equal or give one another name"),
        ("seeds = [4]", "env_settings = { frame_skip = 2 }", "entry 'td3' of study 'two' is not as in study 'one' on "
         "Hopper-v5: it differs in env_settings of profile smoke"),
        ("seeds = [4]", "env_timesteps = { \"Hopper-v5\" = 7 }", "it differs in the budget of profile smoke"),
        ("seeds = [4]", "total_generations = 3", "it differs in total_generations of profile smoke"),
        ("seeds = [4]", "env_timesteps = { \"Hoper-v5\" = 7 }", "line 27: 'Hoper-v5' is not in the profile's envs; did "
         "you mean 'Hopper-v5'?"),
        ("seeds = [4]", "env_timesteps = { \"Hopper-v5\" = 0 }", "line 27: 'env_timesteps' must be integers of at "
         "least 1, not 0"),
        ("seeds = [4]", "entry_timesteps = { td3 = { \"Hopper-v5\" = 7 } }", "it differs in the budget of profile "
         "smoke"),
        ("seeds = [4]", "entry_timesteps = { td4 = { \"Hopper-v5\" = 7 } }", "line 27: 'td4' is no entry; did you mean "
         "'td3'?"),
        ("seeds = [4]", "entry_timesteps = { td3 = { \"Hopper-v5\" = 0 } }", "line 27: 'entry_timesteps' must be "
         "integers of at least 1, not 0"),
        ('[{ algo = "td3" }]', '[{ algo = "td3", nominal = 2 }]', "it differs in nominal; make them equal"),
        ("workers = 3", "nominal = 0", "line 12: 'nominal' must be at least 1, not 0"),
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
        ('"Walker2d-v5"]', '"Walker2d-v5@v5"]', "line 28: 'Walker2d-v5@v5' names the default preset; write "
         "'Walker2d-v5'"),
        ('"td3" }]', '"cem" }, { algo = "steady" }]', "line 24: steady has no discrete actions, which CartPole-v1 "),
        ('"td3" }]', '"cem", settings = { bins = 3 } }, { algo = "td3" }]',
         "line 24: bins=3 is for continuous actions; CartPole-v1 has"),
        ("seeds = 2", "seeds = 2\nenv_settings = { frame_skp = 2 }", "line 20: environment 'Hopper-v5' has no setting "
         "'frame_skp'; did you mean 'frame_skip'?"),
        ('"Walker2d-v5"]', '"Walker3d-v5"]', "line 28: environment 'Walker3d-v5' cannot be made"),
    ],
)  # fmt: skip
def test_validation_names_the_line_and_the_nearest_word(tmp_path, monkeypatch, old, new, message):
    entries = {**registry.ALGORITHMS, "steady": registry.Entry("erlbench.algorithms.td3:TD3")}
    monkeypatch.setattr(registry, "ALGORITHMS", entries)
    text = SMALL.replace('"Walker2d-v5"]', '"CartPole-v1"]') if "CartPole" in message else SMALL
    studies = load(tmp_path, old, new, text)
    with pytest.raises(UsageError) as caught:
        validate(studies, tmp_path / "small.toml")
    assert f"small.toml, {message}" in str(caught.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(UsageError, match=r"none\.toml cannot be read: No such file"):
        load_studies(tmp_path / "none.toml")


def test_cells_are_shared_where_environments_are(tmp_path):
    studies = load(tmp_path, 'envs = ["Hopper-v5", "Walker2d-v5"]', 'envs = ["Walker2d-v5"]\ntotal_timesteps = 7')
    assert studies["two"].profiles["smoke"].total_timesteps == 7


def test_a_studys_environments_are_those_of_every_profile(tmp_path):
    old = 'title = "Two"\nkind = "curves"'
    text = SMALL.replace('[studies.two.profiles.smoke]\nseeds = [4]\nenvs = ["Hopper-v5", "Walker2d-v5"]\n', "")
    two = load(tmp_path, old, old + '\nenvs = ["Walker2d-v5"]', text)["two"]
    assert {name: profile.envs for name, profile in two.profiles.items()} == {"smoke": ("Walker2d-v5",)}


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


def test_unknown_studies_and_profiles(tmp_path):
    studies = load(tmp_path)
    with pytest.raises(UsageError, match="unknown study 'on'; did you mean 'one'"):
        find(studies, "on")
    with pytest.raises(UsageError, match="unknown profile 'papr' of study 'one'; it has smoke"):
        find_profile(studies["one"], "papr")


PACKAGED = {  # seeds of the profile `paper`
    "aes-rl-table-1": 10,
    "aes-rl-table-2": 10,
    "aes-rl-table-3": 10,
    "aes-rl-figure-1": 1,
    "aes-rl-figure-3": 3,
    "esac-table-1": 5,
    "openai-es-table-3": 6,
    "goodai-lander": 5,
}


def test_the_packaged_studies():
    studies = load_studies()
    validate(studies)
    assert {name: len(study.profiles["paper"].seeds) for name, study in studies.items()} == PACKAGED
    for name, study in studies.items():
        assert set(study.profiles) == {"smoke", "laptop", "paper"}
        assert len(study.entries) == 1 or study.baseline in {entry.name for entry in study.entries}
        if name.startswith("aes-rl"):
            assert study.profiles["paper"].total_timesteps == 1_000_000
    assert len(studies["aes-rl-table-2"].entries) == 10
    assert [entry.name for entry in studies["aes-rl-table-3"].entries] == [
        "td3@cem-rl", "td3", "sac", "cem", "erl", "cem-rl", "aes-rl",
    ]  # fmt: skip
    assert studies["aes-rl-table-3"].not_run == ()
    assert len(studies["aes-rl-table-3"].profiles["paper"].envs) == 6


def entries_of(study):
    return {entry.name: entry for entry in load_studies()[study].entries}


def test_published_lander_rows_are_those_algorithms():
    """ES and CMA of the document are nevergrad's; pycma's CMA-ES with fresh starts stands beside nothing published."""
    lander = entries_of("goodai-lander")
    shown = {entry.published: resolved("goodai-lander", entry.name) for entry in lander.values() if entry.published}
    assert {name: (values.episodes, values.population) for name, values in shown.items()} == {
        "CMA 1ep": (1, 20), "CMA 5ep": (5, 20), "ES 1ep": (1, 20), "ES 5ep": (5, 20),
        "OptimES 1ep pop20": (1, 20), "OptimES 5ep pop20": (5, 20), "OptimES 1ep pop200": (1, 200),
    }  # fmt: skip
    assert [shown[name].optimizer for name in ("CMA 1ep", "ES 5ep")] == ["OldCMA", "ES"]
    assert {name for name, entry in lander.items() if not entry.published} == {"cma-es-1ep", "cma-es-5ep"}


def resolved(study, name, env="HalfCheetah-v5"):
    entry = entries_of(study)[name]
    settings_type = registry.find(entry.algo).settings_type
    return resolve(settings_type, env, registry.preset(entry.algo, entry.preset), entry.settings)


def test_p_cem_rl_stands_beside_aes_rl_with_the_same_batch():
    for study in ("aes-rl-table-1", "aes-rl-figure-1", "aes-rl-figure-3"):
        batches = {name: resolved(study, name).batch_size for name in entries_of(study)}
        assert batches.pop("cem-rl") == 100
        assert set(batches.values()) == {256}
        assert "batch 256" in load_studies()[study].note


def test_quoted_columns_are_the_quoted_algorithms():
    table = entries_of("aes-rl-table-3")
    assert table["td3@cem-rl"].published == "TD3"
    assert not table["td3"].published
    quoted = resolved("aes-rl-table-3", "td3@cem-rl")
    assert (quoted.hidden, quoted.activation, quoted.batch_size) == ((400, 300), "tanh", 100)


def test_erl_has_the_budgets_of_its_paper():
    study = load_studies()["aes-rl-table-3"]
    paper, erl = study.profiles["paper"], entries_of("aes-rl-table-3")["erl"]
    published = {
        number.env: number.steps
        for number in load_published()._numbers.values()
        if (number.source, number.table, number.algorithm) == ("AES-RL paper", "Section 4.3", "ERL")
    }
    assert {study.envs_published[env]: paper.timesteps(env, erl) for env in paper.envs} == published
    assert {paper.timesteps(env, study.entries[0]) for env in paper.envs} == {1_000_000}
    assert study.profiles["laptop"].timesteps("Hopper-v5@paper", erl) == 22_000


def test_the_es_of_esac_normalises_observations():
    es = resolved("esac-table-1", "openai-es@esac")
    assert es.normalise_observations
    assert (es.hidden, es.population, es.sigma) == ((512, 512), 50, 5e-3)


def test_studies_run_the_papers_environments():
    """Where a preset undoes a change of version 5, studies name it; ESAC's paper had MuJoCo 1.50's contact forces."""
    for study in load_studies().values():
        for env in {env for profile in study.profiles.values() for env in profile.envs}:
            row = LISTED[split(env)[0]]
            changed = [name for name, preset in row.presets.items() if preset != Preset()]
            wanted = changed[-1] if study.source == "ESAC paper" and changed else next(iter(changed), "")
            assert split(env)[1] == wanted, f"{env} of {study.name}"


def test_published_names_are_those_of_the_table():
    """Each entry on each environment of the profile `paper` finds its number, or the paper has none there."""
    published = load_published()
    without = set()
    for study in load_studies().values():
        if study.kind in ("scores", "curves"):
            for env in study.profiles["paper"].envs:
                for entry in (entry for entry in study.entries if entry.published):
                    where = (study.source, study.table, study.envs_published[env], entry.published)
                    if published.find(*where, study.statistic) is None:
                        without.add((study.name, entry.published, env))
    assert without == {("aes-rl-table-3", "CEM", "Humanoid-v5@paper")}


def test_the_tasks_and_budgets_of_esac():
    study = load_studies()["esac-table-1"]
    paper = study.profiles["paper"]
    published = {number.env: number.steps for number in load_published()._numbers.values() if _is_of(number, study)}
    assert {study.envs_published[env]: paper.timesteps(env) for env in paper.envs} == published
    assert len(published) == 15


def test_the_documentation_has_a_row_for_each_study():
    text = (Path(__file__).parents[2] / "docs" / "studies.md").read_text()
    assert re.findall(r"^\| `([^`]+)`", text, re.MULTILINE) == list(load_studies())


def test_nominal_entries_end_by_generations():
    plain, nominal = Entry("td3", "td3"), Entry("esac", "esac", nominal=60)
    profile = Profile((0,), 10_010, ("Reacher-v5", "Hopper-v5"), env_timesteps={"Hopper-v5": 20_000})
    assert (profile.timesteps("Reacher-v5"), profile.timesteps("Hopper-v5")) == (10_010, 20_000)
    assert (profile.most_timesteps("Hopper-v5", plain), profile.generations(plain, 20_000, 1000)) == (20_000, None)
    assert (profile.most_timesteps("Hopper-v5", nominal), profile.generations(nominal, 20_000, 1000)) == (1_200_000, 20)
    assert profile.generations(nominal, 10_010, 50) == 201


def _is_of(number, study):
    return (number.source, number.table) == (study.source, study.table)


def test_the_file_lies_in_the_package():
    assert benchmarks_file().is_file()


def test_loading_imports_nothing_heavy():
    code = (
        "import sys; from erlbench.experiment.studies import load_studies; load_studies(); "
        "print([m for m in ('torch', 'numpy', 'gymnasium', 'pandas', 'erlbench.algorithms.td3') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_lines_of_keys():
    lines = TomlLines('a = 1\n[b."c.d"]\n"e f" = [\n  { x = 1 },\n  { x = 2 },\n]\n[[g]]\nh = 1\n[[g]]\nh = 2\n')
    assert lines.find(("a",)) == 1
    assert lines.find(("b",)) == 2
    assert lines.find(("b", "c.d", "e f")) == 3
    assert lines.find(("b", "c.d", "e f", 1, "x")) == 5
    assert lines.find(("g", 1, "h")) == 10
    assert lines.find(("g", 1, "h", "nothing")) == 10
    assert lines.find(("b", "nothing", "x"), ("a", "nothing")) == 1
    assert lines.find(("nothing",)) is None
