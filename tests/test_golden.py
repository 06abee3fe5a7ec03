"""The bits of every learner's runs: those that were kept for this machine's kernels, in one process and in two.

Both libraries' products are tried, whichever this machine's rule chooses.

On a machine with other kernels there is nothing to compare with but the executors: the first core alone, and two.
"""

from __future__ import annotations

import json

import pytest
from multiprocess import forkserver

from erlbench.machine import kernel
from tests.golden import ASYNCHRONOUS, CELLS, FILE, arithmetic, bits

LATER = {"trpo"}  # written on the machine at hand alone


@pytest.fixture(params=[kernel.NUMPY, kernel.TORCH])
def known(request, monkeypatch):
    """The hashes for this machine's kernels with the products of either library, if there are any."""
    monkeypatch.setenv(kernel.CHOICE, request.param)
    forkserver._forkserver._stop()  # workers have the variables of the moment at which it was started
    entry = json.loads(FILE.read_text()).get(arithmetic(), {"hashes": {}})
    yield entry["hashes"]
    forkserver._forkserver._stop()  # those of other tests do not have this one's


def test_hashes_are_of_all_cells():
    for entry in json.loads(FILE.read_text()).values():
        assert entry["machine"]
        assert [*entry["hashes"], *(LATER - entry["hashes"].keys())] == list(CELLS)


@pytest.mark.slow
@pytest.mark.parametrize("name", CELLS)
def test_runs_have_the_bits_that_were_kept(name, known, tmp_path):
    expected = known.get(name) or bits(name, tmp_path / "first")
    assert bits(name, tmp_path / "here") == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["td3", "sac", "cem-rl, ddpg"])
def test_two_processes_and_two_cores_give_the_same_bits(name, known, tmp_path):
    """Their other combinations are those of the conformance test, and of each learner's test with a second core."""
    assert name not in ASYNCHRONOUS
    expected = known.get(name) or bits(name, tmp_path / "one")
    assert bits(name, tmp_path / "two", processes=2) == expected
