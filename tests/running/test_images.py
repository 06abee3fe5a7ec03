"""Runs on images: the same rows and policies on any number of processes and after interrupts."""

from __future__ import annotations

import numpy as np
import pytest

from erlbench.envs.registry import build, problem
from erlbench.policy import load_policy
from erlbench.policy.pixels import unpack_frames
from tests.programs import needed_module
from tests.runs import all_rows, interrupt, make_cell, returns, rows, run

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


def test_the_policy_has_the_reference_batch_that_its_seed_plays(cell, tmp_path):
    """Of the game's own images, which the search has not moved; another seed has others."""
    spec, parameters = (policy := load_policy(cell.directory)).spec, policy.parameters
    frames = unpack_frames(parameters[spec.learnt_size :], spec.image, spec.reference)
    assert frames.shape == (6, 4, 84, 84)
    assert all(frame.std() > 10 for frame in frames)
    assert len({frame.tobytes() for frame in frames}) == 6
    other = new_cell(tmp_path / "other")
    assert run(other) == 0
    again = load_policy(other.directory).parameters
    np.testing.assert_array_equal(again, parameters)
    image = build(problem("ALE/Freeway-v5", LIMIT).env).reset(seed=1)[0]
    assert policy.normalised(image).shape == (3,)


def test_without_a_reference_batch_the_same_noise_gives_another_policy(cell, tmp_path):
    plain = new_cell(tmp_path / "plain", reference_batch=0)
    assert run(plain) == 0
    assert load_policy(plain.directory).spec.reference == 0
    assert load_policy(plain.directory).parameters.size == load_policy(cell.directory).spec.learnt_size


def test_searches_without_normalisation_see_images_too(tmp_path):
    for algo, settings in (
        ("cem", {}),
        ("ga", {"population": 4, "parents": 2}),
        ("cma-es", {"covariance": "diagonal"}),
    ):
        other = make_cell(algo, tmp_path, "ALE/Freeway-v5", 200, env_settings=LIMIT, settings=settings)
        assert run(other) == 0
        assert len(returns(rows(other.directory, "eval.csv")[-1])) == 3
