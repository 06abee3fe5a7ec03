"""Texts that are no Unicode, in names of files, in errors, and under a locale that knows no accents."""

import os
import sys

import click
import pytest

import erlbench
from erlbench.cli import cli
from tests.calls import call, python
from tests.importing.files import write_monitor


def test_accents_are_no_error_under_the_locale_c(tmp_path):
    """Where Python is told to go by the locale alone, names of files are decoded as ASCII with escapes."""
    write_monitor(tmp_path / "é" / "monitor.csv", "Foo-v5")
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for words in ("convert é --algo ppo --seed 0 --origin Jane --out résultats", "report résultats --out page"):
        done = python("-m", "erlbench", *words.split(), env=os.environ | locale, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize("error", [ValueError("file \udce9 is broken"), Mute()], ids=["no-unicode", "no-text"])
def test_the_handler_of_errors_does_not_fail(monkeypatch, error):
    @click.command()
    def fail():
        raise error

    monkeypatch.setattr(cli, "get_command", lambda ctx, name: fail)
    monkeypatch.setattr(sys, "argv", ["erlbench", "show", "r\udce9sultats"])
    result = call("show")
    assert (type(result.exception), result.exit_code) == (SystemExit, 1)
    assert type(error).__name__ in result.stderr


def test_an_error_that_is_no_unicode_fails_its_run_alone(tmp_path):
    env = "tests.faults:NoUnicode-v0"
    words = ["run", "--algo", "cem", "--env", env, "--set", "hidden=8", "--total-timesteps", "200", "--processes", "0"]
    result = call(*words, "--out", tmp_path)
    assert (type(result.exception), result.exit_code) == (SystemExit, 1)
    (run,) = erlbench.load_results(tmp_path).cells.itertuples()
    assert (run.status, "ValueError" in run.message) == ("failed", True)
