"""What a run may be called: the texts of config.toml that become folders of an export and names in a report.

They are checked where config.toml is read, so that all commands refuse the same ones.
"""

from __future__ import annotations

import re
from typing import Any

from erlbench.files import Unusable

LONGEST = 200  # characters
_NAME = re.compile(r"\w[\w .:@+()=,-]*")  # of which new runs have fewer characters
_ENV = re.compile(r"\w[\w .:/@+()=,-]*")


def is_name(text: str) -> bool:
    """Whether a run can have this name: one folder, whose name begins no option."""
    return len(text) <= LONGEST and _NAME.fullmatch(text) is not None


def is_environment(text: str) -> bool:
    """Whether a text can be an environment's id with its preset and settings."""
    return len(text) <= LONGEST and _ENV.fullmatch(text) is not None and ".." not in text.split("/")


def check_called(config: dict[str, Any]) -> None:
    """Raise `Unusable` where the table [run] of config.toml has a name, an environment or a seed that no run has."""
    run = config.get("run")
    if not isinstance(run, dict):
        return
    for key, what, known in (
        ("env", "environment", is_environment), ("name", "name", is_name), ("algo", "algorithm", is_environment),
        ("preset", "preset", is_environment),
    ):  # fmt: skip
        value = run.get(key, "")
        if not isinstance(value, str) or not (known(value) or not value):
            raise Unusable(f"its {what} is none that a run can have: {str(value)[:80]!r}")
    seed = run.get("seed", 0)
    if type(seed) is not int or seed < 0:
        raise Unusable(f"its seed is none that a run can have: {str(seed)[:80]!r}")
