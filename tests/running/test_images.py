"""Runs on images: the same rows and policies on any number of processes and after interrupts."""

from dataclasses import replace

import pytest

from tests.programs import needed_module
from tests.runs import all_rows, complete, interrupt, make_cell

needed_module("cv2")
needed_module("ale_py")


@pytest.mark.slow
def test_two_processes_and_interrupts_change_no_row_and_no_policy(tmp_path):
    settings = {"population": 4, "hidden": (8,), "activation": "relu", "reference_batch": 6}
    limit = {"max_episode_steps": 40}
    cell = make_cell("openai-es", tmp_path, "ALE/Freeway-v5", 400, env_settings=limit, settings=settings)
    complete(cell)
    other = complete(interrupt(replace(cell, out=tmp_path / "other"), 5, processes=2), processes=2)
    assert all_rows(other.directory) == all_rows(cell.directory)
    first, second = ((each.directory / "policy.safetensors").read_bytes() for each in (cell, other))
    assert first == second
