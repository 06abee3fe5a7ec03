"""Whether tests find small faults: `python -m benchmarks.mutations TREE --group learners:algorithms/gradients=10 ...`.

TREE is another worktree with a `.venv`; its tracked files must be those of its commit, whose hash is the seed of the
draw. Each mutation changes one place of one module there. The tests that import the module run first, then those of
`--wider`, until one fails that passes without the mutation. `--listed FILE.toml` runs the mutations of a file instead:
tables `[[mutation]]` with `path`, `before`, `after`. mutations.csv has what was drawn of which commit, and which test
finds it; "known" are faults of an earlier audit.
"""

from __future__ import annotations

import ast
import copy
import os
import random
import re
import signal
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import click
import pandas as pd

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}
NAMES |= {"argmin": "argmax", "argmax": "argmin"}
# Messages and types are not the numbers of the suite.
SKIPPED = ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.arg
SECONDS_OF_A_TEST, SECONDS = 150, 900


@dataclass(frozen=True)
class Mutation:
    """`after` in place of the bytes from `start` to `end` of a file."""

    path: str
    line: int
    start: int
    end: int
    before: str
    after: str


def mutations(path: str, source: bytes) -> Iterator[Mutation]:
    """All that the operators make of a module."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _walk(ast.parse(source)):
        if not isinstance(node, ast.expr | ast.stmt) or node.end_lineno is None or node.end_col_offset is None:
            continue
        start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        before = source[start:end].decode()
        for after in _variants(node):
            yield Mutation(path, node.lineno, start, end, before, after)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, SKIPPED):
                yield child
                yield from _walk(child)


def _variants(node: ast.AST) -> Iterator[str]:
    """The source of what may stand in place of a node."""
    match node:
        case ast.Expr(value=ast.Call()):
            yield "pass"
        case ast.Compare(ops=ops):
            for index, operator in enumerate(ops):
                yield _changed(node, ops=[*ops[:index], OPERATORS[type(operator)](), *ops[index + 1 :]])
            yield f"(not ({ast.unparse(node)}))"
        case ast.BoolOp(op=operator):
            yield _changed(node, op=OPERATORS[type(operator)]())
        case ast.BinOp(op=operator, left=left, right=right) if type(operator) in OPERATORS:
            if not any(_is_text(side) for side in (left, right)):
                yield _changed(node, op=OPERATORS[type(operator)]())
        case ast.AugAssign(op=operator) if type(operator) in OPERATORS:
            yield _changed(node, op=OPERATORS[type(operator)]())[1:-1]
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.Constant(value=bool()):
            yield str(not node.value)
        case ast.Constant(value=int()):
            yield f"({node.value + 1})"
            yield f"({node.value - 1})"
        case ast.Constant(value=float()):
            yield f"({node.value * 2 or 0.5})"
            yield f"({node.value / 2 or -0.5})"
        case ast.Name(id=name) if name in NAMES:
            yield NAMES[name]
        case ast.Attribute(attr=name, value=value) if name in NAMES:
            yield f"{ast.unparse(value)}.{NAMES[name]}"
        case ast.IfExp(test=test, body=body, orelse=other):
            yield f"({ast.unparse(other)} if {ast.unparse(test)} else {ast.unparse(body)})"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _changed(node: ast.AST, **fields: Any) -> str:
    changed = copy.copy(node)
    vars(changed).update(fields)
    return f"({ast.unparse(changed)})"


def draw(tree: Path, folders: list[str], count: int, generator: random.Random) -> list[Mutation]:
    """So many mutations of the modules below the folders: lines are equally likely, each is drawn once."""
    paths = sorted({path for folder in folders for path in _git(tree, "ls-files", folder).splitlines()})
    by_line: dict[tuple[str, int], list[Mutation]] = {}
    for path in paths:
        if path.endswith(".py"):
            for mutation in mutations(path, (tree / path).read_bytes()):
                by_line.setdefault((path, mutation.line), []).append(mutation)
    lines = generator.sample(sorted(by_line), count)
    return [generator.choice(by_line[line]) for line in lines]


def listed(tree: Path, file: Path) -> list[Mutation]:
    """The mutations of a file; each `before` occurs once in its module."""
    result = []
    for entry in tomllib.loads(file.read_text())["mutation"]:
        source = (tree / entry["path"]).read_bytes()
        before = entry["before"].encode()
        if source.count(before) != 1:
            raise click.UsageError(f"{file}: {entry['path']} has {source.count(before)} times {entry['before']!r}")
        start = source.index(before)
        line = source[:start].count(b"\n") + 1
        result.append(Mutation(entry["path"], line, start, start + len(before), entry["before"], entry["after"]))
    return result


def _git(tree: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=tree, capture_output=True, text=True, check=True).stdout.strip()


def importers(tree: Path, path: str) -> list[str]:
    """The test files that import a module by its name, or a name from it."""
    name = path if path.startswith("erlbench/") else f"erlbench/{path}"
    package, _, module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".").rpartition(".")
    imported = re.compile(rf"(from|import) {package}(\.{module}\b| import (\([^)]*?|.*?)\b{module}\b)")
    tests = _git(tree, "ls-files", "tests/**/test_*.py", "tests/test_*.py").splitlines()
    return [test for test in tests if imported.search((tree / test).read_text())]


def first_failure(tree: Path, tests: Iterable[str]) -> str:
    """The first test of the tree that fails, in a process of pytest, or an empty text."""
    command = [".venv/bin/python", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
    command += [f"--timeout={SECONDS_OF_A_TEST}", "-m", "not slow and not data", *tests]
    output, errors = subprocess.PIPE, subprocess.STDOUT
    environment = os.environ | {"COLUMNS": "400"}
    process = subprocess.Popen(
        command, cwd=tree, env=environment, stdout=output, stderr=errors, text=True, start_new_session=True
    )
    try:
        text, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "(no end)"
    if failed := re.search(r"^(?:FAILED|ERROR) (\S+?(?:\[.*?\])?)(?: - .*)?$", text, re.MULTILINE):
        return failed[1]
    return "" if process.returncode in (0, 5) else f"(exit {process.returncode})"


@cache
def fails_without(tree: Path, test: str) -> bool:
    """Whether a test fails in the unchanged tree."""
    return not test.startswith("(") and bool(first_failure(tree, [test]))


def judge(tree: Path, mutation: Mutation, wider: list[str], broken: set[str]) -> str:
    """The test that finds a mutation, or `survived`; `broken` gets the tests that fail without it."""
    file = tree / mutation.path
    original = file.read_bytes()
    mutant = original[: mutation.start] + mutation.after.encode() + original[mutation.end :]
    for selected in filter(None, [importers(tree, mutation.path), wider]):
        failed = "(not begun)"
        while failed:
            file.write_bytes(mutant)
            try:
                failed = first_failure(tree, [*selected, *(f"--deselect={test}" for test in broken)])
            finally:
                file.write_bytes(original)
            if failed and not fails_without(tree, failed):
                return failed
            broken |= {failed} if failed else set()
    return "survived"


@click.command()
@click.argument("tree", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--group", "groups", multiple=True, metavar="NAME:FOLDER[,FOLDER...]=COUNT", help="What to draw.")
@click.option("--listed", "file", type=click.Path(path_type=Path, exists=True), help="Mutations to run.")
@click.option("--wider", multiple=True, metavar="PREFIX=TESTS", help="Tests of modules below a prefix.")
@click.option("--out", type=click.Path(path_type=Path), default="mutations.csv", show_default=True)
def main(tree: Path, groups: tuple[str, ...], file: Path | None, wider: tuple[str, ...], out: Path) -> None:
    """Draw mutations of TREE, and print which test finds each."""
    if _git(tree, "status", "--porcelain", "--untracked-files=no"):
        raise click.UsageError(f"{tree}: tracked files differ from the commit")
    generator = random.Random(_git(tree, "rev-parse", "HEAD"))
    drawn = [("listed", mutation) for mutation in listed(tree, file)] if file else []
    for group in groups:
        name, _, rest = group.partition(":")
        folders, _, count = rest.partition("=")
        drawn += [(name, mutation) for mutation in draw(tree, folders.split(","), int(count), generator)]
    further = dict(text.split("=") for text in wider)
    broken, rows = set[str](), []
    for name, mutation in drawn:
        scope = next((further[prefix].split(",") for prefix in further if mutation.path.startswith(prefix)), [])
        result = judge(tree.resolve(), mutation, scope, broken)
        row = {"group": name, "file": mutation.path, "line": mutation.line}
        rows.append(row | {"before": mutation.before, "after": mutation.after, "result": result})
        click.echo(" | ".join(re.sub(r"\s+", " ", str(value))[:100] for value in rows[-1].values()))
        pd.DataFrame(rows).to_csv(out, index=False)


if __name__ == "__main__":
    main()
