"""One BLAS thread, as in every run, set before numpy is imported; tests whose programs are missing are skipped."""

import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from erlbench.machine.process import limit_threads
from tests.programs import missing

limit_threads()


@pytest.fixture
def temporary_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where programs that a test kills leave their sockets, whose paths must be short; it is removed afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield folder


@pytest.fixture
def write_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], int]:
    """Writes a module, of a name and a text, where Python finds it."""
    monkeypatch.syspath_prepend(tmp_path)
    return lambda name, text: (tmp_path / f"{name}.py").write_text(text)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seconds = tomllib.loads((Path(__file__).parent / "durations.toml").read_text())
    items.sort(key=lambda item: seconds.get(item.nodeid.split("::")[0], 0), reverse=True)  # the slowest files first
    for item in items:
        if packages := missing(name for mark in item.iter_markers("needs") for name in mark.args):
            reason = f"needs {', '.join(packages)}; on Debian: apt-get install {' '.join(packages.values())}"
            item.add_marker(pytest.mark.skip(reason=reason))
