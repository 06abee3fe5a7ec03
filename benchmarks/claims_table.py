"""The table of docs/claims.md, which `python -m benchmarks.claims_table` writes: what stored runs say of each claim."""

import re
from collections.abc import Iterator

from benchmarks.reference import REFERENCE
from erlbench.envs.registry import problem, remember_problems
from erlbench.experiment.arguments import arguments
from erlbench.experiment.command import requested_cells
from erlbench.experiment.estimate import estimate_cell
from erlbench.experiment.studies import BENCHMARKS, FILE, load_studies
from erlbench.experiment.study import Study
from erlbench.records.read import ignore
from erlbench.reporting.data.runs import find_runs
from erlbench.reporting.documents.formats import with_interval
from erlbench.reporting.verdict.answers import Standing, answer_study

PAGE = REFERENCE.parents[1] / "docs" / "claims.md"
BLOCK = re.compile("(?<=<!-- studies -->\n).*?(?=<!-- end -->)", re.DOTALL)
HEADER = "\n|Sentence|Source|Verdict|Effect|Study|Core-hours|\n|---|---|---|---|---|---|\n"


def claim_studies() -> list[Study]:
    """The studies that carry a sentence, by document: the suite's, and those beside stored results."""
    files = (BENCHMARKS, *sorted(REFERENCE.parent.rglob(FILE)))
    found = (study for file in files for study in load_studies(file).values() if study.claim)
    return sorted(found, key=lambda study: study.source)


def claim_table() -> str:
    """A row for each of them; the core-hours of all runs of a study are estimated."""
    return f"{HEADER}{''.join(_rows())}\n"


def _rows() -> Iterator[str]:
    problem_of, suite = remember_problems(problem), find_runs([REFERENCE], ignore)
    for study in claim_studies():
        folder = study.file.parent if study.file and study.file.name == FILE else None
        profile = "paper" if study.has_profiles else ""
        answer = answer_study(study, profile, find_runs([folder], ignore) if folder else suite, ignore)
        pairs = () if answer.standing in (Standing.NOT_RUN, Standing.NOT_COMPARABLE) else answer.answers
        effects = "; ".join(with_interval(*pair.effect) + " %" * pair.in_percent for pair in pairs)
        asked = {"study": (study.name,), "profile": profile or None, "out": str(folder or REFERENCE)}
        cells = requested_cells(arguments(asked), problem_of)
        hours = sum(estimate_cell(cell, 1, problem_of).core_seconds for cell in cells) / 3600
        price = f"{hours:,.{1 if hours < 10 else 0}f}"
        yield f"|{study.claim}|{study.source}|{answer.standing}|{effects}|`{study.name}`|{price}|\n"


if __name__ == "__main__":
    table = claim_table()
    PAGE.write_text(BLOCK.sub(lambda _: table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
