"""A budget in modelled minutes: where the run ends, what it refuses, and what others say of it."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest
import tomli_w
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.envs.registry import problem
from erlbench.errors import TaskError
from erlbench.experiment.arguments import arguments
from erlbench.experiment.command import requested_cells
from erlbench.experiment.estimate import estimate
from erlbench.pool.serial import SerialPool
from erlbench.running.loop import gradient_workers
from erlbench.running.progress import Reading
from tests.runs import FILES, interrupt, make_cell, run, write_options

MINUTES = {"cem": 0.02, "cem-rl": 0.4, "p-cem-rl": 0.4, "aes-rl": 0.05}
INTERRUPTED = ["cem", "aes-rl", *(pytest.param(algo, marks=pytest.mark.slow) for algo in ("cem-rl", "p-cem-rl"))]
GRADIENTS = {"population": 4, "elites": 2, "n_grad": 2}
NEW = ("es", "actor", "random")  # tasks with which an individual of AES-RL begins


def cell_of(algo, folder, steps=0, **changes):
    settings = GRADIENTS if "cem-rl" in algo else {}
    given = {"total_minutes": MINUTES[algo], "simulated_time": True, "simulated_processes": 3, "settings": settings}
    return make_cell(algo, folder, "Pendulum-v1", steps, **(given | changes))


def read(cell, name):
    with open(cell.directory / name) as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def lines(cell, name):
    """All columns but the last one of tasks.csv, which is real processor time."""
    found = (cell.directory / name).read_text().splitlines()[1:]
    return sorted(line.rpartition(",")[0] if name == "tasks.csv" else line for line in found)


@pytest.mark.parametrize("algo", MINUTES)
def test_a_run_ends_after_the_first_generation_behind_its_minutes(algo, tmp_path):
    cell = cell_of(algo, tmp_path)
    assert run(cell) == 0
    ends = [float(row["train_time_s"]) for row in read(cell, "train.csv")]
    last = next(number for number, end in enumerate(ends) if end >= 60 * MINUTES[algo])
    assert last > 2
    if algo == "aes-rl":  # individuals that are under way come to their end, and nothing begins
        begun = [float(row["ready_s"]) for row in read(cell, "tasks.csv") if row["kind"] in NEW]
        assert ends[last - 1] <= max(begun) < ends[last]
    else:
        assert last == len(ends) - 1
    assert int(read(cell, "eval.csv")[-1]["final"]) == 1


@pytest.mark.parametrize("algo", INTERRUPTED)
@pytest.mark.parametrize("stops", [(9,), (3, 25)])
def test_an_interruption_changes_nothing(algo, stops, tmp_path):
    whole, parts = (cell_of(algo, tmp_path / name) for name in ("whole", "parts"))
    assert run(whole) == 0
    interrupt(parts, *stops)
    assert run(parts) == 0
    for name in FILES:
        assert lines(whole, name) == lines(parts, name), name


def test_a_task_that_fails_at_the_start_of_a_generation_changes_no_time(tmp_path, monkeypatch):
    """The driver's work before a generation was taken out of the time, as the clock had not been looked at since."""
    whole, parts = (cell_of("cem", tmp_path / name) for name in ("whole", "parts"))
    assert run(whole) == 0
    taken = SerialPool.next_result
    calls = []

    def failing(pool, timeout=None):
        calls.append(pool)
        if len(calls) == 21:  # two generations of ten are over
            raise TaskError("no memory")
        return taken(pool, timeout)

    with monkeypatch.context() as patch:
        patch.setattr(SerialPool, "next_result", failing)
        assert run(parts) == 1
    assert run(parts) == 0
    assert lines(whole, "train.csv") == lines(parts, "train.csv")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--algo cem", "'total_minutes' is of modelled time; give --simulated-time, too"),
        ("--algo td3 --simulated-time", "td3, which needs its number of steps: the last episode"),
        ("--algo cem,ppo --simulated-time", "ppo, which needs its number of steps: the last iter"),
        ("--algo esac --set p_clock=budget --simulated-time", "esac, which needs its number of"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(words, message, tmp_path):
    config = write_options(tmp_path / "options.toml", total_minutes=3)
    given = ["--config", config, "--env", "Pendulum-v1", "--out", str(tmp_path / "out"), *words.split()]
    result = CliRunner().invoke(cli, ["run", *given])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("steps", [None, "110000"])
def test_the_configuration_of_a_run_gives_its_cell_again(steps, tmp_path):
    given = {"algo": ("aes-rl",), "env": ("Pendulum-v1",), "simulated_time": True, "total_minutes": "19.03",
             "total_timesteps": steps, "out": str(tmp_path)}  # fmt: skip
    cell = requested_cells(arguments(given))[0]
    assert (cell.total_timesteps, cell.total_minutes) == (int(steps or 0), 19.03)
    assert cell.config()["run"].get("total_timesteps") == (int(steps) if steps else None)
    (tmp_path / "config.toml").write_text(tomli_w.dumps(cell.config()))
    assert (
        requested_cells(arguments({"config": str(tmp_path / "config.toml"), "out": str(tmp_path)}))[0].config()
        == cell.config()
    )


def test_progress_and_estimates_follow_the_minutes(tmp_path):
    minutes = Reading(
        timesteps=5000, total_timesteps=0, last_return=None, busy=1, processes=2, minutes=1.5, total_minutes=6.0
    )
    assert minutes.work / minutes.whole == pytest.approx(0.25)
    assert minutes.words().startswith("5,000 steps, 1.5/6 modelled minutes  ")
    both = replace(minutes, total_timesteps=50_000)
    assert both.work / both.whole == pytest.approx(0.1)  # the one that is less far decides
    cell = cell_of("p-cem-rl", tmp_path, settings={"start_timesteps": 300})
    assert gradient_workers(cell, 2) == 2
    task = problem(cell.env)
    seconds = [estimate(replace(cell, total_minutes=number), task, 1).core_seconds for number in (1.0, 11.0, 21.0)]
    assert seconds[2] - seconds[1] == pytest.approx(seconds[1] - seconds[0], rel=0.01)
    assert seconds[1] > seconds[0]
