"""The rule of docs/how-we-decide.md once more, in numpy and scipy alone and for many studies at once; and its errors.

python -m tests.audit.verdict_rates      # writes the tables docs/data/rates-*.csv, in some minutes

Scores have the shape (studies, seeds), answers (studies,). A test holds these functions to the rule of the report.
"""

import csv
from pathlib import Path

import numpy as np
from scipy import stats

DATA = Path(__file__).parents[2] / "docs/data"  # tables of docs/how-we-decide.md
STUDIES = 20_000
LEVEL, MARGIN, FEWEST, ALIKE = 0.05, 0.1, 6, 20
SPREADS = (1, 2, 5, 20)  # of one side, times the other's
SEEDS = ((6, 6), (7, 7), (8, 8), (9, 9), (10, 10), (12, 12), (15, 15), (20, 20), (6, 10), (6, 20), (8, 20))


def normal(rng, *size, spread=0.2):
    """The spread is the standard deviation, as a share of 100."""
    return 100 * (1 + spread * rng.normal(size=size))


def uniform(rng, *size, spread=0.2):
    """With the same standard deviation."""
    return 100 * (1 + 3**0.5 * spread * rng.uniform(-1, 1, size))


def two_groups(rng, *size, spread=0.2):
    """Each run is in one of two groups, with the same chance."""
    return 100 * (1 + spread * rng.choice((-1.0, 1.0), size) * (1 + 0.05 * rng.normal(size=size)))


def heavy_tailed(rng, *size, spread=0.2):
    """Student's t with three degrees of freedom."""
    return 100 * (1 + 3**-0.5 * spread * rng.standard_t(3, size))


def bimodal(rng, *size, spread=0.05):
    """Three of ten runs fail."""
    return np.where(rng.random(size) < 0.3, 50.0, 850 / 7) * (1 + spread * rng.normal(size=size))


def lognormal(rng, *size, spread=0.5):
    """The spread is that of the logarithm."""
    return 100 * np.exp(spread * rng.normal(size=size) - spread**2 / 2)


def swimmer(rng, *size, spread=0.01):
    """One of ten runs of CEM on Swimmer ends at 85, the others near 354."""
    return np.where(rng.random(size) < 0.1, 85.0, 354.0) / 3.271 * (1 + spread * rng.normal(size=size))


SYMMETRIC = {  # about 100: mean, median and P(better) are equal
    "normal": normal,
    "uniform": uniform,
    "two groups": two_groups,
    "heavy-tailed": heavy_tailed,
}
SHAPES = {"normal": normal, "bimodal": bimodal, "log-normal": lognormal, "Swimmer": swimmer}
TIGHT = {"normal": 0.1, "bimodal": 0.02, "log-normal": 0.12, "Swimmer": 0.01}  # spreads that could look equivalent


def rank_p(x, y):
    """The larger p of the Mann-Whitney and Brunner-Munzel tests."""
    return np.fmax(stats.mannwhitneyu(x, y, axis=1, method="exact").pvalue, brunner_munzel_p(x, y))


def better(x, y):
    """The share of pairs in which x is above y."""
    return (x[:, :, None] > y[:, None, :]).mean(axis=(1, 2))


def brunner_munzel_p(x, y):
    """Of the placements, by Student's t (Brunner and Munzel 2000, section 4); NaN where all of a side are above."""
    (n, m), above = (x.shape[1], y.shape[1]), x[:, :, None] > y[:, None, :]
    first, second = above.mean(axis=2).var(axis=1, ddof=1) / n, above.mean(axis=1).var(axis=1, ddof=1) / m
    with np.errstate(all="ignore"):
        freedom = (first + second) ** 2 / (first**2 / (n - 1) + second**2 / (m - 1))
        statistic = (better(x, y) - 0.5) / np.sqrt(first + second)
    return 2 * stats.t.sf(np.where(first + second > 0, abs(statistic), np.nan), freedom)


def differ(x, y, tests=1):
    """Whether the ranks differ, at the first step of Holm's correction for so many tests."""
    return tests * rank_p(x, y) <= (0.015 if min(x.shape[1], y.shape[1]) < 10 else 0.025)


def alike(x, y, level):
    """Equivalence within a tenth of y's mean, scores reckoned from 0."""
    if min(x.shape[1], y.shape[1]) < ALIKE:
        return np.zeros(len(x), dtype=bool)
    width = MARGIN * y.mean(axis=1, keepdims=True)
    near = [(abs(side - side.mean(axis=1, keepdims=True)) <= 2 * width).all(axis=1) for side in (x, y)]
    above = stats.ttest_ind(x, (1 - MARGIN) * y, axis=1, equal_var=False, alternative="greater").pvalue
    below = stats.ttest_ind(x, (1 + MARGIN) * y, axis=1, equal_var=False, alternative="less").pvalue
    return near[0] & near[1] & (np.maximum(above, below) < level / 2)


def cases(x, y, tests=1):
    """The case of each study, where its comparison is the first of `tests` in Holm's procedure."""
    case = np.full(len(x), "undecided", dtype=object)
    if min(x.shape[1], y.shape[1]) < FEWEST:
        case[:] = "too few"
        return case
    case[alike(x, y, LEVEL / tests)] = "equivalent"
    differs = differ(x, y, tests)
    gap = (x.mean(axis=1) - y.mean(axis=1)) * np.sign(better(x, y) - 0.5)
    large = gap >= MARGIN * abs(y.mean(axis=1))
    case[differs & large], case[differs & ~large] = "decided", "ranks alone"
    return case


def worst_rate(draw, seeds, studies):
    """The largest share of comparisons of equal middles whose ranks differ, over spreads and both orders of sides."""
    rates = []
    for n, m in {seeds, seeds[::-1]}:
        for spread in SPREADS:
            rng = np.random.default_rng(1)
            x, y = draw(rng, studies, n), draw(rng, studies, m, spread=0.2 / spread)
            rates.append(differ(x, y).mean())
    return max(rates)


def family_rate(draw, seeds, spreads, tests, studies):
    """The share of studies of `tests` algorithms against one baseline, all equal, with any difference of ranks.

    `seeds` and `spreads` are those of each algorithm and of the baseline.
    """
    rng = np.random.default_rng(2)
    y = draw(rng, studies, seeds[1], spread=spreads[1])
    differs = [differ(draw(rng, studies, seeds[0], spread=spreads[0]), y, tests) for _ in range(tests)]
    return np.any(differs, axis=0).mean()  # Holm's first step: the others follow it


def one_comparison(studies=STUDIES):
    """By seeds and shape: the worst spreads."""
    rates = {seeds: [worst_rate(draw, seeds, studies) for draw in SYMMETRIC.values()] for seeds in SEEDS}
    return [["seeds", *SYMMETRIC], *(_row([_seeds(*seeds)], row) for seeds, row in rates.items())]


def families(studies=STUDIES):
    """By seeds and comparisons, where algorithms and baseline spread in these ratios; two groups apart."""
    ratios = ((1, 1), (1, 20), (5, 1), (20, 1))
    table = [["seeds", "comparisons", *(f"{a} : {b}" for a, b in ratios), "two groups"]]
    for seeds in ((6, 6), (7, 7), (8, 8), (9, 9), (10, 10), (15, 15), (20, 20), (8, 20), (20, 8)):
        for tests in (3, 6):
            rates = {
                name: [
                    family_rate(draw, seeds, (0.2 * a / max(a, b), 0.2 * b / max(a, b)), tests, studies)
                    for a, b in ratios
                ]
                for name, draw in SYMMETRIC.items()
            }
            groups = max(rates.pop("two groups"))
            table.append(_row([_seeds(*seeds), str(tests)], [*map(max, zip(*rates.values())), groups]))
    return table


def equivalence(studies=STUDIES):
    """Wrongly equivalent with 20 seeds: a true difference of one margin, and failures of one side."""
    rng = np.random.default_rng(3)
    table = [["scores", "20 seeds"]]
    for shape, draw in SHAPES.items():
        shares = []
        for factor in (1 - MARGIN, 1 + MARGIN):
            x, y = (draw(rng, studies, ALIKE, spread=TIGHT[shape]) for _ in range(2))
            shares.append((cases(factor * x, y) == "equivalent").mean())
        table.append(_row([f"{shape}, means differ by 10 %"], [max(shares)]))
    for share in (0.14, 0.2, 0.3):
        x = np.where(rng.random((studies, ALIKE)) < share, 0.25, 1.0) * normal(rng, studies, ALIKE, spread=0.01)
        case = cases(x, normal(rng, studies, ALIKE, spread=0.01))
        table.append(_row([f"{100 * share:.0f} % of one side's runs fail"], [(case == "equivalent").mean()]))
    return table


def unlike_shapes(studies=STUDIES):
    """Equal means of unlike shapes: how often runs of the shape truly score higher, and how often that is found."""
    rng = np.random.default_rng(5)
    table = [["scores", "true P", "found", "6 seeds", "10 seeds", "20 seeds"]]
    for shape, draw in SHAPES.items():
        true = (draw(rng, 1, 400_000) > normal(rng, 1, 400_000, spread=0.01)).mean()
        higher, lower = [], []
        for seeds in (6, 10, 20):
            x, y = draw(rng, studies, seeds), normal(rng, studies, seeds, spread=0.01)
            differs, above = differ(x, y), better(x, y) > 0.5
            higher.append((differs & above).mean())
            lower.append((differs & ~above).mean())
        table += [_row([shape, f"{true:.2f}", "higher"], higher), _row([shape, f"{true:.2f}", "lower"], lower)]
    return table


def power(studies=STUDIES):
    """The share of differences found between normal runs with one spread."""
    seeds = (6, 8, 10, 15, 20)
    table = [["standard deviations", *(f"{n} seeds" for n in seeds)]]
    for tests, words in ((1, ""), (3, ", one of three comparisons")):
        for shift in (1.0, 1.5, 2.0, 3.0):
            table.append(_row([f"{shift:g}{words}"], [power_rate(n, shift, tests, studies) for n in seeds]))
    return table


def power_rate(seeds, shift, tests, studies):
    """The share of studies that find a difference of `shift` standard deviations between normal runs."""
    rng = np.random.default_rng(8)
    x, y = rng.normal(shift, 1, (studies, seeds)), rng.normal(size=(studies, seeds))
    return differ(x, y, tests).mean()


def _seeds(n, m):
    return str(n) if n == m else f"{n} and {m}"


def _row(names, rates):
    return [*names, *(f"{100 * rate:.1f} %" for rate in rates)]


TABLES = (one_comparison, families, equivalence, unlike_shapes, power)


def file_of(table):
    """The file of a table."""
    return DATA / f"rates-{table.__name__.replace('_', '-')}.csv"


if __name__ == "__main__":
    for table in TABLES:
        with open(file_of(table), "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(table())
