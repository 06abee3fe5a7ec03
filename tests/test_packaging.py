"""The wheel: built from a copy of the sources, complete. Needs no network."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("algorithms", "envs", "erlbench")


@pytest.mark.slow
def test_wheel_holds_every_module_and_every_file_of_data_and_nothing_else(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in SOURCES:
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "benchmarks.toml"):
        shutil.copy(ROOT / name, source / name)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    subprocess.run([*pip, "--wheel-dir", tmp_path, source], cwd=tmp_path, check=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tracked = subprocess.check_output(["git", "ls-files", *SOURCES], cwd=ROOT, text=True).split()
    expected = {name if name.startswith("erlbench") else f"erlbench/{name}" for name in tracked}
    expected -= {"erlbench/algorithms", "erlbench/envs"}  # links
    assert {name for name in names if ".dist-info/" not in name} == expected
    (points,) = (name for name in names if name.endswith("/entry_points.txt"))
    assert b"erlbench = erlbench.__main__:main" in zipfile.ZipFile(wheel).read(points)
    assert any(name.endswith("/licenses/LICENSE") for name in names)
