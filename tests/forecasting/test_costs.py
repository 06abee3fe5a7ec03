"""Costs of tasks: the fit, the file, and the command."""

import os
import time
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.experiment.costs import BILLION, Costs, built_in_costs, load_costs
from erlbench.forecasting import calibration
from erlbench.forecasting.calibration import calibrate, save_costs
from erlbench.forecasting.costs_of_runs import Measured, fit, from_tasks
from erlbench.machine import resources
from erlbench.running.loop import Loop
from tests.runs import make_cell, run

TRUE = Costs(
    timestep=2e-4,
    critic_update=5e-3,
    actor_update=3e-3,
    overhead=1.5e-3,
    source="here",
    crowding=1.6,
    cores=4,
    update=0.02,
)


def tasks(rng, count=200):
    """Episodes, critic blocks, actors, and TD3's tasks, which do all at once; some are disturbed."""
    found = []
    for number in range(count):
        steps, critic, actor = rng.integers(100, 1000), rng.integers(50, 500), rng.integers(50, 500)
        counts = [(steps, 0, 0), (0, critic, 0), (0, 0, actor), (steps, steps, steps // 2)][number % 4]
        seconds = TRUE.seconds(*counts) * (1 + 0.01 * abs(rng.standard_normal()))
        found.append((seconds * (3 if number % 17 == 0 else 1), *counts))
    return found


def test_the_fit_finds_the_costs_although_some_tasks_were_disturbed():
    found = fit(tasks(np.random.default_rng(0)), "here")
    assert found.timestep == pytest.approx(TRUE.timestep, rel=0.03)
    assert found.critic_update == pytest.approx(TRUE.critic_update, rel=0.03)
    assert found.actor_update == pytest.approx(TRUE.actor_update, rel=0.03)
    assert 0.003 < found.spread < 0.03  # |N(0, 0.01)| and what the fit leaves; not the times three
    with pytest.raises(UsageError, match="no task"):
        fit([], "here")


def test_a_fit_that_would_leave_most_of_the_time_out_is_refused():
    """Short tasks that seem to cost nothing made long ones "disturbed": 98 % of the time were left out in silence."""
    short, long = [(1e-4 + 1e-5 * number, 20, 0, 0) for number in range(100)], [(0.2, 400, 0, 0)] * 20
    with pytest.raises(UsageError, match=r"here: \d+ of 120 tasks .*2 times"):
        fit(short + long, "here")


def test_the_fit_gives_the_mean_of_each_kind_and_size_of_tasks():
    """Short tasks are many and have long tails, and a task with gradient steps has an overhead of its own.

    Once the tails of short tasks made long ones dearer, and the overhead of gradient tasks made their updates dearer.
    """
    rng, sizes = np.random.default_rng(1), [(5, 0, 0), (0, 10, 0), (0, 0, 50), (100, 0, 0), (0, 200, 0), (0, 0, 1000)]
    true = replace(TRUE, overhead=1e-3, gradient_overhead=3e-3, timestep=8e-5, critic_update=5e-4, actor_update=2e-4)
    found = []
    for steps, critic, actor in sizes:
        short, mean = max(steps, critic, actor) <= 50, true.seconds(steps, critic, actor)
        factors = rng.exponential(0.3, 600) if short else rng.normal(0.15, 0.01, 40)
        found += [(mean * (0.85 + factor), steps, critic, actor) for factor in factors]
    costs = fit(found, "here")
    for counts in sizes:
        took = np.mean([task[0] for task in found if task[1:] == counts])
        assert costs.seconds(*counts) == pytest.approx(took, rel=0.05), counts
    for counts in sizes[3:]:
        assert costs.seconds(*counts) == pytest.approx(true.seconds(*counts), rel=0.015), counts
    assert costs.gradient_overhead > 1e-3


def test_crowding_is_that_of_long_tasks_of_one_run_and_free_of_drift(tmp_path, monkeypatch):
    runs = []

    def run_for(cell, processes, seconds, found):
        steps = cell.env_settings["max_episode_steps"]
        runs.append((processes, steps))
        slower = 1 + 0.1 * len(runs)  # the machine becomes slower and slower
        found.tasks += [(slower * (1.3 if processes > 1 else 1.0) * TRUE.seconds(steps, 0, 0), steps, 0, 0)] * 50
        found.beside += [processes - 1.0] * 50

    monkeypatch.setattr(calibration, "_run_for", run_for)
    monkeypatch.setattr(calibration, "cores", lambda: 4)
    found = calibrate(make_cell("cem", tmp_path, env="HalfCheetah-v5"), 1.0)
    assert runs == [(1, 20), (1, 400), (4, 1000), (4, 1000), (1, 400), (1, 20)]
    assert found.crowding == pytest.approx(1.3, rel=0.01)
    assert (found.cores, found.timestep) == (4, pytest.approx(1.35 * TRUE.timestep, rel=0.01))


def test_to_start_workers_does_not_use_up_the_time_of_a_calibration(tmp_path, monkeypatch):
    prepare, rows = Loop.prepare, []

    def slowly(loop, *args):
        prepare(loop, *args)
        time.sleep(0.5)

    monkeypatch.setattr(Loop, "prepare", slowly)
    monkeypatch.setattr(Measured, "add_tasks", lambda found, tasks: rows.extend(tasks))
    calibration._run_for(make_cell("cem", tmp_path, steps=10**6), 1, 0.4, Measured())
    assert rows[-1].end_s > 0.1  # the first result would end it, if the 0.5 s counted


def test_crowding_grows_up_to_all_cores_of_the_machine():
    assert TRUE.slowed(1) == BILLION
    assert TRUE.slowed(3) == 1_400_000_000
    assert TRUE.slowed(4) == TRUE.slowed(64) == 1_600_000_000
    assert replace(TRUE, cores=1).slowed(3) == BILLION


def tasks_file(folder, rows):
    """A `tasks.csv` of rollouts: (start, end, process, timesteps) each."""
    folder.mkdir()
    lines = [f"rollout,{start},{end},0,{process},{steps},0,0" for start, end, process, steps in rows]
    (folder / "tasks.csv").write_text(
        "\n".join(["kind,start_s,end_s,ready_s,process,timesteps,critic_updates,actor_updates", *lines]) + "\n"
    )


def test_crowding_counts_how_many_tasks_ran_beside_each(tmp_path):
    """Of 5 tasks on 4 processes the fifth runs alone, and takes less; the mean of all is no task's crowding."""
    tasks_file(tmp_path / "run", [*((0.0, 1.6, process, 1000) for process in range(4)), (1.6, 2.6, 0, 1000)])
    found = Measured()
    found.add(tmp_path / "run")
    assert found.beside == pytest.approx([3, 3, 3, 3, 0])
    assert found.crowding(Costs(timestep=1e-3, critic_update=0.0, actor_update=0.0, overhead=0.0), 4) == pytest.approx(
        1.6
    )
    assert from_tasks(tmp_path / "run").seconds(1000, 0, 0) == pytest.approx((4 * 1.6 + 1) / 5)
    tasks_file(tmp_path / "serial", [(0.0, 2.0, 0, 1000), (2.0, 5.0, 1, 1000)])
    alone = Measured()
    alone.add(tmp_path / "serial")
    assert (
        alone.crowding(Costs(timestep=1e-3, critic_update=0.0, actor_update=0.0, overhead=0.0), 4) == 1.0
    )  # nothing ran beside another: it cannot be measured


def test_the_built_in_costs_are_those_of_the_package_and_say_where_they_are_from():
    costs = built_in_costs()
    assert 0 < costs.timestep < costs.critic_update
    assert costs.overhead > 0
    assert "HalfCheetah" in costs.source


def test_a_file_gives_back_what_was_written_and_tells_what_is_wrong(tmp_path):
    path = tmp_path / "deep" / "costs.toml"
    save_costs(path, TRUE, {"algo": "aes-rl"}, {"cores": 4})
    assert load_costs(path) == TRUE
    path.write_text(path.read_text().replace("timestep = 0.0002", "timestep = -1"))
    with pytest.raises(UsageError, match="'timestep' must be seconds"):
        load_costs(path)
    with pytest.raises(UsageError, match="cannot be read"):
        load_costs(tmp_path / "nothing.toml")


def test_costs_of_a_run_are_those_that_its_steps_slept(tmp_path):
    """The sleeping environment takes 2 ms a step; nothing is ever faster, whatever else the machine does."""
    settings = {"mean_length": 20, "seconds_per_step": 2e-3}
    cell = make_cell("cem", tmp_path, steps=600, env="erlbench/Latency-v0", env_settings=settings)
    assert run(cell) == 0
    found = from_tasks(cell.directory)
    assert 20 * found.timestep + found.overhead >= 20 * 2e-3
    assert 20 * found.timestep + found.overhead < 2 * 20 * 2e-3
    result = CliRunner().invoke(
        cli, ["calibrate", "--from-run", str(cell.directory), "--out", str(tmp_path / "c.toml")]
    )
    assert result.exit_code == 0
    assert load_costs(tmp_path / "c.toml") == found


def test_simulated_time_repeats_to_the_bit_and_uses_the_costs(tmp_path):
    costs = Costs(timestep=1e-3, critic_update=0.0, actor_update=0.0, overhead=0.0, source="test")
    cells = [
        make_cell(
            "cem", tmp_path / str(number), simulated_time=True, simulated_processes=processes, costs=costs,
            settings={"population": 10},
        ) for number, processes in enumerate((1, 1, 64))
    ]  # fmt: skip
    assert run(*cells, processes=0) == 0
    found = [(cell.directory / "tasks.csv").read_text() for cell in cells]
    modelled = [[line.rpartition(",")[0] for line in text.splitlines()] for text in found]  # then real processor time
    assert modelled[0] == modelled[1]
    lines = [line.split(",") for line in found[2].splitlines()[1:] if ",evaluation," not in line]
    first = [line for line in lines if float(line[4]) == 0.0]
    assert len(first) == 10  # all individuals of a generation at once
    for line in lines:
        assert float(line[5]) - float(line[4]) == pytest.approx(int(line[6]) * 1e-3)
    config = (cells[2].directory / "config.toml").read_text()
    assert "simulated_processes = 64" in config
    assert 'source = "test"' in config


@pytest.mark.parametrize(("busy", "warned"), [(0.1, False), (1.9, True)])
def test_a_busy_machine_is_named(tmp_path, monkeypatch, busy, warned):
    monkeypatch.setattr(resources, "busy_cores", lambda: busy)
    monkeypatch.setattr(
        calibration,
        "calibrate",
        lambda cell, seconds: Costs(timestep=1e-3, critic_update=0.0, actor_update=0.0, overhead=0.0, source="test"),
    )
    words = ["calibrate", "--algo", "cem", "--env", "Pendulum-v1", "--out", str(tmp_path / "c.toml")]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.stderr
    assert ("use 1.9 of " in result.stderr) is warned
    assert bool(result.stderr) is warned


@pytest.mark.parametrize("words", [[], ["--algo", "cem"], ["--env", "Pendulum-v1"]])
def test_a_calibration_of_nothing_names_its_own_options(words):
    result = CliRunner().invoke(cli, ["calibrate", *words])
    assert result.exit_code == 2
    assert result.stderr == (
        "erlbench: nothing to measure: give --algo and --env, or --from-run; see `erlbench calibrate --help`\n"
    )


@pytest.mark.parametrize("place", ["", "file/costs.toml"])
def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(tmp_path, monkeypatch, place):
    monkeypatch.setattr(calibration, "calibrate", lambda cell, seconds: pytest.fail("measured"))
    (tmp_path / "file").touch()
    out = tmp_path / place
    result = CliRunner().invoke(cli, ["calibrate", "--algo", "cem", "--env", "Pendulum-v1", "--out", str(out)])
    assert result.exit_code == 2
    reason = "File exists" if place else "Is a directory"
    assert result.stderr.startswith(f"erlbench: {out} cannot be written: {reason}")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_cores_are_busy_by_the_ticks_of_this_process_s_own_ones(tmp_path, monkeypatch):
    """In 100 ticks core 0 works 50 and waits for a disk 10, core 2 works 100; core 1 is another job's."""
    others = "cpu 9 9 9 9 9 9 9 9 9 9\ncpu1 {}00 0 0 0 0 0 0 0 0 0\n"
    idle = others.format(0) + "cpu0 100 0 20 500 0 0 0 0 0 0\ncpu2 7 0 0 0 0 0 0 0 0 0\n"
    busy = others.format(1) + "cpu0 130 0 30 540 10 0 5 5 30 0\ncpu2 7 60 40 0 0 0 0 0 0 0\n"
    monkeypatch.setattr(resources, "STAT", tmp_path / "stat")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2})
    (tmp_path / "stat").write_text(idle)
    monkeypatch.setattr(resources.time, "sleep", lambda _: (tmp_path / "stat").write_text(busy))
    assert resources.busy_cores() == pytest.approx(0.5 + 1.0)
    (tmp_path / "stat").unlink()
    monkeypatch.setattr(resources.time, "sleep", lambda _: None)
    assert resources.busy_cores() == 0.0


@pytest.mark.slow
def test_a_calibration_finds_what_a_step_sleeps_and_no_crowding_where_nobody_computes(tmp_path):
    """Sleeping processes do not hinder each other; on a loaded machine they seem to, but nothing is ever faster."""
    settings = {"mean_length": 20, "seconds_per_step": 2e-3}
    cell = make_cell("cem", tmp_path, env="erlbench/Latency-v0", env_settings=settings, steps=10**6)
    found = calibrate(cell, 1.5)
    assert 20 * found.timestep + found.overhead >= 20 * 2e-3
    assert 0.8 < found.crowding < 2.0
    assert found.cores >= 1


@pytest.mark.slow
def test_a_calibration_tells_a_step_from_a_task_where_all_episodes_are_equally_long(tmp_path):
    """With tasks of one size only the sum would be known, and half of it be taken for the step."""
    settings = {"mean_length": 10**6, "seconds_per_step": 5e-4, "sleep_at_once": 0.0}  # no debt for the next task
    found = calibrate(make_cell("cem", tmp_path, env="erlbench/Latency-v0", env_settings=settings, steps=10**6), 2.0)
    assert found.timestep == pytest.approx(5e-4, rel=0.15)


def test_a_calibration_has_tasks_of_two_sizes(tmp_path, monkeypatch):
    """The same without a clock: each task takes 50 ms and 0.5 ms a step."""

    def tasks_of(cell, processes, seconds, found):
        steps = cell.env_settings["max_episode_steps"]
        found.tasks += [(0.05 + steps * 5e-4, steps, 0, 0)] * 20
        found.beside += [0.0] * 20

    monkeypatch.setattr(calibration, "_run_for", tasks_of)
    monkeypatch.setattr(calibration, "cores", lambda: 2)
    found = calibrate(make_cell("cem", tmp_path, env="HalfCheetah-v5"), 1.0)
    assert found.timestep == pytest.approx(5e-4, rel=0.01)
    assert found.overhead == pytest.approx(0.05, rel=0.01)


@pytest.mark.slow
def test_a_calibration_without_gradient_steps_is_refused(tmp_path):
    """Such costs would make every update free."""
    with pytest.raises(UsageError, match="take more --seconds"):
        calibrate(make_cell("cem-rl", tmp_path, env="HalfCheetah-v5", steps=10**6), 0.1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'timestep' is missing"),
        ("timestep = 1e-4", "'critic_update' is missing"),
        ("[costs]\ntimestep = 1e-4\ncritic_updat = 1", "critic_updat"),
        ("timestep = 1e-4\ncritic_update = 0\nactor_update = 0\noverhead = 0\ncrowding = 0", "'crowding' must be at"),
    ],
)
def test_a_file_that_lacks_costs_is_refused(tmp_path, text, message):
    (tmp_path / "costs.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        load_costs(tmp_path / "costs.toml")
