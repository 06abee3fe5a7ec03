"""What libraries are told before they are imported."""

import subprocess
import sys

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
    output = subprocess.run([sys.executable, "-c", IMPORTS], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "[] True"
