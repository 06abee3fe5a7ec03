"""docs/data/claims.csv, which `python -m benchmarks.claims_table` writes: the verdict of stored runs on each claim."""

import csv
from collections.abc import Iterator

from benchmarks.reference import REFERENCE
from erlbench.envs.registry import problem, remember_problems
from erlbench.experiment.arguments import arguments
from erlbench.experiment.estimate import estimate_cell
from erlbench.experiment.requested_cells import requested_cells
from erlbench.experiment.studies import BENCHMARKS, FILE, load_studies
from erlbench.experiment.study import Study
from erlbench.records.read import ignore
from erlbench.records.run import run_folders
from erlbench.reporting.answers import Standing, answer_study
from erlbench.reporting.formats import with_interval
from erlbench.reporting.runs import find_runs

TABLE = REFERENCE.parents[1] / "docs" / "data" / "claims.csv"
HEADER = ["Sentence", "Source", "Verdict", "Effect", "Study", "Core-hours"]


def claim_studies() -> list[Study]:
    """The studies that carry a sentence, by document: the suite's, and those beside stored results."""
    files = (BENCHMARKS, *sorted(REFERENCE.parent.rglob(FILE)))
    found = (study for file in files for study in load_studies(file).values() if study.claim)
    return sorted(found, key=lambda study: study.source)


def claim_rows() -> Iterator[list[str]]:
    """The header, and a row for each study; the core-hours of all its runs are estimated."""
    yield HEADER
    find_problem, suite = remember_problems(problem), find_runs([REFERENCE], ignore)
    for study in claim_studies():
        folder = study.file.parent if study.file and study.file.name == FILE else None
        profile = "paper" if study.has_profiles else ""
        runs = find_runs([folder], ignore) if folder and [*run_folders(folder)] else suite
        answer = answer_study(study, profile, runs, ignore)
        pairs = () if answer.standing in (Standing.NOT_RUN, Standing.NOT_COMPARABLE) else answer.answers
        effects = "; ".join(with_interval(*pair.effect) + " %" * pair.in_percent for pair in pairs)
        asked = {"study": (study.name,), "profile": profile or None, "out": str(folder or REFERENCE)}
        cells = requested_cells(arguments(asked), find_problem)
        hours = sum(estimate_cell(cell, 1, find_problem).core_seconds for cell in cells) / 3600
        price = f"{hours:,.{1 if hours < 10 else 0}f}"
        yield [study.claim, study.source, str(answer.standing), effects, f"`{study.name}`", price]


if __name__ == "__main__":
    rows = list(claim_rows())
    with open(TABLE, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
