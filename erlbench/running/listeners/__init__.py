"""Who listens to a run.

Each record goes to all listeners, in this order (`Training`):

1. `RowFiles` takes the rows.
2. `Checkpoints` saves the run; the rows that a checkpoint counts on are in their files before.
3. Those that the caller brings: the display and status.json, a search for settings, a test.
4. `Training` ends the run when somebody has asked for it, and saves it.

A listener is called with records only where nothing is half done in the loop. One that raises ends the run as failed:
the rows until then are in their files, and the next start goes on from the last checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable

from erlbench.running.loop import Record

Listener = Callable[[Record], None]
