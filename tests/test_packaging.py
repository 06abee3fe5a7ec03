"""The wheel: built from the checkout, installed outside it, complete. Needs no network."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import erlbench

ROOT = Path(__file__).parents[1]
SOURCES = ("algorithms", "envs", "erlbench")

pytestmark = pytest.mark.slow


def run(*command: object, cwd: Path) -> str:
    """Standard output of a command that must succeed; PYTHONPATH must not put a checkout before the wheel."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of a copy of the sources, so that nothing left in the checkout's build/ gets in."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "benchmarks.toml"):
        shutil.copy(ROOT / name, source / name)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    run(*pip, "--wheel-dir", folder, source, cwd=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel; the dependencies are those of the environment that runs the tests."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index")
    run(*pip, wheel, cwd=folder)
    # Comes after the new environment's own packages, and .pth files in it (the editable erlbench) are not read.
    site_packages = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(site_packages) / "dependencies.pth").write_text("".join(f"{path}\n" for path in sorted(paths)))
    return python


def test_wheel_holds_every_module_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        ("" if folder == "erlbench" else "erlbench/") + str(path.relative_to(ROOT))
        for folder in SOURCES
        for path in (ROOT / folder).rglob("*.py")
        if (ROOT / "erlbench" / "algorithms") not in path.parents and (ROOT / "erlbench" / "envs") not in path.parents
    }
    tables = ("published.csv", "reference_runs.csv.gz", "reference_sources.csv")
    tables += ("random_scores.csv", "same_task.csv")
    data = {"erlbench/py.typed", "erlbench/benchmarks.toml", *(f"erlbench/reporting/{name}" for name in tables)}
    data |= {"erlbench/cli/old.toml", "erlbench/errors.toml", "erlbench/reporting/references.bib"}
    data |= {
        "erlbench/experiment/costs.toml",
        "erlbench/reporting/columns.toml",
        "erlbench/reporting/looks.toml",
        "erlbench/records/algorithms.json",
        "erlbench/experiment/tuning_budgets.csv",
    }
    data |= {f"erlbench/reporting/web/{path.name}" for path in (ROOT / "erlbench/reporting/web").iterdir()}
    templates = ROOT / "erlbench" / "cli" / "templates"
    data |= {f"erlbench/cli/templates/{path.name}" for path in templates.iterdir()}
    assert {name for name in names if ".dist-info/" not in name} == expected | data
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_console_script(python: Path, tmp_path: Path) -> None:
    assert erlbench.__version__ in run(python.parent / "erlbench", "--version", cwd=tmp_path)
    assert erlbench.__version__ in run(python, "-m", "erlbench", "--version", cwd=tmp_path)


def test_benchmarks_toml_is_installed(python: Path, tmp_path: Path) -> None:
    code = "from importlib.resources import files; print(files('erlbench').joinpath('benchmarks.toml').read_text())"
    installed = tomllib.loads(run(python, "-c", code, cwd=tmp_path))
    assert installed == tomllib.loads((ROOT / "benchmarks.toml").read_text())
    listed = run(python.parent / "erlbench", "list", "studies", cwd=tmp_path)
    assert [study for study in installed["studies"] if study not in listed] == []
