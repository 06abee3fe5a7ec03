"""A replay on a disk of this machine, with a copy in the run directory as of the last checkpoint.

On a cluster the run directory lies on a file system that all machines share: safe, but slow for what workers map.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from erlbench.work.held import HeldFolder
from erlbench.work.replay import OBSERVATIONS, Replay
from erlbench.work.store import Store

KIND = "replay"  # of held folders


class ScratchReplay(Replay):
    """Writes in a new folder of `scratch`; `flush` brings the copy in `home` up to date."""

    def __init__(
        self, home: Path, scratch: Path, observation_size: int, action_size: int, store: Store | None = None
    ) -> None:
        self.home = home
        home.mkdir(exist_ok=True)
        self._held = HeldFolder(scratch, KIND)
        folder = self._held.path / "replay"
        folder.mkdir()
        for file in home.iterdir():
            shutil.copyfile(file, folder / file.name)
        super().__init__(folder, observation_size, action_size, store)
        self._saved = dict.fromkeys(self._widths, 0)  # bytes of each file that `home` has

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._saved = self._sizes()

    def flush(self) -> None:
        super().flush()
        for name, size in self._sizes().items():
            with open(os.open(self.home / name, os.O_CREAT | os.O_RDWR, 0o644), "r+b") as copy:
                copy.seek(self._saved[name])
                with open(self.folder / name, "rb") as file:
                    file.seek(self._saved[name])
                    copy.write(file.read(size - self._saved[name]))
                copy.flush()
                os.fdatasync(copy.fileno())
            self._saved[name] = size

    def _sizes(self) -> dict[str, int]:
        """Bytes of each file that count."""
        return {
            name: width * (self.rows if name == OBSERVATIONS else self.length) for name, width in self._widths.items()
        }

    def close(self) -> None:
        super().close()
        self._held.remove()


def scratch_folder() -> Path | None:
    """The folder of this node's own disk that Slurm gives a job; None elsewhere."""
    if "SLURM_JOB_ID" not in os.environ:
        return None
    found = os.environ.get("SLURM_TMPDIR") or os.environ.get("TMPDIR") or ""
    return Path(found) if found and os.access(found, os.W_OK) else None
