"""Processes that end with the one that started them, whatever both are doing; a promise of Linux alone."""

from __future__ import annotations

import ctypes
import signal
import sys
from contextlib import suppress

PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


def end_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends. It may have ended before this call."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
