"""The files of a run are those of docs/results.md, with the keys that stand there; `tests/records` has the columns."""

import re
import tomllib
from pathlib import Path

from tests.files import read_json
from tests.runs import make_cell, run

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()


def section(heading):
    """The text below a heading, to the next one."""
    return re.split(r"^#+ .*$", PAGE.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def documented(heading):
    """The names in the first cells of the table below a heading."""
    cells = re.findall(r"^\| (`.*?) \|", section(heading), re.MULTILINE)
    return set(re.findall("`([^`]+)`", " ".join(cells)))


def test_the_files_of_a_run_and_their_keys_are_those_of_the_page(tmp_path):
    more = {"simulated_time": True, "total_generations": 3, "total_minutes": 1.0}
    cell = make_cell("cem", tmp_path, steps=300, env_settings={"max_episode_steps": 50}, **more)
    assert run(cell) == 0
    folder, never = cell.directory, {"never_trained"}  # of runs without a gradient step
    config, meta = tomllib.loads((folder / "config.toml").read_text()), read_json(folder / "meta.json")
    assert set(config["run"]) == documented("config.toml")
    assert {f"[{table}]" for table in config} <= set(re.findall("`([^`]+)`", section("config.toml")))
    assert {*read_json(folder / "status.json")} == documented("status.json") - never
    assert set(meta) <= set(re.findall("`([^`]+)`", section("meta.json")))
    explained = {name.rstrip("/").replace("NNNNNN", "000001") for name in documented("Where")}
    assert {path.name for path in folder.iterdir()} <= explained
