"""The diversity of two algorithms' stored policies, from the runs to a table and a figure."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import diversity
from erlbench.claims.rows import read_measurements
from tests.runs import make_cell, run

ENV, LABEL = "HalfCheetah-v5", "HalfCheetah-v5 (max_episode_steps=30)"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two seeds each of two algorithms, of a generation or two."""
    out = tmp_path_factory.mktemp("results")
    cells = [
        make_cell(algo, out, ENV, 60, seed=seed, env_settings={"max_episode_steps": 30})
        for algo in ("cem", "openai-es")
        for seed in range(2)
    ]
    assert run(*cells) == 0
    return out


def test_places_on_a_plane_keep_the_distances_of_a_plane():
    points = np.random.default_rng(0).normal(size=(6, 2))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    places = diversity.on_a_plane(apart)
    np.testing.assert_allclose(np.linalg.norm(places[:, None] - places[None], axis=2), apart, atol=1e-7)


def test_stored_policies_become_a_table_and_a_figure(results, tmp_path):
    words = [str(results), "cem", "openai-es", "--env", LABEL, "--episodes", "2", "--out", str(tmp_path)]
    done = CliRunner().invoke(diversity.main, words)
    assert done.exit_code == 0, done.output
    rows = read_measurements(tmp_path / "rows.csv")
    assert [(row["name"], row["seed"]) for row in rows] == [
        ("cem", "0"),
        ("cem", "1"),
        ("openai-es", "0"),
        ("openai-es", "1"),
    ]
    assert rows[0]["mean_distance"] == rows[1]["mean_distance"] != rows[2]["mean_distance"]  # of a pair, both ways
    assert (rows[0]["to_0"], rows[0]["to_1"]) == ("0.0", rows[0]["mean_distance"])
    assert (tmp_path / "diversity.png").read_bytes().startswith(b"\x89PNG")


def test_an_algorithm_without_policies_is_named(results, tmp_path):
    words = [str(results), "cem", "ppo", "--env", LABEL, "--out", str(tmp_path)]
    done = CliRunner().invoke(diversity.main, words)
    assert "has 0 policies of ppo" in str(done.exception)
    assert not [*tmp_path.iterdir()]
