"""Taking out of texts what is nobody else's business: home folders, user and host names, addresses, tokens."""

from __future__ import annotations

import getpass
import platform
import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HOME, PATH, USER, HOST, TOKEN, ADDRESS = "home folder", "path", "user name", "host name", "token", "address"
COMMAND = "command_line"  # of meta.json: more is taken out of it
KEPT = "identity"  # of meta.json: compared with other runs, so it stays as it is
EVERYBODY = frozenset({"root", "user", "users", "localhost", "home", "ubuntu", "runner", "nobody"})  # say nothing
SHORTEST = 3  # characters of a name that is looked for

_HOME = re.compile(r"(?<![\w.~-])(?:(?:/home|/Users|[A-Za-z]:\\Users)[/\\](?P<user>[^\s/\\'\":;,]+)|/root(?![\w-]))")
_SECRET = re.compile(
    r"(?P<what>--?[\w-]*(?i:token|secret|passw(?:or)?d|credential|api-?key)[\w-]*(?:=|\s+)"
    r"|\b[A-Z0-9_]*(?:TOKEN|KEY|SECRET|PASSWORD)[A-Z0-9_]*=|://)(?P<value>(?<=://)[^\s/@]+(?=@)|(?<!://)[^\s'\"]+)"
)
_KNOWN = re.compile(r"\b(?:gh[pousr]_|github_pat_|hf_|sk-|xox[abprs]-|glpat-|AKIA|AIza)[\w-]{10,}")
_RANDOM = re.compile(r"(?<![\w/.-])(?=\w*\d)(?=\w*[A-Za-z])\w{32,}(?![\w/.-])")
_ADDRESS = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_ABSOLUTE = re.compile(r"(?<![\w~.<>/\\-])/(?:[^\s/'\":;,=]+/)+(?=[^\s/'\":;,=])")


@dataclass(frozen=True)
class TakenOut:
    """Something that was taken out: what kind it is, how it stood, and what stands in its place."""

    kind: str
    before: str
    after: str

    def __str__(self) -> str:
        shown = f"{self.before[:4]}..." if self.kind == TOKEN else self.before
        return f"{self.kind}: {shown} -> {self.after}"


@dataclass
class Redactor:
    """Redacts texts, and counts what it has found.

    `users` and `hosts` are names to look for; those in paths of home folders are added as they are met.
    """

    users: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    found: Counter[TakenOut] = field(default_factory=Counter)

    def text(self, text: str, command: bool = False) -> str:
        """A text without them; of a command line also without all absolute paths and what looks random."""
        text = self._replace(_SECRET, text, TOKEN, lambda m: m["value"], "<token>", whole=False)
        text = self._replace(_KNOWN, text, TOKEN, lambda m: m[0], "<token>")
        if command:
            text = self._replace(_RANDOM, text, TOKEN, lambda m: m[0], "<token>")
            text = self._replace(_ADDRESS, text, ADDRESS, lambda m: m[0], "<address>")
        for match in _HOME.finditer(text):
            self.users |= worth_hiding((match["user"],))
        text = self._replace(_HOME, text, HOME, lambda m: m[0], "~")
        for kind, names, instead in ((USER, self.users, "<user>"), (HOST, self.hosts, "<host>")):
            for name in sorted(names, key=len, reverse=True):
                text = self._replace(
                    re.compile(rf"(?<!\w){re.escape(name)}(?!\w)"), text, kind, lambda m: m[0], instead
                )
        return self._replace(_ABSOLUTE, text, PATH, lambda m: m[0], "<path>/") if command else text

    def values(self, value: Any, key: str = "") -> Any:
        """The texts of a JSON value redacted, all but the identity of a problem; keys stay."""
        if isinstance(value, str):
            return self.text(value, command=key == COMMAND)
        if isinstance(value, dict):
            return {name: item if name == KEPT else self.values(item, str(name)) for name, item in value.items()}
        return [self.values(item, key) for item in value] if isinstance(value, list) else value

    def left_in(self, text: str) -> set[str]:
        """What a text has of that, where it is not changed."""
        names = {name for name in self.users | self.hosts if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)}
        return names | {match[0] for match in _HOME.finditer(text)} | {match[0] for match in _KNOWN.finditer(text)}

    def _replace(
        self, pattern: re.Pattern[str], text: str, kind: str, of: Callable[[re.Match[str]], str], instead: str,
        whole: bool = True,
    ) -> str:  # fmt: skip
        def changed(match: re.Match[str]) -> str:
            if not whole and match["value"] == instead:
                return match[0]
            self.found[TakenOut(kind, of(match), instead)] += 1
            return instead if whole else match["what"] + instead

        return pattern.sub(changed, text)


def redactor_here() -> Redactor:
    """One that knows this user and this machine."""
    names: list[str] = [Path.home().name]
    with suppress(OSError, KeyError, ImportError):
        names.append(getpass.getuser())
    return Redactor(users=worth_hiding(names), hosts=worth_hiding((platform.node(), platform.node().partition(".")[0])))


def worth_hiding(names: Iterable[str | None]) -> set[str]:
    """The names that say something and are long enough to be looked for."""
    return {name for name in names if name and len(name) >= SHORTEST and name.lower() not in EVERYBODY}
