"""What config.toml says of a run that another program made and `erlbench convert` took in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KIND = "imported"  # `kind` in the table [run], and the name of the table with the rest
EVALUATIONS, TRAINING, UNSAID = "evaluations", "training episodes", "not recorded"
RETURNS = (EVALUATIONS, TRAINING, UNSAID)  # what the returns of eval.csv are of


@dataclass(frozen=True)
class Imported:
    """Whose data a run is, which program wrote them, and what their returns are of."""

    format: str
    origin: str
    licence: str  # empty where nobody says
    returns: str  # of `RETURNS`
    sources: Mapping[str, str]  # file name -> SHA-256
    overruled: str = ""  # other names in its files and their folder: "environment Hopper-v5, seed 1"

    def table(self) -> dict[str, Any]:
        """The table [imported] of config.toml."""
        return {
            "format": self.format,
            "origin": self.origin,
            **({"licence": self.licence} if self.licence else {}),
            "returns": self.returns,
            **({"overruled": self.overruled} if self.overruled else {}),
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
        overruled=str(said.get("overruled") or "")[:200],
        sources={str(name): str(value) for name, value in (sources if isinstance(sources, Mapping) else {}).items()},
    )
