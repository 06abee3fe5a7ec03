"""The house's rules of size, and how `python -m benchmarks.size` counts."""

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
