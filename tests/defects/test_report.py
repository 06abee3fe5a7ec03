"""What strangers found in reports: caveats, colours, and scores beside those of other people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
import pytest

from tests.defects.commands import succeed
from tests.reporting.make_runs import make_run

AES, CEM = "aes-rl", "cem-rl"


def make_results(
    folder: Path,
    names: Iterable[str] = (AES, CEM),
    *,
    envs: Sequence[str] = ("Pendulum-v1",),
    fitness: int = 0,
    hidden: Sequence[str] = ("16, 16",) * 2,
    steps: Sequence[int] = (4000,),
) -> Path:
    """Ten seeds of each algorithm, each above the one before; the first counts `fitness` fitness steps a step.

    `hidden`: layers of the first and of all others; `steps`: the budget in each environment.
    """
    for env, budget in zip(envs, steps, strict=True):
        for place, name in enumerate(names):
            for seed in range(10):
                returns = [100 * (place + 1) + (seed**2 + 3 * point) % 11 for point in range(5)]
                run = make_run(
                    folder,
                    env,
                    name,
                    seed,
                    returns,
                    steps=[budget * point // 4 for point in range(5)],
                    fitness=0 if place else fitness,
                )
                with open(run / "config.toml", "a") as file:
                    file.write(f"hidden = [{hidden[min(place, 1)]}]\n")
    return folder


def report(results: Path, *words: object) -> Path:
    """The page of all runs."""
    out = results.with_name(f"{results.name}-report")
    succeed("report", results, "--out", out, *words)
    return out / "all-runs"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of runs without any caveat."""
    results = make_results(tmp_path_factory.mktemp("plain") / "results")
    return report(results, "--paper", "--formats", "svg,pdf")


def paper_table(page: Path) -> str:
    """The table for a paper, with its caption and notes."""
    return (page / "paper-table.tex").read_text()


def grid(page: Path) -> dict[str, bytes]:
    """The figure for a paper in all formats, what lies beside it under its name, and the page's text on it."""
    _, _, text = (page / "index.md").read_text().partition("grid.")
    caption = re.split(r"^(?:#|!\[)", text, maxsplit=1, flags=re.MULTILINE)[0]
    return {path.name: path.read_bytes() for path in page.glob("grid*")} | {"caption": caption.encode()}


def test_the_papers_table_says_that_one_side_used_more_simulator_steps(plain, tmp_path):
    """The verdict says 7.0 times, and 28k against 4k; the table or its caption has one of them."""
    page = report(make_results(tmp_path / "results", fitness=6), "--paper")
    steps = re.compile(r"(?<![\d.,])(7(\.0+)?|28(k|,000|\{,\}000|\\,000|000))(?![\d.,]*\d)")
    assert not steps.search(paper_table(plain))
    assert steps.search(paper_table(page))


def test_the_papers_table_names_the_budget_of_each_environment(tmp_path):
    results = make_results(tmp_path / "results", envs=("Pendulum-v1", "Hopper-v5"), steps=(2000, 4000))
    text = paper_table(report(results, "--paper"))
    for thousands in (2, 4):
        assert re.search(rf"(?<!\d){thousands}(k|,000|\{{,\}}000|\\,000|000)\b", text)


def test_the_papers_table_says_that_networks_are_unlike(plain, tmp_path):
    page = report(make_results(tmp_path / "results", hidden=("256, 256", "32, 32")), "--paper")
    assert paper_table(page) != paper_table(plain)


def curve_colours(figure: Path) -> list[str]:
    """The colour of each open line of five points or more in an SVG, from the highest down; greys are axes."""
    curves = []
    for path, style in re.findall(r'<path d="([^"]*)"[^>]*style="([^"]*)"', figure.read_text()):
        colour = re.search(r"stroke: #([0-9a-f]{6})", style)
        heights = [float(y) for y in re.findall(r"[ML] [-\d.]+ ([-\d.]+)", path)]
        if colour and len(heights) >= 5 and "z" not in path and len(set(re.findall("..", colour[1]))) > 1:
            curves.append((min(heights), colour[1]))
    return [colour for _, colour in sorted(curves)]


def test_an_algorithm_has_one_colour_in_all_figures_of_a_page(tmp_path):
    """One environment has both algorithms, the other one of them: two panels of the paper's figure have its curve."""
    results = make_results(tmp_path / "results")
    make_results(results, (CEM,), envs=("Hopper-v5",))
    page = report(results, "--paper", "--formats", "svg")
    (both,), (single,) = (list(page.glob(f"curves-{env}*.svg")) for env in ("Pendulum-v1", "Hopper-v5"))
    ((in_grid, curves), (_, fewer)) = Counter(curve_colours(page / "grid.svg")).most_common()
    assert curves > fewer
    (alone,) = set(curve_colours(single))
    highest = curve_colours(both)[0]  # of the second algorithm, whose returns are higher
    assert in_grid == alone == highest


@pytest.mark.parametrize("env", ["Partial", "both"])
def test_successes_are_scored_where_not_every_episode_says_so(successes, tmp_path, env):
    """`Partial` says a success where there is one, and nothing in all other episodes."""
    folder = successes if env == "both" else successes / env
    succeed("report", folder, "--metric", "success", "--out", tmp_path)
    (table,) = tmp_path.rglob("scores.csv")
    rows = pd.read_csv(table)
    assert len(rows) == (2 if env == "both" else 1)
    assert rows["mean"].between(0.0, 1.0).all()
