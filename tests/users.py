"""Code that runs as another user of this machine, where the tests run as root."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from tests.programs import TEST_ALL

FIRST = 61_001  # a user of tests; no account needs to be there
needs_root = pytest.mark.skipif(
    os.geteuid() != 0 and not os.environ.get(TEST_ALL), reason="only root can act as another user"
)


def as_user(uid: int, act: Callable[[], Any]) -> Any:
    """What `act` returns (a JSON value) in a forked process of that user; raises `AssertionError` with what it raised.

    A fork has all modules that are imported here, so the user needs no access to the repository.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            answer = {"value": act()}
        except BaseException:
            answer = {"error": traceback.format_exc()}
        with os.fdopen(writer, "w") as file:
            json.dump(answer, file)
        sys.stderr.flush()
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    os.waitpid(pid, 0)
    answer = json.loads(text or '{"error": "it ended without an answer"}')
    assert "error" not in answer, answer["error"]
    return answer["value"]
