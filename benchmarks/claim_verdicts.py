"""The verdicts on the claims, from the stored runs: the block of docs/claims.md, and results/claims.json.

python -m benchmarks.claim_verdicts
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.reference_comparisons import ROOT
from benchmarks.reference_verdicts import DOCS
from erlbench.claims.evidence import Sources
from erlbench.claims.page import claims_text, markdown_page
from erlbench.claims.standing import ClaimStanding, standings
from erlbench.experiment.claims import load_claims

RESULTS = ROOT / "results"
PAGE, VALUES = DOCS / "claims.md", RESULTS / "claims.json"
BLOCK = re.compile(r"<!-- claims -->\n.*?<!-- end -->", re.DOTALL)


def computed() -> list[ClaimStanding]:
    """The verdict on each claim."""
    return standings(load_claims().values(), Sources(RESULTS))


def with_claims(text: str, found: Sequence[ClaimStanding]) -> str:
    """The page with these verdicts."""
    block = f"<!-- claims -->\n\n{markdown_page(found)}\n<!-- end -->"
    return BLOCK.sub(lambda _: block, text)


def main() -> None:
    """Write the values and the page."""
    found = computed()
    VALUES.write_text(claims_text(found), encoding="utf-8")
    PAGE.write_text(with_claims(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
