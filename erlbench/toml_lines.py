"""Line numbers of a TOML file's keys, which tomllib does not give."""

from __future__ import annotations

import re
from collections import Counter

Keys = tuple[str | int, ...]

_PART = r"""(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)"""
_KEY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_PART}(?:\s*\.\s*{_PART})*)\s*\]")


class TomlLines:
    """Where each key of a TOML text stands: headers, `key = value` lines, and inline tables that begin a line."""

    def __init__(self, text: str) -> None:
        self._lines: dict[Keys, int] = {}
        table: Keys = ()
        key: Keys = ()
        tables: Counter[Keys] = Counter()
        items: Counter[Keys] = Counter()
        for number, line in enumerate(text.splitlines(), 1):
            if match := _HEADER.match(line):
                table = key = _parts(match[2])
                if match[1] == "[[":
                    key = table
                    table = (*key, tables[key])
                    tables[key] += 1
                self._add(key, number)
                self._add(table, number)
            elif match := _KEY.match(line):
                key = (*table, *_parts(match[1]))
                self._add(key, number)
            elif line.lstrip().startswith("{"):  # an inline table in an array
                self._add((*key, items[key]), number)
                items[key] += 1

    def find(self, path: Keys, exact: bool = False) -> int | None:
        """The line of `path`, or unless `exact` of what is nearest around it; None when nothing is there."""
        if exact:
            return self._lines.get(path)
        for stop in range(len(path), 0, -1):
            if path[:stop] in self._lines:
                return self._lines[path[:stop]]
        return None

    def _add(self, path: Keys, number: int) -> None:
        for stop in range(1, len(path) + 1):
            self._lines.setdefault(path[:stop], number)


def _parts(dotted: str) -> Keys:
    return tuple(part.strip("\"'") for part in re.findall(_PART, dotted))
