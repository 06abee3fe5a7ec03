"""The files of a run are those of docs/results.md, with the keys that stand there; `tests/records` has the columns."""

import re
import tomllib
from pathlib import Path

from erlbench.running import admission, folder
from tests.runs import complete, make_cell, meta, status

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "results.md").read_text()


def section(heading):
    """The text below a heading, to the next one."""
    return re.split(r"^#+ .*$", PAGE.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def documented(heading):
    """The names in the first cells of the table below a heading."""
    cells = re.findall(r"^\| (`.*?) \|", section(heading), re.MULTILINE)
    return set(re.findall("`([^`]+)`", " ".join(cells)))


def test_the_files_of_a_run_and_their_keys_are_those_of_the_page(tmp_path):
    more = {"simulated_time": True, "total_generations": 3, "total_minutes": 1.0}
    cell = complete(make_cell("cem", tmp_path, steps=300, env_settings={"max_episode_steps": 50}, **more))
    config = tomllib.loads((cell.directory / "config.toml").read_text())
    assert set(config["run"]) == documented("config.toml")
    assert {f"[{table}]" for table in config} <= set(re.findall("`([^`]+)`", section("config.toml")))
    assert {*status(cell)} == documented("status.json") - {"never_trained"}  # of runs without a gradient step
    assert set(meta(cell)) <= set(re.findall("`([^`]+)`", section("meta.json")))
    explained = {name.rstrip("/").replace("NNNNNN", "000001") for name in documented("Where")}
    assert {path.name for path in cell.directory.iterdir()} <= explained


def test_limits_are_those_of_the_pages():
    cluster = f"every {folder.HEARTBEAT:g} seconds", f"after {folder.PATIENCE:g} seconds"
    for page, *words in (("cluster", *cluster), ("environments", f"more than {admission.LIMIT:g} seconds")):
        assert all(each in (DOCS / f"{page}.md").read_text() for each in words)
