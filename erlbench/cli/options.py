"""Commands made from dataclasses of options: the parameters of click, the help in sections, the checked dataclass."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING
from pathlib import Path
from typing import Any, TypeVar

import click

from erlbench.options import Option, list_options, make_options

ALL = "erlbench.cli.options.all"  # in the context: the help shows all options
HELP_ALL = click.Option(["--help-all"], is_flag=True, expose_value=False, help="show all options and exit")
T = TypeVar("T")


class OptionsCommand(click.Command):
    """A command whose help shows the basic options, or all of them in sections."""

    def __init__(self, name: str, kind: type, **further: Any) -> None:
        self.options = list_options(kind)
        parameters = [_make_parameter(option) for option in self.options.values() if not option.file_only]
        if any(option.basic for option in self.options.values()):
            parameters.append(HELP_ALL)
        super().__init__(name, params=parameters, **further)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Click takes `--reach=-150` for `--reach` without a value and an option -150, but not `--reach= -150`."""
        for flag in (option.flag for option in self.options.values() if option.bare is not None):
            args = [re.sub(f"^{flag}=-", f"{flag}= -", word) for word in args]
        if HELP_ALL in self.params and HELP_ALL.opts[0] in args:
            ctx.meta[ALL], args = True, ["--help"]
        written, flags = [*args], {option.flag for option in self.options.values()}  # click removes what it has read
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption:
            if word := next((word for word in written if f"-{word}" in flags), ""):
                raise click.NoSuchOption(word, possibilities=[f"-{word}"], ctx=ctx) from None
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        title, shows_all = "Options", HELP_ALL not in self.params or ctx.meta.get(ALL, False)
        for parameter in self.get_params(ctx):  # the last ones are --help-all and --help
            declared = self.options.get(parameter.name or "")
            if declared and declared.positional:  # the usage line has it
                continue
            if declared and shows_all:
                title = declared.section or title
            record = parameter.get_help_record(ctx)
            if record and (shows_all or not declared or declared.basic):
                sections.setdefault(title, []).append(record)
        if shows_all and (keys := [option for option in self.options.values() if option.file_only]):
            sections["Keys of a --config file"] = [
                (f"{option.name} = {option.metavar}", option.help) for option in keys
            ]
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def options_command(kind: type[T]) -> Callable[[Callable[[T], Any]], OptionsCommand]:
    """Make a command of a function that takes the dataclass `kind`; the function's docstring is the help."""

    def make(function: Callable[[T], Any]) -> OptionsCommand:
        def call(**given: Any) -> None:
            function(make_options(kind, given))

        return OptionsCommand(function.__name__, kind, callback=call, help=function.__doc__)

    return make


def _make_parameter(declared: Option) -> click.Parameter:
    """The parameter of click, which leaves all checks to `Option.check`."""
    shared: dict[str, Any] = {
        "metavar": declared.metavar,
        "required": declared.default is MISSING,
        "type": click.Path() if declared.type in (Path, tuple[Path, ...]) else None,
    }
    if declared.positional:
        return click.Argument([declared.name], nargs=-1 if declared.is_repeatable else 1, **shared)
    default, help_text = declared.default, declared.help
    if default and isinstance(default, str | int | float | Path) and "[default" not in help_text:
        help_text += f" [default: {default:g}]" if isinstance(default, float) else f" [default: {default}]"
    shared |= {"help": help_text, "multiple": declared.is_repeatable}
    if declared.type is bool:
        shared |= {"is_flag": True, "default": None}
    elif declared.bare is not None:
        shared |= {"is_flag": False, "flag_value": declared.bare}
    return click.Option([declared.name, *filter(None, [declared.short]), declared.flag], **shared)
