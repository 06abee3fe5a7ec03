"""The claims of claims.toml: sentences of documents that can be false, how each is tested, and what that costs.

`load_claims` checks the file's form and computes nothing; `erlbench/claims/` has the verdicts. Every error names the
file, the line and, for a misspelt word, the nearest valid one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import erlbench
from erlbench.errors import UsageError, nearest
from erlbench.experiment.cells import CRITIC, OWN, SHARED
from erlbench.experiment.options import RunArguments
from erlbench.experiment.plan import MINUTES, TIMESTEPS
from erlbench.experiment.toml_file import Keys, TomlFile
from erlbench.options import list_options
from erlbench.settings import MOST, setting

PLAN, DOCUMENT, EXPLORATORY = "plan", "document", "exploratory"  # who fixed the test before the runs were seen
DIFFERENCE, SPREAD, RATIO, SHARES, DIVERSITY = "difference", "spread", "ratio", "shares", "diversity"
MEASURES = (DIFFERENCE, SPREAD, RATIO, SHARES, DIVERSITY)
PROCESSOR = "processor-time"  # in place of a score: seconds of tasks a training step
POPULATION = "population-return"  # in place of a score: of the first `generations`
REACHED = ("timesteps", "episodes", "generations")  # in place of a score: how many before the first evaluation
# that reaches `reaches`
DISTANCE = "mean_distance"  # of rows: the mean of a policy's distances to the others, which the columns `to_SEED` have
SIDES = ("first", "second")
KINDS = ("runs", "rows", "others", "published", "forecast", "value")  # of evidence


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One side of a comparison: stored runs or rows, others' runs, a published number, a forecast, or a number."""

    runs: tuple[str, ...] = ()  # folders below the results
    rows: str = ""  # a table below the results, by a program of benchmarks/; `metric` is its column
    others: str = ""  # a source of the packaged runs of others
    published: str = ""  # a source of the packaged published numbers
    forecast: str = ""  # NAME or NAME@PRESET: minutes per million steps in the schedule that is simulated
    value: float | None = None
    env: str = ""
    name: str = ""  # of the runs, or the algorithm as the source calls it
    names: tuple[str, ...] = ()  # of runs, in place of one: the sample is the range over them, seed by seed
    table: str = ""  # of the published number
    statistic: str = "mean"  # of the published number; a mean has its `std` and seeds beside it
    metric: str = "final"  # of stored runs: of a report, or one that `measured` knows; of rows: a column
    generations: int = setting(1, "whose fitness is the metric `population-return`", minimum=1, maximum=MOST)
    reaches: float | None = None  # a score that runs have to reach
    by: float | None = None  # counts runs of `shares`: those that reach it within so many of what `metric` counts
    steps: int = setting(1_000_000, "training steps, of others' runs and forecasts", minimum=1, maximum=MOST)
    processes: int = setting(1, "of a forecast", minimum=1, maximum=10_000)
    critic: str = setting(CRITIC, "its processor in a forecast", choices=(OWN, SHARED))
    length: int = setting(1000, "steps of an episode in a forecast", minimum=1, maximum=MOST)
    over: Evidence | None = None  # divides it, a sample seed by seed

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        return next(kind for kind in KINDS if getattr(self, kind) not in ((), "", None))

    @property
    def all(self) -> tuple[Evidence, ...]:
        """Itself and what divides it."""
        return (self, *(self.over.all if self.over else ()))


@dataclass(frozen=True, kw_only=True)
class ClaimPart:
    """One comparison of a claim, which says that its effect lies above the claim's margin."""

    label: str
    first: Evidence | None = None
    second: Evidence | None = None
    contrast: str = ""  # the title of one of the claim's plan, in place of both sides
    axis: str = setting("", "of the contrast, where several have its title", choices=("", TIMESTEPS, MINUTES))

    @property
    def sides(self) -> tuple[Evidence, ...]:
        """Both, or none where it is a contrast of a plan."""
        return tuple(side for side in (self.first, self.second) if side is not None)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence that can be false. Texts are in our words."""

    id: str
    document: str
    place: str  # in the document
    whose: str  # claim it is, where a document quotes another
    says: str
    holds: str  # what would be seen if it holds
    fails: str  # if it does not
    test: str
    budget: str  # and score
    only_if: str = ""  # what would be seen if it holds under a condition
    basis: str = setting(DOCUMENT, "who fixed test and margin", choices=(PLAN, DOCUMENT, EXPLORATORY))
    plan: str = ""  # SHA-256 of the plan that was fixed before the runs
    folder: str = ""  # of the plan and its runs, below the results
    caveat: str = ""  # of the evidence
    reply: str = ""  # of the authors
    lacks: str = ""  # why nothing can be computed, where there are no parts, or run, where there is no command
    core_hours: float = setting(0.0, "to run it, by `--dry-run`; 0: unknown", minimum=0, maximum=1e9)
    measure: str = setting(
        DIFFERENCE,
        "of the parts: difference of means, of std / mean, of shares of runs, of distances in a side; ratio of means",
        choices=MEASURES,
    )
    null: float = 0.0  # the effect of no difference
    margin: float = 0.0  # the effect that is claimed, at least
    across: bool = False  # the sides of a part are two tasks on purpose
    within: float | None = setting(None, "equal means: a share of the second", minimum=0, maximum=1)
    unit: str = ""
    needs: int = setting(0, "parts that must hold; 0: all", minimum=0, maximum=1000)
    run: Mapping[str, Any] = field(default_factory=dict)  # options of `erlbench run`
    program: str = ""  # a command in its place, in a checkout of the repository
    parts: tuple[ClaimPart, ...] = ()

    @property
    def needed(self) -> int:
        """Parts that must hold."""
        return self.needs or len(self.parts)

    @property
    def command(self) -> str:
        """That runs what decides it; empty where there is none yet."""
        return self.program or (f"erlbench run --claim {self.id}" if self.run else "")

    @property
    def evidence(self) -> list[Evidence]:
        """All that its parts compare."""
        return [one for part in self.parts for side in part.sides for one in side.all]

    @property
    def kinds(self) -> frozenset[str]:
        """Of its evidence."""
        found = {side.kind for side in self.evidence} - {"value"}
        return frozenset(found | ({"runs"} if self.plan else set()))


def claims_file() -> Path:
    """The claims.toml that is installed with the package."""
    return Path(erlbench.__file__).with_name("claims.toml")


def load_claims(path: Path | None = None) -> dict[str, Claim]:
    """The claims of `path` (default: the packaged file) by id, in its order; `UsageError` for anything out of form."""
    path = path or claims_file()
    file = TomlFile(path, path.name if path == claims_file() else "")
    file.known(file.data, ("claims",), ())
    raw = file.table(file.data.get("claims", {}), ("claims",))
    return {name: _claim(file, name, file.table(one, ("claims", name))) for name, one in raw.items()}


def find_claim(claims: Mapping[str, Claim], name: str) -> Claim:
    """The claim `name`; a `UsageError` names the nearest."""
    if name not in claims:
        raise UsageError(f"unknown claim '{name}'{nearest(name, claims) or '; see `erlbench list claims`'}")
    return claims[name]


def _claim(file: TomlFile, name: str, raw: dict[str, Any]) -> Claim:
    where: Keys = ("claims", name)
    shared = {side: file.table(raw.get(side, {}), (*where, side)) for side in SIDES}
    listed = raw.get("parts", [])
    if not isinstance(listed, list):
        file.fail("'parts' must be a list of tables", (*where, "parts"))
    parts = tuple(_part(file, part, shared, (*where, "parts", index)) for index, part in enumerate(listed))
    plain = {key: value for key, value in raw.items() if key not in (*SIDES, "parts")}
    file.known(
        raw.get("run", {}),
        [key for key in list_options(RunArguments) if key not in ("claim", "config")],
        (*where, "run"),
    )
    claim: Claim = file.build(Claim, plain, where, id=name, parts=parts)
    planned = (claim.plan, claim.folder, all(set(side.runs) <= {claim.folder} for part in parts for side in part.sides))
    if not (all(planned) if claim.basis == PLAN else not any((*planned[:2], *(part.contrast for part in parts)))):
        file.fail(
            "the basis 'plan' needs 'plan' (SHA-256), 'folder' and contrasts or runs of it; no other basis has them",
            where,
        )
    if not (claim.parts or claim.lacks) or not (claim.command or claim.lacks):
        file.fail(f"'{name}' has no parts or no [run]; say what it lacks by 'lacks'", where)
    if claim.run and claim.program:
        file.fail(f"'{name}' has run and program; it is decided by one command", where)
    if claim.needs > len(claim.parts):
        file.fail(f"'needs' is {claim.needs}, and there are {len(claim.parts)} parts", (*where, "needs"))
    if claim.margin < claim.null:
        file.fail(f"'margin' is {claim.margin:g}, below 'null', {claim.null:g}", (*where, "margin"))
    for side in (side for part in parts for side in part.sides):
        if side.kind == "runs" and (side.reaches is None) == (side.metric in REACHED or claim.measure == SHARES):
            file.fail(f"'reaches' goes with the measure '{SHARES}' or a metric of {', '.join(REACHED)}", where)
    if claim.within is not None and (claim.margin or claim.null or claim.measure != DIFFERENCE):
        file.fail("'within' goes with no margin, no null and no other measure", (*where, "within"))
    return claim


def _part(file: TomlFile, raw: Any, shared: Mapping[str, Mapping[str, Any]], where: Keys) -> ClaimPart:
    table = file.table(raw, where)
    file.known(table, ("label", "env", "contrast", "axis", *SIDES), where)
    if "contrast" in table:
        plain = {"label": table["contrast"], **{key: table[key] for key in table if key not in ("env", *SIDES)}}
        if len(plain) < len({"label", *table}):
            file.fail("a part is a contrast of the plan, or has sides", where)
        part: ClaimPart = file.build(ClaimPart, plain, where, first=None, second=None)
        return part
    env = {"env": table["env"]} if "env" in table else {}
    sides = {
        side: _evidence(
            file, {**shared[side], **env, **file.table(table.get(side, {}), (*where, side))}, (*where, side)
        )
        for side in SIDES
    }
    label = table.get("label", f"{sides['first'].name} over {sides['second'].name}, {sides['first'].env}")
    if not isinstance(label, str):
        file.fail("'label' must be a text", (*where, "label"))
    return ClaimPart(label=label, first=sides["first"], second=sides["second"])


def _evidence(file: TomlFile, raw: dict[str, Any], where: Keys) -> Evidence:
    over = raw.get("over")
    plain = {key: value for key, value in raw.items() if key != "over"}
    file.known(plain, [item.name for item in fields(Evidence)], where)
    given = None if over is None else _evidence(file, file.table(over, (*where, "over")), (*where, "over"))
    found: Evidence = file.build(Evidence, plain, where, over=given)
    kinds = [kind for kind in KINDS if getattr(found, kind) not in ((), "", None)]
    if len(kinds) != 1:
        said = " and ".join(kinds) or "none of them"
        file.fail(f"evidence has one of {', '.join(KINDS)}, not {said}", where)
    if found.names and (found.name or found.kind != "runs"):
        file.fail("'names' is of runs, in place of 'name'", (*where, "names"))
    return found
