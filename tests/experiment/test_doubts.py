from dataclasses import replace
from types import SimpleNamespace

import pytest

from erlbench.algorithms import registry
from erlbench.cli import cli
from erlbench.cli.run import command
from erlbench.envs.registry import problem
from erlbench.experiment.arguments import arguments
from erlbench.experiment.estimate import find_doubts
from erlbench.experiment.requested_cells import requested_cells
from erlbench.records.run import NEVER_TRAINED, RunFiles
from tests.reporting.compare import load_run
from tests.runs import four_first, make_cell, rows, run

ENV = "Pendulum-v1"


def warmup_of(name):
    algorithm = registry.find(name)
    return algorithm.warmup(algorithm.settings_type()) if algorithm.critic_updates else 0


WARM_UP = [name for name in registry.ALGORITHMS if name not in ("ppo", "trpo") and warmup_of(name) > 0]


def cells(words):
    group = cli.make_context("erlbench", ["run"])  # click keeps the names of --help that a command's first context has
    return requested_cells(arguments(command.make_context("run", words.split(), parent=group).params))


def said(words):
    return [line for _, line in find_doubts(cells(words), problem)]


@pytest.mark.parametrize("algo", four_first(WARM_UP))
def test_a_budget_of_warm_up_alone_is_named_with_the_setting_and_ends_as_never_trained(algo, tmp_path):
    warmup = warmup_of(algo)
    (line,) = said(f"--algo {algo} --env {ENV} --total-timesteps {warmup}")
    assert "start_timesteps" in line
    assert f"{warmup:,}" in line
    cell = make_cell(algo, tmp_path, steps=300, env=ENV, settings={"start_timesteps": 300})
    assert run(cell) == 0
    assert rows(cell.directory, "eval.csv")[-1]["critic_updates"] == "0"
    assert RunFiles(cell.directory).status()["never_trained"] is True
    warned = []
    found = load_run(cell.directory, warned.append)
    assert found.status == NEVER_TRAINED
    assert not found.done
    (warning,) = warned
    assert warning.startswith(f"{cell.directory}: made no gradient step")


def test_a_run_that_trains_nobody_on_purpose_has_a_score(tmp_path):
    """`coupling=none` is the search alone: no warm-up is missing, and a report compares it."""
    doubts = said(f"--algo cem-rl --env {ENV} --total-timesteps 300 --set coupling=none --name x")
    assert "start_timesteps" not in " ".join(doubts)
    settings = {"coupling": "none", "start_timesteps": 300}
    cell = make_cell("cem-rl", tmp_path, steps=300, env=ENV, settings=settings)
    assert run(cell) == 0
    assert RunFiles(cell.directory).status()["never_trained"] is False
    found = load_run(cell.directory, pytest.fail)
    assert found.status == "done"
    assert found.done


def test_a_budget_of_one_generation_and_a_frequency_above_the_budget_are_named():
    (line,) = said(f"--algo openai-es --env {ENV} --total-timesteps 2000")
    assert "--set population" in line
    (line,) = said("--algo cem --env function:sphere --total-timesteps 2000 --eval-freq 5000")
    assert "--eval-freq 200" in line
    assert said(f"--algo td3,cem --env {ENV} --total-timesteps 100000") == []


@pytest.mark.parametrize(("steps", "frequency"), [(3000, 300), (1_000_000, 5000)])
def test_evaluations_follow_the_budget_unless_they_are_typed(steps, frequency):
    (cell,) = cells(words := f"--algo cem --env function:sphere --total-timesteps {steps}")
    assert cell.eval_freq == frequency
    (cell,) = cells(f"{words} --eval-freq 1000")
    assert cell.eval_freq == 1000


def test_settings_of_others_may_be_values_that_change():
    """A dataclass that is not frozen has no hash."""
    (cell,) = cells(f"--algo cem --env {ENV} --total-timesteps 100")
    loose = replace(cell, settings=SimpleNamespace(**vars(cell.settings)))
    assert [*find_doubts([loose, loose], problem)] == [*find_doubts([cell], problem)] != []
