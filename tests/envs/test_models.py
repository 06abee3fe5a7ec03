"""Other people's models, loaded by `xml_file`: files that packages install, of different authors."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from erlbench.envs.registry import build, problem
from erlbench.errors import UsageError
from tests.programs import needed_module
from tests.tables import cells

dm_control = needed_module("dm_control")
MODELS = Path(dm_control.__file__).parent
# The file with its author, the settings that it needs, and its actions.
ANTS = {
    "third_party/ant/ant.xml": ({"main_body": "torso"}, 8),  # Philipp Moritz, MIT
    "suite/quadruped.xml": ({"main_body": "torso", "healthy_z_range": (0.2, 2.0)}, 12),  # DeepMind, Apache 2.0
    # Janelia's flybody, Apache 2.0: meshes, a free joint, adhesion and tendons
    "locomotion/walkers/assets/fruitfly_v2/fruitfly.xml": ({"frame_skip": 2, "healthy_z_range": (-1.0, 9.0)}, 78),
}


@pytest.mark.parametrize("name", ANTS)
def test_sizes_are_those_of_the_model(name):
    settings, actions = ANTS[name]
    model = mujoco.MjModel.from_xml_path(str(MODELS / name))
    task = problem("Ant-v5", {"xml_file": str(MODELS / name), **settings})
    # Ant-v5 leaves out the torso's place on the plane, and observes 6 contact forces of each body.
    assert task.observation_size == model.nq - 2 + model.nv + 6 * (model.nbody - 1)
    assert task.action_size == actions == model.nu
    env = build(task.env)
    env.reset(seed=0)
    assert env.observation_space.contains(env.step(np.zeros(actions, np.float32))[0])


UNUSABLE = """
robot.urdf.xml | <robot name='x'><link name='a'/></robot>                                          | Ant-v5
broken.xml     | <mujoco><worldbody></mujoco>                                                      | XML
still.xml      | <mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco> | actions
"""


@pytest.mark.parametrize(("file", "content", "named"), cells(UNUSABLE))
def test_a_model_that_cannot_be_used_is_one_line(file, content, named, tmp_path):
    (tmp_path / file).write_text(content)
    with pytest.raises(UsageError, match=rf"\A.*{named}.*\Z"):  # the dot matches no end of a line
        problem("Ant-v5", {"xml_file": str(tmp_path / file)})
