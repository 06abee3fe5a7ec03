"""Successes that not every episode says."""

import pandas as pd
import pytest

import erlbench


@pytest.mark.parametrize("envs", [("Partial",), ("Always", "Partial")])
def test_successes_are_scored_where_not_every_episode_says_so(tmp_path, envs):
    """`Partial` says a success where there is one, and nothing in all other episodes."""
    ids = tuple(f"tests.faults:{env}-v0" for env in envs)
    small = {"total_timesteps": 200, "processes": 0, "set": {"population": 4, "elites": 2, "hidden": 8}}
    erlbench.run("cem", ids, seeds=2, out=tmp_path / "runs", **small)
    page = erlbench.report(tmp_path / "runs", out=tmp_path / "report", metric="success")
    rows = pd.read_csv(next(page.parent.rglob("scores.csv")))
    assert len(rows) == len(envs)
    assert rows["mean"].between(0.0, 1.0).all()
