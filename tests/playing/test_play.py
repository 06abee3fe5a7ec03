"""`erlbench play`: the returns of eval.csv, films that other people's readers open, and clear refusals."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from erlbench import playing
from erlbench.cli import cli
from erlbench.playing import play_run
from erlbench.policy import load_policy
from erlbench.verification.files import UNKNOWN, check_files, load_files
from tests.runs import csv_rows, make_cell, run


def invoke(*words: object):
    return CliRunner().invoke(cli, ["play", *map(str, words)])


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory):
    """A finished run on an environment that Pygame draws."""
    cell = make_cell("cem", tmp_path_factory.mktemp("runs"), "Pendulum-v1", steps=2000, eval_freq=1000)
    assert run(cell) == 0
    return cell.directory


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    """A finished run on an environment that MuJoCo draws."""
    cell = make_cell("cem", tmp_path_factory.mktemp("runs"), "Swimmer-v5", steps=1000)
    assert run(cell) == 0
    return cell.directory


def last_returns(folder):
    return [float(value) for value in csv_rows(folder / "eval.csv")[-1]["returns"].split()]


def test_the_returns_are_those_of_the_last_evaluation(pendulum):
    expected = last_returns(pendulum)
    assert [episode.total for episode in play_run(pendulum, episodes=len(expected))] == expected
    assert [episode.total for episode in play_run(pendulum, episodes=1, seed=7)] != expected[:1]


def test_a_gif_lasts_as_long_as_the_episode(pendulum, tmp_path):
    result = invoke(pendulum, "--video", tmp_path / "a.gif", "--steps", 12)
    assert result.exit_code == 0, result.stderr
    assert "episode 1: return -" in result.stdout
    with Image.open(tmp_path / "a.gif") as made:
        durations = []
        for frame in range(made.n_frames):
            made.seek(frame)
            durations.append(made.info["duration"])
        assert sum(durations) == pytest.approx(13 * 1000 / 30, abs=60)  # equal frames are one longer one
        assert made.size == (320, 320)


WIDENS = """
import sys
from pathlib import Path
from erlbench.cli import cli
from erlbench import playing
widened, widen = Path(sys.argv.pop(1)), playing.widen_floor
playing.widen_floor = lambda env: widened.write_text(env.spec.id) and widen(env)
cli(sys.argv[1:])
"""


@pytest.mark.needs("osmesa")
def test_an_mp4_of_a_robot(robot, tmp_path):
    """By an interpreter that has no thread of an earlier test: its fork draws by a renderer that is loaded there."""
    import imageio_ffmpeg

    widened = tmp_path / "widened"
    command = [sys.executable, "-c", WIDENS, widened, "play", robot, "--video", tmp_path / "a.mp4", "--steps", "24"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert widened.read_text() == "Swimmer-v5"
    frames = imageio_ffmpeg.read_frames(str(tmp_path / "a.mp4"))
    assert next(frames)["size"] == (480, 480)
    pictures = [np.frombuffer(frame, np.uint8).reshape(480, 480, 3).astype(float) for frame in frames]
    assert len(pictures) == 25
    assert pictures[0].std() > 20  # something is drawn
    assert np.abs(pictures[-1] - pictures[0]).mean() > 1  # and it moves


def test_floors_have_no_end_and_nothing_else_changes():
    """HalfCheetah's is drawn for 40 m to each side; a trained one runs five times as far and seemed to fly."""
    made = []
    for widen in (False, True):
        env = gymnasium.make("HalfCheetah-v5")
        tiles = env.unwrapped.model.mat("MatPlane").texrepeat / env.unwrapped.model.geom("floor").size[:2]
        if widen:
            playing.widen_floor(env)
            assert env.unwrapped.model.geom("floor").size[:2].tolist() == [0.0, 0.0]  # infinite, says MuJoCo
            np.testing.assert_allclose(env.unwrapped.model.mat("MatPlane").texrepeat, tiles)
        env.reset(seed=0)
        env.unwrapped.data.qpos[0] = 100.0
        actions = np.random.default_rng(0).uniform(-1, 1, (200, 6)).astype(np.float32)
        made.append([env.step(action)[0] for action in actions])
        env.close()
    np.testing.assert_array_equal(made[0], made[1])


@pytest.mark.parametrize(("env_id", "plane"), [("Pusher-v5", "table"), ("Reacher-v5", "ground")])
def test_a_small_plane_is_no_floor(env_id, plane):
    env = gymnasium.make(env_id)
    playing.widen_floor(env)
    assert env.unwrapped.model.geom(plane).size[:2].tolist() == [1.0, 1.0]
    env.close()


def test_the_policy_acts_in_gymnasium(pendulum):
    import gymnasium

    policy, env = load_policy(pendulum), gymnasium.make("Pendulum-v1")
    policy.reset()
    observation, _ = env.reset(seed=play_run(pendulum)[0].seed)
    total = 0.0
    for _ in range(200):
        observation, reward, *_ = env.step(policy.act(observation))
        total += float(reward)
    assert total == pytest.approx(last_returns(pendulum)[0], rel=1e-12)


def test_clear_refusals(pendulum, tmp_path, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    (tmp_path / "config.toml").write_text('[run]\nenv = "Pendulum-v1"\nname = "cem"\nseed = 0\n')
    for words, message in (
        ([pendulum], "there is no display to open a window on; make a film instead"),
        ([pendulum, "--video", tmp_path / "a.avi"], "the name must end in .mp4 or .gif"),
        ([pendulum, "--video", tmp_path / "none" / "a.gif"], "cannot be written; give a file in another folder"),
        ([tmp_path / "none"], "is no run: there is no config.toml"),
        ([pendulum, "--no-video", "--video", tmp_path / "b.gif"], "--no-video and --video exclude one another"),
        ([tmp_path, "--no-video"], "policy.safetensors; a run writes its policy when it is done"),
    ):
        result = invoke(*words)
        assert result.exit_code == 2
        assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "b.gif").exists()


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("egl", "MUJOCO_GL=egl does not work here; unset it, or: sudo apt install libegl1"),
        ("glfw", "MUJOCO_GL=glfw needs a display, and there is none; unset it"),
        ("", "neither EGL nor OSMesa works. Install one of them, on Debian and Ubuntu by: sudo apt install libegl1"),
    ],
)
def test_a_robot_needs_a_renderer_that_works(robot, tmp_path, monkeypatch, chosen, message):
    monkeypatch.setenv("MUJOCO_GL", chosen)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(playing, "can_draw", lambda backend: False)
    result = invoke(robot, "--video", tmp_path / "a.gif")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_an_environment_without_pictures(tmp_path):
    cell = make_cell("cem", tmp_path, "erlbench/CyclicMDP-v0", steps=200)
    assert run(cell) == 0
    assert len(play_run(cell.directory)) == 1
    result = invoke(cell.directory, "--video", tmp_path / "a.gif")
    assert result.exit_code == 2
    assert "cannot be drawn" in result.stderr


@pytest.mark.parametrize("suffix", ["mp4", "gif"])
def test_a_film_in_the_place_of_a_folder_is_refused_before_anything_is_played(pendulum, tmp_path, suffix):
    folder = tmp_path / f"d.{suffix}"
    folder.mkdir()
    result = invoke(pendulum, "--video", folder)
    assert (result.exit_code, "a folder, a device or a link has this name" in " ".join(result.stderr.split())) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    ("suffix", "steps", "message"),
    [
        ("mp4", 3, "ffmpeg cannot write the film"),  # ffmpeg fails at the film's end
        ("mp4", 200, "ffmpeg cannot write the film"),  # and in its middle
        ("gif", 3, "a file would become larger"),
    ],
)
def test_a_film_that_cannot_be_ended_names_its_file(pendulum, tmp_path, capfd, suffix, steps, message):
    file, limits = tmp_path / f"a.{suffix}", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))  # as on a full disk
    try:
        result = invoke(pendulum, "--video", file, "--steps", steps)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.exit_code == 1
    assert message in result.stderr
    assert str(file) in result.stderr
    assert (result.stderr.count("\n"), result.stdout, capfd.readouterr().err) == (1, "", "")


def test_the_message_brings_back_what_left_the_repository(tmp_path, pendulum):
    folder = tmp_path / "runs of others"
    shutil.copytree(pendulum, folder)
    policy = (folder / "policy.safetensors").read_bytes()
    commit = "git -c user.name=a -c user.email=a@b commit --quiet --message a"
    commands = f"git init --quiet && git add . && {commit} && git rm --quiet policy.safetensors && {commit}"
    subprocess.run(commands, shell=True, cwd=folder, check=True)
    (checksums,) = (check for check in check_files(load_files(folder)) if check.name == "checksums")
    assert checksums.outcome == UNKNOWN
    for message in (invoke(folder, "--no-video").stderr, checksums.text):
        (folder / "policy.safetensors").unlink(missing_ok=True)
        subprocess.run(message[message.index("git checkout") :], shell=True, cwd=folder, check=True)
        assert (folder / "policy.safetensors").read_bytes() == policy
