"""Writing to a stream whose reader may go away."""

from __future__ import annotations

import os
from typing import IO, Any


class Unbroken:
    """A stream whose reader may go away: from then on it writes to nowhere, and raises nothing."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or give up for good."""
        try:
            return self._stream.write(text)
        except OSError:
            self._give_up()
            return len(text)

    def flush(self) -> None:
        """Flush, or give up for good."""
        try:
            self._stream.flush()
        except OSError:
            self._give_up()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _give_up(self) -> None:
        """Have the descriptor itself lead to nowhere: what is still buffered is flushed at the process's end."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
