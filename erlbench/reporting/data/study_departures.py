"""All that was done to a study and is not in its plan, from the files of its runs and from its journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from erlbench import files
from erlbench.errors import UsageError
from erlbench.experiment import journal
from erlbench.experiment.departures import Departure, Kind, planned_cell
from erlbench.machine import kernel
from erlbench.reporting.data.study import PlannedStudy, Record
from erlbench.work import identity


def all_departures(study: PlannedStudy) -> list[Departure]:
    """Every departure of a study, each once."""
    found = [
        *study.differing, *_failed(study), *_starts(study), *_moved_aside(study), *_journal(study), *_kernels(study),
        *_identities(study), *_reports(study),
    ]  # fmt: skip
    return list(dict.fromkeys(found))


def record_report(study: PlannedStudy, asked: Iterable[Departure]) -> PlannedStudy:
    """Append what a report departs in to the journal, and give the study with it.

    Raises `UsageError` where that cannot be written: such a report would leave no trace.
    """
    asked = list(asked)
    if not asked:
        return study
    values = [{"kind": one.kind.name, "about": one.what} for one in asked]
    try:
        journal.append(study.folder, journal.REPORT, plan=study.plan.hash, departures=values)
    except OSError as error:
        raise UsageError(
            f"{study.folder} is under a plan from which this report departs ({asked[0].kind}), and its journal cannot "
            f"be written: {files.reason(error)}"
        ) from error
    return replace(study, journal=tuple(journal.read(study.folder)))


def _failed(study: PlannedStudy) -> Iterator[Departure]:
    for record in study.records:
        if record.status == "failed" and planned_cell(study.plan, record.config):
            yield Departure(Kind.FAILED, record.label)


def _starts(study: PlannedStudy) -> Iterator[Departure]:
    """Starts under no plan or another one, and starts that the journal lacks."""
    known = {str(line.get("id")) for line in study.journal}
    for record in study.records:
        for start in record.starts:
            digest = start.get("study_plan")
            if not digest:
                yield Departure(Kind.BEFORE, record.label)
            elif digest != study.plan.hash:
                yield Departure(Kind.EDITED, f"{record.label} ({str(digest)[:12]})")
            if digest and start.get("journal") not in known:
                yield Departure(Kind.JOURNAL, f"it lacks a start of {record.label}")


def _moved_aside(study: PlannedStudy) -> Iterator[Departure]:
    for record in study.aside:
        yield Departure(Kind.REPEATED, record.label.partition(files.ASIDE)[0])


def _journal(study: PlannedStudy) -> Iterator[Departure]:
    """Starts whose folder is gone, repetitions, starts under another plan, lines that cannot be read."""
    there = {str(start.get("journal")) for record in (*study.records, *study.aside) for start in record.starts}
    seen: set[str] = set()
    for line in study.journal:
        if line.get("what") == journal.DAMAGED:
            yield Departure(Kind.JOURNAL, "a line of it cannot be read")
        if line.get("what") != journal.START:
            continue
        folder = str(line.get("folder"))
        if str(line.get("id")) not in there:
            yield Departure(Kind.DELETED, f"{folder}, started {line.get('time')}")
        if line.get("forced") and folder in seen:
            yield Departure(Kind.REPEATED, folder)
        if line.get("plan") != study.plan.hash:
            yield Departure(Kind.EDITED, f"{folder} ({str(line.get('plan'))[:12]})")
        seen.add(folder)


def _kernels(study: PlannedStudy) -> Iterator[Departure]:
    """Seeds whose planned cells ran on several kernels; a new seed may have another."""
    kernels: dict[int, set[str]] = {}
    for record in study.records:
        if record.seed is not None and planned_cell(study.plan, record.config):
            own = kernels.setdefault(record.seed, set())
            own |= {kernel.in_words(record.meta), *_recorded(study, record, "kernel")} - {""}
    for seed, found in kernels.items():
        if len(found) > 1:
            yield Departure(Kind.KERNEL, f"seed {seed}: {' | '.join(sorted(found))}")


def _identities(study: PlannedStudy) -> Iterator[Departure]:
    """Cells whose starts differ in identity; what was not recorded is no difference."""
    identities: dict[str, list[identity.Identity]] = {}
    for record in study.records:
        if (cell := planned_cell(study.plan, record.config)) is not None:
            identities.setdefault(cell.label, []).extend(identity.recorded(record.meta))
    for label, found in identities.items():
        if lines := dict.fromkeys(line for one in found for line in identity.changes(found[0], one)):
            yield Departure(Kind.IDENTITY, f"{label}: {'; '.join(lines)}")


def _reports(study: PlannedStudy) -> Iterator[Departure]:
    """What earlier reports departed in, and this one, which the journal has, too."""
    for line in study.journal:
        listed = line.get("departures")
        for one in listed if line.get("what") == journal.REPORT and isinstance(listed, list) else ():
            if isinstance(one, Mapping) and one.get("kind") in Kind.__members__:
                yield Departure(Kind[one["kind"]], str(one.get("about")))


def _recorded(study: PlannedStudy, record: Record, key: str) -> set[str]:
    """What the journal says of the starts of a run."""
    own = {str(start.get("journal")) for start in record.starts}
    return {str(line.get(key) or "") for line in study.journal if str(line.get("id")) in own}
