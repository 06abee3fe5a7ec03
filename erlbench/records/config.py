"""What a run's config.toml may say: names, and the table of a run that another program made.

Names become folders of an export and words of a report. They are checked where config.toml is read, so that all
commands refuse the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erlbench.files import Unusable, read_toml
from erlbench.records.older import of_today

LONGEST = 200  # characters
_NAME = re.compile(r"\w[\w .:@+()=,-]*")  # of which new runs have fewer characters
_ENV = re.compile(r"\w[\w .:/@+()=,-]*")
KIND = "imported"  # `kind` in the table [run], and the name of the table with the rest
EVALUATIONS, TRAINING, UNSAID = "evaluations", "training episodes", "not recorded"
RETURNS = (EVALUATIONS, TRAINING, UNSAID)  # what the returns of eval.csv are of


def read_config(path: Path) -> dict[str, Any]:
    """The tables of a run's config.toml, settings under the names of today; raises OSError and ValueError."""
    config = of_today(read_toml(path, inside=1))
    check_called(config)
    return config


def is_name(text: str) -> bool:
    """Whether a run can have this name: one folder, whose name begins no option."""
    return len(text) <= LONGEST and _NAME.fullmatch(text) is not None


def is_environment(text: str) -> bool:
    """Whether a text can be an environment's id with its preset and settings."""
    return len(text) <= LONGEST and _ENV.fullmatch(text) is not None and ".." not in text.split("/")


def check_called(config: dict[str, Any]) -> None:
    """Raise `Unusable` where the table [run] of config.toml has a name, an environment or a seed that no run has."""
    run = config.get("run")
    if not isinstance(run, dict):
        return
    for key, noun, is_valid in (
        ("env", "environment", is_environment), ("name", "name", is_name), ("algo", "algorithm", is_environment),
        ("preset", "preset", is_environment),
    ):  # fmt: skip
        value = run.get(key, "")
        if not isinstance(value, str) or not (is_valid(value) or not value):
            raise Unusable(f"its {noun} is none that a run can have: {str(value)[:80]!r}")
    seed = run.get("seed", 0)
    if type(seed) is not int or seed < 0:
        raise Unusable(f"its seed is none that a run can have: {str(seed)[:80]!r}")


@dataclass(frozen=True)
class Imported:
    """Whose data a run is, which program wrote them, and what their returns are of."""

    format: str
    origin: str
    licence: str  # empty where nobody says
    returns: str  # of `RETURNS`
    sources: Mapping[str, str]  # file name -> SHA-256

    def table(self) -> dict[str, Any]:
        """The table [imported] of config.toml."""
        return {
            "format": self.format,
            "origin": self.origin,
            **({"licence": self.licence} if self.licence else {}),
            "returns": self.returns,
            "sources": dict(self.sources),
        }


def imported_of(config: Mapping[str, Any]) -> Imported | None:
    """What config.toml says; None for a run of this suite."""
    run, said = config.get("run"), config.get(KIND)
    if not isinstance(run, Mapping) or run.get("kind") != KIND:
        return None
    said = said if isinstance(said, Mapping) else {}
    sources = said.get("sources")
    returns = str(said.get("returns"))
    return Imported(
        format=str(said.get("format") or UNSAID)[:200],
        origin=str(said.get("origin") or UNSAID)[:200],
        licence=str(said.get("licence") or "")[:200],
        returns=returns if returns in RETURNS else UNSAID,
        sources={str(name): str(value) for name, value in (sources if isinstance(sources, Mapping) else {}).items()},
    )
