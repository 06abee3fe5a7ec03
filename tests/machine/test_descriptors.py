"""Standard streams that are closed or full, the limit of open files, and processes that libraries start."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from erlbench.machine.process import A_WORKER, SPARE, allow_workers
from tests.calls import python
from tests.users import as_user

ERLBENCH = str(Path(sys.executable).with_name("erlbench"))
RUN = "run --algo cem --env InvertedPendulum-v5 --total-timesteps 200 --processes 1 --eval-episodes 1"


def shell(line, *words, folder):
    """A command of a shell, in which "$@" stands for `words`."""
    command = ["bash", "-c", line, "-", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_a_full_device_is_one_line(tmp_path):
    done = shell('"$@" > /dev/full', ERLBENCH, "list", "algos", folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("erlbench: the disk is full")


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", "2>/dev/full >/dev/full"])
def test_a_run_does_its_work_without_standard_streams(tmp_path, closed):
    done = shell(f'"$@" {closed}', ERLBENCH, *RUN.split(), folder=tmp_path)
    [folder] = tmp_path.glob("results/*/cem/seed-000")
    assert '"done"' in (folder / "status.json").read_text()
    assert "erlbench" not in (folder / "eval.csv").read_text()
    if "full" not in closed:
        assert done.returncode == 0, done.stderr


def test_a_closed_stream_is_open_before_any_other_file(tmp_path):
    code = (
        "from erlbench.machine.process import open_standard_streams as o; o(); f = open('x', 'w'); print('y');"
        "import sys; print('z', file=sys.stderr); print(sys.stdin.read(), end='', file=f); assert f.fileno() > 2;"
        "import subprocess; subprocess.run(['ls'], check=True)"
    )
    done = shell('"$@" <&- >&- 2>&-', sys.executable, "-c", code, folder=tmp_path)
    assert (done.returncode, (tmp_path / "x").read_text()) == (0, "")


def test_the_limit_of_open_files_grows_as_workers_need_it_to_what_the_shell_allows():
    def limits():
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, 2048))
        soft = []
        for processes in (2, 300, 500):
            allow_workers(processes)
            soft.append(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        return soft

    assert as_user(os.geteuid(), limits) == [512, SPARE + 600 * A_WORKER, 2048]


def test_more_workers_than_the_shell_allows_are_named_before_a_start(tmp_path):
    done = shell('ulimit -n 256; "$@"', ERLBENCH, *RUN.split(), "--processes", "300", folder=tmp_path)
    assert done.returncode == 2
    assert all(words in done.stderr.splitlines()[-1] for words in ("300 processes", "256"))
    assert not list(tmp_path.glob("results/*/*/*"))


IMPORTS = """
import sys
started = []
sys.addaudithook(lambda event, values: started.append(values[1]) if event == "subprocess.Popen" else None)
from erlbench.machine.process import prepare_libraries
prepare_libraries()
from erlbench.envs.registry import make
make("InvertedPendulum-v5")[0].close()
import glfw
print(started, glfw.get_version() >= (3, 0, 0))
"""


def test_making_an_environment_starts_no_process(tmp_path):
    """Killed at the wrong moment it would leave a fork server that can make no environment."""
    output = python("-c", IMPORTS, cwd=tmp_path)
    assert output.stdout.strip() == "[] True"
