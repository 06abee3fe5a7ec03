"""Compare what two commits compute: python -m benchmarks.compare_commits A [B].

A and B are tags, branches or hashes. Exit code 0: equal, or only intended
differences; 1: others, or a case that could not be compared; 2: wrong usage; 130: interrupted.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import click

from benchmarks.compare_commits.cases import CASES, Case, all_cases, measure_bench
from benchmarks.compare_commits.compare import (
    NOT_COMPARED,
    Difference,
    Evidence,
    compare,
    describe,
    describe_kinds,
    mark_intended,
    read_kinds,
)
from benchmarks.compare_commits.trees import STORED, CaseError, Tree, extract, resolve

ROOT = Path(__file__).parents[2]
INTENDED = Path("benchmarks", "intended.toml")
BENCH = "bench"
SECTIONS = (*all_cases(), BENCH)
STATUSES = ("equal", "intended", "different")
FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
say = partial(click.echo, err=True)


@click.command()
@click.argument("a")
@click.argument("b", default="HEAD")
@click.option("--only", multiple=True, metavar="SECTION[/CASE]", help=f"compare this alone, of {', '.join(SECTIONS)}")
@click.option("--skip", multiple=True, metavar="SECTION[/CASE]", help="leave this out; both may be given several times")
@click.option("--intended", type=FILE, help=f"TOML file of intended differences  [default: {INTENDED}, if it exists]")
@click.option("--limit", default=1.10, show_default=True, help="largest ratio of processor times, B to A")
@click.option("--turns", default=3, show_default=True, type=click.IntRange(1), help="of each row of bench")
def main(
    a: str, b: str, only: Sequence[str], skip: Sequence[str], intended: Path | None, limit: float, turns: int
) -> None:
    """Compare the commits A and B by what their command lines compute."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the temporary folder is removed
    commits = resolve(a, ROOT), resolve(b, ROOT)
    intended = intended or (ROOT / INTENDED if (ROOT / INTENDED).exists() else None)
    kinds = read_kinds(intended) if intended else []
    cases = choose_cases(only, skip)
    if subprocess.run(["git", "status", "--porcelain", "-uno"], cwd=ROOT, capture_output=True).stdout:
        say("note: changes that are not committed are not compared")
    try:
        with tempfile.TemporaryDirectory(prefix="compare-commits-") as name:
            trees = make_trees(Path(name).resolve(), commits)
            differences = compare_cases(trees, {name: case for name, case in cases.items() if case is not None})
            for row in (name.partition("/")[2] for name, case in cases.items() if case is None):
                differences += compare_times(row, trees, turns, limit)
    except KeyboardInterrupt:
        sys.exit(130)
    mark_intended(differences, kinds)
    for line in (*describe(differences), *describe_kinds(differences, kinds)):
        click.echo(line)
    click.echo(f"\n{a} {commits[0][:10]} -> {b} {commits[1][:10]}")
    statuses = find_statuses(cases, differences)
    click.echo("\n".join(make_table(statuses)))
    sys.exit("different" in statuses.values())


def choose_cases(only: Sequence[str], skip: Sequence[str]) -> dict[str, Case | None]:
    """The cases by `section/name`, None for a row of bench; `only` and `skip` are names of sections or cases."""
    sections: Mapping[str, Mapping[str, Case | None]] = {**all_cases(), BENCH: dict.fromkeys(CASES[BENCH])}
    cases = {f"{section}/{name}": case for section, named in sections.items() for name, case in named.items()}
    for pattern in (*only, *skip):
        if not any(_belongs_to(name, [pattern]) for name in cases):
            raise click.UsageError(f"no section or case '{pattern}'; there are {', '.join((*sections, *cases))}")
    chosen = [name for name in cases if _belongs_to(name, only or sections) and not _belongs_to(name, skip)]
    if not chosen:
        raise click.UsageError("--only and --skip leave no case")
    return {name: cases[name] for name in chosen}


def _belongs_to(name: str, places: Iterable[str]) -> bool:
    return any(place in (name, name.partition("/")[0]) for place in places)


def make_trees(folder: Path, commits: tuple[str, str]) -> tuple[Tree, Tree]:
    """The files of both commits; the stored runs are those of B."""
    trees = tuple(Tree(label, folder / label, folder / f"{label}-work") for label in "AB")
    for tree, commit in zip(trees, commits, strict=True):
        extract(commit, tree.path, ROOT, with_stored=tree.label == "B")
        tree.work.mkdir()
        tree.check()
    return trees[0], trees[1]


def compare_cases(trees: tuple[Tree, Tree], cases: Mapping[str, Case]) -> list[Difference]:
    """The differences of all cases, which both trees make at the same time."""
    stored = trees[1].path / STORED
    with ThreadPoolExecutor(len(trees)) as threads:
        futures = [threads.submit(make_cases, tree, cases, stored) for tree in trees]
        try:
            old, new = (future.result() for future in futures)
        finally:
            for tree in trees:
                tree.stopped = not all(future.done() for future in futures)
    return [difference for name in cases for difference in compare_evidence(name, old[name], new[name])]


def make_cases(tree: Tree, cases: Mapping[str, Case], stored: Path) -> dict[str, Evidence | CaseError]:
    """What each case leaves, or why it could not be made."""
    made: dict[str, Evidence | CaseError] = {}
    for name, case in cases.items():
        if tree.stopped:
            break
        folder = tree.work / name
        folder.mkdir(parents=True)
        try:
            made[name] = case(tree, folder, stored) or CaseError("nothing to compare")
        except CaseError as error:
            made[name] = error
        except Exception as error:  # files of a form that nobody here reads
            made[name] = CaseError("".join(traceback.format_exception_only(error)).strip())
        say(f"{tree.label} {name}: {made[name] if isinstance(made[name], CaseError) else 'done'}")
    return made


def compare_evidence(name: str, old: Evidence | CaseError, new: Evidence | CaseError) -> list[Difference]:
    """The differences of a case; one that either side could not make differs, whatever the other did."""
    if isinstance(old, CaseError) or isinstance(new, CaseError):
        texts = [str(side) if isinstance(side, CaseError) else "done" for side in (old, new)]
        return [{"case": name, "file": "", "column": NOT_COMPARED, "row": "", "old": texts[0], "new": texts[1]}]
    return compare(name, old, new)


def compare_times(row: str, trees: tuple[Tree, Tree], turns: int, limit: float) -> list[Difference]:
    """A difference if B takes more than `limit` times the processor time of A."""
    case = f"{BENCH}/{row}"
    try:
        old, new = measure_bench(row, trees, trees[1].path / STORED, turns)
    except CaseError as error:
        return compare_evidence(case, error, error)
    click.echo(f"{case}: {old:.2f} s -> {new:.2f} s of processor time, ratio {new / old:.3f}")
    if new / old <= limit:
        return []
    return [{"case": case, "file": "", "column": "seconds", "row": "", "old": f"{old:.2f}", "new": f"{new:.2f}"}]


def find_statuses(cases: Mapping[str, object], differences: Sequence[Difference]) -> dict[str, str]:
    """Of each case whether it is equal, different as intended, or different."""
    different = {difference["case"] for difference in differences if not difference["kind"]}
    intended = {difference["case"] for difference in differences} - different
    return {name: STATUSES[2 if name in different else name in intended] for name in cases}


def make_table(statuses: Mapping[str, str]) -> Iterator[str]:
    """Lines of a Markdown table: for each section, the cases of each status."""
    yield f"| section | cases | {' | '.join(STATUSES)} |"
    yield "|---" * (2 + len(STATUSES)) + "|"
    for section in dict.fromkeys(name.partition("/")[0] for name in statuses):
        counts = Counter(status for name, status in statuses.items() if name.startswith(f"{section}/"))
        yield f"| {section} | {counts.total()} | {' | '.join(str(counts[status]) for status in STATUSES)} |"


if __name__ == "__main__":
    main()
