"""The command line: one module per command, imported when the command is used."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import textwrap
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from erlbench import __version__
from erlbench.errors import (
    ADVICE,
    ErlbenchError,
    Interrupted,
    UsageError,
    check_known,
    describe_error,
    error_text,
    explain,
)
from erlbench.files import printable, read_toml, strip_unpacked

COMMANDS: Mapping[str, str] = {  # in the order of their use
    "demo": "See something learn: figure, film and report in two minutes.",
    "run": "Train algorithms on environments, or run the cells of a study.",
    "list": "List algorithms, environments, studies, or this machine.",
    "show": "Show settings, status and last scores of runs.",
    "report": "Write tables and curves from results.",
    "play": "Watch the policy of a run in a window or as a film.",
    "verify": "Check runs: rows, checksums and saved policies.",
    "tune": "Search settings of an algorithm with Optuna.",
    "convert": "Import runs of other programs, export results, bundle runs.",
    "new": "Write a package for your own algorithm, with its test.",
}
POSIX = ("fcntl", "resource", "termios")  # modules that Windows lacks
OLD = Path(__file__).with_name("old.toml")  # commands and options of earlier versions, and what does their work now


def message(text: str, err: bool = True) -> None:
    """Print to standard error or output; a terminal gets lines that end between words.

    Nobody may be reading any more, and that fails no training.
    """
    if (sys.stderr if err else sys.stdout).isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    with suppress(OSError):
        click.echo(text, err=err)


class Commands(click.Group):
    """Imports a command's module when it is used, and turns errors into one message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]  # `list` is the command's module once that is imported

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"erlbench.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            if instead := read_toml(OLD)["commands"].get(args[0]):
                raise UsageError(f"the command '{args[0]}' is gone; use `erlbench {instead}`")
            check_known(args[0], COMMANDS, f"no such command '{args[0]}'")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:  # before the command
            text = error.format_message().rstrip(".")
            message(f"erlbench: {text}; options follow the command: `erlbench COMMAND {error.option_name}`")
            raise click.exceptions.Exit(UsageError.exit_code) from None

    def invoke(self, ctx: click.Context) -> Any:
        cause: BaseException | None = None
        try:
            try:
                os.getcwd()  # where it was removed, neither paths nor the processes of libraries work
            except FileNotFoundError:
                raise UsageError(
                    "the current folder was removed; change to one that exists (cd) and try again"
                ) from None
            return super().invoke(ctx)
        except ErlbenchError as error:
            text, code, cause = str(error), error.exit_code, error.__cause__
        except click.UsageError as error:
            command = error.ctx.info_name if error.ctx else None
            named = [option.name for option in error.ctx.command.params] if error.ctx else []
            text, code = error.format_message(), UsageError.exit_code
            if isinstance(error, click.NoSuchOption):
                if instead := read_toml(OLD).get(command or "", {}).get(error.option_name):
                    text = f"the option '{error.option_name}' is gone; {instead}"
                elif not error.possibilities and "set" in named:
                    text = f"{text.rstrip('.')}; a setting is given by --set {error.option_name.strip('-')}=VALUE"
            elif error.ctx:
                text = f"{text.rstrip('.')}; see `{error.ctx.command_path} --help`"
        except KeyboardInterrupt:
            text, code = "interrupted", Interrupted.exit_code
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if isinstance(error, ModuleNotFoundError) and error.name in POSIX:
                command = f"erlbench {ctx.invoked_subcommand}"
                text = f"`{command}` needs Linux or macOS: this system has no module '{error.name}'"
                code = UsageError.exit_code
            elif isinstance(error, RuntimeError) and "MUJOCO_GL" in error_text(error):  # MuJoCo cannot be imported
                text, code = f"{error}; unset this variable, or give egl, osmesa or glfw", UsageError.exit_code
            else:
                text, code, cause = f"unexpected {describe_error(error)}", 1, error
                if isinstance(error, OSError) and error.errno in ADVICE:
                    text = explain(error)
                elif ctx.meta.get("verbose") is False:  # of a command with -v
                    text += " (run again with -v for the traceback)"
        message(f"erlbench: {strip_unpacked(printable(text))}")
        if cause is not None and ctx.meta.get("verbose", False):
            click.echo("".join(traceback.format_exception(cause)), err=True)
        raise click.exceptions.Exit(code)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="erlbench", message="%(prog)s %(version)s")
def cli() -> None:
    """Compare evolutionary reinforcement learning with evolution strategies and gradient methods.

    \b
    Begin with `erlbench demo`; `erlbench COMMAND --help` shows examples.
    Exit codes: 0 done, 1 a run failed, 2 wrong usage, 130 interrupted.
    """
