"""Packages import only what stands below them, so that each can be read without those that use it."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = {"erlbench": ROOT / "erlbench", "erlbench.algorithms": ROOT / "algorithms", "erlbench.envs": ROOT / "envs"}
LAYERS = (
    ("errors", "words", "__init__"),
    ("files", "machine"),
    ("records",),
    ("foreign_files",),
    ("settings",),
    ("envs",),
    ("policy", "work"),  # `policy.spec` draws from the streams of `work.seeding`
    ("options",),
    ("algorithms",),
    ("experiment",),
    ("pool", "bundle"),
    ("running", "reporting"),
    ("launch", "playing", "tuning", "verification"),
    ("api", "testing", "this_machine"),
    ("conversion",),
    ("cli",),
    ("__main__",),
)
ABOVE_OTHERS = {name: level for level, names in enumerate(LAYERS) for name in names}
TOGETHER = {frozenset(("policy", "work"))}  # the only ones of a layer that may


def part(module):
    """The package or module below `erlbench` that a module belongs to."""
    return [*module.split("."), "__init__"][1]


def imported(path):
    """All modules of erlbench that a file imports, also inside functions and for type checkers alone."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "erlbench":
            yield from (f"erlbench.{name.name}" if part(f"erlbench.{name.name}") in ABOVE_OTHERS else "erlbench"
                        for name in node.names)  # fmt: skip
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("erlbench."):
            yield str(node.module)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.partition(".")[0] == "erlbench")


def test_imports_flow_one_way():
    seen, wrong = set(), []
    for package, folder in SOURCES.items():
        for path in folder.rglob("*.py"):
            inside = path.relative_to(folder).with_suffix("").parts
            if package == "erlbench" and inside[0] in ("algorithms", "envs"):
                continue  # links
            if inside == ("__init__",) and package == "erlbench":
                continue  # it names the public functions, and loads them when they are used
            mine = part(".".join((package, *inside)))
            for module in imported(path):
                theirs = part(module)
                seen.add((mine, theirs))
                allowed = ABOVE_OTHERS[mine] > ABOVE_OTHERS[theirs] or frozenset((mine, theirs)) in TOGETHER
                if mine != theirs and not allowed:
                    wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert wrong == []
    assert ("cli", "running") in seen  # inside a function
    assert ("algorithms", "work") in seen
