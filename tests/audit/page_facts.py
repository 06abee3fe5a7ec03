"""The sentences of the results pages: phrases with numbers, computed from the stored runs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from erlbench.reporting.statistics.significance import Summary
from tests.audit.page_numbers import (
    CEM,
    PAPER,
    PRINTED,
    above_later,
    beside_the_paper,
    cem,
    finals,
    first_above,
    listed,
    mean_curve,
    mean_of,
    millions,
    minus,
    nearest,
    per_step,
    runs,
    smoothed,
    span,
    spread,
    table_rows,
    thousands,
    used,
    variance,
)


def cem_on_six_tasks() -> Iterator[str]:
    envs = ("HalfCheetah-v5", "Walker2d-v5@paper")
    far, near = ([beside_the_paper(env, name) for env in envs] for name in (PRINTED, CEM))
    yield f"p = {far[0]:.0e} and {far[1]:.0e}".replace("e-0", "e-")
    yield f"({near[0]:.2f} and {near[1]:.2f})"
    ratios = {env: np.std(finals(cem(env)), ddof=1) / paper[1] for env, paper in PAPER.items()}
    assert [round(ratios[env]) for env in ("HalfCheetah-v5", "Walker2d-v5@paper")] == [3, 5]
    yield f"and {ratios['Hopper-v5@paper']:.1f} on Hopper"
    yield f"(ratio {ratios['HalfCheetah-v5'] / np.sqrt(10):.2f})"
    swimmer = finals(cem("Swimmer-v5"))
    late = int(np.argmin(swimmer))
    others = [score for seed, score in enumerate(swimmer) if seed != late]
    yield f"seed {late} of `cem` ends at {min(swimmer):.0f}"
    yield f"the other nine score {span(others)}"
    assert max([*swimmer, *finals(cem("Swimmer-v5", PRINTED))]) < 361
    early, late = (span(np.round(first_above(cem("Hopper-v5@paper", name), 950), -3)) for name in (CEM, PRINTED))
    yield f"first pass 950 after {early} steps, those of the other after {late}"
    hopper = sorted(finals(cem("Hopper-v5@paper", PRINTED)))
    yield f"end higher ({listed(hopper[-2:])}), one lower ({hopper[0]:,.0f})"
    walker = finals(cem("Walker2d-v5@paper"))
    never = runs(cem("Walker2d-v5@paper"))[int(np.argmin(walker))].return_mean.max()
    assert never < 400
    yield f"ends at {min(walker):.0f} and never passed 400 (seed {int(np.argmin(walker))})"
    yield f"The other nine score {span(sorted(walker)[1:])}"
    best = [one.return_mean.max() for one in runs(cem("Walker2d-v5@paper", PRINTED))]
    assert mean_curve(cem("Walker2d-v5@paper", PRINTED)).return_mean.max() < 400
    assert sum(score > 400 for score in best) == 5 - (sorted(best)[-5] < 400)
    yield f"up to {max(best):.0f}"
    curve = mean_curve(cem("HalfCheetah-v5", PRINTED))
    lowest = curve.loc[curve.return_mean.idxmin()]
    yield minus(f"falls to {lowest.return_mean:.0f} after {lowest.timesteps:,.0f} steps")
    above = curve.timesteps[curve.return_mean <= 0].max() + 20_000
    yield f"above 0 again from {above:,.0f} on"
    for name, words in ((PRINTED, "{0:.4f}, {1:.4f} and {2:.4f}"), (CEM, "{0:.4f}, {1:.5f} and {2:.5f}")):
        yield words.format(*(variance(cem("HalfCheetah-v5", name), at) for at in (20_000, 200_000, 1_000_000)))


def cem_on_ant_and_humanoid() -> Iterator[str]:
    ant = runs(cem("Ant-v5@paper"))
    yield f"({span([one.return_mean.iloc[1] for one in ant])} in the ten runs)"
    lost = [one.return_mean.iloc[1] - one.return_mean.rolling(5).mean().iloc[5:].min() for one in ant]
    yield f"loses {span(np.round(lost, -1))} (means of five evaluations)"
    means = ant[3].return_mean.rolling(5).mean()
    yield f"ends at {finals(cem('Ant-v5@paper'))[3]:.0f}, the lowest of the ten"
    assert min(finals(cem("Ant-v5@paper"))) == finals(cem("Ant-v5@paper"))[3]
    yield f"from {means[20:35].max():.0f} to {means[35:].min():.0f}"
    costs = finals(CONTACTS)
    yield f"three runs end at {listed(costs)} ({spread(costs)}), and the published mean lies within their range"
    assert min(costs) < 487 < max(costs)
    lengths = {
        name: [np.mean([float(steps) for steps in one.lengths.iloc[-1].split()]) for one in runs(cem(HUMANOID, name))]
        for name in (CEM, PRINTED)
    }
    yield f"fall after {span(lengths[CEM])} steps, those of the other after {span(lengths[PRINTED])} steps"
    first = [one.return_mean.iloc[1] for one in runs(cem(HUMANOID))]
    yield f"are at {span(first)} already (mean {np.mean(first):.0f})"
    yield f"their mean is {np.mean([one.return_mean for one in nearest(cem(HUMANOID), 200_000)]):.0f}"
    yield f"({span([one.return_mean.iloc[1] for one in runs(cem(HUMANOID, PRINTED))])}) and ends lower"
    yield f"bring nothing ({np.mean(finals(cem(HUMANOID))):.0f})"


HUMANOID, CONTACTS = "Humanoid-v5@paper", "cem/Ant-v5@paper-mujoco-1.50/cem"


def halfcheetah_after_a_million() -> Iterator[str]:
    scores = {name: finals(f"halfcheetah/HalfCheetah-v5/{name}") for name in ("td3", "sac", "cem-rl")}
    yield f"above the paper's mean, by {listed([score - 10_725 for score in scores['cem-rl']])}"
    yield f"its mean is {np.mean(scores['td3']) - 9_630:,.0f} above the paper's TD3"
    rates = {name: per_step(f"halfcheetah/HalfCheetah-v5/{name}", 1e6) for name in ("cem-rl", "td3")}
    yield f"ten times as many actor updates a step as TD3 ({rates['cem-rl'][1]:.2f} and {rates['td3'][1]:.2f})"
    alone = [one.train_time_s.iloc[-1] / 60 for one in runs("halfcheetah/HalfCheetah-v5/cem-rl")][:2]
    (minutes,) = {round(one) for one in alone}
    yield f"little beside them: {minutes} minutes a run"
    theirs = other_people()
    assert all(np.mean(scores["td3"]) > mean for mean in theirs["td3"])
    assert len(theirs["td3"]) == 5
    assert len(theirs["sac"]) == 4
    assert min(theirs["sac"]) < np.mean(scores["sac"]) < max(theirs["sac"])
    curves = {name: mean_curve(f"halfcheetah/HalfCheetah-v5/{name}")[:100] for name in scores}
    gaps = {name: curves["cem-rl"].return_mean - curves[name].return_mean for name in ("td3", "sac")}
    steps = curves["td3"].timesteps
    both = pd.DataFrame(gaps)
    below, above = (both < 0).all(axis=1), (both > 0).all(axis=1)
    assert below[(steps >= 40_000) & (steps <= 120_000)].all()
    assert above[(steps >= 230_000) & (steps <= 460_000)].all()
    window = both[(steps >= 230_000) & (steps <= 460_000)]
    at = window.max(axis=1).idxmax()
    assert window.loc[at].idxmax() == "td3"
    yield f"by at most {window.max().max():,.0f} (over TD3, at {steps[at]:,.0f})"
    late = both[steps >= 400_000].abs().max().max()
    yield f"from 400,000 on within {late:,.0f} of both"


def other_people() -> dict[str, list[float]]:
    """The means of each source that the computed table has, by algorithm."""
    found: dict[str, list[float]] = {}
    for first, *_, mean, _ in table_rows("reference-results", "| | task | runs | mean ± std | median |"):
        if first.startswith("**"):
            name = first.split("`")[1]
        else:
            found.setdefault(name, []).append(float(mean.split(" ± ")[0].replace(",", "")))
    return found


def halfcheetah_after_300_000() -> Iterator[str]:
    steps = {
        name: int(np.mean([one.timesteps for one in nearest(f"{folder}/HalfCheetah-v5/{name}", 3e5)]))
        for name, folder in (("erl", H300), ("aes-rl", H300), ("esac", H300), ("openai-es", TRPO))
    }
    yield f"ERL's evaluations are after {steps['erl']:,} steps, AES-RL's after {steps['aes-rl']:,}"
    yield f"ESAC's after {steps['esac']:,}, and OpenAI-ES's after {steps['openai-es']:,}"
    cem_rl, td3 = (
        per_step(f"{folder}/HalfCheetah-v5/{name}", 3e5) for folder, name in ((H300, "cem-rl"), (H1M, "td3"))
    )
    yield f"actor updates a step as TD3 ({cem_rl[1]:.2f} and {td3[1]:.2f})"
    yield f"critic updates ({cem_rl[0]:.2f} and {td3[0]:.2f})"
    aes = f"{H300}/HalfCheetah-v5/aes-rl"
    early, middle = ([one.return_mean for one in nearest(aes, at)] for at in (1e5, 2e5))
    yield f"are at {listed(early)} after 100,000 steps and at {listed(middle)} after 200,000"
    rates = per_step(aes, 3e5)
    yield f"AES-RL makes {rates[0]:.2f} critic and {rates[1]:.2f} actor updates a step"
    yield f"in both seeds, with {used(aes):.1f} times the simulator steps"
    (fitness,) = {int(one.fitness_timesteps.iloc[-1]) for one in runs(aes)}
    yield f"plays {fitness:,} steps with its mean"
    for name, folder in (("ESAC", f"{H300}/HalfCheetah-v5/esac"), ("OpenAI-ES", f"{TRPO}/HalfCheetah-v5/openai-es")):
        (played,) = {int(one.generation) for one in nearest(folder, 3e5)}
        yield f"**{name}** has played {played} generations"
    erl = f"{H300}/HalfCheetah-v5/erl"
    yield f"ERL** makes {per_step(erl, 3e5)[0]:.2f} updates a step"
    others = [one.return_mean for name in ("td3", "sac") for one in nearest(f"{H1M}/HalfCheetah-v5/{name}", 3e5)]
    its = [one.return_mean for one in nearest(erl, 3e5)]
    yield f"is at {100 * np.mean(its) / np.mean(others):.0f} % of their scores"
    updates = [one.critic_updates.iloc[-1] for one in runs(f"{H300}/HalfCheetah-v5/esac")]
    yield f"{int(np.mean(updates)):,} updates in all"


H300, H1M, H100, TRPO = "halfcheetah-300k", "halfcheetah", "halfcheetah-100k", "openai-es-trpo"


def halfcheetah_after_100_000() -> Iterator[str]:
    aes, fixed = (f"{H100}/HalfCheetah-v5/{name}" for name in ("aes-rl", "aes-rl@fixed-ratio"))
    ends = [int(one.timesteps.iloc[-1]) for folder in (aes, fixed) for one in runs(folder)]
    yield f"after {span(ends)} steps"
    yield f"are at {listed([one.return_mean for one in nearest(f'{H1M}/HalfCheetah-v5/cem-rl', 1e5)])} here"
    played = {int(round(one.fitness_timesteps.iloc[-1], -4)) for one in runs(aes)}
    yield f"{played.pop():,} steps in all"
    rates = {name: per_step(folder, 1e5)[0] for name, folder in
             (("aes", aes), ("fixed", fixed), ("cem-rl", f"{H300}/HalfCheetah-v5/cem-rl"))}  # fmt: skip
    yield f"The modelled times give it {rates['aes']:.2f}"
    critic = {name: np.mean([one.critic_updates for one in nearest(folder, 1e5)]) for name, folder in
              (("fixed", fixed), ("cem-rl", f"{H300}/HalfCheetah-v5/cem-rl"))}  # fmt: skip
    yield f"{100 * (critic['fixed'] / critic['cem-rl'] - 1):.0f} % more than CEM-RL has made here"
    minutes = {name: [one.train_time_s.iloc[-1] / one.timesteps.iloc[-1] / 60 * 1e6 for one in runs(folder)]
               for name, folder in (("aes", aes), ("fixed", fixed))}  # fmt: skip
    yield f"{np.median(minutes['fixed']) / np.median(minutes['aes']):.1f} times the modelled time"
    yield f"{span(minutes['fixed'])} minutes a million steps, and {np.median(minutes['aes']):.0f}"
    at = round(float(np.median([one.train_time_s.iloc[-1] / 60 for one in runs(fixed)])), 1)
    scores = [np.interp(at, one.train_time_s / 60, one.return_mean) for one in runs(f"{H300}/HalfCheetah-v5/aes-rl")]
    yield f"after {at:.1f} minutes the two runs of `aes-rl` are at {listed(scores)}"
    last = runs(fixed)[0].return_mean.iloc[-2:]
    yield f"one jump of the last evaluation ({' to '.join(thousands(last))} in seed 0)"
    late = [
        [rows[rows.timesteps > 50_000].f_mean.mean() for rows in runs(folder, "train.csv")] for folder in (fixed, aes)
    ]
    yield f"have returns of {listed(late[0])} in the second half of the training, those of the others {listed(late[1])}"
    trains = runs(aes, "train.csv")
    worse = [rows.f_z < rows.f_mean for rows in trains]
    assert {len(rows) for rows in trains} == {90}
    yield f"{listed([one.sum() for one in worse])} were by an individual with a lower return"
    for part, words in ((True, "a median of {}, {} and {}"), (False, "the others has {}, {} and {}")):
        yield words.format(*(f"{rows.p[one == part].median():.2f}" for rows, one in zip(trains, worse, strict=True)))


def openai_es() -> Iterator[str]:
    folder = "openai-es-trpo/{}/openai-es"
    yield f"On HalfCheetah the three runs end at {listed(finals(folder.format('HalfCheetah-v5')))}"
    double = folder.format("InvertedDoublePendulum-v5@paper")
    yield f"On InvertedDoublePendulum they end at {listed(finals(double))}"
    yield f"9,104 after {span(np.round(first_above(double, 9104.07), -3))} steps"
    later = [one.query("timesteps > 1e6").return_mean for one in runs(double)]
    yield f"{listed([100 * (one < 9104.07).mean() for one in later])} % are below it again"
    swimmer = folder.format("Swimmer-v5")
    passed = listed(np.round(first_above(swimmer, 128.25), -4))
    yield f"pass 128 after {passed} steps and end at {listed(finals(swimmer))}"
    hopper = folder.format("Hopper-v5@paper")
    for score, words in ((1718.16, "pass 1,718 after"), (2561.11, "pass 2,561 after")):
        yield f"{words} {millions(first_above(hopper, score)).removesuffix(' million')}"
    yield f"Seeds 1 and 2 pass 3,403 after {millions(first_above(hopper, 3403.46)[1:])}"
    yield above_later(hopper, 3403.46, [1, 2])
    yield f"they end at {listed(finals(hopper)[1:])}"
    yield f"never passes 3,403 and ends at {finals(hopper)[0]:,.0f}"
    walker = folder.format(W2)
    yield f"pass 958 after {millions(first_above(walker, 957.68), 2)} steps"
    yield f"1,916 after {millions(first_above(walker, 1915.97))}"
    yield f"2,873 after {millions(first_above(walker, 2872.81))}"
    yield f"Seeds 0 and 1 pass 3,830 after {millions(first_above(walker, 3830.03)[:2])}"
    yield above_later(walker, 3830.03, [0, 1])
    yield f"they end at {listed(finals(walker)[:2])}. Seed 2 never passes it and ends at {finals(walker)[2]:,.0f}"
    earlier = "openai-es-10m/{}/openai-es"
    passed = first_above(earlier.format("Hopper-v5@paper"), 2561.11)
    ends = finals(earlier.format("Hopper-v5@paper"))
    yield f"Seeds 0 and 2 pass 2,561 there after {millions(passed[::2])} steps and end at {listed(ends[::2])}"
    (passed,), (end,) = (
        of(earlier.format("Walker2d-v5@paper")) for of in (lambda one: first_above(one, 957.68), finals)
    )
    here = nearest(walker, 1e7)[0].return_mean
    yield f"passes 958 after {passed / 1e6:.2f} million steps and ends at {end:,.0f}"
    yield f"this one is at {here:,.0f} there"
    yield from ratios_to_the_paper()
    many = "openai-es-settings/HalfCheetah-v5/population-400"
    near, far = (millions(first_above(many, score)) for score in (793.55, 2385.79))
    yield f"after {near} steps and the last one after {far}"
    yield f"score there after {far.removesuffix(' million')}"
    first = "openai-es-first-settings/HalfCheetah-v5/openai-es-first"
    yield f"learns nothing on HalfCheetah: {listed(finals(first))} after five million steps"
    fitness = [one.fitness_mean.iloc[0] for one in runs(first, "train.csv")]
    yield f"fell from {listed(fitness)} in the first one"
    (last,) = {round(one.fitness_mean.iloc[-1], -2) for one in runs(first, "train.csv")}
    yield minus(f"to about {last:,.0f} in the last one")


W2 = "Walker2d-v5@paper"


TO_TRPO = "| task | share | score | ours | ratio | paper's OpenAI-ES | ratio |"


def ratios_to_the_paper() -> Iterator[str]:
    """Our steps divided by those of the paper's ES, of the computed table."""
    found: dict[str, list[float]] = {}
    env = ""
    for cells in table_rows("reference-results", TO_TRPO):
        env = cells[0] or env
        ours, theirs = (float(cells[number].replace(",", "")) for number in (3, 5))
        found.setdefault(env.partition("-")[0], []).append(ours / theirs)
    last = [found[name][-1] for name in ("HalfCheetah", "InvertedPendulum", "InvertedDoublePendulum", "Swimmer")]
    yield f"to TRPO's score {min(last):.2f} to {max(last):.2f} of them on the four tasks"
    first, *others = (f"{ratio:.2f}" for ratio in found["Hopper"])
    yield f"on Hopper {others[0]}, {others[1]} and {others[2]} of them to 50, 75 and 100 % (but {first} to 25 %)"
    walker = [f"{ratio:.2f}" for ratio in found["Walker2d"]]
    yield f"on Walker2d {', '.join(walker[:-1])} and {walker[-1]} of them to 25, 50, 75 and 100 %"


LANDER = {"cma-1ep": -10, "cma-5ep": 270, "es-1ep": 65, "es-5ep": 270, "openai-es-1ep": 200}  # the document's plot
PENDULUM = {
    "cma-5ep-lstm": 680,
    "cma-30ep-lstm": 680,
    "es-5ep-lstm": 560,
    "openai-es-10ep-lstm": 680,
    "openai-es-5ep-pop200-lstm": 680,
}  # the generation that the plot is read at
AT_100K = {"halfcheetah": ("sac", "td3"), "halfcheetah-300k": ("cem-rl", "erl"),
           "halfcheetah-100k": ("aes-rl@fixed-ratio", "aes-rl")}  # fmt: skip


def rows_of_tables() -> Iterator[str]:
    """Parts of rows of reference-results.md: the runs, one by one, and their mean."""
    for name in LANDER:
        found = smoothed(f"goodai-lander/*/{name}", 280)
        yield f"| {', '.join(thousands(found))} | {thousands([float(np.mean(found))])[0]} |"
    for name, at in PENDULUM.items():
        yield f"| {at} | {', '.join(thousands(smoothed(f'goodai-pendulum/*/{name}', at)))} |"
    for at in (20, 40, 60):
        yield f"| {at} | {', '.join(thousands(smoothed('goodai-ant/*/openai-es-1ep-pop100', at)))} |"
    for folder, names in AT_100K.items():
        for name in names:
            place = f"{folder}/HalfCheetah-v5/{name}"
            found, updates = [one.return_mean for one in nearest(place, 1e5)], per_step(place, 1e5)
            yield (
                f"| `{name}` | {', '.join(thousands(found))} | {spread(found)} | "
                f"{', '.join(f'{rate:.2f}' for rate in updates)} |"
            )


def cyclic_and_goodai() -> Iterator[str]:
    solved = [one.loc[one.return_mean >= 2000, "generation"].iloc[0] for one in runs("cyclic-mdp/*/es-n50")]
    yield f"ours needs {listed(solved)} of them"
    best = [one.fitness_best.max() for one in runs("goodai-lander/*/cma-1ep", "train.csv")]
    yield f"best candidates of {span(best)}, and these return {span(smoothed('goodai-lander/*/cma-1ep', 280))}"
    yield f"episodes are {listed(finals('goodai-lander/*/openai-es-1ep'))}"
    ours = {name: np.mean(smoothed(f"goodai-lander/*/{name}", 280)) for name in LANDER}
    gain = {name: round(ours[name]) - plot for name, plot in LANDER.items()}
    yield f"ours are better (CMA by {gain['cma-1ep']:.0f}, ES by {gain['es-1ep']:.0f}, OpenAI-ES"
    yield f"a population of 20 by {gain['openai-es-1ep']:.0f}"
    behind = sorted(-gain[name] for name in ("cma-5ep", "es-5ep"))
    yield f"CMA and ES end {behind[0]:.0f} to {behind[1]:.0f} lower"
    yield minus(f"one run of CMA that stays at {min(smoothed('goodai-lander/*/cma-5ep', 280)):.0f}")
    one, five = (np.mean(smoothed(f"goodai-lander/*/cma-es-{n}ep", 280)) for n in (1, 5))
    yield f"CMA-ES ends at {one:.0f} with one episode and at {five:.0f} with five"
    ant = smoothed("goodai-ant/*/openai-es-1ep-pop100", 60)
    yield f"return {listed(ant)} after 60 generations, in the mean {np.mean(ant):.0f}"
    (length,) = {f"{one.timesteps.iloc[-1] / 1e6:.1f}" for one in runs("goodai-ant/*/openai-es-1ep-pop100")}
    yield f"A run has {length} million steps"
    yield f"The final evaluations of 50 episodes are {listed(finals('goodai-ant/*/openai-es-1ep-pop100'))}"
    es, cma = (smoothed(f"goodai-pendulum/*/{name}", at) for name, at in (("es-5ep-lstm", 560), ("cma-5ep-lstm", 680)))
    many, few = ({round(one.timesteps.iloc[-1] / 1e6) for one in runs(f"goodai-pendulum/*/{name}")}
                 for name in ("cma-30ep-lstm", "cma-5ep-lstm"))  # fmt: skip
    yield f"({many.pop()} and {few.pop()} million)"
    apart = [max(found) - min(found) for found in (es, cma, smoothed("goodai-pendulum/*/cma-30ep-lstm", 680))]
    yield f"differ by {min(apart):.0f} to {max(apart):.0f}, so three say little"
    yield f"({spread(es)} at generation 560, and {spread(cma)} at 680)"


def esac_on_the_lander() -> Iterator[str]:
    folder = "esac-lander/*/esac"
    alone = finals("esac-lander/*/openai-es@esac")
    assert all(one.return_mean.iloc[-1] > max(one.return_mean.iloc[0], *alone) for one in runs(folder))
    hours = [one.total_time_s.iloc[-1] / 3600 for one in runs(folder)]
    yield f"took {min(hours):.1f} to {max(hours):.1f} hours"
    last = [one.iloc[-1] for one in runs(folder, "train.csv")]
    sac, mean = (listed([one[column] for one in last]).replace(", ", " and ") for column in ("score_sac", "score_es"))
    yield f"scores {sac.replace(' and ', ', ', 1)} in ten episodes"
    yield f"the mean of the 50 members {mean.replace(' and ', ', ', 1)} ("
    assert all(one.reports_sac for one in last)
    yield "so each run reports SAC's"
    assert all(0 <= one.sac_timesteps - one.critic_updates < 300 for one in last)
    updates = sorted(round(one.critic_updates, -3) for one in last)
    yield f"for each of its own {updates[0]:,.0f} to {updates[-1]:,.0f} steps"
    share = [1 - one.sac_timesteps / one.timesteps for one in last]
    assert 0.9 < min(share) < max(share) < 0.95
    yield "nine tenths of the steps"


def results_so_far() -> Iterator[str]:
    final = {name: finals(f"{H1M}/HalfCheetah-v5/{name}") for name in ("td3", "sac", "cem-rl")}
    yield f"three runs do not tell: {listed([np.mean(final['td3']), np.mean(final['sac'])])} on HalfCheetah"
    yield f"three runs do not tell: {spread(final['cem-rl'])} on HalfCheetah"
    lander = finals("goodai-lander/*/cma-es-1ep")
    yield f"all runs with one episode end above {math.floor(min(lander))}"
    ant = np.mean(smoothed("goodai-ant/*/openai-es-1ep-pop100", 60))
    yield f"after 60 generations {ant:.0f} beside 410"
    swimmer = sorted(finals(cem("Swimmer-v5")))
    yield f"ends at {swimmer[0]:.0f} and nine at {span(swimmer[1:])}"
    reach = {}
    for env, paper in PAPER.items():
        gap = Summary.of(finals(cem(env))).minus(Summary(*paper, runs=10))
        reach[env] = 100 * max(map(abs, gap[1:])) / paper[0]
    yield f"On HalfCheetah the interval reaches up to {reach['HalfCheetah-v5']:.0f} % to a side"
    yield f"on Walker2d up to {reach['Walker2d-v5@paper']:.0f} %"
    assert reach["Hopper-v5@paper"] < 10 < min(reach["HalfCheetah-v5"], reach["Walker2d-v5@paper"])
    yield f"failures of up to {100 * (1 - 0.05 ** (1 / 10)):.0f} % of the runs may have been missed"
    curves = {
        name: [
            mean_of(one.query("final != 1"), 230_000, 290_000)
            for folder in places
            for one in runs(f"{folder}/HalfCheetah-v5/{name}")
        ]
        for name, places in (("cem-rl", (H300, H1M)), ("td3", (H1M,)))
    }
    lowest, *others = sorted(curves["cem-rl"])
    assert (len(others), len(curves["td3"])) == (5, 3)
    assert lowest < min(curves["td3"]) < max(curves["td3"]) < min(others)
    yield f"Five of them score {span(others)}, above all three of TD3 ({span(curves['td3'])})"
    yield f"the sixth scores {lowest:,.0f}, below all of TD3"
    batches = [np.mean(finals(f"{one}/HalfCheetah-v5/sb3-td3")) for one in ("td3-vs-sb3", "td3-vs-sb3-second")]
    yield f"two batches of five seeds have means of {listed(batches)}"
    aes = f"{H300}/HalfCheetah-v5/aes-rl"
    yield f"final evaluations ({listed(finals(aes))}, of 50 episodes) are the highest of each run"
    assert all(one.return_mean.idxmax() == one.index[-1] for one in runs(aes))
    dip = [score for at in (260_000, 270_000, 280_000) for score in (one.return_mean for one in nearest(aes, at))]
    yield f"from 260,000 to 280,000 steps its evaluations are {span(dip)}"
    said = list(halfcheetah_after_100_000())
    updates, times, minutes = (
        next(one for one in said if words in one) for words in ("has made", "times the", "a million")
    )
    yield updates.replace("here", "there")
    yield minutes
    yield f"Its modelled time is {times.partition(' the modelled')[0]}"
    yield f"CEM on Ant: {np.mean(finals(cem('Ant-v5@paper'))):.0f}, published 487"
    yield f"three runs end at {listed(finals(CONTACTS))}"
    stds = {**{env: std for env, (_, std) in PAPER.items()}, "Ant-v5@paper": 33}
    ratios = {env: np.std(finals(cem(env)), ddof=1) / std for env, std in stds.items()}
    yield f"CEM's spread is {ratios['Hopper-v5@paper']:.1f} to nine times"
    assert round(np.std(swimmer, ddof=1) / 9) == 9
    cheetah, *others = (ratios[env] / np.sqrt(10) for env in stds)
    others = f"{min(others):.1f} to {max(others):.1f}"
    yield f"the ratio is then {cheetah:.2f} on HalfCheetah, {others} on Hopper, Walker2d and Ant"
    yield f"and the mean, {np.mean(smoothed('goodai-lander/*/cma-es-1ep', 280)):.0f} with one"
    at = {name: used(f"{folder}/HalfCheetah-v5/aes-rl") for name, folder in (("100k", H100), ("300k", H300))}
    yield f"uses {at['300k']:.1f} times the simulator steps"
    yield f"{at['100k']:.1f} and {at['300k']:.1f} times the simulator steps"


SECTIONS = [
    cem_on_six_tasks, cem_on_ant_and_humanoid, halfcheetah_after_a_million, halfcheetah_after_300_000,
    halfcheetah_after_100_000, openai_es, cyclic_and_goodai,
    esac_on_the_lander,
]  # fmt: skip

PAGES = {"reference-results": SECTIONS, "results-so-far": [results_so_far]}
