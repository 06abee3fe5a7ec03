"""erlbench: a benchmark suite for evolutionary reinforcement learning, evolution strategies and gradient methods.

import erlbench

results = erlbench.run("cem", "Swimmer-v5", seeds=3, total_timesteps=100_000)
results.cells                           # a DataFrame, one row a run
erlbench.report("results")              # the page index.html
policy = erlbench.load_policy("results/Swimmer-v5/cem/seed-000")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from erlbench.algorithms.ask_tell import maximise, minimise
    from erlbench.api import Results, load_results, report, run
    from erlbench.policy import load_policy

__version__ = "0.3.0"
__all__ = ["Results", "__version__", "load_policy", "load_results", "maximise", "minimise", "report", "run"]

_WHERE = dict.fromkeys(("maximise", "minimise"), "erlbench.algorithms.ask_tell") | {
    "load_policy": "erlbench.policy"
}  # all other names are in erlbench.api


def __getattr__(name: str) -> Any:
    """The public functions, imported when they are used: the command line starts without them."""
    if name in __all__:
        return getattr(importlib.import_module(_WHERE.get(name, "erlbench.api")), name)
    raise AttributeError(f"module 'erlbench' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
