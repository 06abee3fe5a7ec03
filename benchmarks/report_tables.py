"""Tables of the results pages that the report's own parts make: comparisons, other people's runs, steps to scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.page_tables import listed, minus, spread, table
from benchmarks.reference_comparisons import REFERENCE, asked, comparison, ignore
from erlbench.reporting.data.comparison import everything
from erlbench.reporting.data.published import load_published
from erlbench.reporting.data.runs import find_runs
from erlbench.reporting.options import ReportOptions
from erlbench.reporting.statistics.significance import Summary, compare
from erlbench.reporting.tables.reach import reach_table
from erlbench.reporting.tables.references import beside
from erlbench.reporting.verdict.judged import compared_pairs
from erlbench.reporting.verdict.rule import Case

CEM, PRINTED = "cem", "cem@no-extra-division"
PAPER = {
    "Swimmer-v5": (351, 9, 361),
    "HalfCheetah-v5": (2940, 353, 3045),
    "Hopper-v5@paper": (1055, 14, 1040),
    "Walker2d-v5@paper": (928, 50, 934),
}  # mean, std and median of ten runs, CEM-RL's paper
ELSEWHERE = {"Ant-v5@paper": "487 ± 33 (506), see below", "Humanoid-v5@paper": "none"}  # of another task, or none


def cem_published() -> str:
    """CEM's means beside those of its paper: the 95 % interval of the difference (Welch), of summaries of ten runs."""
    lines = ["| task | ours | published | difference |", "|---|---:|---:|---:|"]
    for group in comparison(asked()["cem"]).groups:
        run_set = group.run_set("cem")
        if run_set is None or group.env not in PAPER:
            continue
        ours, paper = Summary.of(run_set.scores), Summary(*PAPER[group.env][:2], runs=10)
        gap, low, high = ours.minus(paper)
        cells = (f"{ours.mean:,.0f}", f"{paper.mean:,.0f}", f"{gap:,.0f} [{low:,.0f}, {high:,.0f}]")
        lines.append(f"| {group.env} | {' | '.join(cells).replace('-', '−')} |")
    return "\n".join(lines)


def cem() -> str:
    """Both variances on six tasks; bold: decided, with the correction for the six."""
    page = comparison(asked()["cem"])
    decided = {pair.group.env: pair.case is Case.DECIDED for pair in compared_pairs(page, [(CEM, PRINTED)])}
    rows = []
    for group in page.groups:
        ours, printed = (group.run_set(name).scores for name in (CEM, PRINTED))
        found = compare(ours, printed)
        low, high = found.interval
        gap = minus(f"{found.difference:,.0f} [{low:,.0f}, {high:,.0f}]")
        cells = [f"{spread(x)} ({listed([float(np.median(x))])})" for x in (ours, printed)]
        known = PAPER.get(group.env)
        published = "{:,} ± {} ({:,})".format(*known) if known else ELSEWHERE[group.env]
        mark = "**" if decided[group.env] else ""
        rows.append([group.env, *cells, f"{mark}{gap}{mark}", f"{found.probability:.2f}", published])
    return table(
        f"| | `{CEM}` | `{PRINTED}` | difference | P(better) | published |", "|---|---:|---:|---:|---:|---:|", rows
    )


def halfcheetah_1m() -> str:
    """Final scores, and other people's at the nearest step."""
    group, *_ = ReportOptions(metric="final").judged(everything(find_runs([REFERENCE / "halfcheetah"], ignore))).groups
    rows, references = [], load_published().references
    for name in ("td3", "sac", "cem-rl"):
        run_set = group.run_set(name)
        x = run_set.scores
        rows.append([f"**`{name}`**: {listed(x)}", "v5", str(len(x)), spread(x), listed([float(np.median(x))])])
        for one in beside(group, run_set, references):
            theirs = one.pair.their_scores
            cells = (str(len(theirs)), spread(theirs), listed([float(np.median(theirs))]))
            rows.append([one.pair.theirs.source.name, one.pair.theirs.env.rpartition("-")[2], *cells])
    rows.append(["the CEM-RL paper, as the AES-RL paper quotes it", "v2", "10", "10,725 ± 397", "11,539"])
    return table("| | task | runs | mean ± std | median |", "|---|---|---:|---:|---:|", rows)


def trpo() -> str:
    """Steps of the mean curve to shares of TRPO's progress."""
    page = everything(find_runs([REFERENCE / "openai-es-trpo"], ignore))
    rows, seen = [], ""
    known = [one for one in reach_table(page, (), load_published(), ignore).records if one["steps_average_curve"]]
    order = ["HalfCheetah", "InvertedPendulum", "InvertedDoublePendulum", "Swimmer", "Hopper", "Walker2d"]
    for one in sorted(known, key=lambda one: order.index(one["published_env"])):
        env, share = one["env"], str(one["share"]).removesuffix(" of TRPO")
        rows.append([
            env if env != seen else "", share, f"{one['score']:,.0f}", f"{one['steps_average_curve']:,.0f}",
            f"{one['ratio_to_TRPO']:.2f}", f"{one['published_steps_OpenAI-ES']:,.0f}",
            f"{one['published_ratio_OpenAI-ES']:.2f}",
        ])  # fmt: skip
        seen = env
    return table(
        "| task | share | score | ours | ratio | paper's OpenAI-ES | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|",
        rows,
    )


COMPUTED: dict[str, Callable[[], str]] = {
    "cem": cem,
    "cem-published": cem_published,
    "halfcheetah-1m": halfcheetah_1m,
    "trpo": trpo,
}
