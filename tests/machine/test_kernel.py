"""Kernels: what is recorded, and that a run goes on under another one only when asked to."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from erlbench.errors import UsageError
from erlbench.machine import kernel
from erlbench.reporting.agreement import describe_kernels
from erlbench.reporting.runs import parse_machine
from tests.runs import interrupt, make_cell, run


def test_the_kernel_is_that_of_the_library():
    """In another process, where OpenBLAS is told to take another processor's kernel than here."""
    here = kernel.describe()
    other = "Sandybridge" if here["kernel"] == "Haswell" else "Haswell"
    code = "from erlbench.machine import kernel; print(kernel.in_words(kernel.describe()))"
    env = {**os.environ, "OPENBLAS_CORETYPE": other}
    told = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    assert told.strip() != kernel.in_words(here)
    assert f"OPENBLAS_CORETYPE={other}" in told
    assert other in told.split(", ")[1]
    assert here["kernel"] != "unknown"


@pytest.mark.parametrize(
    ("vendor", "flags", "expected"),
    [
        ("GenuineIntel", "fma avx2 avx512f", kernel.TORCH),
        ("GenuineIntel", "sse4_2 avx", kernel.NUMPY),
        ("AuthenticAMD", "fma avx2 avx512f", kernel.NUMPY),
        ("", "", kernel.NUMPY),  # not Linux, or not x86
    ],
)
def test_whose_products_is_a_rule_that_a_variable_overrides(vendor, flags, expected, monkeypatch):
    monkeypatch.delenv(kernel.CHOICE, raising=False)
    monkeypatch.setattr(kernel, "first_core", lambda: {"vendor_id": vendor, "flags": flags})
    assert kernel.products() == expected
    for library in (kernel.NUMPY, kernel.TORCH):
        monkeypatch.setenv(kernel.CHOICE, library)
        assert kernel.products() == library
    monkeypatch.setenv(kernel.CHOICE, "mkl")
    with pytest.raises(UsageError, match="numpy or torch"):
        kernel.products()


def test_products_are_part_of_the_kernel_of_those_who_learn(tmp_path, monkeypatch):
    """Where numpy computes them the line is that of runs from before there was a choice."""
    monkeypatch.setenv(kernel.CHOICE, kernel.NUMPY)
    before = {key: value for key, value in kernel.describe().items() if key != "products"}
    assert kernel.in_words(kernel.describe()) == kernel.in_words(before)
    monkeypatch.setenv(kernel.CHOICE, kernel.TORCH)
    assert kernel.in_words(kernel.describe()).startswith(
        f"{kernel.in_words(before).split(', OPENBLAS')[0]}, products by torch"
    )
    assert kernel.in_words(kernel.describe(), learns=False) == kernel.in_words(before)
    here = kernel.describe()
    assert kernel.in_words(here) == kernel.in_words({**here, "threads": 1}) != kernel.in_words({**here, "threads": 2})
    found = {}
    for algo in ("cem", "td3"):
        cell = make_cell(algo, tmp_path, steps=20, eval_episodes=1, final_episodes=1)
        assert run(cell) == 0
        found[algo] = json.loads((cell.directory / "meta.json").read_text())
    assert found["cem"]["products"] == found["td3"]["products"] == kernel.TORCH
    assert "products by torch" in found["td3"]["arithmetic"]
    assert "products by torch" not in found["cem"]["arithmetic"]


def test_a_run_on_another_kernel_needs_the_option(tmp_path, monkeypatch):
    cell = interrupt(make_cell("cem", tmp_path, steps=600), 10)
    begun = json.loads((cell.directory / "meta.json").read_text())["arithmetic"]
    assert begun == kernel.in_words(kernel.describe(), learns=False)
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    other = kernel.in_words(kernel.describe(), learns=False)
    assert "OPENBLAS_CORETYPE=Prescott" in other
    with pytest.raises(UsageError, match="--anyway"):
        run(cell)
    assert run(cell, anyway=True) == 0
    machine = SimpleNamespace(**parse_machine(json.loads((cell.directory / "meta.json").read_text())))
    assert machine.kernels == tuple(sorted([begun, other]))
    assert run(cell) == 0  # it is done, so nothing is computed any more
    assert describe_kernels([machine]) == " | ".join(machine.kernels)
    assert describe_kernels([]) == ""
