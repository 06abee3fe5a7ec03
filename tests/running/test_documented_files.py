"""The files of a run are those of docs/results.md, with the keys that stand there; `tests/records` has the columns."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.runs import make_cell, run

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()


def section(heading: str) -> str:
    """The text below a heading, to the next one."""
    return re.split(r"^#+ .*$", PAGE.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def documented(heading: str) -> list[str]:
    """The names in the first cells of the table below a heading."""
    return [
        name
        for row in re.findall(r"^\| (`.*?) \|", section(heading), re.MULTILINE)
        for name in re.findall("`([^`]+)`", row)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run of a cell that has all keys of `[run]`."""
    more = {
        "simulated_time": True,
        "total_generations": 3,
        "total_minutes": 1.0,
        "env_settings": {"max_episode_steps": 50},
    }
    cell = make_cell("cem", tmp_path_factory.mktemp("results"), steps=300, **more)
    assert run(cell) == 0
    return cell.directory


def test_the_keys_of_a_configuration_are_those_of_the_page(folder):
    config = tomllib.loads((folder / "config.toml").read_text())
    assert set(config["run"]) == set(documented("config.toml"))
    assert {f"[{table}]" for table in config} <= set(re.findall("`([^`]+)`", section("config.toml")))


def test_the_keys_of_a_status_are_those_of_the_page(folder):
    optional = {"never_trained"}  # of runs without a gradient step
    keys = [name for name in documented("status.json") if name not in optional]
    assert list(json.loads((folder / "status.json").read_text())) == keys
    assert optional < set(documented("status.json"))


def test_each_key_of_what_it_was_measured_on_is_explained(folder):
    assert set(json.loads((folder / "meta.json").read_text())) <= set(re.findall("`([^`]+)`", section("meta.json")))


def test_each_file_of_a_run_is_explained(folder):
    explained = [name.rstrip("/").replace("NNNNNN", "000001") for name in documented("Where")]
    assert {path.name for path in folder.iterdir()} <= set(explained)
