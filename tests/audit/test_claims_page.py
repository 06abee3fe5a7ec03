"""The numbers of docs/claims.md that runs give, computed again from the stored runs, rows and tables."""

import csv
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks.claims_table import TABLE, claim_rows
from tests.audit.page_numbers import ROOT, mean_of

pytestmark = pytest.mark.data

CLAIMS, DATA = ROOT / "results" / "claims", ROOT / "erlbench" / "reporting"


def scores(folder, file="eval.csv"):
    """A file of all seeds of a folder below results/, in their order."""
    frames = [pd.read_csv(path, comment="#") for path in sorted((ROOT / "results").glob(f"{folder}/seed-*/{file}"))]
    assert frames, folder
    return frames


def finals(folder):
    return [float(rows.return_mean.iloc[-1]) for rows in scores(folder)]


def first_solved(folder, column="timesteps"):
    """Steps, or what `column` counts, of each run's first evaluation with the best return of the cyclic MDP."""
    return [int(rows[rows.return_mean >= 2000][column].iloc[0]) for rows in scores(folder)]


def curve_means(folder):
    """The mean of each run's curve from 100,000 to 800,000 steps."""
    return [mean_of(rows[rows.final != 1], 1e5, 8e5) for rows in scores(folder)]


def student(x):
    low, high = stats.t.interval(0.95, len(x) - 1, np.mean(x), stats.sem(x))
    return float(np.mean(x)), low, high


def welch(x, y, comparisons=1):
    interval = stats.ttest_ind(x, y, equal_var=False).confidence_interval(1 - 0.05 / comparisons)
    return float(np.mean(x) - np.mean(y)), interval.low, interval.high


def ratio(x, y, comparisons):
    return tuple(np.exp(welch(np.log(x), np.log(y), comparisons)))


def shown(numbers, digits=0, unit=""):
    middle, low, high = (f"{number:,.{digits}f}".replace("-", "−") for number in numbers)
    return f"{middle}{unit} [{low}, {high}]"


def listed(numbers):
    *first, last = (f"{number:,.0f}" for number in numbers)
    return f"{', '.join(first)} and {last}"


def wall_clock():
    cores, gpu = (pd.read_csv(CLAIMS / name / "rows.csv") for name in ("wall-clock", "wall-clock-gpu"))
    share = gpu.set_index("name").share_of_serial
    five, nine, barriers = (
        f"{share[name]:.2f}" for name in ("aes-rl", "aes-rl@w9", "p-cem-rl-b256@barriers")
    )  # of one seed
    yield f"takes {five} of serial CEM-RL's time with five workers and {nine} with nine, P-CEM-RL {barriers}"
    saved = {name: 100 * (1 - rows.share_of_serial) for name, rows in cores.groupby("name")}
    yield f"AES-RL saves {shown(student(saved['aes-rl']), unit=' %')} with five workers"
    yield f"and {shown(student(saved['aes-rl@w9']), unit=' %')} with nine"
    yield f"P-CEM-RL saves {shown(student(saved['p-cem-rl-b256@barriers']), unit=' %')}"
    yield f"a further {shown(welch(saved['aes-rl'], saved['p-cem-rl-b256@barriers']), unit=' percentage points')}"
    yield f"makes {cores[cores.name == 'aes-rl'].updates_a_step.mean():.2f} updates per step"


def cyclic_mdp():
    folder = "reference/cyclic-mdp/erlbench_CyclicMDP-v0/{}"
    es, ddpg, ppo = (first_solved(folder.format(name)) for name in ("es-n50", "ddpg", "ppo"))
    yield f"ES needs {listed(es)} steps to its first evaluation"
    yield f"DDPG needs {listed(ddpg)}, PPO {ppo[0]:,} in each run"
    assert set(ppo) == {2048}
    es, ddpg = (first_solved(folder.format(name), "episodes") for name in ("es-n50", "ddpg"))
    yield f"ES needs {listed(es)}, and DDPG {listed(ddpg)}"
    later = pd.concat([rows[rows.timesteps > 2048] for rows in scores(folder.format("ppo"))])
    yield f"{(later.return_mean < 2000).sum()} of {len(later):,} later evaluations lie below"
    longer = {name: first_solved(f"claims/long-horizons-2/erlbench_CyclicMDP-v0/{name}") for name in HORIZONS}
    assert longer["ppo-2000"] == [2048] * 10
    yield f"and ES after {min(longer['es-2000'])} to {max(longer['es-2000']):,}"
    means = {
        name: [rows.fitness_mean[:100].mean() for rows in scores(f"claims/mdp-sensitivity/*/{name}", "train.csv")]
        for name in ("sigma-0.025", "sigma-0.05", "sigma-0.1", "population-10", "population-20")
    }
    sigmas, populations = (
        np.ptp([values for name, values in means.items() if name.startswith((kind, "sigma-0.1"))], axis=0)
        for kind in ("sigma", "population")
    )
    yield f"varies by {sigmas.mean() - populations.mean():.0f} more"
    yield shown(welch(sigmas, populations)).partition(" ")[2]


HORIZONS = "ppo-2000", "es-2000"


def lander():
    both = {
        plan: {name: curve_means(f"claims/{plan}/*/{name}") for name in ("cma-es", "cma-es-diagonal", "openai-es")}
        for plan in ("cma-lander-2", "cma-lander")
    }
    assert {len(runs) for plan in both.values() for runs in plan.values()} == {10}
    later, earlier = (shown(welch(plan["cma-es"], plan["cma-es-diagonal"])) for plan in both.values())
    yield f"full less diagonal is {later}, and {earlier} with ten earlier seeds"
    earlier = both["cma-lander"]
    yield f"where CMA-ES leads OpenAI-ES by {shown(welch(earlier['cma-es'], earlier['openai-es']))}"


def returns_of_others(env, name):
    """After a million steps, of each seed."""
    rows = pd.read_csv(DATA / "reference_runs.csv.gz")
    rows = rows[(rows.source == "LQNew: QingLi implementation") & (rows.env == env) & (rows.algorithm == name)]
    series = [[np.array(text.split(), float) for text in row] for row in zip(rows.steps, rows.returns, strict=True)]
    return np.array([returns[np.abs(steps - 1e6).argmin()] for steps, returns in series])


def steps_of_trpo():
    table = pd.read_csv(DATA / "published.csv")
    trpo = table[(table.algorithm == "TRPO") & (table.table == "Table 3")].pivot(
        index="env", columns="statistic", values="value"
    )
    ratios = table[table.statistic == "timestep_ratio_100pct"].value.astype(float)
    yield f"needs {ratios.min():.2f} to {ratios.max():.2f} times TRPO's steps"
    ours, never = [], []
    for env, row in trpo.astype(float).iterrows():
        for rows in scores(f"reference/openai-es-trpo/{env}-v5*/openai-es"):
            reached = rows[rows.return_mean >= row.score_at_100pct].timesteps
            ours += [reached.iloc[0] / row.timesteps_to_100pct] if len(reached) else []
            never += [] if len(reached) else [(env, rows.timesteps.iloc[-1] // 10**6)]
    assert never == [("Hopper", 40), ("Walker2d", 40)]
    yield "one on Hopper and one on Walker2d never reach the score in 40 million steps"
    yield f"{len(ours)} need {min(ours):.2f} to {max(ours):.2f} times as many"


def beside_runs_of_others():
    ours = {"HalfCheetah": "HalfCheetah-v5", "Hopper": "Hopper-v5@paper", "Walker2d": "Walker2d-v5@paper",
            "Swimmer": "Swimmer-v5"}  # fmt: skip
    gaps, spreads = {}, {}
    for task, folder in ours.items():
        cem = np.array(finals(f"reference/cem/{folder}/cem"))
        for name in ("TD3", "SAC"):
            theirs = returns_of_others(f"{task}-v2", name)
            assert (len(cem), len(theirs)) == (10, 8)
            gaps[task, name] = welch(theirs, cem, 8)
            spreads[task, name] = (
                relative_std([theirs, cem]),
                *bootstrapped(relative_std, [theirs, cem], comparisons=8),
            )
    assert all(
        (low > 0, high < 0) == (task != "Swimmer", task == "Swimmer") for (task, _), (_, low, high) in gaps.items()
    )
    yield f"(by {-gaps['Swimmer', 'TD3'][0]:.0f} and {-gaps['Swimmer', 'SAC'][0]:.0f})"
    assert [key for key, (_, low, high) in spreads.items() if low > 0 or high < 0] == [("HalfCheetah", "SAC")]
    middle, low, high = spreads["HalfCheetah", "SAC"]
    yield f"SAC's coefficient of variation is {-middle:.2f} lower [{-high:.2f}, {-low:.2f}]"


def bootstrapped(statistic, samples, comparisons):
    """The percentile interval of 10,000 resamples within samples, with Hesterberg's expanded tails (2015)."""
    rng, smallest = np.random.default_rng(0), min(map(len, samples))
    draws = [sample[rng.integers(len(sample), size=(10_000, len(sample)))] for sample in samples]
    values = [statistic(rows) for rows in zip(*draws, strict=True)]
    quantile = stats.t.ppf(0.025 / comparisons, sum(map(len, samples)) - len(samples))
    tail = stats.norm.cdf(quantile * np.sqrt(smallest / (smallest - 1)))
    return tuple(np.quantile(values, [tail, 1 - tail]))


def relative_std(samples):
    first, second = (values.std(ddof=1) / abs(values.mean()) for values in samples)
    return float(first - second)


def frame_skips():
    runs = {skip: finals(f"claims/frame-skip/*/openai-es-skip-{skip}") for skip in (1, 2, 4, 8)}
    yield f"are {listed([float(np.mean(values)) for values in runs.values()])} with frame skips"
    yield f"8 less 4 is {shown(welch(runs[8], runs[4], 3))}"
    assert not any(abs(end) < 0.1 * np.mean(runs[4]) for skip in (1, 2, 8) for end in welch(runs[skip], runs[4], 3)[1:])


def papers_own_tables():
    rows = pd.read_csv(DATA / "published.csv").query("source == 'AES-RL paper'")
    values = rows.set_index(["table", "env", "algorithm", "statistic"]).value.astype(float)
    saved = {
        task: 1
        - values["Table 1", f"{task}-v2", "AES-RL parallel async W=5", "time_min"]
        / values["Table 1", f"{task}-v2", "P-CEM-RL parallel sync W=5", "time_min"]
        for task in ("HalfCheetah", "Walker2d", "Hopper")
    }
    yield f"({100 * saved['HalfCheetah']:.0f} % of P-CEM-RL's time on HalfCheetah)"
    yield f"({100 * saved['Walker2d']:.0f} % on Walker2d, {100 * saved['Hopper']:.0f} % on Hopper)"
    walker, cheetah = (values["Table 2", f"{task}-v2", :, "mean"] for task in ("Walker2d", "HalfCheetah"))
    yield f'"linear, fixed" ({walker["Linear+Fixed"]:,.0f}) lies below'
    yield f"the rank-based one ({walker['Oldest (rank-based async)']:,.0f})"
    yield f"so does (1+1)-ES ({walker['FullMove+SuccessRule ((1+1)-ES)']:,.0f})"
    yield f"scores {cheetah['Linear+Adaptive']:,.0f} with the adaptive variance and {cheetah['Linear+Fixed']:,.0f}"


def measured_once():
    rows = pd.read_csv(CLAIMS / "digits" / "rows.csv")
    es, gradient = (rows[rows.name == name] for name in ("openai-es", "backpropagation"))
    times, images, updates = (ratio(es[name], gradient[name], 3) for name in ("cpu_s", "images", "updates"))
    yield f"takes {shown(times, unit=' times')} the processor time"
    yield f"{shown(images, unit=' times')} the images and {shown(updates, 1, ' times')} the updates"
    rows = pd.read_csv(CLAIMS / "exploration" / "rows.csv")
    sides = dict(iter(rows.groupby(["env", "name"])))
    cheetah = [sides["HalfCheetah-v5", f"noise-in-{place}"] for place in ("parameters", "actions")]
    yield f"(a path of {cheetah[0].path.mean():.1f} m against {cheetah[1].path.mean():.1f} m on HalfCheetah)"
    for env, words in (("Swimmer-v5", "ahead by {} on Swimmer"), ("HalfCheetah-v5", "by {} on HalfCheetah")):
        first, second = (sides[env, f"noise-in-{place}"].straightness for place in ("parameters", "actions"))
        yield words.format(shown(welch(first, second, 2), 3))
    apart = pd.read_csv(CLAIMS / "gaits" / "rows.csv").groupby("name").mean_distance.mean()
    yield f"lie {apart['openai-es'] - apart['ppo']:.2f} [−0.64, 1.04] further apart"


def without_backpropagation():
    cost = {}
    for name, steps in (("openai-es", 40_000), ("ppo", 20_000), ("td3", 4_000)):
        runs = scores(f"claims/no-backpropagation/HalfCheetah-v5/{name}", "tasks.csv")
        assert {int(rows.timesteps.iloc[-1]) for rows in scores(f"claims/no-backpropagation/*/{name}")} == {steps}
        cost[name] = [1000 * rows[rows.kind != "evaluation"].cpu_s.sum() / steps for rows in runs]
    es, ppo, td3 = (np.exp(np.log(values).mean()) for values in cost.values())
    yield f"take {es:.3f} ms of processor time per training step of ES, {ppo:.2f} ms of PPO and {td3:.1f} ms of TD3"
    slower = [ratio(cost[name], cost["openai-es"], 2) for name in ("ppo", "td3")]
    yield f"{shown(slower[0], 1, ' times')} and {shown(slower[1], 0, ' times')}"
    yield f"A ratio {slower[1][0] / 3:.0f} times larger"


def table():
    number = Counter(pd.read_csv(TABLE)["Verdict"])
    some = f"{number['holds']} holds, {number['undecided']} is undecided, {number['too few seeds']} have too few seeds"
    yield f"Of {number.total()} sentences, {some}, and {number['not run']} were not run"


SECTIONS = (table, wall_clock, cyclic_mdp, lander, steps_of_trpo, beside_runs_of_others, frame_skips, papers_own_tables,
            measured_once, without_backpropagation)  # fmt: skip


@pytest.mark.parametrize("section", SECTIONS)
def test_the_sentences_hold_what_the_runs_give(section):
    phrases, text = list(section()), " ".join((ROOT / "docs" / "claims.md").read_text(encoding="utf-8").split())
    assert phrases
    assert [phrase for phrase in phrases if phrase not in text] == []


def test_the_table_has_what_the_stored_runs_answer():
    """`python -m benchmarks.claims_table` writes it."""
    with open(TABLE, encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == list(claim_rows())
