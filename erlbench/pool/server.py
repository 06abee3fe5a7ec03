"""Loaded by the fork server alone: it ends with its driver, which notices and explains its end; no traceback here.

A driver that has no open files left hangs up in the middle of a request, for instance.
"""

from __future__ import annotations

import sys

from erlbench.machine.parent import end_with_parent

if "forkserver" in " ".join(sys.orig_argv):
    sys.excepthook = lambda *error: None
    end_with_parent()  # the driver may be gone by now; the server then finds its own end of their pipe closed
