"""The device of the tests of gradients: the CPU, or what ERLBENCH_TEST_DEVICE names.

ERLBENCH_TEST_DEVICE=cuda make test ARGS=tests/algorithms/gradients
"""

import os

import pytest

DEVICE = os.environ.get("ERLBENCH_TEST_DEVICE", "cpu")
on_a_gpu = pytest.mark.skipif(DEVICE == "cpu", reason="ERLBENCH_TEST_DEVICE names no GPU")
