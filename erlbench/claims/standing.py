"""How a claim stands: the effect of each part with its interval beside what is claimed, and one verdict over all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from erlbench.claims.effects import EFFECTS
from erlbench.claims.evidence import SideReading, Sources
from erlbench.experiment.claims import DIFFERENCE, EXPLORATORY, Claim, ClaimPart
from erlbench.reporting.data.comparability import same_task
from erlbench.reporting.statistics.intervals import NONE
from erlbench.reporting.statistics.significance import LEVEL
from erlbench.reporting.tables.study_plan import TestedContrast


class Standing(StrEnum):
    """What is known of a claim, or of a part of one."""

    HOLDS = "holds"
    FAILS = "does not hold"
    BOUNDED = "bounded"  # its interval excludes what is claimed, and not the claimed direction
    ONLY_IF = "holds only if"  # of a claim: some of its parts hold, and too many do not
    OPEN = "not decided"


FEWEST_CLAIM_RUNS = 5
DECIDED = (Standing.HOLDS, Standing.FAILS, Standing.BOUNDED, Standing.ONLY_IF)


@dataclass(frozen=True)
class PartStanding:
    """A part with its effect; NaN where that cannot be said."""

    part: ClaimPart
    standing: Standing
    effect: float = math.nan
    interval: tuple[float, float] = NONE
    runs: tuple[int, int] = (0, 0)  # 0: a number without spread
    null: float = 0.0
    margin: float = 0.0  # what is claimed, in units of the effect
    why: str = ""  # it is open, where no interval says so


@dataclass(frozen=True)
class ClaimStanding:
    """A claim with its verdict."""

    claim: Claim
    standing: Standing
    parts: tuple[PartStanding, ...]
    core_hours: float = 0.0  # that its stored runs took

    @property
    def counts(self) -> bool:
        """Whether the verdict is one: decided, by a test that somebody had fixed before the runs were seen."""
        return self.standing in DECIDED and self.claim.basis != EXPLORATORY

    def of(self, standing: Standing) -> list[PartStanding]:
        """The parts that stand so."""
        return [part for part in self.parts if part.standing is standing]

    @property
    def holding(self) -> str:
        """Where it holds, if it does in some parts only."""
        return "; ".join(part.part.label for part in self.of(Standing.HOLDS))


def standings(claims: Iterable[Claim], sources: Sources) -> list[ClaimStanding]:
    """The verdict on each claim, and what its runs took."""
    return [replace(standing_of(claim, sources), core_hours=sources.core_hours(claim)) for claim in claims]


def standing_of(claim: Claim, sources: Sources) -> ClaimStanding:
    """The verdict on a claim. Its parts share the level of 5 % (Bonferroni)."""
    parts = _planned(claim, sources) if claim.plan else tuple(_part(claim, part, sources) for part in claim.parts)
    return ClaimStanding(claim, _together(parts, claim.needed), parts)


def _together(parts: Sequence[PartStanding], needed: int) -> Standing:
    """One verdict, where `needed` parts must hold."""
    held, left = (sum(part.standing is one for part in parts) for one in (Standing.HOLDS, Standing.OPEN))
    if parts and held >= needed:
        return Standing.HOLDS
    if held + left >= needed or (left and not held):  # whether it holds at all, or only somewhere, is open
        return Standing.OPEN
    if held:
        return Standing.ONLY_IF
    failed = any(part.standing is Standing.FAILS for part in parts)
    return Standing.FAILS if failed else Standing.BOUNDED


def _planned(claim: Claim, sources: Sources) -> tuple[PartStanding, ...]:
    """The claim's parts at the last look of its plan that was reached: contrasts by the plan's own test."""
    if problem := sources.unplanned(claim):
        return tuple(PartStanding(part, Standing.OPEN, why=problem) for part in claim.parts)
    found = sources.contrasts(claim) if any(part.contrast for part in claim.parts) else []
    return tuple(_contrast(part, found) if part.contrast else _part(claim, part, sources) for part in claim.parts)


def _contrast(part: ClaimPart, rows: Sequence[TestedContrast]) -> PartStanding:
    own = [row for row in rows if row.contrast.title == part.contrast and part.axis in ("", row.contrast.axis)]
    if len(own) != 1:
        return PartStanding(part, Standing.OPEN, why=f"the plan has {len(own)} such contrasts")
    (row,) = own
    found, stops = row.difference, row.verdict.stops
    above = Standing.HOLDS if found.difference > 0 else Standing.FAILS
    standing, why = (above, "") if stops else (Standing.OPEN, row.decision)
    return PartStanding(part, standing, found.difference, found.interval, found.runs, why=why)


def _part(claim: Claim, part: ClaimPart, sources: Sources) -> PartStanding:
    first, second = map(sources.measured, part.sides)
    if problem := first.problem or second.problem or ("" if claim.across else _apart(first, second)):
        return PartStanding(part, Standing.OPEN, why=problem)
    runs = first.runs, second.runs
    null, margin = claim.null, claim.margin
    if first.exact and second.exact:
        effect = first.number - second.number
        found = Standing.HOLDS if effect >= margin else Standing.FAILS if effect < null else Standing.BOUNDED
        return PartStanding(part, found, effect, NONE, (0, 0), null, margin)
    if any(0 < count < FEWEST_CLAIM_RUNS for count in runs):
        why = f"{min(filter(None, runs))} runs on a side; {FEWEST_CLAIM_RUNS} are needed"
        shown = first.middle - second.middle if claim.measure == DIFFERENCE else math.nan
        return PartStanding(part, Standing.OPEN, shown, NONE, runs, null, margin, why)
    effect, low, high = EFFECTS[claim.measure](first, second, 1 - LEVEL / len(claim.parts))
    if math.isnan(low):
        return PartStanding(part, Standing.OPEN, effect, NONE, runs, null, margin, "no interval can be computed")
    if claim.within is not None:
        margin = claim.within * abs(second.middle)
        found = _equal(low, high, margin)
    else:
        found = _above(low, high, null, margin)
    return PartStanding(part, found, effect, (low, high), runs, null, margin)


def _above(low: float, high: float, null: float, margin: float) -> Standing:
    """Of an interval, where the effect is said to be above the margin."""
    if low > margin:
        return Standing.HOLDS
    if high < null:
        return Standing.FAILS
    return Standing.BOUNDED if high < margin else Standing.OPEN


def _equal(low: float, high: float, margin: float) -> Standing:
    """Of an interval, where the effect is said to be smaller than the margin in both directions."""
    if -margin < low and high < margin:
        return Standing.HOLDS
    return Standing.FAILS if low > margin or high < -margin else Standing.OPEN


def _apart(first: SideReading, second: SideReading) -> str:
    """Why the sides are no samples of one task; empty where they are. What was divided has no task any more."""
    if first.exact or second.exact or not (first.env or second.env) or same_task(first.env, second.env):
        return ""
    return f"{first.env} and {second.env} are two tasks, or differ"
