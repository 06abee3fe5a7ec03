"""The house's rules of size, and how `python -m benchmarks.size` counts."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner

from benchmarks import size
from benchmarks.size import measure, sources

MODULE = b'''"""Docstring."""

# A comment.
@decorated(
    "as you like"
)
def f(x):
    """Docstring."""
    return [x,
            f"{x}"]  # fmt: skip


TEXT = "no docstring"; "nor this one"
'''


def test_modules_and_functions_are_short_and_formatted():
    """`# fmt: skip` may become less: then its number goes down here, too."""
    numbers = {path: measure(path, source) for path, source in sources() if not path.startswith("tests/")}
    long, functions, skips = (
        {path: row[name] for path, row in numbers.items() if row.get(name)}
        for name in ("long_modules", "long_functions", "fmt_skips")
    )
    assert not long
    assert sum(functions.values()) <= 6, functions
    assert sum(skips.values()) <= 274, skips


def test_formatting_changes_no_number_of_tokens():
    # @decorated("as you like") has 5, def f(x): 6, return [x, f""] 6, the last line 5
    expected = {"files": 1, "lines": 13, "tokens": 22, "long_modules": 0, "long_functions": 0, "fmt_skips": 1}
    assert measure("a/b.py", MODULE) == expected
    denser = MODULE.replace(b"\n            ", b"").replace(b"(\n    ", b"(").replace(b"\n)\n", b")\n")
    assert measure("a/b.py", denser)["tokens"] == 22
    assert measure("erlbench/reporting/web/page.css", "ä {}\n".encode()) == {"characters": 5}


def test_a_module_of_451_lines_and_a_function_of_61_are_long():
    for lines, is_long in ((450, 0), (451, 1)):
        assert measure("a.py", b"\n" * lines)["long_modules"] == is_long
    for lines, is_long in ((60, 0), (61, 1)):
        source = b"@cache\ndef f():\n" + b"    pass\n" * (lines - 1)
        assert measure("a.py", source)["long_functions"] == is_long


def test_a_commit_is_read_without_a_checkout():
    contents = dict(sources("HEAD"))
    assert b"def main" in contents["erlbench/__main__.py"]
    assert not [path for path in contents if path.startswith("docs/") or ".min." in path]
    with pytest.raises(click.UsageError, match="no-such-commit") as error:
        list(sources("no-such-commit"))
    assert error.value.exit_code == 2


def test_the_table_has_a_row_for_each_package_and_one_for_the_suite(monkeypatch):
    paths = ("erlbench/api.py", "erlbench/pool/worker.py", "envs/made.py", "tests/work/test_store.py")
    monkeypatch.setattr(size, "sources", lambda commit: [(path, MODULE) for path in paths])
    rows = json.loads(CliRunner().invoke(size.main, ["--json", "HEAD"]).stdout)
    files = {name: row["files"] for name, row in rows.items()}
    assert files == {"erlbench": 1, "erlbench/pool": 1, "envs": 1, "tests": 1, "erlbench + algorithms + envs": 3}
    assert rows["erlbench + algorithms + envs"]["tokens"] == 66
