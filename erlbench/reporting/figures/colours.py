"""The colour of an algorithm: by its name, the same in all figures of a page, and in a later report with others."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from erlbench.reporting.figures.model import PALETTE

# Those that are compared most have the colours that differ most.
LISTED = (
    *("td3", "cem-rl", "sac", "aes-rl", "cem", "p-cem-rl", "openai-es", "erl", "esac", "cma-es", "ddpg", "ppo", "trpo"),
    *("multi-actor-td3", "nevergrad", "snes", "pgpe", "ars", "ga", "crossq"),
)


def colour_numbers(names: Iterable[str]) -> dict[str, int]:
    """A number of the palette for each name: its usual one, else the next that is free, else one of another round.

    Names that are not listed have a usual number, too, and give way to those that are.
    """
    wanted = {name: LISTED.index(name) if name in LISTED else zlib.crc32(name.encode()) for name in names}
    order = sorted(wanted, key=lambda name: (name not in LISTED, wanted[name] if name in LISTED else 0, name))
    numbers: dict[str, int] = {}
    for name in order:
        usual, round_ = wanted[name] % len(PALETTE), len(numbers) // len(PALETTE) * len(PALETTE)
        places = [round_ + (usual + turn) % len(PALETTE) for turn in range(len(PALETTE))]
        numbers[name] = next(number for number in places if number not in numbers.values())
    return {name: numbers[name] for name in wanted}
