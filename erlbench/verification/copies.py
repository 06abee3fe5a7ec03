"""Whether runs are copies of one another: digests, policies and returns that they share, and curves too alike."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from erlbench.files import read_bytes
from erlbench.records.likeness import Likeness, ReturnSeries, Suspicion, suspicions
from erlbench.records.run import POLICY
from erlbench.records.schema import EpisodeRow, EvaluationRow, Row, TaskRow
from erlbench.verification.check import AGREES, DIFFERS, UNKNOWN, Check, Files

NAME = "copies"
FEWEST = 10  # episodes that distinguish runs
FEWEST_PARAMETERS = 32  # float32 numbers of a policy that distinguish runs


@dataclass(frozen=True)
class Trace:
    """What identifies a run: hashes of digests, and of rows that chance does not repeat; its returns."""

    path: Path
    claims: tuple[str, ...]  # algorithm, environment, settings, seed
    seed: Any
    marks: frozenset[bytes]
    evaluated: ReturnSeries
    trained: ReturnSeries


def trace(run: Files) -> Trace:
    """The trace of a run."""
    settings = {name: run.table(name) for name in ("settings", "env_settings")}
    claims = (str(run.run.get("algo")), str(run.run.get("env")), repr(settings), str(run.run.get("seed")))
    marks = frozenset(map(_hash, _marks(run)))
    episodes = run.rows.get(EpisodeRow)
    returns = np.zeros(0) if episodes is None else episodes["r"].to_numpy(float)
    return Trace(
        run.path, claims, run.run.get("seed"), marks, _series(run, run.evaluations["return_mean"].to_numpy(float)),
        _series(run, returns, training=True),
    )  # fmt: skip


def _series(run: Files, values: np.ndarray, training: bool = False) -> ReturnSeries:
    seed = run.run.get("seed")
    known = seed if isinstance(seed, int) else -1
    return ReturnSeries(run.path, str(run.run.get("env")), str(run.run.get("name")), known, values, training)


def _marks(run: Files) -> Iterable[str]:
    rows = run.evaluations
    first = list(rows["policy_sha256"])[:1]
    rows = rows[rows["timesteps"] > 0]  # equal seeds have equal beginnings, whatever follows
    yield from (f"digest {digest}" for digest in rows["digest"] if digest)
    if not _is_tiny(run.path / POLICY):
        yield from (f"policy {policy}" for policy in rows["policy_sha256"] if policy and policy not in first)
    for returns, lengths in zip(rows["returns"], rows["lengths"], strict=True):
        if len(set(returns)) >= FEWEST / 2:
            yield f"returns {returns} {lengths}"
    for row, columns in ((EpisodeRow, ["r", "l"]), (TaskRow, ["start_s", "end_s", "cpu_s"])):
        yield from _whole(run, row, columns)


def _is_tiny(policy: Path) -> bool:
    """Whether a policy's file has so few parameters that runs which reach the optimum end with equal ones."""
    try:
        header = int.from_bytes(read_bytes(policy, first=8, inside=1), "little")
        return 0 <= policy.lstat().st_size - 8 - header < 4 * FEWEST_PARAMETERS
    except (OSError, ValueError):
        return False


def _whole(run: Files, row: type[Row], columns: list[str]) -> Iterable[str]:
    """All cells of some columns, if they differ enough to distinguish runs."""
    if (rows := run.rows.get(row)) is not None and rows[columns[-1]].notna().all():
        found = rows[columns].head(1000)
        if len(set(found[columns[0]])) >= FEWEST:
            yield f"{row.file} {found.to_csv(index=False)}"


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]


def check_copies(traces: Iterable[Trace]) -> Mapping[Path, Check]:
    """The check of each run among those of one command; of curves, what `records.likeness` says.

    Runs of different seeds share no mark. Runs that share marks and claim the same algorithm, environment, settings and
    seed are repetitions. With other settings it cannot be known which of the two they are: settings may play no part.
    """
    traces = list(traces)
    holders: dict[bytes, list[int]] = {}
    for index, one in enumerate(traces):
        for mark in one.marks:
            holders.setdefault(mark, []).append(index)
    shared: list[Counter[int]] = [Counter() for _ in traces]
    for owners in holders.values():
        for owner in owners if len(owners) > 1 else ():
            shared[owner].update(other for other in owners if other != owner)
    alike: dict[Path, Suspicion] = {}
    for suspicion in (*suspicions(one.evaluated for one in traces), *suspicions(one.trained for one in traces)):
        alike.setdefault(suspicion.path, suspicion)
        alike.setdefault(suspicion.other, suspicion)
    return {one.path: _check(one, [traces[other] for other in found], alike.get(one.path), len(traces))
            for one, found in zip(traces, shared, strict=True)}  # fmt: skip


def _check(one: Trace, others: list[Trace], alike: Suspicion | None, number: int) -> Check:
    copies = [other for other in others if other.seed != one.seed]
    unclear = [other for other in others if other.seed == one.seed and other.claims != one.claims]
    for outcome, found, what in ((DIFFERS, copies, "with another seed"), (UNKNOWN, unclear, "with other settings")):
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            return Check(NAME, outcome, f"it has rows or policies of {found[0].path}{more}, {what}")
    if alike is not None:
        unsure = alike.same_seed or alike.kind is Likeness.EVEN
        return Check(NAME, UNKNOWN if unsure else DIFFERS, str(alike))
    if not one.marks:
        return Check(NAME, UNKNOWN, f"{EvaluationRow.file} has nothing that distinguishes runs")
    return Check(NAME, AGREES, f"no other run of the {number} that were given has its rows or policies")
