"""`erlbench run` into the folder of a finished run, with what it cannot be: blame the command, not the folder."""

import pytest

from tests.calls import call, refuse, succeed


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_other_settings_are_refused_by_a_dry_run_too_and_a_bad_value_is_no_fault_of_the_file(tmp_path, dry):
    words = (
        "run --algo cem --env Pendulum-v1 --total-timesteps 2000 --eval-freq 1000 --eval-episodes 1 --processes 0 -q"
    )
    command = (*words.split(), "--out", tmp_path)
    succeed(*command)
    refuse("settings.hidden: [400, 300] there, [8, 8] now", *command, "--set", "hidden=8,8", *dry)
    succeed(*command, "--set", "hidden=8,8", "--force", "--dry-run")
    assert "config.toml" not in refuse("has no setting 'nope'", *command, "--env-set", "nope=1", *dry)
    kept = call("run", "--algo", "cem", "--env", "Pendulum-v1", "--out", tmp_path, "--dry-run").stderr
    assert "run.eval_freq: 1000 there, 5000 now" in kept
