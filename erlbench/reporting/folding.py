"""Warnings that say the same of many runs, as one line."""

from __future__ import annotations

import re
from collections.abc import Iterable

from erlbench.reporting.data.runs import LeftOut

PATH = re.compile(r"\S*/\S*(?=[:;,]|\s|$)")


def folded(messages: Iterable[str]) -> list[str]:
    """The first of messages that differ in their paths only, with the number of the others; in their order.

    Folders that were left out stand by themselves: somebody must look at each.
    """
    alike: dict[str, list[str]] = {}
    for message in messages:
        key = message if isinstance(message, LeftOut) else PATH.sub("", message)
        alike.setdefault(key, []).append(message)
    return [first + (f" (and {len(more)} more like this)" if more else "") for first, *more in alike.values()]
