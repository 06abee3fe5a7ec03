"""Games of the Arcade Learning Environment: the images of Gymnasium's own wrappers, and what cannot see them."""

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

from erlbench.envs.registry import build, problem
from tests.calls import refuse, succeed
from tests.programs import needed_module
from tests.tables import cells

needed_module("cv2")
ale_py = needed_module("ale_py")
GAMES = ("Pong", "BeamRider", "MontezumaRevenge")


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(("preset", "sticky", "frames"), [("", 0.25, 4), ("@paper", 0.0, 2)])
def test_images_and_rewards_are_gymnasiums_byte_for_byte(game, preset, sticky, frames):
    """A thousand random steps beside `gymnasium.make` with AtariPreprocessing and a stack of four."""
    task = problem(f"ALE/{game}-v5{preset}", {"frame_skip": frames})
    ours = build(task.env)
    gymnasium.register_envs(ale_py)
    plain = gymnasium.make(f"ALE/{game}-v5", frameskip=1, repeat_action_probability=sticky)
    theirs = FrameStackObservation(AtariPreprocessing(plain, frame_skip=frames), 4)
    random = np.random.default_rng(1)
    seen, expected = ours.reset(seed=5)[0], theirs.reset(seed=5)[0]
    assert (task.image, task.observation_size, seen.dtype) == ((4, 84, 84), 28_224, np.uint8)
    for step in range(1000):
        np.testing.assert_array_equal(seen.reshape(4, 84, 84), expected)
        action = int(random.integers(task.action_size))
        (seen, *ends), (expected, *others) = ours.step(action), theirs.step(action)
        assert ends[:3] == others[:3]
        if ends[1] or ends[2]:
            seen, expected = ours.reset(seed=step)[0], theirs.reset(seed=step)[0]
    for env in (ours, theirs):
        env.close()


REFUSED = """
cem --env ALE/Pog-v5                               | did you mean 'ALE/Pong-v5'?
cem --env ALE/Pong                                 | has no version; did you mean 'ALE/Pong-v5'?
ppo --env ALE/Pong-v5                              | has images
openai-es --env ALE/Pong-v5 --set network=lstm     | network=mlp
openai-es --env Pendulum-v1 --set reference_batch=8 | reference_batch
"""


@pytest.mark.parametrize(("words", "expected"), cells(REFUSED))
def test_what_cannot_be_is_one_line(words, expected, tmp_path):
    refuse(expected, "run", "--algo", *words.split(), "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_game_that_the_suite_does_not_list_is_described():
    rows = [line.split()[:3] for line in succeed("list", "envs", "ALE/Skiing-v5").splitlines()]
    assert ["ALE/Skiing-v5", "28224", "3"] in rows
    refuse("did you mean", "list", "envs", "ALE/Sking-v5")
