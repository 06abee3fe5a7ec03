"""Loss of power: what the disk holds at the worst, at every moment of a run, is enough to go on to the same rows.

The disk of this model keeps of a file what it had when it was last synchronised (fsync), and of a folder the names that
it had then; everything else is lost. A file whose name is kept, but that was never synchronised, is empty.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.campaign.trials import Trial, check
from tests.runs import all_rows, make_cell, run

MOMENTS = 6  # of one trial at which the power is lost
ALGORITHMS = ("cem", "td3", "cem-rl", "openai-es")


@dataclass
class Disk:
    """What has been synchronised, by inode."""

    files: dict[int, bytes] = field(default_factory=dict)
    folders: dict[int, dict[str, tuple[int, bool]]] = field(default_factory=dict)  # name -> inode, whether a folder

    def synchronise(self, descriptor: int) -> None:
        """What fsync does."""
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            names = {}
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    names[entry.name] = (entry.inode(), entry.is_dir(follow_symlinks=False))
            self.folders[status.st_ino] = names
        else:
            path = f"/proc/self/fd/{descriptor}"
            with open(path, "rb") as file:
                self.files[status.st_ino] = file.read()

    def copy(self) -> Disk:
        """The disk at this moment."""
        return Disk(dict(self.files), dict(self.folders))

    def restore(self, inode: int, target: Path) -> None:
        """Write what there is after the loss of power below the folder `inode` to `target`."""
        target.mkdir(exist_ok=True)
        for name, (child, is_folder) in self.folders.get(inode, {}).items():
            if is_folder:
                self.restore(child, target / name)
            else:
                (target / name).write_bytes(self.files.get(child, b""))


def trial(trial: Trial) -> None:
    """One run; the power is lost at some of its moments, and the run goes on from what is left."""
    draw = trial.random
    algo = ALGORITHMS[trial.number % len(ALGORITHMS)]
    root = trial.folder / "disk"
    root.mkdir()
    disk, moments = Disk(), []
    fsync, fdatasync = os.fsync, os.fdatasync

    def record(descriptor: int) -> None:
        fsync(descriptor)
        disk.synchronise(descriptor)
        moments.append(disk.copy())

    settings = {"population": 6} if algo == "openai-es" else {}
    whole = make_cell(algo, root / "results", steps=450, seed=trial.number, settings=settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", record)
        patch.setattr(os, "fdatasync", record)
        check(run(whole, checkpoint_every=0.05) == 0, f"{algo}: the run itself")
    assert os.fdatasync is fdatasync
    expected = all_rows(whole.directory)
    for moment in sorted(draw.sample(range(len(moments)), min(MOMENTS, len(moments)))):
        out = trial.folder / f"after-{moment}"
        moments[moment].restore(root.stat().st_ino, out)
        cell = make_cell(algo, out / "results", steps=450, seed=trial.number, settings=settings)
        what = f"{algo}, power lost at synchronisation {moment} of {len(moments)}"
        for path in out.rglob("lease-*"):
            path.unlink()  # this very process still lives, unlike one that lost its power
        check(run(cell) == 0, what)
        check(all_rows(cell.directory) == expected, f"{what}: other rows")
        trial.counts["losses of power"] += 1
