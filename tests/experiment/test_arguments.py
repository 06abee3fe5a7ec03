"""What `erlbench run` makes of its options, its --config file and bad input."""

import os
from ast import literal_eval

import pytest

import erlbench
from erlbench.errors import UsageError
from erlbench.experiment.arguments import arguments, seed_list
from erlbench.reporting.options import parse_style
from tests.experiment.requested import cells_of
from tests.tables import cells

SEEDS = """
"3"       | 0, 1, 2
"0,3,5-9" | 0, 3, 5, 6, 7, 8, 9
2         | 0, 1
[4, 1]    | 4, 1
"7,"      | 7,
"""


@pytest.mark.parametrize(("given", "expected"), cells(SEEDS))
def test_a_number_or_a_list_of_seeds_is_read(given, expected):
    assert seed_list(literal_eval(given), "--seeds") == literal_eval(expected)


REFUSED = """
{"seeds": "0"}                             | --seeds must be 1 to 10000 seeds
{"seeds": "1,1"}                           | '1,1'
{"seeds": "0-99999999999"}                 | 1 to 10000 seeds
{"seeds": "a"}                             | 'a'
{"processes": "-1"}                        | --processes must be at least 0
{"evaluate": "never"}                      | during, after
{"device": "gpu"}                          | 'gpu'
{"set": ("tau",)}                          | KEY=VALUE
{"name": "../up"}                          | '../up'
{"processes": "0", "task_timeout": "5"}    | 'task_timeout'
{"slurm": ("cpus=2",), "processes": "2"}   | --processes
{"slurm": ("cpus=2",), "pool": "ray"}      | --slurm and --pool
{"config": "missing.toml"}                 | missing.toml cannot be read
"""


@pytest.mark.parametrize(("given", "message"), cells(REFUSED))
def test_a_value_that_does_not_fit_an_option_is_named(given, message):
    with pytest.raises(UsageError, match=message) as caught:
        arguments(literal_eval(given))
    assert caught.value.exit_code == 2


def write(tmp_path, text):
    (tmp_path / "my.toml").write_text(text)
    return str(tmp_path / "my.toml")


def test_a_tilde_is_the_home_wherever_a_path_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    here = write(tmp_path, 'out = "~/there"\ncosts = "~/costs.toml"\nsimulated_time = true\n')
    asked = arguments({"config": f"~/{os.path.basename(here)}"})
    assert asked.out == tmp_path / "there"
    assert asked.costs == tmp_path / "costs.toml"
    assert arguments({"out": "~/res"}).out == tmp_path / "res"
    with pytest.raises(UsageError, match=f"{tmp_path}/style.toml cannot be read"):
        parse_style("~/style.toml")
    with pytest.raises(UsageError, match=f"{tmp_path}/runs"):
        erlbench.load_results("~/runs")


def test_the_command_line_wins_over_the_file(tmp_path):
    config = write(
        tmp_path,
        'algo = "td3"\neval-freq = 100\nseeds = 3\n[run]\ntotal_timesteps = 1e4\n'
        "[settings]\ntau = 0.1\nbatch_size = 7\n[env_settings]\nframe_skip = 2\nhealthy_reward = 0.5\n",
    )
    asked = arguments({"config": config, "eval_freq": "5000", "seeds": "4,", "set": ("tau=0.005", "policy-delay=3"),
                       "env_set": ("frame-skip=3",)})  # fmt: skip
    assert asked.algo == ("td3",)
    assert asked.eval_freq == 5000  # as the default, and still it wins
    assert asked.total_timesteps == 10_000
    assert asked.seeds == (4,)
    assert asked.set == {"tau": "0.005", "batch_size": 7, "policy_delay": "3"}
    assert asked.env_set == {"frame_skip": 3, "healthy_reward": 0.5}


MISTAKES = """
; total_timestep = 3    | line 2: unknown option 'total_timestep'; did you mean 'total_timesteps'
[run]; workers = -1     | line 2: 'workers' must be at least 1
a =                     | cannot be read
env = 3                 | line 1: 'env'
seeds = 5; [run]; seed = 0 | line 3: 'seeds'
force = 1               | line 1: 'force'
"""


@pytest.mark.parametrize(("lines", "message"), cells(MISTAKES))
def test_errors_in_a_file_name_their_line(tmp_path, lines, message):
    with pytest.raises(UsageError, match=f"my.toml.*{message}"):
        arguments({"config": write(tmp_path, lines.replace("; ", "\n"))})


STUDY = """\
[studies.{name}]
title = "A study"
kind = "scores"
baseline = "cem"
entries = [{{ name = "cem", algo = "cem", settings = {{ population = {population} }} }}]

[studies.{name}.profiles.smoke]
seeds = [0]
total_timesteps = 100
envs = ["Pendulum-v1"]
"""


def test_two_cells_do_not_share_a_folder_and_settings_go_to_the_algorithms_that_have_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = [STUDY.format(name=name, population=12) for name in ("one", "two", "three")]
    entry = 'algo = "td3", settings = { hidden = [8] }'
    texts[2] = texts[2].replace('algo = "cem", settings = { population = 12 }', entry).replace("Pendulum-v1", "Ant-v5")
    (tmp_path / "studies.toml").write_text("".join(texts), encoding="utf-8-sig")  # as Notepad writes it
    assert len(cells_of(study="one,two")) == 1  # the same cell
    cells = cells_of(study="three,one", set=("tau=0.1", "td3.discount=0.5"))
    assert [(cell.algo, getattr(cell.settings, "tau", None)) for cell in cells] == [("td3", 0.1), ("cem", None)]
    assert cells[0].settings.discount == 0.5
    with pytest.raises(UsageError, match="unknown setting 'tua'"):
        cells_of(study="three,one", set=("tua=0.1",))
    (tmp_path / "studies.toml").write_text(texts[0].replace("12", "13") + texts[1])
    with pytest.raises(UsageError, match=r"settings\.population: 13 .*12"):
        cells_of(study="one,two")
