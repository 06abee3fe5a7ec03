"""How curves, and the table and the figure for a paper look: order, labels, colours, statistic; a small TOML file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from erlbench.errors import UsageError, nearest
from erlbench.experiment.toml_file import TomlFile
from erlbench.settings import setting

AUTO, ALGORITHMS, ENVIRONMENTS = "auto", "algorithms", "environments"
STATISTICS = ("std", "mean", "iqm", "median")
BANDS = (AUTO, "range")
MOST_LABEL = 200  # characters
_COLOUR = re.compile("#[0-9A-Fa-f]{6}")
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class PaperStyle:
    """The keys of the file."""

    algorithms: tuple[str, ...] = setting((), "shown, in this order; none: all")
    environments: tuple[str, ...] = setting((), "shown, in this order; none: all")
    labels: Mapping[str, str] = field(default_factory=dict)  # in place of names of algorithms and environments
    colours: Mapping[str, str] = field(default_factory=dict)  # of algorithms
    rows: str = setting(AUTO, "of the table; auto: the longer side", choices=(AUTO, ALGORITHMS, ENVIRONMENTS))
    statistic: str = setting("std", "of the table's cells: mean ± std, or with an interval", choices=STATISTICS)
    smooth: int = setting(1, "evaluations in a curve's moving average; 1 leaves it as it is", minimum=1, maximum=10_000)
    band: str = setting(AUTO, "of curves; auto: interval of the mean from six runs on, else range", choices=BANDS)

    def label(self, name: str, usual: str = "") -> str:
        """What an algorithm or an environment is called."""
        return self.labels.get(name, usual or name)

    def check(self, algorithms: Iterable[str], environments: Iterable[str]) -> None:
        """Raise `UsageError` for a name that no run has."""
        known, places = list(dict.fromkeys(algorithms)), list(dict.fromkeys(environments))
        for what, names, there in (
            ("algorithm", (*self.algorithms, *self.colours), known), ("environment", self.environments, places),
            ("algorithm or environment", self.labels, [*known, *places]),
        ):  # fmt: skip
            for name in names:
                if name not in there:
                    hint = nearest(name, there) or f"; there are {', '.join(there)}"
                    raise UsageError(f"--paper: no run has the {what} '{name}'{hint}")


def read_style(path: Path) -> PaperStyle:
    """The style of a file; a `UsageError` names the line of what cannot be meant."""
    file = TomlFile(path)
    found: PaperStyle = file.build(PaperStyle, file.data, ())
    for name, colour in found.colours.items():
        if not _COLOUR.fullmatch(colour):
            file.fail(f"the colour of {name} is '{colour[:20]}'; give one such as #0072B2", ("colours", name))
    for name, label in found.labels.items():
        if not 0 < len(label) <= MOST_LABEL or not label.isprintable():
            file.fail(f"the label of {name} must be one line of at most {MOST_LABEL} characters", ("labels", name))
    return found


def chosen(items: Iterable[Item], names: Iterable[str], name_of: Callable[[Item], str]) -> list[Item]:
    """The items in the order of `names`; without names all, as they are."""
    there, wanted = list(items), list(names)
    return [item for name in wanted for item in there if name_of(item) == name] if wanted else there
