"""A replay on a node's own disk, and its copy in the run directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from erlbench.work.replay import Replay, ReplayReader
from erlbench.work.scratch_replay import ScratchReplay, scratch_folder


def append(replay: Replay, lengths: list[int], seed: int = 0) -> None:
    random, steps = np.random.default_rng(seed), sum(lengths)
    observations = random.normal(size=(steps + len(lengths), 3))
    replay.append(observations, random.normal(size=(steps, 2)), random.normal(size=steps), np.ones(steps), lengths)


def content(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_copy_is_that_of_the_last_flush(tmp_path):
    replay = ScratchReplay(tmp_path / "home", tmp_path, 3, 2)
    append(replay, [4, 2])
    replay.flush()
    assert content(tmp_path / "home") == content(replay.folder)
    saved = content(tmp_path / "home")
    append(replay, [5], seed=1)
    assert content(tmp_path / "home") == saved
    folder = replay.folder
    replay.close()
    assert not folder.exists()


def test_another_node_goes_on_from_the_copy(tmp_path):
    """What the first one wrote after its last checkpoint is overwritten by the second, in the copy too."""
    first, expected = ScratchReplay(tmp_path / "home", tmp_path, 3, 2), Replay(tmp_path / "whole", 3, 2)
    append(first, [4, 2])
    first.flush()
    state = first.state()
    append(first, [7, 7], seed=1)
    first.flush()  # the driver died before it wrote that checkpoint
    first.close()
    second = ScratchReplay(tmp_path / "home", tmp_path, 3, 2)
    second.restore(state)
    for replay in (second, expected):
        if replay is expected:
            append(replay, [4, 2])
        append(replay, [3, 1], seed=2)
    second.flush()
    ours, theirs = (ReplayReader(replay.view(), replay.folder) for replay in (second, expected))
    np.testing.assert_array_equal(ours.transitions[:10], theirs.transitions[:10])
    third = ScratchReplay(tmp_path / "home", tmp_path, 3, 2)
    third.restore(second.state())
    for replay in (second, third, expected):
        replay.close()


def test_what_a_killed_driver_left_on_the_disk_goes_with_the_next_replay(tmp_path):
    script = (
        "import os, sys; from pathlib import Path; from erlbench.work.scratch_replay import ScratchReplay\n"
        "where = Path(sys.argv[1]); replay = ScratchReplay(where / 'home', where, 3, 2)\n"
        "print(replay.folder, flush=True); os._exit(9)"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    left = Path(subprocess.run(command, capture_output=True, text=True).stdout.strip())
    assert left.exists()
    first = ScratchReplay(tmp_path / "home", tmp_path, 3, 2)
    assert not left.exists()
    second = ScratchReplay(tmp_path / "home", tmp_path, 3, 2)
    assert first.folder.exists()
    for replay in (first, second):
        replay.close()
    assert {path.name for path in tmp_path.iterdir()} == {"home", f"erlbench-{os.geteuid()}"}
    assert [*tmp_path.glob("erlbench-*/*")] == []


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({}, False),
        ({"SLURM_TMPDIR": "here"}, False),
        ({"SLURM_JOB_ID": "1", "SLURM_TMPDIR": "here"}, True),
        ({"SLURM_JOB_ID": "1", "TMPDIR": "here"}, True),
        ({"SLURM_JOB_ID": "1", "TMPDIR": "gone"}, False),
    ],
)
def test_only_a_slurm_job_has_a_disk_of_its_own(variables, found, monkeypatch, tmp_path):
    (tmp_path / "here").mkdir()
    for name in ("SLURM_JOB_ID", "SLURM_TMPDIR", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value if name.endswith("ID") else str(tmp_path / value))
    assert scratch_folder() == (tmp_path / "here" if found else None)
