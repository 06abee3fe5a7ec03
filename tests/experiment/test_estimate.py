"""What a cell may take."""

import dataclasses
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from erlbench.envs.catalogue import LISTED
from erlbench.envs.registry import problem
from erlbench.experiment.costs import BUILT_IN, built_in_costs
from erlbench.experiment.estimate import MEASURED, estimate, never_timed, observation_width, update_size
from erlbench.work.replay import Replay
from tests.runs import make_cell, run


def test_the_size_of_an_update_is_relative_to_that_of_the_cell_that_was_measured(tmp_path):
    """The costs of the package name the cell; an update of half of its minibatch takes half as long."""
    measured = tomllib.loads(Path(str(files("erlbench.experiment") / BUILT_IN)).read_text())["cell"]
    settings = {"batch_size": measured["batch_size"], "hidden": tuple(measured["hidden"]), "start_timesteps": 0}
    whole = make_cell(measured["algo"], tmp_path, measured["env"], 10_000, final_episodes=1, settings=settings)
    task = problem(whole.env)
    assert update_size(whole.settings, task) == MEASURED
    half = dataclasses.replace(whole, settings=dataclasses.replace(whole.settings, batch_size=128))
    seconds = [estimate(cell, task, 1).core_seconds for cell in (whole, half)]
    costs = built_in_costs()
    expected = 10_000 * (costs.critic_update + 5 * costs.actor_update)  # of AES-RL
    assert seconds[0] - seconds[1] == pytest.approx(expected / 2)


@pytest.mark.parametrize(
    ("algo", "changes", "settings"),
    [
        ("esac", {}, {"population": 10, "episodes": 3, "gradient_interval": 1, "sac_episodes": 2, "p_end": 1.0}),
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


def test_a_larger_policy_takes_more_memory(tmp_path):
    small, large = (make_cell("cem", tmp_path, settings={"hidden": hidden}) for hidden in ((64, 64), (4000, 4000)))
    task = problem(small.env)
    assert estimate(large, task, 1).memory - estimate(small, task, 1).memory > 4 * 4000 * 4000


def test_an_environment_of_which_no_step_was_timed_is_named(tmp_path):
    """Every listed environment that observes something has a time."""
    envs = [env for env in LISTED if not env.startswith("function:")]
    cells = [make_cell("cem", tmp_path, env) for env in envs]
    assert never_timed(cells) == []
    assert never_timed([*cells, make_cell("cem", tmp_path, "MountainCarContinuous-v0")]) == ["MountainCarContinuous-v0"]
