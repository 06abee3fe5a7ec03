"""The command `erlbench`, called within this process."""

from __future__ import annotations

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
