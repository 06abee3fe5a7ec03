"""Runs that several tests read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.defects.commands import MODULE, TINY, succeed


@pytest.fixture(scope="session")
def successes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of CEM where every step says whether it is a success, and where only a success is said."""
    out = tmp_path_factory.mktemp("successes")
    for env in ("Always", "Partial"):
        succeed("run", "--algo", "cem", "--env", f"{MODULE}:{env}-v0", "--seeds", 2, *TINY, "--out", out / env)
    return out
