"""Classes have unique names."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINKS = ROOT / "erlbench/algorithms", ROOT / "erlbench/envs"  # the same files once more


def test_a_class_has_a_unique_name():
    names = Counter()
    for path in (path for package in ("erlbench", "algorithms", "envs") for path in (ROOT / package).rglob("*.py")):
        if not any(path.is_relative_to(link) for link in LINKS):
            names.update(node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef))
    assert {"Cell", "AESRL", "Problem"} <= {*names}  # of each of the packages
    # The same networks in a learner's losses and in its program; pairs of entries that a study compares, of directions.
    assert {name for name, count in names.items() if count > 1 and not name.startswith("_")} == {"Critics", "Pair"}
