"""The rule of docs/how-we-decide.md once more, in numpy and scipy alone and for many studies at once; and its errors.

python -m tests.audit.verdict_rates      # writes the tables docs/data/rates-*.csv, in some minutes

A test holds these functions to the rule of the report.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]
Table = list[list[str]]  # the header, then rows
Draw = Callable[..., Array]  # of a generator, studies, seeds and a spread: (studies, seeds)

DATA = Path(__file__).parents[2] / "docs" / "data"  # tables of docs/how-we-decide.md
STUDIES = 20_000
LEVEL, MARGIN, FEWEST, ALIKE = 0.05, 0.1, 6, 20
SPREADS = (1, 2, 5, 20)  # of one side, times the other's
SEEDS = ((6, 6), (7, 7), (8, 8), (9, 9), (10, 10), (12, 12), (15, 15), (20, 20), (6, 10), (6, 20), (8, 20))


def normal(rng: np.random.Generator, studies: int, seeds: int, spread: float = 0.2) -> Array:
    """The spread is the standard deviation, as a share of 100."""
    return 100 * (1 + spread * rng.normal(size=(studies, seeds)))


def uniform(rng: np.random.Generator, studies: int, seeds: int, spread: float = 0.2) -> Array:
    """With the same standard deviation."""
    return 100 * (1 + 3**0.5 * spread * rng.uniform(-1, 1, (studies, seeds)))


def two_groups(rng: np.random.Generator, studies: int, seeds: int, spread: float = 0.2) -> Array:
    """Each run is in one of two groups, with the same chance."""
    size = (studies, seeds)
    return 100 * (1 + spread * rng.choice((-1.0, 1.0), size) * (1 + 0.05 * rng.normal(size=size)))


def heavy_tailed(rng: np.random.Generator, studies: int, seeds: int, spread: float = 0.2) -> Array:
    """Student's t with three degrees of freedom."""
    return 100 * (1 + 3**-0.5 * spread * rng.standard_t(3, (studies, seeds)))


def bimodal(rng: np.random.Generator, studies: int, seeds: int, spread: float = 0.05) -> Array:
    """Three of ten runs fail."""
    level = np.where(rng.random((studies, seeds)) < 0.3, 50.0, 850 / 7)
    return level * (1 + spread * rng.normal(size=(studies, seeds)))


def lognormal(rng: np.random.Generator, studies: int, seeds: int, spread: float = 0.5) -> Array:
    """The spread is that of the logarithm."""
    return 100 * np.exp(spread * rng.normal(size=(studies, seeds)) - spread**2 / 2)


def swimmer(rng: np.random.Generator, studies: int, seeds: int, spread: float = 0.01) -> Array:
    """One of ten runs of CEM on Swimmer ends at 85, the others near 354."""
    level = np.where(rng.random((studies, seeds)) < 0.1, 85.0, 354.0) / 3.271
    return level * (1 + spread * rng.normal(size=(studies, seeds)))


SYMMETRIC: dict[str, Draw] = {  # about 100: mean, median and P(better) are equal
    "normal": normal,
    "uniform": uniform,
    "two groups": two_groups,
    "heavy-tailed": heavy_tailed,
}
SHAPES: dict[str, Draw] = {"normal": normal, "bimodal": bimodal, "log-normal": lognormal, "Swimmer": swimmer}
TIGHT = {"normal": 0.1, "bimodal": 0.02, "log-normal": 0.12, "Swimmer": 0.01}  # spreads that could look equivalent


def rank_p(x: Array, y: Array) -> Array:
    """The larger p of the Mann-Whitney and Brunner-Munzel tests (studies,)."""
    p: Array = np.fmax(mann_whitney_p(x, y), brunner_munzel_p(x, y))
    return p


def brunner_munzel_p(x: Array, y: Array) -> Array:
    """Of the placements, by Student's t (Brunner and Munzel 2000, section 4); NaN where all of a side are above."""
    (n, m), above = (x.shape[1], y.shape[1]), x[:, :, None] > y[:, None, :]
    first, second = above.mean(axis=2).var(axis=1, ddof=1) / n, above.mean(axis=1).var(axis=1, ddof=1) / m
    with np.errstate(all="ignore"):
        freedom = (first + second) ** 2 / (first**2 / (n - 1) + second**2 / (m - 1))
        found = (above.mean(axis=(1, 2)) - 0.5) / np.sqrt(first + second)
    p: Array = 2 * stats.t.sf(np.where(first + second > 0, abs(found), np.nan), freedom)
    return p


def mann_whitney_p(x: Array, y: Array) -> Array:
    """The exact two-sided p, by counting the arrangements with each U."""
    n, m = x.shape[1], y.shape[1]
    ways = np.zeros((n + 1, m + 1, n * m + 1))
    ways[0, :, 0] = ways[:, 0, 0] = 1
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            ways[i, j] = ways[i, j - 1]
            ways[i, j, j:] += ways[i - 1, j, : n * m + 1 - j]
    below = np.cumsum(ways[n, m]) / ways[n, m].sum()
    u = (x[:, :, None] > y[:, None, :]).sum(axis=(1, 2))
    p: Array = np.minimum(1.0, 2 * below[np.minimum(u, n * m - u)])
    return p


def differ(x: Array, y: Array, tests: int = 1) -> NDArray[np.bool_]:
    """Whether the ranks differ in each study (studies,), at the first step of Holm's correction for so many tests."""
    level = 0.015 if min(x.shape[1], y.shape[1]) < 10 else 0.025
    found: NDArray[np.bool_] = tests * rank_p(x, y) <= level
    return found


def alike(x: Array, y: Array, level: float) -> NDArray[np.bool_]:
    """Equivalence within a tenth of y's mean, scores reckoned from 0."""
    if min(x.shape[1], y.shape[1]) < ALIKE:
        return np.zeros(len(x), dtype=bool)
    width = MARGIN * y.mean(axis=1, keepdims=True)
    near = [(abs(side - side.mean(axis=1, keepdims=True)) <= 2 * width).all(axis=1) for side in (x, y)]
    above = stats.ttest_ind(x, (1 - MARGIN) * y, axis=1, equal_var=False, alternative="greater").pvalue
    below = stats.ttest_ind(x, (1 + MARGIN) * y, axis=1, equal_var=False, alternative="less").pvalue
    found: NDArray[np.bool_] = near[0] & near[1] & (np.maximum(above, below) < level / 2)
    return found


def cases(x: Array, y: Array, tests: int = 1) -> NDArray[np.object_]:
    """The case of each study (studies,), where its comparison is the first of `tests` in Holm's procedure."""
    found = np.full(len(x), "undecided", dtype=object)
    if min(x.shape[1], y.shape[1]) < FEWEST:
        found[:] = "too few"
        return found
    found[alike(x, y, LEVEL / tests)] = "equivalent"
    differs = differ(x, y, tests)
    gap = (x.mean(axis=1) - y.mean(axis=1)) * np.sign((x[:, :, None] > y[:, None, :]).mean(axis=(1, 2)) - 0.5)
    large = gap >= MARGIN * abs(y.mean(axis=1))
    found[differs & large], found[differs & ~large] = "decided", "small difference"
    return found


def wrong_rate(draw: Draw, seeds: tuple[int, int], spread: float, studies: int, tests: int = 1) -> float:
    """The share of comparisons of equal middles whose ranks differ, at the level of one of `tests`."""
    rng = np.random.default_rng(1)
    x, y = draw(rng, studies, seeds[0]), draw(rng, studies, seeds[1], 0.2 / spread)
    return float(differ(x, y, tests).mean())


def worst_rate(draw: Draw, seeds: tuple[int, int], studies: int) -> float:
    """The largest `wrong_rate` over spreads, whichever side has fewer seeds."""
    both = dict.fromkeys((seeds, seeds[::-1]))
    return max(wrong_rate(draw, one, spread, studies) for one in both for spread in SPREADS)


def family_rate(draw: Draw, seeds: tuple[int, int], spreads: tuple[float, float], tests: int, studies: int) -> float:
    """The share of studies of `tests` algorithms against one baseline, all equal, with any difference of ranks.

    `seeds` and `spreads` are those of each algorithm and of the baseline.
    """
    rng = np.random.default_rng(2)
    y = draw(rng, studies, seeds[1], spreads[1])
    any_differs = np.any([differ(draw(rng, studies, seeds[0], spreads[0]), y, tests) for _ in range(tests)], axis=0)
    return float(any_differs.mean())  # Holm's first step: the others follow it


def one_comparison(studies: int = STUDIES) -> Table:
    """By seeds and shape: the worst spreads."""
    table = [["seeds", *SYMMETRIC]]
    for n, m in SEEDS:
        rates = [worst_rate(draw, (n, m), studies) for draw in SYMMETRIC.values()]
        table.append(_row([str(n) if n == m else f"{n} and {m}"], rates))
    return table


def families(studies: int = STUDIES) -> Table:
    """By seeds and comparisons, where algorithms and baseline spread in these ratios; two groups apart."""
    ratios = ((1, 1), (1, 20), (5, 1), (20, 1))
    names = [f"{a} : {b}" for a, b in ratios]
    table = [["seeds", "comparisons", *names, "two groups"]]
    for n, m in ((6, 6), (7, 7), (8, 8), (9, 9), (10, 10), (15, 15), (20, 20), (8, 20), (20, 8)):
        for tests in (3, 6):
            rates: dict[str, list[float]] = {name: [] for name in SYMMETRIC}
            for a, b in ratios:
                spreads = 0.2 * a / max(a, b), 0.2 * b / max(a, b)
                for name, draw in SYMMETRIC.items():
                    rates[name].append(family_rate(draw, (n, m), spreads, tests, studies))
            groups = max(rates.pop("two groups"))
            worst = [max(column) for column in zip(*rates.values(), strict=True)]
            table.append(_row([str(n) if n == m else f"{n} and {m}", str(tests)], [*worst, groups]))
    return table


def equivalence(studies: int = STUDIES) -> Table:
    """Wrongly equivalent with 20 seeds: a true difference of one margin, and failures of one side."""
    rng = np.random.default_rng(3)
    table = [["scores", "20 seeds"]]
    for shape, draw in SHAPES.items():
        shares = []
        for factor in (1 - MARGIN, 1 + MARGIN):
            x, y = (draw(rng, studies, ALIKE, TIGHT[shape]) for _ in range(2))
            shares.append(float((cases(factor * x, y) == "equivalent").mean()))
        table.append(_row([f"{shape}, means differ by 10 %"], [max(shares)]))
    for share in (0.14, 0.2, 0.3):
        x = np.where(rng.random((studies, ALIKE)) < share, 0.25, 1.0) * normal(rng, studies, ALIKE, 0.01)
        found = cases(x, normal(rng, studies, ALIKE, 0.01))
        table.append(_row([f"{100 * share:.0f} % of one side's runs fail"], [float((found == "equivalent").mean())]))
    return table


def unlike_shapes(studies: int = STUDIES) -> Table:
    """Equal means of unlike shapes: how often runs of the shape truly score higher, and how often that is found."""
    rng = np.random.default_rng(5)
    table = [["scores", "true P", "found", "6 seeds", "10 seeds", "20 seeds"]]
    for shape, draw in SHAPES.items():
        true = float((draw(rng, 1, 400_000) > normal(rng, 1, 400_000, 0.01)).mean())
        higher, lower = [], []
        for seeds in (6, 10, 20):
            x, y = draw(rng, studies, seeds), normal(rng, studies, seeds, 0.01)
            differs = differ(x, y)
            above = (x[:, :, None] > y[:, None, :]).mean(axis=(1, 2)) > 0.5
            higher.append(float((differs & above).mean()))
            lower.append(float((differs & ~above).mean()))
        table.append(_row([shape, f"{true:.2f}", "higher"], higher))
        table.append(_row([shape, f"{true:.2f}", "lower"], lower))
    return table


def power(studies: int = STUDIES) -> Table:
    """The share of differences found between normal runs with one spread."""
    seeds = (6, 8, 10, 15, 20)
    table = [["standard deviations", *(f"{n} seeds" for n in seeds)]]
    for tests, words in ((1, ""), (3, ", one of three comparisons")):
        for shift in (1.0, 1.5, 2.0, 3.0):
            rates = [found_rate(n, shift, tests, studies) for n in seeds]
            table.append(_row([f"{shift:g}{words}"], rates))
    return table


def found_rate(seeds: int, shift: float, tests: int, studies: int) -> float:
    """The share of studies that find a difference of `shift` standard deviations between normal runs."""
    rng = np.random.default_rng(8)
    x, y = rng.normal(shift, 1, (studies, seeds)), rng.normal(size=(studies, seeds))
    return float(differ(x, y, tests).mean())


def _row(names: list[str], rates: Sequence[float]) -> list[str]:
    return [*names, *(f"{100 * rate:.1f} %" for rate in rates)]


TABLES: dict[str, Callable[..., Table]] = {
    "one comparison": one_comparison,
    "families": families,
    "equivalence": equivalence,
    "unlike shapes": unlike_shapes,
    "power": power,
}


def file_of(name: str) -> Path:
    """The file of a table of `TABLES`."""
    return DATA / f"rates-{name.replace(' ', '-')}.csv"


def main() -> None:
    """Write the tables."""
    for name, table in TABLES.items():
        with open(file_of(name), "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(table())


if __name__ == "__main__":
    main()
