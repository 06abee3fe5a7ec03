"""The reproducibility checklist: items 4 to 8 and 12 of NeurIPS's list, answered from the files of the runs.

What no file says is named as not recorded. What only the authors know is asked for.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import erlbench
from erlbench.bundle import name_hider
from erlbench.reporting.data.comparison import Comparison, everything
from erlbench.reporting.data.published import load_published
from erlbench.reporting.data.remarks import Remark, RemarkKind
from erlbench.reporting.data.runs import Run
from erlbench.reporting.data.seeds import STD
from erlbench.reporting.documents.files import write_document
from erlbench.reporting.documents.formats import significant
from erlbench.reporting.documents.model import Block, Bullets, Code, Document, Heading, Link, Text
from erlbench.reporting.pages.page import Page
from erlbench.reporting.statistics.intervals import FEWEST_RUNS
from erlbench.reporting.statistics.significance import level_words
from erlbench.reporting.tables.checklist import (
    UNKNOWN,
    ComputeLine,
    cells_table,
    compute_lines,
    compute_table,
    hours,
    listed_cells,
    settings_table,
)
from erlbench.reporting.verdict.words import result
from erlbench.words import counted

NAME, TITLE = "checklist", "Reproducibility checklist"
SOURCE = "https://neurips.cc/public/guides/PaperChecklist"
MOST_COMMANDS = 200
LONGEST_LICENCE = 60  # characters; some packages give its whole text
LEFT_OUT = (RemarkKind.LEFT_OUT, RemarkKind.REPEATED)


def write_checklist(out: Path, document: Document) -> None:
    """Write the checklist with its tables into the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    write_document(document, out)


def checklist(pages: Sequence[Page], runs: Sequence[Run], warnings: Iterable[Remark]) -> Document:
    """The checklist of the runs; command lines are without home folders and names of this user and machine."""
    cells = listed_cells(everything(runs))
    lines = compute_lines(cells, _machine)
    settings = settings_table(runs)
    without = sum(not run.settings for run in runs)
    left_out = sum(warning.kind in LEFT_OUT for warning in warnings)
    own = [page for page in pages if not page.known]
    blocks: list[Block] = [
        Heading(TITLE, 1),
        Text((
            "Items 4 to 8 and 12 of NeurIPS's ", Link("paper checklist", SOURCE), ", answered from the files of the "
            "runs. What no file says is named as not recorded; what only the authors know is theirs to add.",
        )),
        Heading("4. Experimental result reproducibility"), Bullets(tuple(_repeating(runs, left_out))),
        Heading("5. Open access to data and code"), Bullets(tuple(_access(runs))), *_commands(runs),
        Heading("6. Experimental setting"), cells_table(cells),
        *([settings] if settings else []),
        *([Text((f"{without:,} of {len(runs):,} runs record no settings.",))] if without else []),
        Heading("7. Statistical significance"), Bullets(tuple(_statistics(own))),
        Heading("8. Compute resources"), Bullets(tuple(_compute(lines, left_out))), compute_table(lines),
        Heading("12. Licences"), Bullets(tuple(_licences(runs))),
    ]  # fmt: skip
    return Document(blocks)


def _repeating(runs: Sequence[Run], left_out: int) -> Iterator[str]:
    states = Counter(run.status for run in runs)
    yield f"Runs: {', '.join(f'{count:,} {status}' for status, count in sorted(states.items()))}."
    if left_out:
        yield f"{counted(left_out, 'warning')} of the report on runs that it leaves out; they are counted nowhere here."
    yield (
        "The folder of a run has its settings, seed, versions, rows of evaluations and episodes, and the final policy. "
        "`erlbench verify` computes the results again from them, and `verify --again` the run."
    )
    kernels = Counter(", ".join(run.machine.kernels) or UNKNOWN for run in runs)
    yield f"Kernel of sums: {_counts(kernels)}. Equal seeds give equal numbers with equal kernels and packages alone."
    if simulated := sum(run.simulated_time for run in runs):
        yield f"{counted(simulated, 'run')} in simulated time: their order of events does not depend on the machine."
    for text, count in Counter(mark for run in runs for mark in run.machine.marks).items():
        yield f"May not be repeatable, {counted(count, 'run')}: {text}"


def _access(runs: Sequence[Run]) -> Iterator[str]:
    yield f"Software: {_counts(Counter(run.machine.software for run in runs))}."
    yield f"This page was made by erlbench {erlbench.__version__}."
    for text, count in _imported(runs, "origin").items():
        yield f"Made by other programs, {counted(count, 'run')}: {text}."
    yield "Whether code and runs are public: yours to add. `erlbench convert --to bundle` makes one file of all runs."


def _commands(runs: Sequence[Run]) -> list[Block]:
    commands = list(dict.fromkeys(" ".join(run.machine.command.split()) for run in runs if run.machine.command))
    shown = [*map(name_hider(), commands[:MOST_COMMANDS])]
    if len(commands) > MOST_COMMANDS:
        shown.append(f"# {len(commands) - MOST_COMMANDS:,} more")
    unknown = sum(not run.machine.command for run in runs)
    more = f" {counted(unknown, 'run')} without one." if unknown else ""
    if not shown:
        return [Text(("No run records its command line.",))]
    return [Text((f"Command lines, without home folders, user and host:{more}",)), Code(tuple(shown))]


def _statistics(pages: Sequence[Page]) -> Iterator[str]:
    yield "What varies between the runs of a cell is the seed; n counts seeds."
    for page in pages:
        comparison, said = page.comparison, result(page.verdicts)
        if any(one.exists and one.runs for one in comparison.run_sets):
            yield f"{comparison.title}. Score: {comparison.score_words}."
            yield from _tests(comparison, page, said)
    yield (
        f"Standard deviation: of the sample, divided by n - 1; where seeds have several runs, {STD}. From "
        f"{FEWEST_RUNS} seeds on, 95 % intervals: of a mean by Student's t, of a difference of means by Welch's, of "
        "curves and interquartile means by bootstrap over seeds, of P(better) by Newcombe's method 5. Below, there is "
        "none."
    )
    yield (
        "p: the larger one of the Mann–Whitney and Brunner–Munzel tests, after Holm's correction. Level: "
        f"{level_words()}, on the side with fewer seeds. Runs that failed are no missing values: a comparison with one "
        "is not tested."
    )


def _tests(comparison: Comparison, page: Page, said: str) -> Iterator[str]:
    if not page.verdicts:
        yield f"{comparison.title}: no algorithms are compared."
        return
    tests = {one.outcome.tests for one in page.verdicts if one.outcome is not None}
    family = f" Correction for {max(tests):,} tests." if tests and max(tests) > 1 else ""
    yield f"{comparison.title}: {said}{family}"


def _compute(lines: Sequence[ComputeLine], left_out: int) -> Iterator[str]:
    *cells, total = lines
    machines = Counter(machine for line in cells for machine in line.machines)
    yield f"Machines: {'; '.join(machines)}."
    for kind, words in (("clock", "hours by the clock"), ("processor", "processor hours of their tasks")):
        found = {name: hours(getattr(total, name), kind) for name in ("counted", "others", "aside", "all")}
        known = {name: significant(value) if value == value else UNKNOWN for name, value in found.items()}
        yield (
            f"{words.capitalize()}: {known['all']} in total; finished runs {known['counted']}, not finished "
            f"{known['others'] if total.others else 0}, moved aside {known['aside'] if total.aside else 0}."
        )
    if unknown := sum(not time.known for time in total.all):
        yield f"{counted(unknown, 'run')} whose computing time is not recorded; the hours are without them."
    if left_out:
        yield "Runs that the report leaves out are not in these hours; see its warnings."
    yield "Runs that are not in these folders, such as earlier experiments: yours to add."


def _licences(runs: Sequence[Run]) -> Iterator[str]:
    yield f"erlbench {erlbench.__version__}: {_licence('erlbench')}."
    versions: dict[str, dict[str, None]] = {}
    for name, version in (pair for run in runs for pair in run.machine.versions):
        versions.setdefault(name, {})[version] = None
    for name in sorted(versions.keys() - {"erlbench"}):
        yield f"{name} {', '.join(versions[name])}: {_licence(name)}."
    if versions:
        yield "A package's licence is the one of its installation on this machine."
    for text, count in _imported(runs, "licence").items():
        yield f"Made by other programs, {counted(count, 'run')}: {text}."
    references = load_published().references
    found = {one.source.name: one.source for cell in everything(runs).run_sets for one in references.of(cell)}
    for source in found.values():
        yield f"Reference runs that the report shows, {source.name}: {source.licence or UNKNOWN}."
    yield "Environments of other packages, and models that settings name: yours to add."


def _imported(runs: Sequence[Run], what: str) -> Counter[str]:
    return Counter(
        f"{run.imported.format} of {run.imported.origin}" + (
            f", licence {run.imported.licence or UNKNOWN}" if what == "licence" else "")
        for run in runs if run.imported
    )  # fmt: skip


def _licence(package: str) -> str:
    """A package's licence by its metadata here; `UNKNOWN` where it is not installed or does not say."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,60}", package):  # a name that somebody's meta.json has
        return UNKNOWN
    try:
        about = importlib.metadata.metadata(package)
    except importlib.metadata.PackageNotFoundError:
        return UNKNOWN
    classifiers = [text.rpartition(" :: ")[2] for text in about.get_all("Classifier") or () if "License ::" in text]
    said = [*(about.get_all("License-Expression") or ()), ", ".join(classifiers), *(about.get_all("License") or ())]
    return next((text for text in said if text and len(text) <= LONGEST_LICENCE and "\n" not in text), UNKNOWN)


def _machine(run: Run) -> str:
    """The machine of a run, and how much of it: processes, device."""
    machine = run.machine
    memory = f", {machine.memory} GiB memory" if machine.memory else ""
    used = f", processes: {machine.processes}" if machine.processes else ""
    return f"{machine.hardware}{memory}{used}" + (f", device {machine.device}" if machine.device else "")


def _counts(texts: Counter[str]) -> str:
    if len(texts) == 1:
        return next(iter(texts))
    return "; ".join(f"{text} ({counted(count, 'run')})" for text, count in texts.most_common())
