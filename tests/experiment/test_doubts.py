from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from erlbench.algorithms import registry
from erlbench.cli import cli
from erlbench.cli.cells import say_duration
from erlbench.cli.run import command
from erlbench.cli.tables import duration
from erlbench.envs.registry import problem
from erlbench.experiment.arguments import arguments
from erlbench.experiment.cells import RunOptions, usual_frequency
from erlbench.experiment.command import requested_cells
from erlbench.experiment.estimate import COSTLY, FEW, NEVER_TRAINS, find_doubts, shorten_doubts
from erlbench.experiment.schedule import CellSchedule, Share
from erlbench.records.run import NEVER_TRAINED, RunFiles
from tests.reporting.compare import load_run
from tests.runs import four_first, make_cell, rows, run

ROOT = Path(__file__).parents[2]
ENV = "Pendulum-v1"
GRADIENTS = [name for name in registry.ALGORITHMS if registry.find(name).critic_updates and name not in ("ppo", "trpo")]
WARM_UP = [name for name in GRADIENTS if registry.find(name).warmup(registry.find(name).settings_type()) > 0]


def cells(*words: str):
    group = cli.make_context("erlbench", ["run"])  # click keeps the names of --help that a command's first context has
    return requested_cells(arguments(command.make_context("run", list(words), parent=group).params))


def said(*words: str) -> list[str]:
    return [line for kind, line in find_doubts(cells(*words), problem) if kind != COSTLY]


@pytest.mark.parametrize("algo", four_first(WARM_UP))
def test_a_budget_of_warm_up_alone_is_named_with_the_setting_and_ends_as_never_trained(algo, tmp_path):
    warmup = registry.find(algo).warmup(registry.find(algo).settings_type())
    (line,) = said("--algo", algo, "--env", ENV, "--total-timesteps", str(warmup))
    assert "start_timesteps" in line
    assert f"{warmup:,}" in line
    cell = make_cell(algo, tmp_path, steps=300, env=ENV, settings={"start_timesteps": 300})
    assert run(cell) == 0
    assert rows(cell.directory, "eval.csv")[-1]["critic_updates"] == "0"
    assert RunFiles(cell.directory).status()["never_trained"] is True
    warned = []
    found = load_run(cell.directory, warned.append)
    assert (found.status, found.done) == (NEVER_TRAINED, False)
    (warning,) = warned
    assert warning.startswith(f"{cell.directory}: made no gradient step")


def test_a_run_that_trains_nobody_on_purpose_has_a_score(tmp_path):
    """`coupling=none` is the search alone: no warm-up is missing, and a report compares it."""
    assert not any("start_timesteps" in line for line in said(
        "--algo", "cem-rl", "--env", ENV, "--total-timesteps", "300", "--set", "coupling=none", "--name", "x"
    ))  # fmt: skip
    settings = {"coupling": "none", "start_timesteps": 300}
    cell = make_cell("cem-rl", tmp_path, steps=300, env=ENV, settings=settings)
    assert run(cell) == 0
    assert RunFiles(cell.directory).status()["never_trained"] is False
    found = load_run(cell.directory, pytest.fail)
    assert (found.status, found.done) == ("done", True)


@pytest.mark.parametrize("algo", registry.ALGORITHMS)
def test_each_algorithm_says_what_its_warm_up_and_its_generation_are(algo, tmp_path):
    """A run of the warm-up and two more generations than that makes all that it says it makes."""
    listed, settings = registry.find(algo), registry.find(algo).settings_type()
    assert listed.warmup(settings) >= 0
    assert listed.needs(settings, problem(ENV)).steps > 0
    assert algo in ("td3", "ddpg", "sac", "crossq", "nevergrad") or any(
        hasattr(settings, name) for name in listed.generation_settings
    )


@pytest.mark.parametrize("algo", four_first(name for name in GRADIENTS if name != "aes-rl"))
def test_gradient_steps_come_soon_after_the_warm_up(algo, tmp_path):
    cell = make_cell(algo, tmp_path, steps=2400, env=ENV)
    assert run(cell) == 0
    warmup = registry.find(algo).warmup(cell.settings)
    learning = [int(row["timesteps"]) for row in rows(cell.directory, "train.csv") if float(row["critic_updates"])]
    generation = 5 * registry.find(algo).needs(cell.settings, problem(ENV)).steps
    assert learning
    assert learning[0] <= warmup + generation + 400
    assert "never_trained" not in RunFiles(cell.directory).status()


def test_a_budget_of_one_generation_and_a_frequency_above_the_budget_are_named():
    (line,) = said("--algo", "openai-es", "--env", ENV, "--total-timesteps", "2000")
    assert "generation" in line
    assert "--set population" in line
    (line,) = said("--algo", "cem", "--env", "function:sphere", "--total-timesteps", "2000", "--eval-freq", "5000")
    assert "--eval-freq 200" in line
    assert said("--algo", "td3,cem", "--env", ENV, "--total-timesteps", "100000") == []


def test_the_line_is_printed_before_a_run_and_by_a_dry_run(tmp_path):
    words = [
        "run",
        "--algo",
        "td3",
        "--env",
        ENV,
        "--total-timesteps",
        "400",
        "--out",
        str(tmp_path),
        "--processes",
        "0",
    ]
    dry = CliRunner().invoke(cli, [*words, "--dry-run"])
    assert "start_timesteps" in dry.output
    assert dry.exit_code == 0
    done = CliRunner().invoke(cli, words)
    assert "start_timesteps" in done.output
    assert done.exit_code == 0
    assert NEVER_TRAINED in CliRunner().invoke(cli, ["show", str(tmp_path)]).output
    assert len(rows(tmp_path / ENV / "td3" / "seed-000", "eval.csv")) > 2


@pytest.mark.parametrize(
    ("words", "frequency"),
    [
        (("--total-timesteps", "3000"), 300),
        (("--total-timesteps", "1000000"), 5000),
        (("--total-timesteps", "3000", "--eval-freq", "1000"), 1000),
    ],
)
def test_evaluations_follow_the_budget_unless_they_are_typed(words, frequency):
    (cell,) = cells("--algo", "cem", "--env", "function:sphere", *words)
    assert cell.eval_freq == frequency


def test_evaluations_follow_generations_of_ten_individuals_with_one_step_each():
    (cell,) = requested_cells(arguments({"algo": "cem", "env": "function:sphere", "total_generations": 20}))
    assert cell.eval_freq == 10
    assert usual_frequency(1) == 1


@pytest.mark.data
def test_no_example_of_the_documents_has_a_budget_that_cannot_answer():
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "erlbench" / "cli" / "run.py"]
    examples = {
        line for file in files
        for line in re.findall(r"^\s+(erlbench run .*?)(?:\s+#.*)?$", file.read_text().replace("\\\n", " "), re.M)
        if not re.search(r"--(study|config|costs)|--(env|algo) (?!function)[\w.]+:|my-search|=my_|ars|──", line)
    }  # fmt: skip
    assert any("--algo td3" in line for line in examples)
    assert {line: found for line in sorted(examples) if (found := said(*shlex.split(line)[2:]))} == {}


@pytest.mark.parametrize(("processes", "jobs", "share"), [(0, 1, 1), (0, 2, 1), (1, 2, 1), (2, 2, 2), (2, 1, 1)])
def test_cells_at_once_take_no_less_than_their_work_on_the_processes_that_they_share(processes, jobs, share):
    options = RunOptions(processes, jobs=jobs)
    shares = (Share(processes=processes, seconds=600.0, core_seconds=600.0),) * 2
    schedule = CellSchedule(shares, range(2), jobs=jobs)
    assert say_duration(schedule, options).startswith(duration(1200.0 / share))


@pytest.mark.parametrize(("algos", "lines"), [("td3", 1), ("td3,sac,ddpg", FEW), ("td3,sac,ddpg,cem-rl", 1)])
def test_many_doubts_of_one_kind_are_counted(algos, lines):
    doubts = find_doubts(cells("--algo", algos, "--env", ENV, "--total-timesteps", "300"), problem)
    found = [doubt for doubt in doubts if doubt[0] != COSTLY]
    assert {kind for kind, _ in found} == {NEVER_TRAINS}
    assert len(found) == len(algos.split(","))
    assert len(list(shorten_doubts(found))) == lines


def test_a_study_of_many_cells_begins_with_a_few_lines():
    """The profile `smoke` of the paper's tables: no line for each of its cells."""
    result = CliRunner().invoke(cli, ["run", "--study", "aes-rl-table-2", "--profile", "smoke", "--dry-run"])
    assert result.exit_code == 0
    assert result.stderr.count("warning: ") == 1
    verbose = CliRunner().invoke(cli, ["run", "--study", "aes-rl-table-2", "--profile", "smoke", "--dry-run", "-v"])
    assert verbose.stderr.count("warning: ") > 10
