"""A function's value from a separate Python process, which does no harm: for environments, which may crash or hang.

    answer, failure = Inspection(inspect, "module:Id-v0", {}, True, limit=120.0).answer()

Arguments and answers are plain values and dataclasses of the suite; they go as JSON, a line each. The process is
silent and sees no GPU, it finds the modules that this one finds, and it ends with this one.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import erlbench
from erlbench.errors import ADVICE
from erlbench.machine.process import PRELOAD, end_with_parent, lead_nowhere, prepare_libraries, signal_name
from erlbench.work.values import decode, encode

STARTING = 120.0  # seconds for the start of Python, added to the function's seconds
BOOT = (
    "import json, sys; sys.path[:], late = json.loads(sys.argv[1])['paths']; import multiprocess; "
    "from erlbench.work.inspection import main; sys.path += late; main()"
)
POLL_INTERVAL = 0.01  # seconds
ANSWER, PHASE = "answer", "phase"  # kinds of lines
UNWRITTEN = (errno.EFBIG, errno.ENOSPC, errno.EDQUOT)  # exit codes of a process whose answer found no room


def module_paths() -> tuple[list[str], list[str]]:
    """`sys.path` for a process that is started, before it has imported the suite, and what it finds afterwards.

    A file `erlbench.py` in the current folder would else take the place of the suite, which an editable installation
    has behind all of `sys.path`.
    """
    current, suite = os.path.realpath("."), Path(erlbench.__file__).resolve().parents[1]
    late = [path for path in sys.path if os.path.realpath(path or ".") == current and Path(current) != suite]
    return [path for path in sys.path if path not in late], late


class Inspection:
    """A process that calls `function(tell, *arguments)`, and is ended after `limit` seconds.

    The function returns its answer, or gives one before by `tell(ANSWER, answer)`.
    """

    def __init__(self, function: Callable[..., Any], *arguments: Any, limit: float) -> None:
        request = {
            "paths": module_paths(), "module": function.__module__, "name": function.__name__,
            "arguments": encode(list(arguments), None), "limit": limit, "parent": os.getpid(),
        }  # fmt: skip
        self._limit = limit
        self._output = tempfile.TemporaryFile()  # and no pipe, which a child of an environment would hold open
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", BOOT, json.dumps(request)], stdin=subprocess.DEVNULL,
            stdout=self._output, stderr=subprocess.DEVNULL, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
            start_new_session=True,
        )  # fmt: skip
        self._ends = time.monotonic() + limit + STARTING

    def answer(self, last: bool = True) -> tuple[Any, str]:
        """The last answer, once the process has ended, or the first one, as soon as it is there; and an empty text.

        Without an answer it is None, and why there is none, with the phase that the function told: "it ended its
        process in step 1 (signal 11, SIGSEGV)".
        """
        try:
            while True:
                code, line = self._process.poll(), self._last_line(ANSWER)
                if code is not None or (line and not last):
                    return (decode(json.loads(line)[1], {}), "") if line else (None, self._failure(code))
                if time.monotonic() > self._ends:
                    self._process.kill()
                time.sleep(POLL_INTERVAL)
        except BaseException:  # such as Ctrl-C
            self._process.kill()
            raise

    def _failure(self, code: int | None) -> str:
        """Why there is no answer."""
        assert code is not None
        line = self._last_line(PHASE)
        phase = json.loads(line)[1] if line else "its import"
        if -code == signal.SIGALRM or time.monotonic() > self._ends:
            return f"it takes more than {self._limit:g} s in {phase}"
        if code in UNWRITTEN:
            return "its answer cannot be written: " + "; ".join(ADVICE[code])
        end = f"signal {-code}, {signal_name(-code)}" if code < 0 else f"exit code {code}"
        return f"it ended its process in {phase} ({end})"

    def _last_line(self, kind: str) -> bytes:
        """The last line of a kind that is written to its end; empty where there is none. There may be thousands."""
        data = b"\n" + os.pread(self._output.fileno(), os.fstat(self._output.fileno()).st_size, 0)
        end = data.rfind(b"\n") + 1
        begin = data.rfind(f'\n["{kind}", '.encode(), 0, end) + 1
        return data[begin : data.find(b"\n", begin)] if begin else b""


def main() -> None:
    """The process: serve the request on the command line, and end, whatever threads there are."""
    request = json.loads(sys.argv[1])
    end_with_parent(request["parent"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prepare_libraries()
    output = os.dup(1)
    for descriptor in (1, 2):
        lead_nowhere(descriptor)

    def tell(kind: str, value: Any) -> None:
        data = f"{json.dumps([kind, encode(value, None)])}\n".encode()
        try:
            while data:
                data = data[os.write(output, data) :]
        except OSError as error:
            os._exit(error.errno if error.errno in UNWRITTEN else 1)

    try:
        for name in PRELOAD:
            importlib.import_module(name)
        function = getattr(importlib.import_module(request["module"]), request["name"])
        signal.setitimer(signal.ITIMER_REAL, request["limit"])  # the kernel ends the process, in C code too
        tell(ANSWER, function(tell, *decode(request["arguments"], {})))
    finally:
        os._exit(0)
