"""What a cell may take."""

from __future__ import annotations

import dataclasses
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from erlbench.algorithms import registry
from erlbench.algorithms.search.pycma import full_memory, full_seconds
from erlbench.envs.registry import ids, problem
from erlbench.experiment.costs import BUILT_IN, built_in_costs
from erlbench.experiment.estimate import (
    MEASURED,
    START_SECONDS,
    STEPS,
    estimate,
    never_timed,
    observation_width,
    update_size,
)
from erlbench.work.replay import Replay
from tests.runs import make_cell, run

STEP = built_in_costs().timestep * STEPS["InvertedPendulum"]


def test_the_size_of_an_update_is_relative_to_that_of_the_cell_that_was_measured(tmp_path):
    """The costs of the package name the cell; an update of half of its minibatch takes half as long."""
    measured = tomllib.loads(Path(str(files("erlbench.experiment") / BUILT_IN)).read_text())["cell"]
    settings = {name: measured[name] for name in ("batch_size",)} | {"hidden": tuple(measured["hidden"])}
    settings |= {"start_timesteps": 0}
    whole = make_cell(measured["algo"], tmp_path, measured["env"], 10_000, final_episodes=1, settings=settings)
    task = problem(whole.env)
    assert update_size(whole.settings, task) == MEASURED
    half = dataclasses.replace(whole, settings=dataclasses.replace(whole.settings, batch_size=128))
    seconds = [estimate(cell, task, 1).core_seconds for cell in (whole, half)]
    costs = built_in_costs()
    expected = 10_000 * (costs.critic_update + 5 * costs.actor_update)  # of AES-RL
    assert seconds[0] - seconds[1] == pytest.approx(expected / 2)


def test_evaluations_are_no_more_than_the_generations(tmp_path):
    """With an evaluation due at each step; a generation is 4 episodes of 500 steps."""
    few = {"population": 4, "elites": 2}
    cell = make_cell("cem", tmp_path, steps=20_000, eval_freq=1, eval_episodes=1, final_episodes=1, settings=few)
    limited = dataclasses.replace(cell, total_generations=9)
    task = problem(cell.env)
    half = task.env.max_episode_steps / 2
    assert abs(estimate(cell, task, 1).core_seconds - START_SECONDS - (20_000 + 11 * half) * STEP) < 1e-9
    assert abs(estimate(limited, task, 1).core_seconds - START_SECONDS - (18_000 + 10 * half) * STEP) < 1e-9


@pytest.mark.parametrize(
    ("algo", "env", "population", "individuals", "timed"),
    [
        ("cma-es", "InvertedPendulum-v5", 20, 20, STEP),
        ("cma-es", "function:quadratic", None, 7, built_in_costs().timestep),
        ("nevergrad", "function:quadratic", None, 7, built_in_costs().timestep),
    ],
)
def test_generations_end_a_run_before_its_steps_do(tmp_path, algo, env, population, individuals, timed):
    """60 million steps are allowed, and 300 generations take fewer.

    Without a population there are 4 + floor(3 ln 3) = 7 individuals: the quadratic function's policy has three
    parameters and plays one step. A step of a function was never timed, and counts as HalfCheetah's.
    """
    settings = {"episodes": 5} | ({"population": population} if population else {})
    cell = make_cell(algo, tmp_path, env, 60_000_000, final_episodes=1, eval_freq=10**8, settings=settings)
    limited, task = dataclasses.replace(cell, total_generations=300), problem(env)
    half = task.env.max_episode_steps / 2
    size = registry.find(algo).policy_for(cell.settings, task).size
    expected = (300 * individuals * 5 * half + half) * timed + 300 * full_seconds(size, individuals)
    assert estimate(limited, task, 1).core_seconds - START_SECONDS == pytest.approx(expected)
    assert estimate(cell, task, 1).core_seconds > 60_000_000 * timed


def test_the_replay_holds_what_is_recorded(tmp_path):
    """ESAC records SAC's episodes only: ten of them every fifth generation at most, of fifty or so."""
    disk = {}
    for algo, changes in (
        ("td3", {}),
        ("ppo", {}),
        ("cem", {}),
        ("esac", {"settings": {"population": 50, "sac_episodes": 10, "p_start": 0.3, "p_end": 0.3}}),
        ("esac-limited", {"total_generations": 4, "settings": {"population": 50, "sac_episodes": 10, "p_end": 1.0}}),
    ):
        cell = make_cell(algo.removesuffix("-limited"), tmp_path, steps=1_000_000, **changes)
        disk[algo] = estimate(cell, problem(cell.env), 1).disk
    width = 4 * (4 + 1 + 3)
    assert (disk["td3"], disk["ppo"], disk["cem"]) == (1_000_000 * width, 0, 0)
    episodes = 10 / 2
    assert disk["esac"] == pytest.approx(0.3 * episodes / (50 + 0.3 * episodes) * 1_000_000 * width)
    assert disk["esac-limited"] == pytest.approx(4 * episodes * 500 * width)


@pytest.mark.parametrize(
    ("algo", "settings", "steps"),
    [
        ("td3", {}, 3 * 500),
        ("erl", {"population": 4, "episodes": 2}, 3 * 4 * 2 * 500),
        ("p-cem-rl", {"population": 4, "elites": 2, "n_grad": 2}, 3 * 4 * 500),
    ],
)
def test_generations_that_end_a_run_limit_its_replay(tmp_path, algo, settings, steps):
    """The cart-pole's episodes count as 500 steps, half of their limit; a transition is 8 numbers of 4 bytes."""
    cell = make_cell(algo, tmp_path, steps=1_000_000, settings=settings)
    task = problem(cell.env)
    assert estimate(dataclasses.replace(cell, total_generations=3), task, 1).disk == steps * 32
    for generations in (None, 10**6):
        assert estimate(dataclasses.replace(cell, total_generations=generations), task, 1).disk == 1_000_000 * 32


@pytest.mark.parametrize("algo", ["cem-rl", "p-cem-rl"])
def test_without_gradients_cem_rl_takes_what_cem_takes(tmp_path, algo):
    few = {"population": 4, "elites": 2, "hidden": (256, 256)}
    cem, rl = (
        make_cell(name, tmp_path, steps=1_000_000, workers=4, settings=settings)
        for name, settings in (("cem", few), (algo, {**few, "n_grad": 0}))
    )
    task = problem(cem.env)
    assert estimate(rl, task, 2) == estimate(cem, task, 2)
    trained = dataclasses.replace(rl, settings=dataclasses.replace(rl.settings, n_grad=2))
    found = estimate(trained, task, 2)
    assert found.disk == 1_000_000 * 32
    assert found.seconds > 5 * estimate(cem, task, 2).seconds


@pytest.mark.parametrize(
    ("algo", "changes", "settings"),
    [
        ("esac", {}, {"population": 10, "episodes": 3, "gradient_interval": 1, "sac_episodes": 2, "p_end": 1.0}),
        ("esac", {}, {"population": 4, "gradient_interval": 1, "sac_episodes": 4, "p_timesteps": 40.0, "p_end": 0.0}),
        ("cem-rl", {}, {"population": 4, "elites": 2, "n_grad": 0}),
        ("cem-rl", {"total_generations": 2}, {"population": 4, "elites": 2, "n_grad": 2}),
    ],
)
def test_a_run_records_what_is_estimated(tmp_path, monkeypatch, algo, changes, settings):
    """Within a factor of two, as the estimates promise: the pendulum's episodes always have 20 steps here."""
    recorded = []
    append = Replay.append
    monkeypatch.setattr(
        Replay, "append", lambda self, *a, **k: (recorded.append(sum(k["lengths"])), append(self, *a, **k))
    )
    limit = {"max_episode_steps": 20}
    cell = make_cell(algo, tmp_path, "Pendulum-v1", 2000, settings=settings, env_settings=limit, **changes)
    assert run(cell) == 0
    task = problem(cell.env, limit)
    found = estimate(cell, task, 1).disk / (4 * observation_width(task))
    assert sum(recorded) / 2 <= found <= 2 * sum(recorded)


@pytest.mark.parametrize(
    ("algo", "settings"),
    [("cma-es", {"covariance": "full"}), ("nevergrad", {}), ("nevergrad", {"optimizer": "CMA2020"})],
)
def test_a_full_covariance_matrix_takes_memory_and_time(tmp_path, algo, settings):
    """64-64 on the cart-pole: 4,545 parameters. More processes do not make the main process faster."""
    few = {"hidden": (64, 64), "episodes": 1, "population": 20, **settings}
    cell = make_cell(algo, tmp_path, steps=10 * 20 * 500, settings=few, final_episodes=1, eval_freq=10**9)
    task = problem(cell.env)
    size = registry.find(algo).policy_for(cell.settings, task).size
    other = {"covariance": "diagonal"} if algo == "cma-es" else {"optimizer": "DiagonalCMA"}
    without = dataclasses.replace(cell, settings=dataclasses.replace(cell.settings, **other))
    for processes in (1, 2):
        full, diagonal = estimate(cell, task, processes), estimate(without, task, processes)
        assert full.memory - diagonal.memory == full_memory(size)
        assert full.seconds - diagonal.seconds == pytest.approx(10 * full_seconds(size, 20))


def test_an_environment_of_which_no_step_was_timed_is_named(tmp_path):
    """Every listed environment that observes something has a time."""
    envs = [env for env in ids() if not env.startswith(("function:", "erlbench/Latency"))]
    cells = [make_cell("cem", tmp_path, env) for env in envs]
    assert never_timed(cells) == []
    assert never_timed([*cells, make_cell("cem", tmp_path, "MountainCarContinuous-v0")]) == ["MountainCarContinuous-v0"]
