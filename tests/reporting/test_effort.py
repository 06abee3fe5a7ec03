"""What a report does once although many tables need it, and what it leaves alone: counted, so no clock matters."""

from __future__ import annotations

from collections import Counter

import pytest

from erlbench.experiment import fairness
from erlbench.records import read
from erlbench.records.schema import EvaluationRow, GenerationRow
from erlbench.reporting import build_report
from erlbench.reporting.data import comparison
from erlbench.reporting.statistics import significance
from tests.reporting.make_runs import make_run

SEEDS = 5


@pytest.fixture
def counts(monkeypatch):
    """How often a report calls what takes time."""
    found: Counter[object] = Counter()

    def count(module, name, key):
        called = getattr(module, name)

        def counted(*arguments, **more):
            found[key(arguments)] += 1
            return called(*arguments, **more)

        monkeypatch.setattr(module, name, counted)

    count(read, "_ordered", lambda arguments: arguments[2])  # once for each file
    count(comparison, "score", lambda _: "score")
    count(fairness, "resolved_values", lambda _: "settings")
    count(significance, "std_upper_limit", lambda _: "detectable")
    return found


def test_a_report_does_once_what_many_tables_need(tmp_path, counts):
    for seed in range(SEEDS):
        make_run(tmp_path / "results", "Hopper-v5", "td3", seed, [1, 2, 3, 4, 5 + seed])
        make_run(tmp_path / "results", "Hopper-v5", "cem", seed, [1, 2, 3, 4, 9 + seed], warmup=10**6)
    build_report([tmp_path / "results"], tmp_path / "report", {}, None, warn=lambda said: None)
    assert counts[EvaluationRow] == 2 * SEEDS
    assert counts[GenerationRow] == SEEDS  # of td3: cem has no gradient steps, so no table needs its train.csv
    assert counts["score"] == 2 * SEEDS
    assert counts["settings"] <= 2 * 2  # of each algorithm in two tables
    assert counts["detectable"] <= 2 * 2  # of two sides in the table and in verdict.json
