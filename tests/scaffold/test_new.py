"""`erlbench new algorithm`, and algorithms and studies that the suite does not know."""

import shutil

import pytest

from erlbench.algorithms import registry
from erlbench.errors import UsageError
from erlbench.testing import check_algorithm
from tests.calls import call, refuse, succeed
from tests.tables import cells


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The skeleton of an algorithm, which Python finds."""
    output = succeed("new", "algorithm", "my-search", "--out", folder := tmp_path / "my package")
    assert f"Next: cd '{folder}', " in output
    monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(tmp_path)
    return folder


def test_the_skeleton_passes_its_own_test(package, tmp_path):
    check_algorithm("erlbench_my_search:MySearch", tmp_path / "runs", settings={"hidden": (8,)})
    test = (package / "tests" / "test_erlbench_my_search.py").read_text()
    assert 'check_algorithm("erlbench_my_search:MySearch", tmp_path' in test


def test_the_check_finds_what_is_wrong(package, tmp_path, monkeypatch):
    """A search that goes by what is not in its state cannot be continued with the same numbers."""
    import erlbench_my_search as module

    told = []

    def tell(self, task, result, original=module.MySearch._tell):
        told.append(task.id)
        original(self, task, result)
        if len(told) % 37 == 0:
            self.state.best = 1e9

    monkeypatch.setattr(module.MySearch, "_tell", tell)
    with pytest.raises(AssertionError, match="seed and settings"):
        check_algorithm("erlbench_my_search:MySearch", tmp_path / "runs", settings={"hidden": (8,)})


def test_a_class_is_run_and_reported_by_its_name(package):
    words = ["--env", "Pendulum-v1", "--total-timesteps", 2000, "--processes", 0, "--set", "hidden=8", "-q"]
    succeed("run", "--algo", "erlbench_my_search:MySearch", *words)
    assert "MySearch" in succeed("show", "results")
    succeed("report")
    succeed("run", "--config", "results/Pendulum-v1/MySearch/seed-000/config.toml", "-q")


def test_an_entry_point_is_listed_and_found(package):
    info = package / "erlbench_my_search-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: erlbench-my-search\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[erlbench.algorithms]\nmy-search = erlbench_my_search:MySearch\n")
    registry.plugins.cache_clear()
    try:
        assert "my-search" in succeed("list", "algos")
        assert registry.find("my-search").__name__ == "MySearch"
        with pytest.raises(UsageError, match="did you mean 'my-search'"):
            registry.entry("my-serach")
        dry = succeed("run", "--algo", "my-search", "--env", "Pendulum-v1", "--dry-run")
        assert "results/Pendulum-v1/my-search/seed-000" in dry
        for name in ("my-search", "td3"):
            other = shutil.copytree(info, package / f"other_{name}-0.1.dist-info")
            (other / "METADATA").write_text(f"Metadata-Version: 2.1\nName: other-{name}\nVersion: 0.1\n")
            (other / "entry_points.txt").write_text(f"[erlbench.algorithms]\n{name} = elsewhere:Search\n")
        registry.plugins.cache_clear()
        warnings = call("list", "algos").stderr
        assert ("'my-search'" in warnings, "'td3'" in warnings) == (True, True)
        assert registry.entry("td3").where == "erlbench.algorithms.td3:TD3"
    finally:
        registry.plugins.cache_clear()


# None is a word of Python, and the module imports Perturbed.
NO_NAMES = """
td3       | there        | already
My Search | there        | is no name of an algorithm
none      | there        | class None
perturbed | there        | class Perturbed
my-search | file/package | file/package cannot be written
"""
NO_ALGORITHMS = """
nowhere:Thing                            | 'nowhere:Thing' cannot be imported: ModuleNotFoundError
math.py:pi                               | typed without .py
fractions:fraction                       | did you mean 'Fraction'
math:pi                                  | is neither
erlbench.cli.run:command                  | is neither
math:                                    | give MODULE:NAME
erlbench.algorithms.base:Algorithm       | does not define _ask, _tell,
erlbench.algorithms.search.search:Search | does not define mean_ref,
"""


def test_what_is_no_algorithm_and_names_and_folders_that_cannot_be_are_named(tmp_path):
    (tmp_path / "file").touch()
    for name, out, message in cells(NO_NAMES):
        refuse(message, "new", "algorithm", name, "--out", tmp_path / out)
    assert not (tmp_path / "there").exists()
    for name, message in cells(NO_ALGORITHMS):
        refuse(message, "run", "--algo", name, "--env", "Pendulum-v1", "--dry-run")
    search = "search=erlbench.algorithms.search.search:Search"
    refuse("does not define mean_ref", "run", "--algo", "cem-rl", "--set", search, "--env", "Pendulum-v1", "--dry-run")


@pytest.mark.slow
def test_the_skeleton_of_an_object_with_ask_and_tell_passes_its_own_test(tmp_path, monkeypatch):
    succeed("new", "algorithm", "my-snes", "--ask-tell", "--out", tmp_path / "package")
    monkeypatch.syspath_prepend(tmp_path / "package")
    check_algorithm("erlbench_my_snes:MySnes", tmp_path / "runs", settings={"hidden": (8,)})
