"""The kinds of pools by name, as the command line checks them."""

from __future__ import annotations

import re

from erlbench.errors import UsageError, nearest

LOCAL, CLUSTER = "process", "ray"
_CLUSTER = re.compile(r"ray(?:://(?P<address>[^\s/]+:\d+))?")


def check_kind(kind: str) -> str:
    """`kind` when there is such a pool, else a `UsageError`."""
    if kind != LOCAL and not _CLUSTER.fullmatch(kind):
        hint = nearest(kind.partition("://")[0], (LOCAL, CLUSTER))
        raise UsageError(f"--pool must be process, ray or ray://HOST:PORT, not '{kind}'{hint}")
    return kind


def cluster_address(kind: str) -> str:
    """The address in `ray` or `ray://HOST:PORT`; "auto" where none is named."""
    match = _CLUSTER.fullmatch(kind)
    return (match and match["address"]) or "auto"
