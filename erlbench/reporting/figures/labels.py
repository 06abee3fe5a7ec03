"""Direct labels: the name of each curve at its end, moved apart where curves end together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

POINTS = 8.0  # of the font


def label_ends(axes: Any, ends: Sequence[tuple[float, str, str]], below: float = 0.0) -> None:
    """Write each (value at the end, text, colour) to the right of the axes, at its height or as near as there is room.

    Call it when all is drawn: the limits of the axes are fixed by it. `below`: inches that a legend takes.
    """
    ends = [end for end in ends if math.isfinite(end[0])]
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)
    room = (
        1.25 * POINTS / 72 / ((axes.figure.get_figheight() - below) * 0.72)
    )  # of a line of text, as a share of the axes
    order = sorted(range(len(ends)), key=lambda i: ends[i][0])
    wanted = [(ends[i][0] - low) / ((high - low) or 1.0) for i in order]
    for i, height in zip(order, spread(wanted, room), strict=True):
        value, text, colour = ends[i]
        at = (value - low) / ((high - low) or 1.0)
        axes.annotate(
            text, xy=(1.0, at), xytext=(1.04, height), xycoords="axes fraction", textcoords="axes fraction",
            color=colour, fontsize=POINTS, va="center", annotation_clip=False,
            arrowprops={
                "arrowstyle": "-", "color": colour, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0,
                "relpos": (0.0, 0.5),  # from the text's left edge: from its middle the line would cross its neighbours
            },
        )  # fmt: skip


def spread(heights: Sequence[float], room: float) -> list[float]:
    """Ascending heights moved apart to at least `room`, as little as their groups allow, about where they were.

    Neighbours that are too near share the middle of their group.
    """
    groups: list[tuple[float, int]] = []  # middle, members
    for height in heights:
        groups.append((height, 1))
        while len(groups) > 1:
            (a, m), (b, n) = groups[-2:]
            if b - a >= room * (m + n) / 2 - 1e-12:
                break
            groups[-2:] = [((a * m + b * n) / (m + n), m + n)]
    return [middle + room * (k - (n - 1) / 2) for middle, n in groups for k in range(n)]
