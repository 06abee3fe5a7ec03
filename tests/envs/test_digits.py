"""Digits: an image a step, rewards as PyTorch's cross-entropy, and images that nobody trains on."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from erlbench.envs.registry import build, problem
from tests.programs import needed_module

datasets = needed_module("sklearn.datasets")


@pytest.fixture
def env():
    return build(problem("erlbench/Digits-v0").env)


@pytest.mark.filterwarnings("ignore:.*For Box action spaces:UserWarning")
def test_gymnasiums_checker_passes_the_digits(env):
    check_env(gymnasium.make("erlbench/Digits-v0").unwrapped, skip_render_check=True)


def test_the_reward_is_pytorchs_cross_entropy_of_scikit_learns_label(env):
    import torch

    data, logits = datasets.load_digits(), np.random.default_rng(0).normal(scale=5, size=(40, 10)).astype(np.float32)
    np.testing.assert_array_equal(env.reset_all(range(40)), data.data[:40].astype(np.float32) / 16)
    _, rewards = env.step_all(logits)
    expected = torch.nn.functional.cross_entropy(
        torch.from_numpy(logits), torch.from_numpy(data.target[:40]), reduction="none"
    )
    np.testing.assert_allclose(rewards, -expected.numpy(), rtol=1e-5)
    seeds = [0, 1346, 1347, 2**31 - 1, 12345]
    observations, (_, rewards) = env.reset_all(seeds), env.step_all(logits[:5])
    for seed, image, reward, action in zip(seeds, observations, rewards, logits):
        np.testing.assert_array_equal(env.reset(seed=seed)[0], image)
        assert env.step(action)[1:4] == (reward, False, False)


def test_held_out_images_are_shown_by_their_setting_alone(env):
    held_out = build(problem("erlbench/Digits-v0", {"held_out": True}).env)
    shown = {image.tobytes() for image in env.reset_all(range(5000))}
    hidden = {image.tobytes() for image in held_out.reset_all(range(5000))}
    assert (len(shown), len(hidden)) == (1347, 450)
    assert not shown & hidden
