"""The wheel: built from a copy of the sources, complete. Needs no network. And which tests `make test-changed` runs."""

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


@pytest.mark.parametrize(
    ("changed", "folders"),
    [
        (["tests/pool/a.py"], "tests/pool"),
        (["algorithms/a.py", "erlbench/work/a.py", "tests/work/a.py"], "tests/algorithms tests/work"),
        (["erlbench/a.py", "tests/a.py"], "tests/test_imports.py"),
    ],
)
def test_make_chooses_the_tests_of_the_folders_that_differ(tmp_path, changed, folders):
    python = tmp_path / ".venv" / "bin" / "python"
    names = ("algorithms/a.py", "erlbench/a.py", "erlbench/work/a.py", "tests/a.py")
    names += tuple(f"tests/{folder}/a.py" for folder in ("algorithms", "pool", "work"))
    for name in (*names, "setup.cfg", "pyproject.toml", "constraints.txt", "requirements.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    (tmp_path / ".venv" / ".installed").touch()
    shutil.copy(ROOT / "Makefile", tmp_path)
    git = ("git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a")
    for words in (("init", "--quiet"), ("add", *names), ("commit", "--quiet", "--message=a")):
        subprocess.run([*git, *words], check=True)
    for name in changed:
        (tmp_path / name).write_text("changed")
    done = subprocess.run(["make", "--silent", "test-changed"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split("not data ")[1:] == [f"{folders}\n"], done.stderr
