"""An algorithm of each kind writes the same rows on two nodes as in one process: a pool knows tasks alone."""

import pytest

from tests.runs import cell_runner, check_same_as_whole, make_cell

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runner(nodes):
    """One that keeps its pool on both nodes from cell to cell."""
    with cell_runner(1, pool=nodes.kind) as made:
        yield made


@pytest.mark.parametrize("algo", ["openai-es", "sac", "cem-rl", "p-cem-rl with barriers", "esac", "trpo"])
def test_two_nodes_give_the_rows_of_one_process(algo, runner, tmp_path):
    name, _, barriers = algo.partition(" with ")
    cell = make_cell(name, tmp_path, settings={"barriers": True} if barriers else {})
    assert runner.run(cell) == "done"
    check_same_as_whole(cell)
