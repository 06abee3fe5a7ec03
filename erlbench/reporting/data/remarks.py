"""What a report warns of: sentences, folded where they differ in their paths only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from erlbench.bundle import strip_unpacked
from erlbench.files import printable

Warn = Callable[[str], None]
LEFT_OUT = ": left out: "  # between a folder and why nothing of it is in the report, which is not whole then
REPEATED = ": repeats seed "  # between a folder and the seed that another run has with the same kernel and software
_PATH = re.compile(r"\S*/\S*(?=[:;,]|\s|$)")


def clean(text: str) -> str:
    """A warning as one line, without the folders into which bundles were unpacked."""
    return strip_unpacked(printable(text))


def fold(warnings: Iterable[str]) -> list[str]:
    """The first of the warnings that differ in their paths only, with the number of the others; in their order.

    A folder that was left out is never folded: somebody must look at it.
    """
    alike: dict[str, list[str]] = {}
    for warning in map(clean, warnings):
        alike.setdefault(warning if LEFT_OUT in warning else _PATH.sub("", warning), []).append(warning)
    return [first + (f" (and {len(more)} more like this)" if more else "") for first, *more in alike.values()]
