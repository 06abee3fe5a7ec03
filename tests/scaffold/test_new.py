"""`erlbench new algorithm`, and algorithms and studies that the suite does not know."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from erlbench.algorithms import registry
from erlbench.cli import cli
from erlbench.errors import UsageError
from erlbench.testing import check_algorithm


def invoke(*words: object):
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The skeleton of an algorithm, which Python finds."""
    result = invoke("new", "algorithm", "my-search", "--out", tmp_path / "package")
    assert result.exit_code == 0, result.stderr
    monkeypatch.syspath_prepend(tmp_path / "package")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "package"


def test_the_skeleton_passes_its_own_test(package, tmp_path):
    check_algorithm("erlbench_my_search:MySearch", tmp_path / "runs", settings={"hidden": (8,)})
    test = (package / "tests" / "test_erlbench_my_search.py").read_text()
    assert 'check_algorithm("erlbench_my_search:MySearch", tmp_path' in test


def test_the_check_finds_what_is_wrong(package, tmp_path, monkeypatch):
    """A search that goes by what is not in its state cannot be continued with the same numbers."""
    import erlbench_my_search as module

    told: list[int] = []

    def tell(self, task, result, original=module.MySearch._tell):
        told.append(task.id)
        original(self, task, result)
        if len(told) % 37 == 0:
            self.state.best = 1e9

    monkeypatch.setattr(module.MySearch, "_tell", tell)
    with pytest.raises(AssertionError, match="seed and settings"):
        check_algorithm("erlbench_my_search:MySearch", tmp_path / "runs", settings={"hidden": (8,)})


def test_a_class_is_run_and_reported_by_its_name(package, tmp_path):
    words = ["--env", "Pendulum-v1", "--total-timesteps", 2000, "--processes", 0, "--set", "hidden=8", "-q"]
    result = invoke("run", "--algo", "erlbench_my_search:MySearch", *words)
    assert result.exit_code == 0, result.stderr
    assert "MySearch" in invoke("show", "results").stdout
    assert invoke("report").exit_code == 0
    again = invoke("run", "--config", "results/Pendulum-v1/MySearch/seed-000/config.toml", "-q")
    assert again.exit_code == 0, again.stderr


def test_an_entry_point_is_listed_and_found(package, tmp_path, monkeypatch):
    info = package / "erlbench_my_search-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: erlbench-my-search\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[erlbench.algorithms]\nmy-search = erlbench_my_search:MySearch\n")
    registry.plugins.cache_clear()
    try:
        assert "my-search" in invoke("list", "algos").stdout
        assert registry.find("my-search").__name__ == "MySearch"
        with pytest.raises(UsageError, match="did you mean 'my-search'"):
            registry.entry("my-serach")
        result = invoke("run", "--algo", "my-search", "--env", "Pendulum-v1", "--dry-run")
        assert "results/Pendulum-v1/my-search/seed-000" in result.stdout
    finally:
        registry.plugins.cache_clear()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere:Thing", "cannot be imported (nowhere:Thing): ModuleNotFoundError"),
        ("math:pi", "is neither a subclass of erlbench.algorithms.base.Algorithm"),
        ("math:nothing", "AttributeError"),
    ],
)
def test_what_is_no_algorithm_is_named(name, message):
    result = invoke("run", "--algo", name, "--env", "Pendulum-v1")
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(("name", "message"), [("td3", "already"), ("My Search", "is no name of an algorithm")])
def test_names_that_cannot_be(tmp_path, name, message):
    result = invoke("new", "algorithm", name, "--out", tmp_path / "there")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "there").exists()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "package"
    result = invoke("new", "algorithm", "my-search", "--out", out)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"erlbench: {out} cannot be written: Not a directory")


def test_the_skeleton_of_an_object_with_ask_and_tell_passes_its_own_test(tmp_path, monkeypatch):
    result = invoke("new", "algorithm", "my-snes", "--ask-tell", "--out", tmp_path / "package")
    assert result.exit_code == 0, result.stderr
    assert "write erlbench_my_snes.py" in result.stdout
    monkeypatch.syspath_prepend(tmp_path / "package")
    check_algorithm("erlbench_my_snes:MySnes", tmp_path / "runs", settings={"hidden": (8,)})
