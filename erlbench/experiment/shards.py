"""Splitting the cells of a plan among machines that do not talk to one another.

Every machine makes the same plan and computes the same split, from nothing but the plan: the cells of the first seed
are dealt out, the most expensive first, each to the shard with the least to do; then those of the second seed, and so
on. So a plan with more seeds leaves the cells of the first ones where they were.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erlbench.errors import UsageError
from erlbench.experiment.cells import Cell


@dataclass(frozen=True)
class Shard:
    """Part `number` (from 1) of `of` parts."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def parse_shard(text: str, what: str = "--shard") -> Shard:
    """A shard from a text such as "2/4"; raises `UsageError`."""
    match = re.fullmatch(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*", text)
    if match is None:
        raise UsageError(f"{what} must be PART/PARTS, such as 1/4 for the first of four parts, not '{text}'")
    shard = Shard(int(match[1]), int(match[2]))
    if not 1 <= shard.number <= shard.of:
        raise UsageError(f"{what} {shard}: the part must be 1 to {max(1, shard.of)}; the first part is 1")
    return shard


def split(cells: Sequence[Cell], parts: int, cost: Callable[[Cell], float]) -> list[list[Cell]]:
    """The cells in `parts` lists of about equal cost, each in the order of `cells`; a list may be empty."""
    owner: dict[Path, int] = {}
    loads = [0.0] * parts
    for _, group in itertools.groupby(sorted(cells, key=lambda cell: cell.seed), key=lambda cell: cell.seed):
        costs = {cell.directory: cost(cell) for cell in group}
        for directory in sorted(costs, key=lambda directory: (-costs[directory], str(directory))):
            part = min(range(parts), key=lambda index: (loads[index], index))
            loads[part] += costs[directory]
            owner[directory] = part
    return [[cell for cell in cells if owner[cell.directory] == part] for part in range(parts)]


def configuration_hash(cells: Iterable[Cell], budget: bool = True) -> str:
    """A short text that two plans share when their cells do, whatever their seeds and folders.

    Without `budget` a plan with a larger one, which continues the runs, has the same text.
    """
    configurations = [cell.config() for cell in cells]
    for configuration in configurations:
        del configuration["run"]["seed"]
        if not budget:
            del configuration["run"]["total_timesteps"]
    texts = sorted({json.dumps(configuration, sort_keys=True, default=str) for configuration in configurations})
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def check_version(cells: Iterable[Cell], shard: Shard, plan: str, meta: Callable[[Path], Mapping[str, Any]]) -> None:
    """Refuse to mix shards of different plans; `meta` reads the meta.json of a run directory."""
    for cell in cells:
        found = meta(cell.directory)
        if found.get("shard") and found.get("plan") not in (None, plan):
            raise UsageError(
                f"{cell.directory} is of shard {found['shard']} of another plan ({found['plan']}; this one is {plan}): "
                f"the studies or options differ. Give all shards the same command and version of erlbench, or run "
                f"shard {shard} with another --out"
            )
