"""What every algorithm computes: the first values on all kernels; the same bits with two processes and two cores."""

import json
import math

import numpy as np
import pytest
from multiprocess import forkserver

from erlbench.machine import kernel
from tests.first_values import CELLS, DIRECTIONS, FILE, MOVES, first_values
from tests.runs import all_rows, make_cell, run

# Twenty updates of normalised critics: the bias of a unit that is active on all of a minibatch has no gradient behind a
# norm but rounding, of which Adam makes whole steps. Between two kernels 5 of 28,066 parameters differed by 2e-3, and
# after the two updates of CrossQ alone 3, which moves a direction by at most 1e-4.
FACTORS = {"cem-rl, crossq": 100.0, "crossq": 10.0}
OTHER = {kernel.NUMPY: kernel.TORCH, kernel.TORCH: kernel.NUMPY}


def is_near(name, value, expected, factor):
    """Whether two kernels may differ so: in the sixth digit, and in the fifth of moves, which are small differences."""
    if name.endswith(DIRECTIONS):
        return abs(value - expected) <= factor * 1e-5
    relative, absolute = (1e-4, 0.0) if name.endswith(MOVES) else (1e-5, 1e-6)
    return math.isclose(value, expected, rel_tol=factor * relative, abs_tol=absolute)


@pytest.mark.parametrize("name", CELLS)
def test_first_values_are_those_that_were_kept(name, tmp_path):
    expected, values = json.loads(FILE.read_text())[name], first_values(name, tmp_path)
    assert values.pop("exact") == expected.pop("exact")
    assert {key: [*group] for key, group in values.items()} == {key: [*group] for key, group in expected.items()}
    factor = FACTORS.get(name, 1.0)
    far = [
        (key, column, numbers, expected[key][column])
        for key, group in values.items()
        for column, numbers in group.items()
        if np.shape(numbers) != np.shape(expected[key][column])
        or not all(is_near(column, *pair, factor) for pair in zip(np.ravel(numbers), np.ravel(expected[key][column])))
    ]
    assert not far


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algo", "more"),
    [
        ("td3", {"critic_hidden": (128, 96)}),
        ("sac", {"critic_hidden": (128, 96)}),
        ("cem-rl", {"learner": "ddpg", "population": 4, "n_grad": 2, "elites": 2}),
    ],
)
def test_two_processes_and_two_cores_give_the_same_bits(algo, more, tmp_path, monkeypatch):
    """With the library that this machine's rule does not choose, and products that are large enough for two cores.

    Other combinations are those of the conformance test, and of each learner's test with a second core.
    """
    monkeypatch.setenv(kernel.CHOICE, OTHER[kernel.products()])
    settings = {"hidden": (128, 96), "batch_size": 64} | more
    cells = [make_cell(algo, tmp_path / name, "Pendulum-v1", 1700, settings=settings) for name in "ab"]
    forkserver._forkserver._stop()  # workers have the variables of the moment at which it was started
    try:
        assert [run(cell, processes=processes) for cell, processes in zip(cells, (0, 2))] == [0, 0]
    finally:
        forkserver._forkserver._stop()  # those of other tests do not have this one's
    first, second = (all_rows(cell.directory) for cell in cells)
    assert first == second
    assert int(first["eval.csv"][-1]["critic_updates"]) > 20
    one, two = ((cell.directory / "policy.safetensors").read_bytes() for cell in cells)
    assert one == two
