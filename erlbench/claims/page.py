"""The claims as a table, a section each, and values: docs/claims.md, `erlbench report --claims`, claims.json."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from erlbench.claims.standing import ClaimStanding, PartStanding, Standing
from erlbench.errors import UsageError
from erlbench.experiment.claims import DOCUMENT, EXPLORATORY, PLAN
from erlbench.reporting.documents import markdown
from erlbench.reporting.documents.formats import NONE, count, with_interval
from erlbench.reporting.verdict.stored import json_values

WIDTH = 25  # characters of a figure
FORMAT = 1  # of claims.json
NAMES = "claims.md", "claims.json"
KINDS = {  # what a verdict stands on
    "runs": "our runs",
    "rows": "our measurements",
    "others": "runs of others",
    "forecast": "a forecast",
    "published": "the document's own numbers",
}
BASES = {
    PLAN: "a plan, fixed before the runs",
    DOCUMENT: "the document's words and numbers",
    EXPLORATORY: "ours, with the numbers before us: it does not count",
}
LEGEND = (
    "A figure has the effect `●` in its interval `├ ┤`, no difference `│`, and what is claimed, at least, `◆`. "
    "A number without spread has no interval."
)


def stands_on(one: ClaimStanding) -> str:
    """What its verdict is computed from; empty without evidence."""
    return " and ".join(words for kind, words in KINDS.items() if kind in one.claim.kinds)


def verdict_words(one: ClaimStanding) -> str:
    """`holds only if: SAC over CEM, Hopper-v5`; marked where it does not count."""
    where = f": {one.holding}" if one.standing is Standing.ONLY_IF else ""
    mark = " (exploratory)" if one.claim.basis == EXPLORATORY and one.parts else ""
    return f"{one.standing}{where}{mark}"


def price(one: ClaimStanding) -> str:
    """Core-hours of its command."""
    return hours_text(one.claim.core_hours)


def hours_text(hours: float) -> str:
    """Two digits below ten; a dash for none or unknown."""
    return NONE if not hours or math.isnan(hours) else count(hours) if hours >= 9.5 else f"{hours:.2g}"


def strip(part: PartStanding) -> str:
    """A figure of `WIDTH` characters: effect, interval, no difference, what is claimed; empty without an effect."""
    low, high = part.interval
    marks = {"│": part.null, "◆": part.margin, "├": low, "┤": high, "●": part.effect}
    if math.isnan(part.effect):
        return ""
    if part.margin == part.null:
        del marks["◆"]
    known = {mark: value for mark, value in marks.items() if not math.isnan(value)}
    start, end = min(known.values()), max(known.values())
    places = {mark: round((value - start) / ((end - start) or 1) * (WIDTH - 1)) for mark, value in known.items()}
    line = ["·"] * WIDTH
    if "├" in places:
        line[places["├"] : places["┤"] + 1] = "─" * (places["┤"] - places["├"] + 1)
    for mark, place in places.items():
        line[place] = mark
    return "".join(line)


def summary_line(found: Sequence[ClaimStanding]) -> str:
    """How many claims there are, how many are decided, and on what."""
    decided = [one for one in found if one.counts]
    listed = ", ".join(f"{many} by {words}" for words, many in Counter(map(stands_on, decided)).items())
    shown = sum(one.claim.basis == EXPLORATORY and one.standing is not Standing.OPEN for one in found)
    left = sum(one.standing is Standing.OPEN for one in found)
    return (
        f"{len(found)} claims: {len(decided)} decided or bounded ({listed or 'none'}), {left} not decided, "
        f"{shown} more with an exploratory answer, which does not count."
    )


def claim_rows(found: Sequence[ClaimStanding]) -> list[tuple[str, ...]]:
    """Claim, verdict, what it stands on, parts that hold, runs, core-hours of its command and of the stored runs."""
    return [
        (one.claim.id, str(one.standing) + ("*" if one.claim.basis == EXPLORATORY and one.parts else ""),
         stands_on(one) or NONE, _parts(one), _runs(one), price(one), hours_text(one.core_hours))
        for one in found
    ]  # fmt: skip


HEADS = ("claim", "verdict", "stands on", "parts that hold", "runs a side", "core-hours", "measured")


def markdown_page(found: Sequence[ClaimStanding]) -> str:
    """The summary, the table, and a section for each claim."""
    lines = [summary_line(found), "", f"| {' | '.join(HEADS)} |", "|---|---|---|---:|---:|---:|---:|"]
    lines += [
        f"| [{name}](#{name}) | {' | '.join(map(markdown.escape, cells))} |" for name, *cells in claim_rows(found)
    ]
    lines += [
        "",
        "\\* exploratory: it does not count. core-hours: of the claim's command, by its `--dry-run`, "
        "before its runs. measured: of the stored runs, processor time of their tasks, or time by the clock where "
        "none is recorded.",
        LEGEND,
    ]
    for one in found:
        lines += ["", *_section(one)]
    return "\n".join(lines) + "\n"


def claim_values(one: ClaimStanding) -> dict[str, Any]:
    """A claim's verdict as JSON holds it: NaN is null."""
    values: dict[str, Any] = json_values(
        {
            "id": one.claim.id,
            "verdict": str(one.standing),
            "counts": one.counts,
            "basis": one.claim.basis,
            "plan": one.claim.plan,
            "stands_on": stands_on(one),
            "needs": one.claim.needed,
            "core_hours": one.claim.core_hours,
            "core_hours_measured": one.core_hours,
            "parts": [
                {"label": part.part.label, "verdict": str(part.standing), "effect": part.effect,
                 "interval": part.interval, "runs": part.runs, "null": part.null, "margin": part.margin,
                 "why": part.why}
                for part in one.parts
            ],
        }
    )  # fmt: skip
    return values


def claims_text(found: Sequence[ClaimStanding]) -> str:
    """What claims.json holds."""
    values = {"format": FORMAT, "claims": [claim_values(one) for one in found]}
    return json.dumps(values, indent=1, ensure_ascii=False) + "\n"


def write_claims(found: Sequence[ClaimStanding], out: Path) -> Path:
    """Write claims.md and claims.json to a folder; the former's path."""
    contents = f"# Claims\n\n{markdown_page(found)}", claims_text(found)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, content in zip(NAMES, contents, strict=True):
            (out / name).write_text(content, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the claims cannot be written to {out}: {error.strerror or error}") from error
    return out / NAMES[0]


def _section(one: ClaimStanding) -> Iterator[str]:
    claim = one.claim
    yield f"### {claim.id}"
    yield ""
    document, place, whose, says = map(markdown.prose, (claim.document, claim.place, claim.whose, claim.says))
    yield f"*{document}, {place}. Whose: {whose}.* {says}"
    yield ""
    yield f"**{markdown.escape(verdict_words(one))}**"
    yield ""
    seen = (("holds", claim.holds), ("does not hold", claim.fails), ("holds only if", claim.only_if))
    yield from (f"- {name}: {markdown.prose(text)}" for name, text in seen if text)
    yield f"- Test: {markdown.prose(claim.test)}. Score and budget: {markdown.prose(claim.budget)}."
    if one.parts:
        needs = "all parts" if claim.needed == len(one.parts) else f"{claim.needed} of {len(one.parts)} parts"
        yield f"- Fixed by: {BASES[claim.basis]}{f' ({claim.plan})' if claim.plan else ''}. Must hold: {needs}."
    yield from (
        f"- {name}: {markdown.prose(text)}"
        for name, text in (("Beside it", claim.caveat), ("Open", claim.lacks))
        if text
    )
    if claim.command:
        yield f"- `{claim.command}`: {price(one)} core-hours"
    yield f"- The authors' reply: {markdown.escape(claim.reply) if claim.reply else 'none yet'}"
    if one.parts:
        yield ""
        unit = f" ({markdown.escape(claim.unit)})" if claim.unit else ""
        yield f"| part | verdict | effect{unit} | runs | figure |"
        yield "|---|---|---:|---:|---|"
        yield from map(_part_row, one.parts)


def _part_row(part: PartStanding) -> str:
    verdict = f"{part.standing}: {part.why}" if part.why else str(part.standing)
    figure = strip(part)
    label, verdict, effect = part.part.label, markdown.escape(verdict), with_interval(part.effect, *part.interval)
    cells = (markdown.escape(label), verdict, effect, _of(part.runs), f"`{figure}`" if figure else NONE)
    return f"| {' | '.join(cells)} |"


def _parts(one: ClaimStanding) -> str:
    return f"{len(one.of(Standing.HOLDS))} of {len(one.parts)}" if one.parts else NONE


def _runs(one: ClaimStanding) -> str:
    return next((_of(part.runs) for part in one.parts if max(part.runs)), NONE)


def _of(runs: tuple[int, int]) -> str:
    return " and ".join(map(_many, runs)) if max(runs) else NONE


def _many(runs: int) -> str:
    """A number of runs; a dash for a number without spread."""
    return str(runs) if runs else NONE
