"""Runs on images: the same rows and policies on any number of processes and after interrupts."""

import pytest

from tests.programs import needed_module
from tests.runs import all_rows, interrupt, make_cell, run

needed_module("cv2")
needed_module("ale_py")
LIMIT = {"max_episode_steps": 40}


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    """A finished run without worker processes."""
    finished = new_cell(tmp_path_factory.mktemp("alone"))
    assert run(finished) == 0
    return finished


def new_cell(folder, **changes):
    settings = {"population": 4, "hidden": (8,), "activation": "relu", "reference_batch": 6} | changes
    return make_cell("openai-es", folder, "ALE/Freeway-v5", 400, env_settings=LIMIT, settings=settings)


def test_two_processes_and_interrupts_change_no_row_and_no_policy(cell, tmp_path):
    for name, processes, stops in (("two", 2, ()), ("stopped", 0, (3, 9)), ("both", 2, (5,))):
        other = interrupt(new_cell(tmp_path / name), *stops, processes=processes)
        assert run(other, processes=processes) == 0
        assert all_rows(other.directory) == all_rows(cell.directory)
        file = "policy.safetensors"
        assert (other.directory / file).read_bytes() == (cell.directory / file).read_bytes()
