"""Options of commands: one field of a dataclass declares help, check, flag, key of TOML files and Python argument."""

from __future__ import annotations

import dataclasses
import os
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from erlbench.errors import UsageError
from erlbench.files import Table, Values, plain_values
from erlbench.settings import check_value

OPTION = "option"  # key of a field's metadata
Parse = Callable[[Any, str], Any]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Option:
    """The metadata of a field: an option, or a positional argument. Its type decides how it is read.

    bool: a flag; tuple[str, ...]: names with commas between them, which may be given several times; tuple[Path, ...]:
    may be given several times; Values: KEY=VALUE, several times; else one value.
    """

    help: str
    metavar: str
    choices: Sequence[str] = ()
    minimum: float | None = None
    maximum: float | None = None
    short: str = ""
    section: str = ""  # the title of the section that it opens in `--help-all`
    basic: bool = False  # shown by `--help`; where no option is basic, all are
    file_only: bool = False  # for TOML files and Python
    positional: bool = False
    bare: str | None = None  # the value of a flag without a value
    table: str = ""  # of a TOML file, with the values of KEY=VALUE
    parse: Parse | None = None  # from the value and how messages name it to the field's value, in place of the type
    name: str = ""
    type: Any = None  # without None
    default: Any = None  # `dataclasses.MISSING` where a value is required

    @property
    def flag(self) -> str:
        """As the command line has it; an underscore at the end keeps a field apart from a keyword of Python."""
        if self.file_only:
            return f"'{self.name}'"
        if self.positional:
            return self.name.upper() if self.choices else self.metavar
        return "--" + self.name.rstrip("_").replace("_", "-")

    @property
    def is_table(self) -> bool:
        return typing.get_origin(self.type) is Mapping

    @property
    def is_repeatable(self) -> bool:
        return self.is_table or self.type in (tuple[str, ...], tuple[Path, ...])

    def check(self, value: Any, what: str) -> Any:
        """The field's value from a text, or from what TOML and Python give; `what` names it in a `UsageError`."""
        if "" in (value if isinstance(value, list | tuple) else [value]):
            raise UsageError(f"{what} needs a value, not an empty text")
        if self.parse is not None:
            return self.parse(value, what)
        if self.type in (Path, tuple[Path, ...]):
            paths = value if isinstance(value, list | tuple) else [value]
            if not all(isinstance(path, str | Path) for path in paths):
                raise UsageError(f"{what} must be a path, not {value!r}")
            paths = [Path(os.path.expanduser(path)) for path in paths]
            # a command that is printed would take -x for an option
            paths = [path.absolute() if str(path).startswith("-") else path for path in paths]
            return paths[0] if self.type is Path else tuple(paths)
        if self.type == tuple[str, ...]:
            texts = [value] if isinstance(value, str) else value
            if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
                raise UsageError(f"{what} must be a name or a list of names, not {value}")
            names = dict.fromkeys(name for text in texts for name in map(str.strip, text.split(",")) if name)
            if not names:
                raise UsageError(f"{what} names nothing")
            return tuple(names)
        if self.is_table:
            return split_assignments(value, f"{what} needs {self.metavar}")
        return check_value(value, self.type, what, vars(self))


def option(default: Any, help: str, metavar: str = "", **further: Any) -> Any:
    """A field of a dataclass of options; `further` are attributes of `Option`."""
    declared = Option(help=help, metavar=metavar or "|".join(further.get("choices", ())) or "N", **further)
    kept = {"default_factory": dict} if default == {} else {"default": default}
    return dataclasses.field(**kept, metadata={OPTION: declared, **vars(declared)})


def argument(metavar: str, default: Any = dataclasses.MISSING, **further: Any) -> Any:
    """A positional argument; it is required unless it has a default."""
    return option(default, "", metavar, positional=True, **further)


def shared_option(kind: type, name: str, default: Any = ..., **changes: Any) -> Any:
    """A field as the dataclass `kind` declares it, with another default or other attributes, in no section."""
    item = next(item for item in dataclasses.fields(kind) if item.name == name)
    declared = {**vars(item.metadata[OPTION]), "section": "", "basic": False, **changes}
    usual = {} if item.default_factory is dict else item.default
    declared["default"] = usual if default is ... else default
    return option(**declared)


def list_options(kind: type) -> dict[str, Option]:
    """The options of a dataclass by name, in the order of its fields."""
    hints, options = typing.get_type_hints(kind), {}
    for item in dataclasses.fields(kind):
        if declared := item.metadata.get(OPTION):
            kinds = typing.get_args(hints[item.name])
            options[item.name] = dataclasses.replace(
                declared,
                name=item.name,
                type=kinds[0] if type(None) in kinds else hints[item.name],
                default=item.default if item.default_factory is dataclasses.MISSING else {},
            )
    return options


def make_options(kind: type[T], given: Values, beneath: Values | None = None) -> T:
    """The checked dataclass from texts of a command line or values of Python, over checked values `beneath` them.

    None and empty tuples count as not given. Raises `UsageError`.
    """
    options, values = list_options(kind), dict(beneath or {})
    for name, value in given.items():
        if value not in (None, ()):
            checked = options[name].check(value, options[name].flag)
            values[name] = {**values.get(name, {}), **checked} if options[name].is_table else checked
    return kind(**values)


def split_assignments(value: Any, needed: str) -> Table:
    """Values by key from texts KEY=VALUE, of which later ones win, or from a table."""
    if isinstance(value, Mapping):
        return dict(value)
    values = {}
    for text in value:
        key, equals, assigned = text.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{needed}, not '{text}'")
        owner, dot, name = key.strip().rpartition(".")
        values[owner + dot + name.replace("-", "_")] = assigned.strip()
    return values


def toml_assignments(value: Any, what: str) -> Table:
    """As `split_assignments`, with a text KEY=VALUE as the TOML value that it names."""
    values = split_assignments(value, f"{what} needs KEY=VALUE")
    return values if isinstance(value, Mapping) else plain_values(values)
