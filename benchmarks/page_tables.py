"""Tables and paragraphs of the results pages, computed from the stored runs: `<!-- computed: NAME -->` in a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from benchmarks.reference_comparisons import REFERENCE
from erlbench.reporting.data.published import load_published
from erlbench.reporting.data.seeds import single_run_std

BENCH = REFERENCE / "bench"
STOLEN = 5  # percent of the machine's time: a turn with more does not count
Numbers = Sequence[float]


def runs(folder: str, file: str = "eval.csv") -> list[pd.DataFrame]:
    """A file of all seeds of a folder below results/reference, in their order; `*` stands for any name."""
    found = [pd.read_csv(path, comment="#") for path in sorted(REFERENCE.glob(f"{folder}/seed-*/{file}"))]
    if not found:
        raise FileNotFoundError(f"no {file} in {folder}")
    return found


def nearest(folder: str, steps: float) -> list[pd.Series]:
    """The evaluation of each run that is nearest to a step, of two equally near ones the later."""
    return [rows.iloc[::-1].loc[(rows.timesteps.iloc[::-1] - steps).abs().idxmin()] for rows in runs(folder)]


def finals(folder: str) -> list[float]:
    """The mean return of each run's final evaluation."""
    return [float(rows.return_mean.iloc[-1]) for rows in runs(folder)]


def smoothed(folder: str, generation: int, window: int = 20) -> list[float]:
    """The mean of the last evaluations of each run at a generation, without the final one."""
    found = [rows.query("final != 1").set_index("generation") for rows in runs(folder)]
    return [float(rows.return_mean.rolling(window).mean().loc[:generation].iloc[-1]) for rows in found]


def minus(text: str) -> str:
    """With the sign of mathematics."""
    return re.sub(r"(?<!\w)-(?=\d)", "−", text)


def listed(values: Numbers, digits: int = 0) -> str:
    """Numbers, one by one."""
    return minus(", ".join(f"{value:,.{digits}f}" for value in values))


def spread(values: Numbers, digits: int = 0) -> str:
    """Mean and sample standard deviation."""
    return minus(f"{np.mean(values):,.{digits}f} ± {np.std(values, ddof=1):,.{digits}f}")


def table(header: str, align: str, rows: Iterator[Sequence[str]] | Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join([header, align, *(f"| {' | '.join(row)} |" for row in rows)])


def lander_one_episode() -> str:
    """The best fitness of a candidate, and the return of the saved policy."""
    plot = ['document\'s plot, "CMA 1ep"', "", "about −10"]
    rows = []
    for words, name in (("nevergrad's CMA", "cma-1ep"), ("pycma's CMA-ES", "cma-es-1ep")):
        folder = f"goodai-lander/*/{name}"
        best = [float(one.fitness_best.max()) for one in runs(folder, "train.csv")]
        rows.append([f"{words} (`{name}`)", listed(best), listed(finals(folder))])
    return table("| | best fitness | return |", "|---|---|---|", [*rows, plot])


LANDER = {
    "cma-1ep": ("nevergrad's CMA, 1 episode", "about −10"),
    "cma-5ep": ("nevergrad's CMA, 5 episodes", "about 270"),
    "es-1ep": ("nevergrad's ES, 1 episode", "about 65"),
    "es-5ep": ("nevergrad's ES, 5 episodes", "about 270"),
    "openai-es-1ep": ("OpenAI-ES, 1 episode (fresh starts, reports its mean)", "about 200"),
    "openai-es-5ep": ("OpenAI-ES, 5 episodes (fresh starts, reports its mean)", "about 270"),
    "openai-es-1ep-pop200": ("OpenAI-ES, 1 episode, population 200 (the same)", "about 250"),
    "cma-es-1ep": ("pycma's CMA-ES, 1 episode (fresh starts, reports its mean)", "not in the document"),
    "cma-es-5ep": ("pycma's CMA-ES, 5 episodes (fresh starts, reports its mean)", "not in the document"),
}


def lander() -> str:
    """Returns at generation 280, smoothed over 20 evaluations; the last column is read off the document's plot."""
    rows = [
        [words, listed(found := smoothed(f"goodai-lander/*/{name}", 280)), listed([float(np.mean(found))]), plot]
        for name, (words, plot) in LANDER.items()
    ]
    return table("| | runs, one by one | mean | document's plot |", "|---|---|---:|---:|", rows)


PENDULUM = {
    "cma-5ep-lstm": ("nevergrad's CMA, 5 episodes", 680, "about −480"),
    "cma-30ep-lstm": ("nevergrad's CMA, 30 episodes", 680, "about −335 (best run −225, worst −630)"),
    "es-5ep-lstm": ("nevergrad's ES, 5 episodes", 560, "about −745"),
    "openai-es-10ep-lstm": ("OpenAI-ES, 10 episodes", 680, "about −745"),
    "openai-es-5ep-pop200-lstm": ("OpenAI-ES, 5 episodes, population 200", 680, "about −720"),
}


def pendulum() -> str:
    """Returns at the generation of the document's plot, smoothed over 20 evaluations."""
    rows = [
        [words, str(at), listed(smoothed(f"goodai-pendulum/*/{name}", at)), plot]
        for name, (words, at, plot) in PENDULUM.items()
    ]
    return table("| | generation | runs, one by one | document's plot |", "|---|---:|---|---:|", rows)


def esac_lander() -> str:
    """ESAC, its evolution alone, and other people's SAC on the lander."""
    rows = []
    for words, name in (("ESAC", "esac"), ("its evolution alone, OpenAI-ES with its settings", "openai-es@esac")):
        found = runs(folder := f"esac-lander/*/{name}")
        first, last = [rows.iloc[0].return_mean for rows in found], [rows.iloc[-1] for rows in found]
        updates, steps = ([float(one[column]) for one in last] for column in ("critic_updates", "timesteps"))
        rows.append([f"{words} (`{name}`)", listed(first), listed(finals(folder)), listed(updates), listed(steps)])
    (others,) = [
        one for one in load_published().references.sets
        if (one.env, one.algorithm) == ("LunarLanderContinuous-v2", "SAC")
    ]  # fmt: skip
    for at in (100_000, 200_000):
        scores = [*map(float, others.at(at))]
        words = f"SAC, {others.source.name}, {len(scores)} seeds, behaviour policy"
        rows.append([words, "", spread(scores), f"{at:,}", f"{at:,}"])
    return table("| | before learning | at the end | critic updates | training steps |", "|---|---|---|---|---|", rows)


def ant() -> str:
    """The mean of the last 20 evaluations at three generations."""
    rows = [
        [str(at), listed(smoothed("goodai-ant/*/openai-es-1ep-pop100", at)), plot]
        for at, plot in ((20, "340"), (40, "380"), (60, "410"))
    ]
    return table("| generation | runs, one by one | document's plot |", "|---:|---|---:|", rows)


def cyclic() -> str:
    """The first evaluation of 2,000 in all its episodes, and how many later ones are below."""
    rows = []
    for name, words in (("es-n50", "ES, population 50"), ("ddpg", "DDPG"), ("ppo", "PPO")):
        first, later, below, many = [], [], 0, 0
        for run in runs(f"cyclic-mdp/*/{name}"):
            solved = run.returns.astype(str).str.split().map(lambda all_: min(map(float, all_)) >= 2000)
            start = run[solved].iloc[0]
            after = run.index > start.name
            first.append(start.timesteps)
            later.append(start.episodes)
            below, many = below + int((~solved[after]).sum()), many + int(after.sum())
        rows.append([words, listed(first), listed(later), f"{below} of {many:,}"])
    return table(
        "| | steps to the first solved evaluation | episodes to it | later evaluations below 2000 |",
        "|---|---:|---:|---:|",
        rows,
    )


def halfcheetah_300k() -> str:
    """The evaluations nearest to 300,000 steps."""
    rows = []
    folders = {
        "cem-rl": ["halfcheetah-300k", "halfcheetah"], "aes-rl": ["halfcheetah-300k"], "sac": ["halfcheetah"],
        "td3": ["halfcheetah"], "cem": ["cem"], "erl": ["halfcheetah-300k"], "openai-es": ["openai-es-trpo"],
        "esac": ["halfcheetah-300k"],
    }  # fmt: skip
    for name, places in folders.items():
        found = [[one.return_mean for one in nearest(f"{place}/HalfCheetah-v5/{name}", 3e5)] for place in places]
        kernels = " (two kernels)" if len(found) > 1 else ""
        mean, std = np.mean(found), single_run_std(list(np.transpose(found)))
        rows.append([f"`{name}`{kernels}", "; ".join(map(listed, found)), minus(f"{mean:,.0f} ± {std:,.0f}")])
    return table("| | runs, one by one | mean ± std of a run |", "|---|---|---:|", rows)


def halfcheetah_100k() -> str:
    """The evaluations nearest to 100,000 steps, with the updates until then."""
    folders = {
        "sac": "halfcheetah", "cem-rl": "halfcheetah-300k", "td3": "halfcheetah",
        "aes-rl@fixed-ratio": "halfcheetah-100k", "aes-rl": "halfcheetah-100k", "erl": "halfcheetah-300k",
        "esac": "halfcheetah-300k",
    }  # fmt: skip
    rows = []
    for name, place in folders.items():
        found = nearest(f"{place}/HalfCheetah-v5/{name}", 1e5)
        updates = [np.mean([one[column] / one.timesteps for one in found]) for column in UPDATES]
        returns = [one.return_mean for one in found]
        digits = int(max(map(abs, returns)) < 10)
        per_step = ", ".join(f"{value:.2f}" if value else "0" for value in updates)
        rows.append([f"`{name}`", listed(returns, digits), spread(returns, digits), per_step])
    return table("| | runs, one by one | mean ± std | critic and actor updates a step |", "|---|---|---:|---:|", rows)


UPDATES = ("critic_updates", "actor_updates")


COMPUTED: dict[str, Callable[[], str]] = {
    "ant": ant,
    "cyclic": cyclic,
    "esac-lander": esac_lander,
    "halfcheetah-100k": halfcheetah_100k,
    "halfcheetah-300k": halfcheetah_300k,
    "lander": lander,
    "lander-one-episode": lander_one_episode,
    "pendulum": pendulum,
}
