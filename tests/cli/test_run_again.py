"""`erlbench run` into the folder of a finished run, with what it cannot be: blame the command, not the folder."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from erlbench.cli import cli

COMMAND = "run --algo cem --env Pendulum-v1 --total-timesteps 2000 --eval-freq 1000 --eval-episodes 1 --processes 1 -q"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    assert invoke(out).exit_code == 0
    return out


def invoke(out, *more):
    return CliRunner().invoke(cli, [*COMMAND.split(), "--out", str(out), *more])


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_other_settings_are_refused_by_a_dry_run_too(folder, dry):
    result = invoke(folder, "--set", "hidden=8,8", *dry)
    assert result.exit_code == 2
    assert "settings.hidden: [400, 300] there, [8, 8] now" in result.stderr
    assert invoke(folder, "--set", "hidden=8,8", "--force", "--dry-run").exit_code == 0


def test_a_bad_value_of_the_command_is_no_fault_of_the_file(folder):
    result = invoke(folder, "--env-set", "nope=1")
    assert result.exit_code == 2
    assert "has no setting 'nope'" in result.stderr
    assert "config.toml" not in result.stderr
