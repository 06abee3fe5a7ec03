"""Other people's models, loaded by `xml_file`: files that packages install, of different authors."""

from __future__ import annotations

from pathlib import Path

import pytest

from erlbench.envs.registry import problem
from erlbench.errors import UsageError
from tests.programs import needed_module
from tests.runs import make_cell, rows, run

dm_control = needed_module("dm_control")
MODELS = Path(dm_control.__file__).parent
# The file with its author, the settings that it needs, and its actions.
ANTS = {
    "third_party/ant/ant.xml": ({"main_body": "torso"}, 8),  # Philipp Moritz, MIT
    "suite/quadruped.xml": ({"main_body": "torso", "healthy_z_range": (0.2, 2.0)}, 12),  # DeepMind, Apache 2.0
    # Janelia's flybody, Apache 2.0: meshes, a free joint, adhesion and tendons
    "locomotion/walkers/assets/fruitfly_v2/fruitfly.xml": ({"frame_skip": 2, "healthy_z_range": (-1.0, 9.0)}, 78),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ANTS)
def test_a_model_of_others_trains_with_equal_numbers(name, tmp_path):
    settings, actions = ANTS[name]
    settings = {"xml_file": str(MODELS / name), "max_episode_steps": 20, **settings}
    cells = [make_cell("cem", tmp_path / where, "Ant-v5", steps=300, env_settings=settings) for where in ("a", "b")]
    assert run(cells[0]) == 0
    assert run(cells[1], processes=2) == 0
    assert rows(cells[0].directory, "eval.csv") == rows(cells[1].directory, "eval.csv")
    assert actions == _sizes(settings)[1] == len(_model(name).actuator_ctrlrange)


def test_sizes_are_those_of_the_model(tmp_path):
    for name, (settings, _) in ANTS.items():
        model = _model(name)
        observed, _ = _sizes({"xml_file": str(MODELS / name), **settings})
        # Ant-v5 leaves out the torso's place on the plane, and observes 6 contact forces of each body.
        assert observed == model.nq - 2 + model.nv + 6 * (model.nbody - 1)


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("robot.urdf.xml", "<robot name='x'><link name='a'/></robot>", "Ant-v5"),
        ("broken.xml", "<mujoco><worldbody></mujoco>", "XML"),
        ("empty.xml", "", "XML"),
        ("still.xml", "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>", "actions"),
    ],
)
def test_a_model_that_cannot_be_used_is_one_line(file, content, says, tmp_path):
    (tmp_path / file).write_text(content)
    with pytest.raises(UsageError, match=says) as refused:
        problem("Ant-v5", {"xml_file": str(tmp_path / file)})
    assert len(str(refused.value).splitlines()) == 1


def _sizes(settings):
    found = problem("Ant-v5", settings)
    return found.observation_size, found.action_size


def _model(name):
    import mujoco

    return mujoco.MjModel.from_xml_path(str(MODELS / name))
