"""The rule of docs/how-we-decide.md once more, in numpy and scipy alone and for many studies at once; and its errors.

python -m tests.audit.verdicts      # the tables of the page
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

Array = np.ndarray
SEEDS, STUDIES, LEVEL, MARGIN = (5, 10, 20), 10_000, 0.05, 0.1
FEWEST, ALIKE = 5, 20


def normal(rng: np.random.Generator, studies: int, seeds: int, spread: float = 0.2) -> Array:
    return 100 * (1 + spread * rng.normal(size=(studies, seeds)))


def bimodal(rng: np.random.Generator, studies: int, seeds: int, spread: float = 0.05) -> Array:
    """Three of ten runs fail."""
    level = np.where(rng.random((studies, seeds)) < 0.3, 50.0, 850 / 7)
    return level * (1 + spread * rng.normal(size=(studies, seeds)))


def lognormal(rng: np.random.Generator, studies: int, seeds: int, spread: float = 0.5) -> Array:
    return 100 * np.exp(spread * rng.normal(size=(studies, seeds)) - spread**2 / 2)


def swimmer(rng: np.random.Generator, studies: int, seeds: int, spread: float = 0.01) -> Array:
    """One of ten runs of CEM on Swimmer ends at 85, the others near 354."""
    level = np.where(rng.random((studies, seeds)) < 0.1, 85.0, 354.0) / 3.271
    return level * (1 + spread * rng.normal(size=(studies, seeds)))


SHAPES: dict[str, Callable[..., Array]] = {
    "normal": normal,
    "bimodal": bimodal,
    "log-normal": lognormal,
    "Swimmer": swimmer,
}
EQUAL_MIDDLES: dict[str, Callable[..., Array]] = {  # symmetric about 100: mean, median and P(better) are equal
    "normal": normal,
    "uniform": lambda rng, studies, seeds, spread=0.2: (
        100 * (1 + 3**0.5 * spread * rng.uniform(-1, 1, (studies, seeds)))
    ),
    "two groups": lambda rng, studies, seeds, spread=0.2: (
        100 * (1 + spread * rng.choice((-1, 1), (studies, seeds)) * (1 + 0.05 * rng.normal(size=(studies, seeds))))
    ),
}
TIGHT = {"normal": 0.1, "bimodal": 0.02, "log-normal": 0.12, "Swimmer": 0.01}  # spreads that could look equivalent


def rank_p(x: Array, y: Array) -> Array:
    """The larger p of Mann and Whitney's test and of Brunner and Munzel's."""
    return np.fmax(mann_whitney_p(x, y), brunner_munzel_p(x, y))


def brunner_munzel_p(x: Array, y: Array) -> Array:
    """Of the placements, by Student's t (Brunner and Munzel 2000, section 4); NaN where all of a side are above."""
    (n, m), above = (x.shape[1], y.shape[1]), x[:, :, None] > y[:, None, :]
    first, second = above.mean(axis=2).var(axis=1, ddof=1) / n, above.mean(axis=1).var(axis=1, ddof=1) / m
    with np.errstate(all="ignore"):
        freedom = (first + second) ** 2 / (first**2 / (n - 1) + second**2 / (m - 1))
        found = (above.mean(axis=(1, 2)) - 0.5) / np.sqrt(first + second)
    return 2 * stats.t.sf(np.where(first + second > 0, abs(found), np.nan), freedom)


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
    return np.minimum(1.0, 2 * below[np.minimum(u, n * m - u)])


def decided_p(x: Array, y: Array, ranks: Callable[[Array, Array], Array] = rank_p) -> Array:
    means = stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue
    return np.minimum(1.0, 2 * np.minimum(means, ranks(x, y)))


def alike(x: Array, y: Array, level: float) -> Array:
    """Equivalence within a tenth of y's mean, scores reckoned from 0."""
    if min(x.shape[1], y.shape[1]) < ALIKE:
        return np.zeros(len(x), dtype=bool)
    width = MARGIN * y.mean(axis=1, keepdims=True)
    near = [(abs(side - side.mean(axis=1, keepdims=True)) <= 2 * width).all(axis=1) for side in (x, y)]
    above = stats.ttest_ind(x, (1 - MARGIN) * y, axis=1, equal_var=False, alternative="greater").pvalue
    below = stats.ttest_ind(x, (1 + MARGIN) * y, axis=1, equal_var=False, alternative="less").pvalue
    return near[0] & near[1] & (np.maximum(above, below) < level / 2)


def cases(x: Array, y: Array, p: Array | None = None, tests: int = 1) -> Array:
    """The case of each study (studies,); `p` after correction where there are several tests."""
    if min(x.shape[1], y.shape[1]) < FEWEST:
        return np.full(len(x), "too few", dtype=object)
    p = decided_p(x, y) if p is None else p
    found = np.full(len(x), "undecided", dtype=object)
    found[alike(x, y, LEVEL / tests)] = "equivalent"
    found[p < LEVEL] = "decided"
    return found


def wrongly_decided(studies: int = STUDIES) -> Iterator[tuple[str, int, float]]:
    """The share of studies of equal algorithms that the rule decides."""
    rng = np.random.default_rng(1)
    for shape, draw in SHAPES.items():
        for seeds in SEEDS:
            found = cases(draw(rng, studies, seeds), draw(rng, studies, seeds))
            yield shape, seeds, float((found == "decided").mean())


def wrongly_decided_of_three(studies: int = STUDIES) -> Iterator[tuple[str, int, float]]:
    """The share of studies of three equal algorithms against a fourth with any decision, after Holm's correction."""
    rng = np.random.default_rng(2)
    for shape, draw in SHAPES.items():
        for seeds in SEEDS:
            base = draw(rng, studies, seeds)
            smallest = np.min([decided_p(draw(rng, studies, seeds), base) for _ in range(3)], axis=0)
            yield shape, seeds, float((3 * smallest < LEVEL).mean())  # Holm's first step: the others follow it


def wrongly_decided_of_unequal_spreads(studies: int = STUDIES) -> Iterator[tuple[str, int, float]]:
    """The same of one comparison, where both have the same symmetric shape and one spreads 2, 5 or 20 times as far."""
    rng = np.random.default_rng(6)
    for shape, draw in EQUAL_MIDDLES.items():
        for ratio in (2, 5, 20):
            for seeds in SEEDS:
                found = cases(draw(rng, studies, seeds), draw(rng, studies, seeds, 0.2 / ratio))
                yield f"{shape}, spreads 1 : {ratio}", seeds, float((found == "decided").mean())


def wrongly_equivalent(studies: int = STUDIES) -> Iterator[tuple[str, int, float]]:
    """The share called equivalent where the true means differ by the margin, the worse of both directions."""
    rng = np.random.default_rng(3)
    for shape, draw in SHAPES.items():
        for seeds in SEEDS:
            shares = []
            for factor in (1 - MARGIN, 1 + MARGIN):
                x, y = (draw(rng, studies, seeds, TIGHT[shape]) for _ in range(2))
                shares.append((cases(factor * x, y) == "equivalent").mean())
            yield shape, seeds, float(max(shares))


def equivalent_though_one_fails(studies: int = STUDIES) -> Iterator[tuple[str, int, float]]:
    """The share called equivalent where some of x's runs end at a quarter, and none of y's: few seeds do not see it."""
    rng = np.random.default_rng(4)
    for share in (0.14, 0.2, 0.3):
        for seeds in SEEDS:
            x = np.where(rng.random((studies, seeds)) < share, 25.0, 100.0) * normal(rng, studies, seeds, 0.01) / 100
            found = cases(x, normal(rng, studies, seeds, 0.01))
            yield f"{100 * share:.0f} % of one side's runs fail", seeds, float((found == "equivalent").mean())


def decided_though_means_are_equal(studies: int = STUDIES) -> Iterator[tuple[str, int, float]]:
    """The share of studies decided, by its ground, where the true means are equal and the shapes are not."""
    rng = np.random.default_rng(5)
    for shape in ("Swimmer", "bimodal", "log-normal", "normal"):
        found: dict[str, list[float]] = {"a mean above": [], "ranks alone": []}
        for seeds in SEEDS:
            x, y = SHAPES[shape](rng, studies, seeds), normal(rng, studies, seeds, 0.01)
            means, ranks = stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue, rank_p(x, y)
            decided = decided_p(x, y) < LEVEL
            by_means = decided & ((means <= ranks) | (2 * means < LEVEL))
            found["a mean above"].append(float(by_means.mean()))
            found["ranks alone"].append(float((decided & ~by_means).mean()))
        for ground, shares in found.items():
            yield from ((f"{shape} against steady runs: {ground}", *one) for one in zip(SEEDS, shares, strict=True))


def rightly_decided(studies: int = STUDIES) -> Iterator[tuple[str, int, float]]:
    """The share decided where one is truly better, and what it would be if Mann and Whitney's were the ranks' test."""
    rng = np.random.default_rng(8)
    for shape, draw in SHAPES.items():
        found: dict[str, list[float]] = {"": [], ", without the second test of ranks": []}
        for seeds, factor in zip(SEEDS, (1.5, 1.3, 1.2), strict=True):
            x, y = factor * draw(rng, studies, seeds), draw(rng, studies, seeds)
            for shares, test in zip(found.values(), (rank_p, mann_whitney_p), strict=True):
                shares.append(float((decided_p(x, y, test) < LEVEL).mean()))
        for how, shares in found.items():
            yield from ((f"{shape}{how}", *one) for one in zip(SEEDS, shares, strict=True))


def rows(rates: Iterator[tuple[str, int, float]]) -> list[str]:
    """The lines of a table of docs/how-we-decide.md: a shape, and a share for each number of seeds."""
    shapes: dict[str, list[str]] = {}
    for shape, _, rate in rates:
        shapes.setdefault(shape, []).append(f"{100 * rate:.1f} %")
    return [f"| {shape} | {' | '.join(cells)} |" for shape, cells in shapes.items()]


TABLES = {
    "Wrongly decided, one comparison": wrongly_decided,
    "Wrongly decided, any of three comparisons": wrongly_decided_of_three,
    "Wrongly decided, symmetric scores with unequal spreads": wrongly_decided_of_unequal_spreads,
    "Wrongly equivalent, true difference of one margin": wrongly_equivalent,
    "Wrongly equivalent, one side fails at times": equivalent_though_one_fails,
}

MORE = {"Rightly decided": rightly_decided, "Decided, though the means are equal": decided_though_means_are_equal}

if __name__ == "__main__":
    for title, rates in (TABLES | MORE).items():
        print(f"{title}\n", *rows(rates()), sep="\n")
