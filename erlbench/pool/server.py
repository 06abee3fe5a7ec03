"""Loaded by the fork server alone, whose end the driver notices and explains: it prints no traceback of its own.

A driver that has no open files left hangs up in the middle of a request, for instance.
"""

from __future__ import annotations

import sys

if "forkserver" in " ".join(sys.orig_argv):
    sys.excepthook = lambda *error: None
