"""Reading a TOML file into dataclasses, with errors that name the line, which tomllib does not give."""

from __future__ import annotations

import re
import typing
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from erlbench import files
from erlbench.errors import UsageError, check_known
from erlbench.files import Table, Values
from erlbench.settings import check_value, type_name

Keys = tuple[str | int, ...]

_PART = r"""(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)"""
_KEY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_PART}(?:\s*\.\s*{_PART})*)\s*\]")


def find_lines(text: str) -> dict[Keys, int]:
    """The line of each key of a TOML text: headers, `key = value` lines, and inline tables that begin a line."""
    lines: dict[Keys, int] = {}
    table: Keys = ()
    key: Keys = ()
    items: Counter[Keys] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        if match := _HEADER.match(line):
            path = table = key = _split_key(match[2])
            if match[1] == "[[":
                path = table = (*key, items[key])
                items[key] += 1
        elif match := _KEY.match(line):
            path = key = (*table, *_split_key(match[1]))
        elif line.lstrip().startswith("{"):  # an inline table in an array
            path = (*key, items[key])
            items[key] += 1
        else:
            continue
        for stop in range(1, len(path) + 1):
            lines.setdefault(path[:stop], number)
    return lines


def toml_key(item: Field[Any]) -> str:
    """The key of a dataclass's field in a file: its name, unless that is no name in Python."""
    return str(item.metadata.get("key", item.name))


def _split_key(dotted: str) -> Keys:
    return tuple(key.strip("\"'") for key in re.findall(_PART, dotted))


class TomlFile:
    """A file's data, and errors that name its lines; `name` replaces the path in messages."""

    def __init__(self, path: Path, name: str = "") -> None:
        self.path = path
        self._name = name or str(path)
        with files.readable(path, name):
            text, self.data = files.read_text(path), files.read_toml(path)
        self._lines = find_lines(text)

    def fail(self, message: str, *where: Keys) -> NoReturn:
        """Raise a `UsageError` at the path of keys that is in the file, or nearest to being there."""
        parents = (path[: len(path) - missing] for missing in range(max(map(len, where))) for path in where)
        line = next((self._lines[path] for path in parents if path in self._lines), 0)
        raise UsageError(f"{self._name}{f', line {line}' if line else ''}: {message}")

    @contextmanager
    def at(self, *where: Keys) -> Iterator[None]:
        """Add the file and the line to a `UsageError` from inside."""
        try:
            yield
        except UsageError as error:
            self.fail(str(error), *where)

    def table(self, value: Any, where: Keys) -> Table:
        """`value`, which must be a table."""
        if not isinstance(value, dict):
            self.fail(f"'{where[-1]}' must be a table", where)
        return value

    def known(self, table: Any, words: Iterable[str], where: Keys) -> None:
        """Check that `table` has no key but `words`."""
        words = tuple(words)
        for key in self.table(table, where):
            with self.at((*where, key)):
                check_known(key, words, f"unknown key '{key}'{_inside(where)}")

    def tables(self, parent: Values, where: Keys, words: Iterable[str]) -> dict[str, Table]:
        """The tables in the table `where`, which is in `parent` if anywhere; none has a key but `words`."""
        tables, words = self.table(parent.get(str(where[-1]), {}), where), tuple(words)
        for name, table in tables.items():
            self.known(table, words, (*where, name))
        return tables

    def build(self, kind: type[Any], raw: Any, where: Keys, fallback: Keys = (), **given: Any) -> Any:
        """An instance of the dataclass `kind` from a table; the fields `given` win over it."""
        self.known(raw, [toml_key(item) for item in fields(kind)], where)
        hints = typing.get_type_hints(kind)
        for item in fields(kind):
            key, hint = toml_key(item), hints[item.name]
            if item.name not in given and key in raw:
                with self.at((*where, key), (*(fallback or where), key)):
                    parse = item.metadata.get("parse")
                    if not parse and isinstance(raw[key], str) and hint is not str:
                        raise UsageError(f"'{key}' must be {type_name(hint)}, not '{raw[key]}'")
                    check = parse or partial(check_value, kind=hint, limits=item.metadata)
                    given[item.name] = check(raw[key], what=f"'{key}'")
            elif item.name not in given and item.default is MISSING and item.default_factory is MISSING:
                self.fail(f"'{key}' is missing{_inside(where)}", where)
        return kind(**given)


def _inside(where: Keys) -> str:
    return f" in [{'.'.join(map(str, where))}]" if where else ""
