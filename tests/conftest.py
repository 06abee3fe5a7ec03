"""One BLAS thread, as in every run, set before numpy is imported; tests whose programs are missing are left out."""

import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from erlbench.machine.process import limit_threads
from tests import programs

limit_threads()
LEFT_OUT = pytest.StashKey[Counter[tuple[str, ...]]]()


@pytest.fixture
def temporary_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where programs that a test kills leave their sockets, whose paths must be short; it is removed afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield folder


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seconds = tomllib.loads((Path(__file__).parent / "durations.toml").read_text())
    items.sort(key=lambda item: seconds.get(item.nodeid.split("::")[0], 0), reverse=True)  # the slowest files first
    without = {
        item: programs.missing(name for mark in item.iter_markers("needs") for name in mark.args) for item in items
    }
    left_out = config.stash[LEFT_OUT] = Counter(names for names in without.values() if names)
    if hasattr(config, "workeroutput"):  # this process runs a share of the tests
        config.workeroutput["left_out"] = dict(left_out)
    config.hook.pytest_deselected(items=[item for item, names in without.items() if names])
    items[:] = [item for item, names in without.items() if not names]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What a process left out that ran a share of the tests; each has looked at all of them."""
    node.config.stash[LEFT_OUT] = Counter(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if tests := config.stash.get(LEFT_OUT, None):
        terminalreporter.write_line(programs.left_out(tests), yellow=True)
