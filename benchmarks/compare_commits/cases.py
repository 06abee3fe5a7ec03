"""What is done with a commit's command line: tiny runs, environments, reports, verify; `cases.toml` lists it."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.compare_commits.compare import ROWS, Evidence, columns_of_rows, read_report, read_runs
from benchmarks.compare_commits.trees import CaseError, Ended, Tree, measure_cpu

HERE = Path(__file__).parent
CASES: Mapping[str, Any] = tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8"))
NEEDED = (*ROWS, "policy.safetensors")  # without which a run is not compared; some leave no state at their end
CHECKPOINT = "**/checkpoint/*/*"  # files of a run that is not finished
LEAST_SECONDS, MORE_TURNS = 3.0, 5  # of a row of bench
Case = Callable[[Tree, Path, Path], Evidence]  # of a tree, an empty folder, and the stored runs


def all_cases() -> dict[str, dict[str, Case]]:
    """The cases of each section that are compared by what they write."""
    upright = CASES["environments"]["upright"]
    fall_free = partial(play_episodes, upright, ["--env-set", "terminate_when_unhealthy=false"])
    return {
        "runs": {name: partial(make_run, case) for name, case in CASES["runs"]["cases"].items()},
        "environments": {"list": list_environments, "episodes": partial(play_episodes, [""], []), "upright": fall_free},
        "reports": {name: partial(write_report, words) for name, words in CASES["reports"]["cases"].items()},
        "verify": {"stored": verify},
    }


def make_run(case: Mapping[str, Any], tree: Tree, folder: Path, stored: Path) -> Evidence:
    """A run, or one that is killed and continued by the same command."""
    words = split_words(f"{CASES['runs']['common']} {case['args']}", stored, folder / "out")
    arguments = ["run", *words, "--out", "out"]
    shutil.copy(HERE / "compared_environments.py", folder)
    if rows := case.get("kill"):
        tree.erlbench(arguments, folder, until=lambda: _may_be_killed(folder / "out", rows))
    require(tree.erlbench(arguments, folder))
    evidence = read_runs(folder / "out", case.get("measured", CASES["runs"]["measured"]))
    if lacking := [name for name in NEEDED if not any(file.endswith(name) and evidence[file] for file in evidence)]:
        raise CaseError(f"the run left no {', '.join(lacking)}")
    if rows:
        resumed = any("resumed" in path.read_text("utf-8") for path in (folder / "out").rglob("events.csv"))
        evidence["events"] = {"resumed from a checkpoint": str(resumed)}
    return evidence


def _may_be_killed(out: Path, rows: int) -> bool:
    """Whether a run has a checkpoint and more than so many lines of train.csv."""
    counts = (path.read_bytes().count(b"\n") for path in out.rglob("train.csv"))
    return any(out.glob(CHECKPOINT)) and any(count > rows for count in counts)


def require(ended: Ended, codes: tuple[int, ...] = (0,)) -> Ended:
    """The ended command; raises `CaseError` for another exit code."""
    if ended.code not in codes:
        lines = (ended.err or ended.out).strip().splitlines()
        raise CaseError(f"exit code {ended.code}: {lines[-1] if lines else 'no message'}")
    return ended


def list_environments(tree: Tree, folder: Path, stored: Path) -> Evidence:
    """The list of environments: sizes, longest episode, presets."""
    return {"list": columns_of_rows(_listed(tree, folder), ("environment", "obs", "act", "steps", "remarks"))}


def _listed(tree: Tree, folder: Path) -> list[tuple[str, ...]]:
    text = require(tree.erlbench(["list", "envs"], folder)).out
    rows = re.findall(r"^(\S+) +(\d+) +(\d+) +(\d+) +(.*?) *$", text, flags=re.MULTILINE)
    return [row for row in rows if not row[0].startswith(tuple(CASES["environments"]["skip"]))]


def split_available(rows: list[tuple[str, ...]]) -> tuple[list[str], list[str]]:
    """The environments that can be made, presets included, and those whose extra is missing."""
    names: tuple[list[str], list[str]] = [], []
    for env, *_, remarks in rows:
        names["not installed" in remarks].extend([env, *(env + preset for preset in re.findall(r"@[^, ]+", remarks))])
    return names


def play_episodes(starts: list[str], words: list[str], tree: Tree, folder: Path, stored: Path) -> Evidence:
    """Some episodes in each listed environment whose name has one of these starts: rows with returns and lengths."""
    names, missing = split_available(_listed(tree, folder))
    envs = ",".join(name for name in names if name.startswith(tuple(starts)))
    arguments = [*split_words(CASES["environments"]["args"], stored, folder / "out"), *words, "--out", "out"]
    require(tree.erlbench(["run", "--env", envs, *arguments], folder))
    return read_runs(folder / "out", CASES["runs"]["measured"]) | {
        "left out": dict.fromkeys(missing, "its extra is missing")
    }


def write_report(words: str, tree: Tree, folder: Path, stored: Path) -> Evidence:
    """A report of stored runs."""
    require(tree.erlbench(["report", *split_words(words, stored, folder / "report"), "--out", "report"], folder))
    return read_report(folder / "report")


def split_words(words: str, stored: Path, out: Path) -> list[str]:
    """The words of a command line; STORED, CASES and OUT are folders."""
    places = {"STORED": stored, "CASES": HERE.resolve(), "OUT": out}
    for name, place in places.items():
        words = words.replace(name, str(place))
    return shlex.split(words)


def verify(tree: Tree, folder: Path, stored: Path) -> Evidence:
    """The line of each stored run: how many checks agree, how many differ, what cannot be verified."""
    runs = [min((stored / name).glob("seed-*")) for name in CASES["verify"]["sets"]]
    text = require(tree.erlbench(["verify", *map(str, runs)], folder), codes=(0, 1)).out.replace(f"{stored}/", "")
    rows = re.findall(r"^(\S+/seed-\S+) +(\S+) +(\S+) +(.*?) *$", text, flags=re.MULTILINE)
    if len(rows) != len(runs):
        raise CaseError(f"{len(rows)} of {len(runs)} runs have a line")
    table = columns_of_rows(rows, ("run", "agree", "differ", "not verified"))
    return {"lines": table, "summary": {"last line": text.strip().splitlines()[-1]}}


def _run_words(tree: Tree, words: list[str], folder: Path) -> Ended:
    return require(tree.erlbench(words, folder))


def measure_bench(name: str, trees: tuple[Tree, Tree], stored: Path, turns: int) -> tuple[float, float]:
    """The least processor time of a row in seconds, for either tree, in turns A B A B; short rows get more turns."""
    seconds: tuple[list[float], list[float]] = [], []
    while len(seconds[1]) < turns or (sum(seconds[1]) < LEAST_SECONDS and len(seconds[1]) < MORE_TURNS * turns):
        for tree, measured in zip(trees, seconds, strict=True):
            folder = tree.work / "bench" / name / str(len(measured))
            folder.mkdir(parents=True)
            words = split_words(CASES["bench"][name], stored, folder / "out")
            measured.append(measure_cpu(partial(_run_words, tree, words, folder)))
    return min(seconds[0]), min(seconds[1])
