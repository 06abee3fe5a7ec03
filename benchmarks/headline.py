"""README's first results: all runs of four algorithms on HalfCheetah-v5 after three numbers of training steps."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np

from benchmarks.page_tables import table
from benchmarks.reference_comparisons import asked, comparison
from erlbench.reporting.data.comparison import Group, RunSet
from erlbench.reporting.tables.paper import all_pairs
from erlbench.reporting.verdict.judged import compared_pairs, verdicts_of
from erlbench.reporting.verdict.rule import Case
from erlbench.reporting.verdict.value import SIMILAR, Verdict

NAMES = {"sac": "SAC", "cem-rl": "CEM-RL", "td3": "TD3", "aes-rl": "AES-RL"}
MOMENTS = {100_000: "halfcheetah-100k", 300_000: "halfcheetah-300k", 1_000_000: "halfcheetah-1m"}
WORDS = ("no", "one", "two", "three", "four", "five")


def headline() -> str:
    """A sentence on who is ahead and what is decided, and a table of the lowest and highest scores of single runs."""
    pages = {at: comparison({**asked()[name], "names": list(NAMES)}) for at, name in MOMENTS.items()}
    groups = {at: page.groups[0] for at, page in pages.items()}
    verdicts = [one for page in pages.values() for one in verdicts_of(compared_pairs(page, all_pairs(page)))]
    shown = textwrap.fill(_sentence(groups, verdicts), 120, break_on_hyphens=False)
    header = f"| training steps | {' | '.join(NAMES.values())} |"
    rows = [_row(at, group) for at, group in groups.items()]
    cells = table(header, f"|---|{'---:|' * len(NAMES)}", rows)
    steps = textwrap.fill(_steps(groups, verdicts), 120, break_on_hyphens=False)
    return f"{shown}\n\n{cells}\n\n{steps}"


def leader(group: Group) -> str:
    """The algorithm whose runs all score above all runs of the others; empty without one."""
    scores = {one.name: np.concatenate(one.run_scores) for one in group.run_sets}
    best = max(scores, key=lambda name: float(scores[name].min()))
    return best if scores[best].min() > max(own.max() for name, own in scores.items() if name != best) else ""


def _sentence(groups: dict[int, Group], verdicts: Sequence[Verdict]) -> str:
    seeds = sorted({len(one.seeds) for group in groups.values() for one in group.run_sets})
    several = " or ".join(WORDS[number] if number < len(WORDS) else str(number) for number in seeds)
    decided = sum(one.case is Case.DECIDED for one in verdicts)
    what = f"{decided} of {len(verdicts)} comparisons are decided" if decided else "nothing is decided"
    ahead: dict[str, list[int]] = {}
    for at, group in groups.items():
        ahead.setdefault(leader(group), []).append(at)
    parts = [
        f"After {_listed(moments)} training steps, all runs of {NAMES[name]} score above all other runs."
        for name, moments in ahead.items()
        if name
    ]
    if none := ahead.get(""):
        parts.append(f"After {_listed(none)}, no algorithm is ahead in all of its runs.")
    return f"With {several} seeds per algorithm on HalfCheetah-v5, {what}. {' '.join(parts)}"


def _listed(moments: Sequence[int]) -> str:
    return " and ".join(f"{at:,}" for at in moments)


def _row(at: int, group: Group) -> list[str]:
    stretch = group.run_sets[0].stretch
    assert stretch is not None
    cells = [_range(run_set) if (run_set := group.run_set(name)) else "–" for name in NAMES]
    return [f"{at:,} ({stretch.start:,.0f}–{stretch.end:,.0f})", *cells]


def _range(run_set: RunSet) -> str:
    scores = np.concatenate(run_set.run_scores)
    return f"{scores.min():,.0f}–{scores.max():,.0f} ({run_set.sample})"


def _steps(groups: dict[int, Group], verdicts: Sequence[Verdict]) -> str:
    """What a score is, and who used more steps of the simulator, by the moments."""
    ratios: dict[str, list[str]] = {}
    for group in groups.values():
        sides = {
            side.name: side.simulator_steps
            for one in verdicts
            if one.budget == group.limit
            for side in (one.first, one.second)
        }
        for name, steps in sides.items():
            if steps > SIMILAR * min(sides.values()):
                ratios.setdefault(name, []).append(f"{steps / min(sides.values()):.1f}")
    more = [f" {NAMES[name]} uses {' and '.join(own)} times the simulator steps." for name, own in ratios.items()]
    return (
        f"Lowest to highest run; a score is the mean of the evaluation curve on the steps in brackets.{''.join(more)}"
    )
