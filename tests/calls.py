"""The command `erlbench`, called within this process, and programs in a new one."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from click.testing import CliRunner, Result

from erlbench.cli import cli


def call(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


def succeed(*words: object) -> str:
    """The standard output of a command that ends with exit code 0."""
    result = call(*words)
    assert result.exit_code == 0, f"{result.output}{result.exception!r}"
    return result.stdout


def refuse(named: object, *words: object) -> str:
    """The line with which a command is refused; it names what is wrong."""
    result = call(*words)
    assert (result.exit_code, result.stderr.count("\n"), result.stdout) == (2, 1, ""), result.output
    assert str(named) in result.stderr
    return result.stderr


def python(*words: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """What a new interpreter does with these words; `more` are options of `subprocess.run`."""
    options = {"capture_output": True, "text": True, "timeout": 600} | more
    return subprocess.run([sys.executable, *map(str, words)], **options)
