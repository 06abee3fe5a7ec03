"""What a case leaves, as texts by file, column and row; where two cases differ; which differences are intended."""

from __future__ import annotations

import csv
import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click
from safetensors.numpy import load_file

Evidence = dict[str, dict[str, Any]]  # file -> column -> row -> text; of files without rows: file -> leaf -> text
Difference = dict[str, str]  # the PLACES, `old`, `new`, and `kind`: the number of the intended kind, or ""
PLACES = ("case", "file", "column", "row")
ABSENT = "(absent)"
NOT_COMPARED = "not compared"  # the column of a case that could not be made, which nobody can intend
ROWS = ("eval.csv", "episodes.csv", "tasks.csv", "train.csv")
POLICIES = ("policy.safetensors", "policies/*.safetensors")
STATE = "final state"
KIND_REQUIRED, KIND_OPTIONAL = {"case", "old", "new", "reason"}, {"file", "column", "row", "old_like", "new_like"}
MOST_KINDS = 15
WIDTH = 80  # characters of a value


def read_runs(out: Path, measured: Container[str]) -> Evidence:
    """Rows without `measured` columns, settings, keys of meta.json, policies and final state of all runs in `out`."""
    evidence: Evidence = {}
    for run in sorted(path.parent for path in out.rglob("config.toml")):
        name = run.relative_to(out).as_posix()
        for file in (file for file in ROWS if (run / file).exists()):
            evidence[f"{name}/{file}"] = read_csv(run / file, measured, sort="task" if file == "tasks.csv" else "")
        evidence[f"{name}/config.toml"] = dict(leaves(tomllib.loads((run / "config.toml").read_text("utf-8"))))
        evidence[f"{name}/meta.json"] = dict.fromkeys(json.loads((run / "meta.json").read_text("utf-8")), "present")
        for path in (path for pattern in POLICIES for path in sorted(run.glob(pattern))):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            evidence[f"{name}/{path.relative_to(run).as_posix()}"] = {"sha256": digest}
        evidence[f"{name}/{STATE}"] = {array: str(count) for array, count in state_arrays(run).items()}
    return evidence


def state_arrays(run: Path) -> Counter[str]:
    """How often each array is in the last state of a run, by type, shape and content; names do not matter."""
    files = sorted(run.glob("training-end/*/*.safetensors"))
    arrays = (array for path in files if path.parent == files[-1].parent for array in load_file(path).values())
    return Counter(
        f"{array.dtype}{list(array.shape)} {hashlib.sha256(array.tobytes()).hexdigest()[:16]}" for array in arrays
    )


def read_report(folder: Path) -> Evidence:
    """The CSV files of a report, and the leaves of its verdict.json."""
    tables = {path.relative_to(folder).as_posix(): read_csv(path) for path in sorted(folder.rglob("*.csv"))}
    verdicts = {
        path.relative_to(folder).as_posix(): dict(leaves(json.loads(path.read_text(encoding="utf-8"))))
        for path in folder.rglob("verdict.json")
    }
    return tables | verdicts


def read_csv(path: Path, without: Container[str] = (), sort: str = "") -> dict[str, Any]:
    """The cells of a CSV file; `sort`: the column of whole numbers that orders its rows."""
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(line for line in file if not line.startswith("#"))
    if sort:
        rows.sort(key=lambda row: int(row[header.index(sort)]))
    return columns_of_rows(rows, header, without)


def columns_of_rows(
    rows: Iterable[Sequence[str]], header: Sequence[str], without: Container[str] = ()
) -> dict[str, dict[str, str]]:
    """The cells of a table by column and row: a row's name is the texts before its first number, and a counter."""
    columns: dict[str, dict[str, str]] = {name: {} for name in header if name not in without}
    seen: Counter[str] = Counter()
    for row in rows:
        end = next((index for index, cell in enumerate(row) if not cell or _number(cell) is not None), len(row))
        label = ", ".join(row[: min(end, 3)])
        for column, cell in zip(header, row, strict=True):
            if column in columns:
                columns[column][f"{label}#{seen[label]}"] = cell
        seen[label] += 1
    return columns


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of a JSON or TOML value with their paths; a list of numbers is a single leaf."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and any(isinstance(item, dict | list | str) for item in value):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    else:
        yield path, value if isinstance(value, str) else json.dumps(value, default=str)


def compare(case: str, old: Evidence, new: Evidence) -> list[Difference]:
    """All differences of two cases; a file or column that one side lacks is one difference."""
    return [
        dict(zip((*PLACES, "old", "new"), (case, *place, before, after), strict=True))
        for place, before, after in _differing(old, new, ())
    ]


def _differing(old: Any, new: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _differing(old.get(key), new.get(key), (*place, key))
    elif old != new and (_number(old) is None or _number(old) != _number(new)):
        yield (*place, "", "")[:3], _text(old), _text(new)


def _text(value: Any) -> str:
    return ABSENT if value is None else f"{len(value)} values" if isinstance(value, dict) else str(value)


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def read_kinds(path: Path) -> list[dict[str, str]]:
    """The intended kinds of differences, tables `[[kind]]`; raises `click.UsageError` for another form."""
    try:
        kinds = tomllib.loads(path.read_text(encoding="utf-8")).get("kind", [])
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{path}: {error}") from error
    if len(kinds) > MOST_KINDS:
        raise click.UsageError(f"{path}: {len(kinds)} kinds; at most {MOST_KINDS} may be intended")
    for number, kind in enumerate(kinds, 1):
        if not KIND_REQUIRED <= kind.keys() <= KIND_REQUIRED | KIND_OPTIONAL or not kind["reason"].strip():
            needed, allowed = (", ".join(sorted(keys)) for keys in (KIND_REQUIRED, KIND_OPTIONAL))
            raise click.UsageError(f"{path}: kind {number} needs {needed}, and can have {allowed}")
    return kinds


def mark_intended(differences: Iterable[Difference], kinds: Sequence[Mapping[str, str]]) -> None:
    """Give each difference the number of the first kind that it fits as `kind`, else an empty text.

    The patterns are those of `fnmatch`: `*` and `?`, and `[...]` for one of several characters.
    """
    for difference in differences:
        fitting = (str(number) for number, kind in enumerate(kinds, 1) if _fits(difference, kind))
        difference["kind"] = next(fitting, "")


def _fits(difference: Difference, kind: Mapping[str, str]) -> bool:
    patterns = {key: kind.get(key, "*") for key in PLACES}
    patterns |= {key: kind.get(f"{key}_like", "*") for key in ("old", "new")}
    is_compared = difference["column"] != NOT_COMPARED
    return is_compared and all(fnmatchcase(difference[key], pattern) for key, pattern in patterns.items())


def describe_kinds(differences: Sequence[Difference], kinds: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """A line for each kind: how often it occurs, and whether its example does."""
    for number, kind in enumerate(kinds, 1):
        fitting = [(item["old"], item["new"]) for item in differences if item["kind"] == str(number)]
        count = f"{len(fitting)} differences" if fitting else "UNUSED"
        note = "; ITS EXAMPLE IS NOT AMONG THEM" if fitting and (kind["old"], kind["new"]) not in fitting else ""
        yield f"intended {number}: {count}{note}; {kind['reason'].strip()}"


def describe(differences: Iterable[Difference]) -> list[str]:
    """Lines of the differences that are not intended: the first of each column, with the number of its rows."""
    columns: dict[tuple[str, ...], list[Difference]] = {}
    for difference in (difference for difference in differences if not difference["kind"]):
        columns.setdefault(tuple(difference[key] for key in PLACES[:3]), []).append(difference)
    lines = []
    for (case, file, column), group in columns.items():
        place = ", ".join(filter(None, (file, column, group[0]["row"])))
        more = f" (and {len(group) - 1} more rows)" if len(group) > 1 else ""
        texts = group[0]["old"], group[0]["new"]
        same = next((index for index, (a, b) in enumerate(zip(*texts)) if a != b), 0)  # where long ones begin to differ
        start = max(0, same - WIDTH // 4)
        old, new = (text if len(text) <= WIDTH else f"...{text[start : start + WIDTH]}..." for text in texts)
        lines.append(f"{case}: {place}: {old} -> {new}{more}")
    return lines
