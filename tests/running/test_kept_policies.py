"""Which policies of evaluations on the way are kept, and that each is the one that was evaluated."""

from __future__ import annotations

import hashlib

import pytest

from erlbench.verification import AGREES, DIFFERS, verify
from tests.runs import csv_rows, interrupt, make_cell, run


def kept(cell):
    return sorted(int(path.stem) for path in (cell.directory / "policies").glob("*.safetensors"))


@pytest.mark.parametrize("evaluate", ["during", "after"])
def test_the_last_evaluations_policies_are_kept_and_verified(tmp_path, evaluate):
    cell = make_cell("cem", tmp_path, steps=3000, evaluate=evaluate, eval_freq=200)
    interrupt(cell, 20, processes=2)
    assert run(cell, processes=2) == 0
    rows = csv_rows(cell.directory / "eval.csv")
    final = len(rows) - 1
    assert final > 8
    assert kept(cell) == [*range(final - 4, final)]  # five are kept; the final one has a file of its own
    for index in kept(cell):
        data = (cell.directory / "policies" / f"{index:06d}.safetensors").read_bytes()
        assert hashlib.sha256(data).hexdigest() == rows[index]["policy_sha256"]
    data = (cell.directory / "policy.safetensors").read_bytes()
    assert hashlib.sha256(data).hexdigest() == rows[-1]["policy_sha256"]
    outcomes = {check.name: check.outcome for check in verify(cell.directory)}
    assert (outcomes["policy"], outcomes["policies"]) == (AGREES, AGREES)


def test_another_evaluations_policy_is_found(tmp_path):
    cell = make_cell("cem", tmp_path, steps=1500, eval_freq=200)
    assert run(cell) == 0
    first, second = (cell.directory / "policies" / f"{index:06d}.safetensors" for index in kept(cell)[:2])
    second.write_bytes(first.read_bytes())
    assert {check.name: check.outcome for check in verify(cell.directory)}["policies"] == DIFFERS
