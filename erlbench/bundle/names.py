"""The names of what a bundle holds, without the private folder in which it lies while it is read."""

from __future__ import annotations

import re

KIND = "bundle"  # of held folders
_PLACE = re.compile(rf"\S*?/erlbench-\d+[^/\s]*/{KIND}-\w{{8}}/")


def without_place(text: str) -> str:
    """A text with the bundles' own names: `study.zip/results/Hopper-v5/td3/seed-000`."""
    return _PLACE.sub("", text)
