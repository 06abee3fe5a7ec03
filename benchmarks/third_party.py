"""Environments of other packages, tried as a user types them: python -m benchmarks.third_party [PACKAGE]...

Each is trained to an end with one process, with two, and once more with a kill in between, and the three runs are
compared to the last bit. There is one virtual environment for each MuJoCo that a package needs; they and the runs stay
in the folder of --folder, so a second call installs nothing, and one with PACKAGEs tries only these again. A table of
all that were tried is printed, beside what a user got before environments were tried.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TORCH = "torch==2.13.0"
OF_MUJOCO = {  # the packages of each virtual environment, as pip takes them
    "3.3.2": (
        "mujoco==3.3.2", "gymnasium[box2d]", "gymnasium-robotics", "metaworld", "panda-gym",
        "pybullet", "pybullet-envs-gymnasium", "highway-env", "minigrid", "mo-gymnasium", "flappy-bird-gymnasium",
        "ale-py", "gym-pusht", "pymunk<7",
    ),
    "3.17.0": ("mujoco==3.17.0", "gymnasium", "dm_control>=1.0.50", "shimmy"),
}  # fmt: skip
RUN = (
    "--algo", "cem", "--set", "population=4", "--set", "elites=2", "--set", "hidden=8", "--total-timesteps", "1200",
    "--eval-freq", "600", "--eval-episodes", "2", "--final-episodes", "11", "--quiet",
)  # fmt: skip
LIMIT = 600  # seconds of one command
RESULT = "result.txt"
TRAINS, REFUSED = "trains", "refused"


@dataclass(frozen=True)
class Tried:
    """An environment, how a user chose it, and what came of it before."""

    package: str
    env: str
    before: str
    settings: tuple[str, ...] = ("max_episode_steps=100",)
    mujoco: str = "3.3.2"
    wanted: str = TRAINS

    @property
    def folder(self) -> str:
        """Of its runs and its result."""
        return f"runs/{self.env.replace('/', '_').replace(':', '_')}"


DICT = "refused: a Dict is no flat Box"
USED = "trained; a used object differs from a fresh one"
UNTRIED = "not tried"
ENVIRONMENTS = (
    Tried("gymnasium-robotics", "gymnasium_robotics:FetchReachDense-v4", DICT),
    Tried("gymnasium-robotics", "gymnasium_robotics:PointMaze_UMazeDense-v3", DICT),
    Tried("gymnasium-robotics", "gymnasium_robotics:AntMaze_UMazeDense-v5", DICT),
    Tried("gymnasium-robotics", "gymnasium_robotics:AdroitHandDoor-v1", "trained"),
    Tried("panda-gym", "panda_gym:PandaReachDense-v3", DICT),
    Tried("panda-gym", "panda_gym:PandaPushDense-v3", UNTRIED),
    Tried("highway-env", "highway_env:parking-v0", DICT, ("max_episode_steps=30",)),
    Tried("highway-env", "highway_env:highway-fast-v0", UNTRIED, ("max_episode_steps=10",)),
    Tried("minigrid", "minigrid:MiniGrid-Empty-5x5-v0", DICT),
    Tried("minigrid", "minigrid:MiniGrid-DoorKey-5x5-v0", UNTRIED),
    Tried(
        "metaworld", "metaworld:Meta-World/MT1", "trained: 408 with one process, 467 with two",
        ("env_name=reach-v3", "seed=42", "max_episode_steps=100"), wanted=REFUSED,
    ),
    Tried("pybullet-envs-gymnasium", "pybullet_envs_gymnasium:AntBulletEnv-v0", USED),
    Tried("pybullet-envs-gymnasium", "pybullet_envs_gymnasium:HopperBulletEnv-v0", USED),
    Tried("mo-gymnasium", "mo_gymnasium:mo-halfcheetah-v5", "failed in the first task", wanted=REFUSED),
    Tried("flappy-bird-gymnasium", "flappy_bird_gymnasium:FlappyBird-v0", "trained"),
    Tried("ale-py", "ale_py:ALE/Pong-v5", "trained", ("obs_type=ram", "max_episode_steps=100")),
    Tried("ale-py", "ale_py:ALE/Breakout-v5", UNTRIED, wanted=REFUSED),
    Tried("gym-pusht", "gym_pusht:gym_pusht/PushT-v0", UNTRIED),
    Tried("dm_control", "dm_control/finger-spin-v0", "trained", mujoco="3.17.0"),
    Tried("dm_control", "dm_control/dog-run-v0", "trained", ("max_episode_steps=30",), mujoco="3.17.0"),
    Tried("Box2D", "BipedalWalkerHardcore-v3", "trained"),
    Tried("Box2D", "CarRacing-v3", "refused: an image", wanted=REFUSED),
)  # fmt: skip


class Failed(Exception):
    """A command of erlbench ended otherwise than wanted; the last line that it printed."""

    def __init__(self, code: int, text: str) -> None:
        lines = [line for line in text.strip().splitlines() if line.strip()]
        super().__init__(lines[-1].strip().removeprefix("erlbench: ") if lines else "nothing was printed")
        self.code = code


def virtual_environment(folder: Path, mujoco: str) -> Path:
    """The scripts of the virtual environment for a MuJoCo, which is made where it is not there yet."""
    place = folder / f"mujoco-{mujoco}"
    done = place / ".installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        packages = [TORCH, *OF_MUJOCO[mujoco]]
        pip = [place / "bin" / "python", "-m", "pip", "install", "--quiet", "--editable", ROOT]
        subprocess.run([*pip, *packages], check=True)
        done.touch()
    return place / "bin"


def tried(one: Tried, scripts: Path, folder: Path) -> str:
    """What comes of an environment now, in words."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    settings = [word for setting in one.settings for word in ("--env-set", setting)]
    command = [scripts / "erlbench", "run", "--env", one.env, *RUN, *settings]
    try:
        first = _trained([*command, "--processes", "1"], folder / "one")
        second = _trained([*command, "--processes", "2"], folder / "two")
        killed = _killed_and_continued([*command, "--processes", "2"], folder / "killed")
        for what, other in (("two processes", second), ("a kill", killed)):
            _same(scripts, first, other, what)
    except Failed as error:
        return f"{REFUSED if error.code == 2 else 'FAILED'}: {error}"
    score = json.loads((first / "status.json").read_text())["return_mean"]
    return f"{TRAINS}: {score:.4g}; equal with 1 and 2 processes and after a kill"


def _trained(command: list[object], folder: Path) -> Path:
    done = subprocess.run(
        [*map(str, command), "--out", str(folder)], cwd=folder.parent, env=_variables(), text=True,
        timeout=LIMIT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    if done.returncode:
        raise Failed(done.returncode, done.stdout)
    (run,) = (path.parent for path in folder.rglob("status.json"))
    return run


def _killed_and_continued(command: list[object], folder: Path) -> Path:
    """Kill the run and all its processes once it has rows of its training, then go on."""
    process = subprocess.Popen(
        [*map(str, command), "--out", str(folder)], cwd=folder.parent, env=_variables(), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < LIMIT:
        if any(folder.rglob("checkpoint/*/state.json")):
            break
        time.sleep(0.01)
    time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if any('"done"' in path.read_text() for path in folder.rglob("status.json")):
        raise Failed(1, "the run had ended before it was killed")
    return _trained(command, folder)


def _same(scripts: Path, run: Path, other: Path, what: str) -> None:
    command = [scripts / "erlbench", "verify", run, "--same-as", other]
    done = subprocess.run(list(map(str, command)), text=True, capture_output=True, timeout=LIMIT, check=False)
    if done.returncode:
        differing = [" ".join(line.split()) for line in done.stdout.splitlines() if "differs" in line]
        raise Failed(done.returncode, f"differs with {what}: {(differing or [done.stdout + done.stderr])[0]}")


def _variables() -> dict[str, str]:
    return {**os.environ, "SDL_VIDEODRIVER": "dummy", "COLUMNS": "300"}


def table(results: dict[Tried, str]) -> Iterator[str]:
    """A Markdown table of what was tried."""
    yield "| package, environment | before | now |"
    yield "|---|---|---|"
    for one, now in results.items():
        settings = "".join(f" `{setting}`" for setting in one.settings if not setting.startswith("max_episode_steps"))
        short = now.partition(";")[0] if now.startswith(REFUSED) else now  # without what to do about it
        yield f"| {one.package}, `{one.env}`{settings} | {one.before} | {short.replace('|', '/')} |"


def main() -> None:
    """Try the environments of the packages that are named, or of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    packages = dict.fromkeys(one.package for one in ENVIRONMENTS)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join(packages))
    parser.add_argument("--folder", type=Path, default=Path("results/third-party"), help="[default: %(default)s]")
    given = parser.parse_args()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for one in ENVIRONMENTS:
        if not given.packages or one.package in given.packages:
            now = tried(one, virtual_environment(folder, one.mujoco), folder / one.folder)
            (folder / one.folder / RESULT).write_text(now)
            print(f"{one.env}: {now}", file=sys.stderr, flush=True)
    files = {one: folder / one.folder / RESULT for one in ENVIRONMENTS}
    results = {one: file.read_text() for one, file in files.items() if file.exists()}
    print("\n".join(table(results)))
    wrong = [one.env for one, now in results.items() if not now.startswith(one.wanted)]
    if wrong:
        sys.exit(f"otherwise than wanted: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
