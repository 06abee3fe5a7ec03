"""README's numbers, computed again by pandas from the stored CSVs, and its commands, run as they stand there."""

import json
import re
import shlex

import pandas as pd
import pytest

from tests.audit.page_numbers import REFERENCE, ROOT, mean_of
from tests.reporting.compare import run_report

README = (ROOT / "README.md").read_text(encoding="utf-8")
HEADLINE = README.split("<!-- headline -->")[1].split("<!-- end -->")[0]
NAMES = {"SAC": "sac", "CEM-RL": "cem-rl", "TD3": "td3", "AES-RL": "aes-rl", "CEM": "cem", "ERL": "erl"}
FOLDERS = ("halfcheetah", "halfcheetah-300k", "halfcheetah-100k", "cem")


def whole(text):
    return float(text.replace(",", ""))


def table():
    """The cells of README's table of results by its first number and its heading."""
    header, _, *rows = (
        [cell.strip() for cell in line.strip("| ").split("|")] for line in HEADLINE.splitlines() if line.startswith("|")
    )
    return {
        (whole(row[0].split()[0]), name): (row[0], cell)
        for row in rows
        for name, cell in zip(header[1:], row[1:], strict=True)
    }


def runs(name, at):
    """Of each seed and kernel the first run as long as that: seed, start and evaluations."""
    groups = {}
    for place in sorted(
        path.parent for folder in FOLDERS for path in REFERENCE.glob(f"{folder}/HalfCheetah-v5/{name}/seed-*/eval.csv")
    ):
        meta = json.loads((place / "meta.json").read_text())
        frame = pd.read_csv(place / "eval.csv")
        if frame.timesteps.iloc[-1] >= 0.9 * at:
            kernel = meta["starts"][0].get("arithmetic") or meta.get("arithmetic")
            run = int(place.name[-3:]), meta["starts"][0]["started"], frame
            groups.setdefault((run[0], kernel), []).append(run)
    return [min(same, key=lambda run: run[1]) for same in groups.values()]


def scores(name, at):
    """By run its seed and score on the stretch that README names."""
    first = next(row for (moment, _), (row, _) in table().items() if moment == at)
    start, end = map(whole, re.search(r"\(([\d,]+)–([\d,]+)\)", first).groups())
    return [(seed, mean_of(frame[frame.final != 1], start, end)) for seed, _, frame in runs(name, at)]


def test_the_table_has_the_lowest_and_the_highest_run_with_seeds_and_runs():
    cells = table()
    assert {at for at, _ in cells} == {1e5, 3e5, 1e6}
    for (at, title), (_, cell) in cells.items():
        runs_there = scores(NAMES[title], at)
        if cell == "–":
            assert not runs_there
            continue
        values = [score for _, score in runs_there]
        count, seeds = len(runs_there), len({seed for seed, _ in runs_there})
        words = f"{count} runs" if count == seeds else f"{seeds} seeds, {count} runs"
        assert cell == f"{min(values):,.0f}–{max(values):,.0f} ({words})", (at, title)


def braces(word):
    """As the shell expands a list in braces."""
    before, several, after = re.fullmatch(r"([^{]*)\{?([^}]*)\}?(.*)", word).groups()
    return [before + choice + after for choice in several.split(",")]


def test_the_command_of_the_figure_draws_it_and_gives_the_numbers(tmp_path, monkeypatch):
    (command,) = re.findall(r"    (erlbench report halfcheetah/.*?\S)\n\n", README.replace("\\\n", ""), re.DOTALL)
    words = [word for words in shlex.split(command)[1:] for word in braces(words)]
    words[words.index("--out") + 1] = str(tmp_path / "report")
    monkeypatch.chdir(REFERENCE)
    run_report(*words[1:])
    assert (tmp_path / "report/all-runs/curves-HalfCheetah-v5.png").stat().st_size > 10_000
    rows = pd.read_csv(tmp_path / "report/all-runs/scores.csv").set_index("name")
    for title, name in NAMES.items():
        stretch = pd.DataFrame(scores(name, 3e5), columns=["seed", "score"])
        seeds = stretch.groupby("seed").score
        row = rows[rows.index == name].iloc[0]
        assert (row["n"], row["runs"]) == (seeds.ngroups, len(stretch)), title
        assert row["mean"] == pytest.approx(seeds.mean().mean()), title
