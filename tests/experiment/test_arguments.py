"""What `erlbench run` makes of its options, its --config file and bad input."""

import os

import pytest

import erlbench
from erlbench.errors import UsageError
from erlbench.experiment.arguments import arguments, seed_list
from erlbench.experiment.command import requested_cells
from erlbench.reporting.options import parse_style


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("3", (0, 1, 2)), ("0,3,5-9", (0, 3, 5, 6, 7, 8, 9)), (2, (0, 1)),
        ([4, 1], (4, 1)), ("7,", (7,)),
    ],
)  # fmt: skip
def test_a_number_or_a_list_of_seeds_is_read(given, expected):
    assert seed_list(given, "--seeds") == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seeds": "0"}, "--seeds must be 1 to 10000 seeds"),
        ({"seeds": "1,1"}, "--seeds: '1,1' must name each seed once"),
        ({"seeds": "0-99999999999"}, "must be a range of 1 to 10000 seeds"),
        ({"seeds": "a"}, "--seeds must be a number of seeds (10) or a list (0,3,5-9), not 'a'"),
        ({"processes": "-1"}, "--processes must be at least 0, not '-1'"),
        ({"evaluate": "never"}, "'evaluate' must be one of during, after, not 'never'"),
        ({"device": "gpu"}, "--device must be auto, cpu, cuda or cuda:N, not 'gpu'"),
        ({"set": ("tau",)}, "--set needs KEY=VALUE, not 'tau'"),
        ({"name": "../up"}, "--name '../up'"),
        ({"name": "x" * 201}, "must be 1 to 200 of"),
        ({"processes": "0", "task_timeout": "5"}, "'task_timeout' needs worker processes that can be ended"),
        ({"slurm": ("cpus=2",), "processes": "2"}, "--processes is for this machine"),
        ({"slurm": ("cpus=2",), "pool": "ray"}, "--slurm and --pool exclude one another"),
        ({"config": "missing.toml"}, "missing.toml cannot be read: No such file or directory"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_an_option_is_named(given, message):
    with pytest.raises(UsageError) as caught:
        arguments(given)
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


def write(tmp_path, text):
    (tmp_path / "my.toml").write_text(text)
    return str(tmp_path / "my.toml")


def test_a_tilde_is_the_home_wherever_a_path_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    here = write(tmp_path, 'out = "~/there"\ncosts = "~/costs.toml"\nsimulated_time = true\n')
    asked = arguments({"config": f"~/{os.path.basename(here)}"})
    assert (asked.out, asked.costs) == (tmp_path / "there", tmp_path / "costs.toml")
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
    assert asked.env_set == {"frame_skip": "3", "healthy_reward": 0.5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\ntotal_timestep = 3", "my.toml, line 2: unknown option 'total_timestep'; did you mean 'total_timesteps'?"),
        ("[run]\nworkers = -1", "my.toml, line 2: 'workers' must be at least 1, not -1"),
        ("a = ", "my.toml cannot be read: Invalid value"),
        ("env = 3", "my.toml, line 1: 'env' must be a name or a list of names, not 3"),
        ("seeds = 5\n[run]\nseed = 0", "my.toml, line 3: 'seeds' is given twice"),
        ("force = 1", "my.toml, line 1: 'force' must be true or false, not 1"),
    ],
)
def test_errors_in_a_file_name_their_line(tmp_path, text, message):
    with pytest.raises(UsageError) as caught:
        arguments({"config": write(tmp_path, text)})
    assert message in str(caught.value)


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
    assert len(requested_cells(arguments({"study": "one,two"}))) == 1  # the same cell
    cells = requested_cells(arguments({"study": "three,one", "set": ("tau=0.1", "td3.discount=0.5")}))
    assert [(cell.algo, getattr(cell.settings, "tau", None)) for cell in cells] == [("td3", 0.1), ("cem", None)]
    assert cells[0].settings.discount == 0.5
    with pytest.raises(UsageError, match="unknown setting 'tua'"):
        requested_cells(arguments({"study": "three,one", "set": ("tua=0.1",)}))
    (tmp_path / "studies.toml").write_text(texts[0].replace("12", "13") + texts[1])
    with pytest.raises(UsageError, match=r"settings\.population: 13 .*12"):
        requested_cells(arguments({"study": "one,two"}))
