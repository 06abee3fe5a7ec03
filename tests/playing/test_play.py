"""`erlbench play`: the returns of eval.csv, films that other people's readers open, and clear refusals."""

import resource
import shutil
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import gymnasium
import numpy as np
import pytest
from PIL import Image

from erlbench import playing
from erlbench.errors import TaskError
from erlbench.playing import Film, play_run
from erlbench.policy import load_policy
from erlbench.work.contract import reset
from tests.calls import call, python, refuse, succeed
from tests.faults import Line
from tests.files import flip
from tests.runs import complete, csv_rows, make_cell, returns


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory):
    """A finished run on an environment that Pygame draws."""
    return complete(make_cell("cem", tmp_path_factory.mktemp("runs"), "Pendulum-v1", 2000, eval_freq=1000)).directory


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    """A finished run on an environment that MuJoCo draws."""
    return complete(make_cell("cem", tmp_path_factory.mktemp("runs"), "Swimmer-v5")).directory


@pytest.fixture
def no_display(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


def test_a_gif_lasts_as_long_as_the_episode(pendulum, tmp_path):
    output = succeed("play", pendulum, "--video", tmp_path / "a.gif", "--steps", 12)
    assert "episode 1: return -" in output
    with Image.open(tmp_path / "a.gif") as made:
        durations = []
        for frame in range(made.n_frames):
            made.seek(frame)
            durations.append(made.info["duration"])
        assert sum(durations) == pytest.approx(13 * 1000 / 30, abs=60)  # equal frames are one longer one
        assert made.size == (320, 320)


@pytest.mark.needs("osmesa")
def test_an_mp4_of_a_robot(robot, tmp_path):
    """By an interpreter that has no thread of an earlier test: its fork draws by a renderer that is loaded there."""
    import imageio_ffmpeg

    done = python("-m", "erlbench", "play", robot, "--video", tmp_path / "a.mp4", "--steps", 24)
    assert done.returncode == 0, done.stderr
    frames = imageio_ffmpeg.read_frames(str(tmp_path / "a.mp4"))
    assert next(frames)["size"] == (480, 480)
    pictures = [np.frombuffer(frame, np.uint8).reshape(480, 480, 3).astype(float) for frame in frames]
    assert len(pictures) == 25
    assert pictures[0].std() > 20  # something is drawn
    assert np.abs(pictures[-1] - pictures[0]).mean() > 1  # and it moves


def test_the_returns_are_those_of_the_last_evaluation_and_of_the_policy_in_gymnasium(pendulum):
    expected = returns(csv_rows(pendulum / "eval.csv")[-1])
    episodes = play_run(pendulum, episodes=len(expected))
    assert [episode.total for episode in episodes] == expected
    assert play_run(pendulum, episodes=1, seed=7)[0].total != expected[0]
    policy, env = load_policy(pendulum), gymnasium.make("Pendulum-v1")
    policy.reset()
    observation, _ = env.reset(seed=episodes[0].seed)
    total = 0.0
    for _ in range(200):
        observation, reward, *_ = env.step(policy.act(observation))
        total += float(reward)
    assert total == pytest.approx(expected[0], rel=1e-12)


def test_an_edited_policy_plays_with_a_warning(pendulum, tmp_path, capsys):
    run = Path(shutil.copytree(pendulum, tmp_path / "seed-000"))
    flip(run / "policy.safetensors", -1)
    play_run(run, steps=1)
    assert capsys.readouterr().err.startswith(f"warning: {run / 'policy.safetensors'} was edited")


@pytest.mark.usefixtures("no_display")
def test_clear_refusals(pendulum, tmp_path):
    (tmp_path / "config.toml").write_text('[run]\nenv = "Pendulum-v1"\nname = "cem"\nseed = 0\n')
    (tmp_path / "d.gif").mkdir()
    blind = complete(make_cell("cem", tmp_path, "erlbench/CyclicMDP-v0", steps=200))
    for words, message in (
        ([pendulum], "there is no display"),
        ([pendulum, "--video", tmp_path / "a.avi"], "must end in .mp4 or .gif"),
        ([pendulum, "--video", tmp_path / "none" / "a.gif"], "cannot be written"),
        ([pendulum, "--video", tmp_path / "d.gif"], "a folder, a device or a link has this name"),
        ([tmp_path / "none"], "there is no config.toml"),
        ([pendulum, "--no-video", "--video", tmp_path / "b.gif"], "--no-video and --video exclude one another"),
        ([tmp_path, "--no-video"], "policy.safetensors"),
        ([blind.directory, "--video", tmp_path / "b.gif"], "cannot be drawn"),
    ):
        refuse(message, "play", *words)
    assert not (tmp_path / "b.gif").exists()


@pytest.mark.usefixtures("no_display")
@pytest.mark.parametrize(
    ("chosen", "message"), [("egl", "MUJOCO_GL=egl does not work here"), ("", "neither EGL nor OSMesa works")]
)
def test_a_robot_needs_a_renderer_that_works(robot, tmp_path, monkeypatch, chosen, message):
    monkeypatch.setenv("MUJOCO_GL", chosen)
    monkeypatch.setattr(playing, "can_draw", lambda backend: False)
    refuse(message, "play", robot, "--video", tmp_path / "a.gif")


@pytest.mark.parametrize(
    ("suffix", "steps", "message"),
    [
        ("mp4", 200, "ffmpeg cannot write the film"),  # and in its middle
        ("gif", 3, "a file would become larger"),
    ],
)
def test_a_film_that_cannot_be_ended_names_its_file(pendulum, tmp_path, capfd, suffix, steps, message):
    file, limits = tmp_path / f"a.{suffix}", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))  # as on a full disk
    try:
        result = call("play", pendulum, "--video", file, "--steps", steps)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.exit_code == 1
    assert message in result.stderr
    assert str(file) in result.stderr
    assert (result.stderr.count("\n"), result.stdout, capfd.readouterr().err) == (1, "", "")


def test_an_ffmpeg_that_does_not_work_is_no_error_of_the_environment(pendulum, tmp_path, monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/bin/false")
    result = call("play", pendulum, "--video", tmp_path / "a.mp4", "--steps", 3)
    assert (result.exit_code, "ffmpeg" in result.stderr, "environment" in result.stderr) == (1, True, False)


PICTURE = np.zeros((200, 200, 3), np.uint8)
FRAMES = (None, [PICTURE] * 2, PICTURE.astype(int), PICTURE[..., :2], PICTURE[:0])


class Picture(Line):
    metadata: ClassVar = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(self, render_mode=None):
        super().__init__()
        self.render_mode = render_mode


@pytest.mark.parametrize("frame", FRAMES, ids=["none", "list", "int64", "pair", "empty"])
def test_what_no_film_can_have_is_said_to_come_from_the_drawing(tmp_path, frame):
    env = Picture("rgb_array")
    env.render = lambda: frame
    with pytest.raises(TaskError, match=r"render\(\) gave"), closing(Film(env, tmp_path / "a.gif")) as film:
        reset(film, 0)


@pytest.mark.parametrize("suffix", ["gif", "mp4"])
def test_a_later_frame_and_an_error_of_the_drawing_are_its_own(tmp_path, suffix):
    env, shapes = Picture("rgb_array"), iter([(200, 200, 3), (200, 200, 3), (200, 100, 3)])
    env.render = lambda: np.zeros(next(shapes), np.uint8)
    with closing(Film(env, tmp_path / f"a.{suffix}")) as film:
        reset(film, 0)
        reset(film, 0)
        with pytest.raises(TaskError, match=r"render\(\) gave .*200, 200, 3"):
            reset(film, 0)
    with closing(Film(env, tmp_path / f"b.{suffix}")) as film, pytest.raises(TaskError, match=r"in render\(\): "):
        reset(film, 0)


def test_floors_have_no_end_and_nothing_else_changes():
    """HalfCheetah's is drawn for 40 m to each side; a trained one runs five times as far and seemed to fly."""
    plain, wide, pusher = (gymnasium.make(name) for name in ("HalfCheetah-v5", "HalfCheetah-v5", "Pusher-v5"))
    playing.widen_floor(wide)
    playing.widen_floor(pusher)
    assert wide.unwrapped.model.geom("floor").size[:2].tolist() == [0.0, 0.0]  # infinite, says MuJoCo
    assert pusher.unwrapped.model.geom("table").size[:2].tolist() == [1.0, 1.0]  # a small plane is no floor
    for env in (plain, wide):
        env.reset(seed=0)
        env.unwrapped.data.qpos[0] = 100.0
    np.testing.assert_array_equal(*(env.step(np.full(6, 0.5, np.float32))[0] for env in (plain, wide)))
