"""What the launchers of submitit share."""

from __future__ import annotations

import importlib.util
from typing import Any

from erlbench.errors import UsageError


def require_submitit() -> Any:
    """The module submitit, or a `UsageError` that says how to install it."""
    if importlib.util.find_spec("submitit") is None:
        raise UsageError("--launcher needs a package that is missing; install it by: pip install 'erlbench[slurm]'")
    import submitit

    return submitit
