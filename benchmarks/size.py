"""The size of the source by package: `python -m benchmarks.size [COMMIT]`.

Without a commit the working tree is measured, of the files that git knows. Tokens are Python's without comments,
docstrings, line ends and indentation, so formatting does not change them. An f-string is one token, as Python 3.11
reads it. A function has the lines from `def` to its end, decorators not counted. Characters are those of our HTML, CSS
and JavaScript.
"""

from __future__ import annotations

import ast
import io
import subprocess
import tarfile
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import pandas as pd

ROOT = Path(__file__).parents[1]
SUITE = ("erlbench", "algorithms", "envs")
PACKAGES = (*SUITE, "benchmarks", "tests")
LONG_MODULE, LONG_FUNCTION = 450, 60  # lines; only what has more counts as long
LAYOUT = ("COMMENT", "NL", "NEWLINE", "ENCODING", "ENDMARKER", "INDENT", "DEDENT")
TEMPLATES = (".html", ".css", ".js")


def sources(commit: str = "") -> Iterator[tuple[str, bytes]]:
    """Paths and contents of the modules and templates of a commit, by default of the working tree."""
    if commit:
        with tarfile.open(fileobj=io.BytesIO(_git("archive", commit))) as tar:
            files = {member.name: tar.extractfile(member) for member in tar if member.isfile()}
            yield from ((name, file.read()) for name, file in files.items() if file and is_counted(name))
    else:
        for name in _git("ls-files", "-z").decode().split("\0"):
            if is_counted(name) and (ROOT / name).is_file():
                yield name, (ROOT / name).read_bytes()


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)
    if done.returncode:
        raise click.UsageError(done.stderr.decode().strip())
    return done.stdout


def is_counted(path: str) -> bool:
    """Whether a file is a module or a template of a package, and ours."""
    ours = path.endswith(".py") or (path.endswith(TEMPLATES) and ".min." not in path)
    return ours and path.split("/")[0] in PACKAGES


def measure(path: str, source: bytes) -> dict[str, int]:
    """The numbers of a module, or the characters of a template."""
    if not path.endswith(".py"):
        return {"characters": len(source.decode())}
    tokens, lines = [*tokenize.tokenize(io.BytesIO(source).readline)], len(source.splitlines())
    functions = [
        node.end_lineno - node.lineno + 1
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]
    return {
        "files": 1,
        "lines": lines,
        "tokens": count_tokens(tokens),
        "long_modules": int(lines > LONG_MODULE),
        "long_functions": sum(length > LONG_FUNCTION for length in functions),
        "fmt_skips": sum(token.type == tokenize.COMMENT and "fmt: skip" in token.string for token in tokens),
    }


def count_tokens(tokens: Iterable[tokenize.TokenInfo]) -> int:
    """The tokens that are neither layout nor a docstring, which is a string where a statement begins."""
    count, depth, begins = 0, 0, True
    for token in tokens:
        name = tokenize.tok_name[token.type]
        if name == "FSTRING_END":  # Python 3.12 and later read what is between the quotes
            depth -= 1
        elif not depth and name not in LAYOUT and not (begins and token.type == tokenize.STRING):
            count, begins = count + 1, False
        depth += name == "FSTRING_START"
        begins |= token.type == tokenize.NEWLINE
    return count


def measure_files(commit: str = "") -> pd.DataFrame:
    """The numbers of each file, and its `package`: `erlbench/running`, `erlbench` for modules beside them, `tests`."""
    rows = {path: measure(path, source) for path, source in sources(commit)}
    table = pd.DataFrame.from_dict(rows, orient="index").fillna(0).astype(int)
    return table.assign(package=table.index.str.extract(r"^(erlbench/[^/]+(?=/)|[^/]+)", expand=False))


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.argument("commit", default="")
def main(commit: str) -> None:
    """Print the sums of each package, and those of the suite without benchmarks and tests."""
    table = measure_files(commit)
    sums = table.groupby("package").sum().sort_values("tokens", ascending=False)
    sums.loc[" + ".join(SUITE)] = sums[sums.index.str.split("/").str[0].isin(SUITE)].sum()
    click.echo(sums.to_string())


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.size")
