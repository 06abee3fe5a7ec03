"""What a study answers: each verdict from hand-made runs, and effect, interval and p by other code."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from erlbench.experiment.studies import load_studies
from erlbench.reporting.answers import Standing, answer_study
from erlbench.reporting.formats import number
from erlbench.reporting.published import random_score
from erlbench.reporting.runs import find_runs
from erlbench.reporting.significance import Case, mean_difference, percent_more
from erlbench.reporting.words import answer_sentence
from tests.files import edit, read_json
from tests.reporting.compare import rank_p, read, run_report
from tests.reporting.make_runs import make_cells, make_run
from tests.tables import cells

ENV = "HalfCheetah-v5"
NOISE = np.array([-1.0, 1.0, -0.5, 0.5, -0.75, 0.75, -0.25, 0.25, 0.0, 0.1])  # of seeds 0 to 9
CLAIM = "CEM scores higher."


def write_study(
    folder, compare='metric = "final"', *, claim=CLAIM, seeds=10, steps=2000, more="", name="asked", pairs=("cem td3",)
):
    """A study of CEM and TD3, or of the algorithms of `pairs`, which are compared as `compare` says."""
    folder.mkdir(parents=True, exist_ok=True)
    compared = ", ".join(
        f'{{ first = "{first}", second = "{second}", {compare} }}' for first, second in map(str.split, pairs)
    )
    entries = ", ".join(f'{{ algo = "{algo}" }}' for algo in dict.fromkeys(" ".join(pairs).split()))
    path = folder / "study.toml"
    path.write_text(
        f'[studies.{name}]\ntitle = "A question"\nclaim = "{claim}"\nsource = "Test, 1.1"\nenvs = ["{ENV}"]\n'
        f"seeds = {seeds}\ntotal_timesteps = {steps}\neval_freq = 1000\nentries = [{entries}]\ncompare = [{compared}]\n"
        f"{more}"
    )
    return path


def write_runs(folder, first, second, spread=1.0, seeds=10, before=(0, 0), **more):
    """CEM and TD3 with these final returns, seed by seed `NOISE` times the spread around them."""
    noise = spread * (np.resize(NOISE, seeds) + np.arange(seeds) / 1000)
    make_cells(folder, ENV, {"cem": first + noise, "td3": second + noise}, before, **more)


def answered(folder, warn=pytest.fail, **options):
    (study,) = load_studies(folder / "study.toml").values()
    return answer_study(study, next(iter(study.profiles)), find_runs([folder], warn), warn, **options)


def answer_of(folder, **options):
    (answer,) = answered(folder, **options).answers
    return answer


def finals(folder, name):
    paths = sorted(folder.glob(f"*/{name}/*/eval.csv"))
    return np.array([np.genfromtxt(path, delimiter=",", names=True)["return_mean"][-1] for path in paths])


# The size, the means of both, the spread, the seeds. Twenty seeds show equivalence; 250 has the claimed size itself.
CLAIMS = """
more-by = '0'    | 2000   1000 50  10 | HOLDS
more-by = '0'    | 1000   2000 50  10 | FAILS
more-by = '0'    | 1010   1000 900 10 | UNDECIDED
more-by = '0'    | 1000.5 1000 5   20 | FAILS
more-by = '0'    | 1010   1000 1   10 | HOLDS
more-by = '50 %' | 2000   1000 20  10 | HOLDS
more-by = '50 %' | 1200   1000 20  10 | LESS
more-by = '50 %' | 900    1000 20  10 | FAILS
more-by = '50 %' | 1500   1000 400 10 | UNDECIDED
more-by = '50 %' | 1005   1000 5   20 | FAILS
more-by = '50 %' | 1005   1000 50  10 | LESS
more-by = '50 %' | 995    1000 50  10 | FAILS
more-by = '50 %' | 1300   1000 500 10 | UNDECIDED
less-by = '75 %' | 100    1000 20  10 | HOLDS
less-by = '75 %' | 250    1000 2.5 10 | UNDECIDED
less-by = '75 %' | 250    1000 2.5 20 | HOLDS
more-by = '300'  | 2000   1000 20  10 | HOLDS
less-by = '300'  | 1150   1000 20  10 | FAILS
"""


@pytest.mark.parametrize(("size", "numbers", "standing"), cells(CLAIMS))
def test_a_claim_is_tested_by_its_size(tmp_path, size, numbers, standing):
    first, second, spread, seeds = map(float, numbers.split())
    claimed = "" if size.endswith("'0'") else f", {size}"
    write_study(tmp_path, f'metric = "final"{claimed}', seeds=int(seeds))
    write_runs(tmp_path, first, second, spread, int(seeds))
    answer = answer_of(tmp_path)
    assert answer.standing is Standing[standing]
    a, b = finals(tmp_path, "cem"), finals(tmp_path, "td3")
    amount = float(size.split("'")[1].rstrip(" %"))
    sign = -1 if size.startswith("less") else 1
    assert (answer.in_percent, answer.measure) == ("%" in size, "return of the final evaluation")
    if answer.in_percent:
        effect, other = 100 * sign * (a.mean() / b.mean() - 1), b * (1 + sign * amount / 100)
    else:
        effect, other = sign * (a.mean() - b.mean()), b + sign * amount
        interval = stats.ttest_ind(sign * a, sign * b, equal_var=False).confidence_interval()
        assert answer.effect[1:] == pytest.approx((interval.low, interval.high))
    assert answer.effect[0] == pytest.approx(effect)
    assert answer.effect[1] < answer.effect[0] < answer.effect[2]
    assert answer.outcome["p_holm"] == pytest.approx(rank_p(a, other))
    origin = 0 if answer.in_percent else random_score(ENV)
    assert answer.outcome["margin"] == pytest.approx(0.1 * (other.mean() - origin))


def test_the_interval_of_a_percentage_is_that_of_the_logarithm_of_a_ratio():
    rng = np.random.default_rng(3)
    a, b = rng.normal(20, 2, 8), rng.normal(80, 9, 11)
    errors = [side.std(ddof=1) / side.mean() / math.sqrt(len(side)) for side in (a, b)]
    total = math.hypot(*errors)
    freedom = total**4 / (errors[0] ** 4 / 7 + errors[1] ** 4 / 10)
    half = stats.t.ppf(0.975, freedom) * total
    middle = math.log(a.mean() / b.mean())
    ends = [100 * (math.exp(middle + end) - 1) for end in (0, -half, half)]
    assert percent_more(a, b) == pytest.approx(ends)
    assert math.isnan(percent_more(-a, b)[0])
    assert math.isnan(mean_difference(a[:5], b)[1])  # no interval below six
    assert mean_difference([3] * 6, [1] * 6) == (2, 2, 2)


def test_holms_correction_takes_the_pairs_of_compare_alone(tmp_path):
    """Three entries on a page have three pairs; two are compared."""
    write_study(tmp_path, pairs=("cem td3", "sac td3"), seeds=6)
    scores = {name: level + 400 * NOISE[:6] for name, level in (("cem", 3000), ("td3", 1000), ("sac", 1210))}
    make_cells(tmp_path, ENV, scores)
    answers = answered(tmp_path)
    first, second = answers.answers
    assert [first.standing, second.standing, answers.standing] == ["holds", "undecided", "undecided"]
    assert first.case == Case.DECIDED
    assert first.outcome["tests"] == 2
    assert second.outcome["tests"] == 2
    small, large = (rank_p(scores[name], scores["td3"]) for name in ("cem", "sac"))
    assert first.outcome["p_holm"] == pytest.approx(2 * small)
    assert second.outcome["p_holm"] == pytest.approx(max(2 * small, large))


@pytest.mark.parametrize(("size", "standing"), [("", None), (", more-by = 50", Standing.HOLDS)])
def test_a_size_is_a_claim(tmp_path, size, standing):
    write_study(tmp_path, f'metric = "final"{size}', claim="", seeds=6)
    write_runs(tmp_path, 2000, 1000, seeds=6)
    assert answer_of(tmp_path).standing is standing


def test_a_higher_rank_with_a_lower_mean_decides_no_claim(tmp_path):
    write_study(tmp_path, seeds=10)
    make_cells(tmp_path, ENV, {"cem": np.r_[1200:1209, -9000], "td3": np.r_[1000:1010]})
    answer = answer_of(tmp_path)
    assert (answer.case, answer.standing) == (Case.RANKS, Standing.UNDECIDED)


def test_a_pair_without_a_score_has_that_of_the_report(tmp_path):
    """The curve ends at 4000 steps; its stretch begins a fifth of the budget before, of minutes as of steps."""
    path = write_study(tmp_path, 'axis = "steps"', seeds=2, steps=5000, more="simulated_time = {}\n")
    make_cells(tmp_path, ENV, {"cem": [9, 9], "td3": [9, 9]}, range(0, 50, 10), simulated=True, seconds_per_step=0.06)
    scores = [answer_of(tmp_path, metric=metric).samples[0].scores for metric in ("auto", "final")]
    edit(path, "simulated_time", "total_minutes = 5\nsimulated_time")
    for run in tmp_path.glob("*/*/*/config.toml"):
        edit(run, "[run]\n", "[run]\ntotal_minutes = 5.0\n")
    scores.append(answer_of(tmp_path).samples[0].scores)
    edit(path, "claim", 'published_source = "AES-RL paper"\nclaim')
    scores.append(answer_of(tmp_path).samples[0].scores)
    assert scores == [(35, 35), (9, 9), (35, 35), (9, 9)]


@pytest.mark.parametrize(("middle", "reason"), [(0.5, ""), (0.0, "above 0"), (-3.0, "above 0")])
def test_a_percentage_needs_means_above_zero(tmp_path, middle, reason):
    write_study(tmp_path, 'metric = "final", more-by = "10 %"', seeds=6)
    write_runs(tmp_path, middle, 1.0, 0.0, seeds=6)
    assert reason in answer_of(tmp_path).reason


def test_too_few_seeds_none_and_a_failed_one(tmp_path):
    for name in ("few", "none", "failed"):
        write_study(tmp_path / name)
    write_runs(tmp_path / "few", 2000, 1000, seeds=3)
    few = answer_of(tmp_path / "few")
    assert few.standing == Standing.TOO_FEW
    assert few.outcome["seeds_missing"] == 3
    make_run(tmp_path / "none", ENV, "cem", 0, [0, 1, 2])
    none = answer_of(tmp_path / "none")
    assert none.standing == Standing.NOT_RUN
    assert none.case is None
    assert none.samples is None
    write_runs(tmp_path / "failed", 2000, 1000, seeds=9)
    make_run(tmp_path / "failed", ENV, "cem", 9, [0.0], total=2000, status="failed")
    failed = answer_of(tmp_path / "failed")
    assert failed.standing == Standing.NOT_COMPARABLE
    assert failed.case == Case.NOT_COMPARABLE
    assert "1 of 10 runs of cem failed" in failed.reason
    assert math.isnan(failed.effect[0])


def test_the_mean_of_the_curve_over_a_stretch(tmp_path):
    """Evaluations at 1000, 2000 and 3000 steps; the last one is the final one and does not count."""
    for name, steps in (("whole", None), ("short", [0, 900, 1500, 3000])):  # one ends before the stretch does
        write_study(tmp_path / name, 'metric = "curve", from = 500, to = 2000, axis = "steps"', steps=3000)
        for seed in range(6):
            make_run(tmp_path / name, ENV, "cem", seed, [0, 100, 100 + seed, 9999], steps=steps)
            make_run(tmp_path / name, ENV, "td3", seed, [0, 50, 50 + seed, 9999], steps=steps)
    expected = [(500 * 75 + 1000 * (100 + seed / 2)) / 1500 for seed in range(6)]
    assert answer_of(tmp_path / "whole").samples[0].scores == pytest.approx(expected)
    assert "no such score" in answer_of(tmp_path / "short").reason


STARTS = {
    "six cores": {"cores": 6}, "one CPU": {"cpu": "One CPU"}, "another": {"cpu": "Another CPU"},
    "shared": {"cells_at_once": 4, "exclusive": False}, "apart": {"jobs": 2, "cells_at_once": 2, "exclusive": True},
    "older": {"jobs": 2},  # without more about its cores
}  # fmt: skip
MINUTES = """
0.1 | six cores           | measured          | HOLDS          | x
0.4 | measured            | measured          | LESS           | x
1.2 | measured            | measured          | FAILS          | x
0.1 | modelled on one CPU | modelled, another | HOLDS          | x
0.1 | modelled            | measured          | NOT_COMPARABLE | modelled
0.1 | shared              | shared            | NOT_COMPARABLE | 20 runs shared cores
0.1 | older               | measured          | NOT_COMPARABLE | 10 runs shared cores
0.1 | modelled, older     | modelled, older   | HOLDS          | x
0.1 | apart               | apart             | HOLDS          | x
0.1 | one CPU             | another           | NOT_COMPARABLE | 2 machines
"""


@pytest.mark.parametrize(("pace", "cem", "td3", "standing", "reason"), cells(MINUTES))
def test_minutes_of_training(tmp_path, pace, cem, td3, standing, reason):
    path, pace = write_study(tmp_path, 'metric = "minutes", less-by = "75 %"'), float(pace)
    for name, kind, factor in (("cem", cem, pace), ("td3", td3, 1)):
        run = {"simulated": "modelled" in kind, "starts": [start for key, start in STARTS.items() if key in kind]}
        for seed, noise in enumerate(1 + NOISE / 100):
            make_run(tmp_path, ENV, name, seed, [0, 1, 2], seconds_per_step=factor * noise, **run)
    answer = answer_of(tmp_path)
    assert answer.standing is Standing[standing]
    assert ("modelled" in answer.measure) == ("modelled" in cem and "modelled" in td3)
    if reason != "x":
        assert reason in answer.reason
        return
    assert answer.effect[0] == pytest.approx(100 * (1 - pace), abs=0.5)
    assert answer.samples[0].scores[8] == pytest.approx(pace * 2000 / 60)
    edit(path, ', less-by = "75 %"', "")
    plain = answer_of(tmp_path)  # fewer are better without a size, too
    assert plain.standing is (Standing.HOLDS if pace < 1 else Standing.FAILS)
    assert plain.effect[0] == pytest.approx((pace - 1) * 2000 / 60, rel=0.01)


def test_steps_to_a_score_count_to_the_end_where_it_is_not_reached(tmp_path):
    write_study(tmp_path / "one", 'metric = "reach", score = 90, less-by = "20 %"', steps=4000)
    for seed in range(10):
        make_run(tmp_path / "one", ENV, "cem", seed, [0, 95, 95, 95, 95])
        make_run(tmp_path / "one", ENV, "td3", seed, [0, 1, 2, 95 if seed % 4 == 1 else 3, 95 if seed % 2 else 4])
    answer = answer_of(tmp_path / "one")
    assert answer.standing == Standing.HOLDS
    assert answer.samples[0].scores == (1000.0,) * 10
    assert answer.samples[1].scores == (4000, 3000, 4000, 4000) * 2 + (4000, 3000)
    assert answer.outcome["margin"] == pytest.approx(0.1 * 0.8 * 3700)  # of steps, whose origin is 0
    assert "5 of 10 runs of td3 never reach it" in answer.note
    write_study(tmp_path / "zero", 'metric = "reach", score = 0', seeds=6)
    make_cells(tmp_path / "zero", ENV, {"cem": [9] * 6}, (-9, -0.1))
    make_cells(tmp_path / "zero", ENV, {"td3": [9] * 6}, (-9, 0))
    assert answer_of(tmp_path / "zero").effect[0] == 1000
    write_study(tmp_path / "neither", 'metric = "reach", score = 90', seeds=20)
    write_runs(tmp_path / "neither", 2, 2, seeds=20)
    assert answer_of(tmp_path / "neither").standing is Standing.UNDECIDED  # and not equivalent


def test_runs_that_never_reach_a_score_refute_no_size(tmp_path):
    """TD3 never does: it may need any multiple of the steps."""
    for size, pair, standing in (
        ("less-by = '50 %'", "cem td3", Standing.UNDECIDED), ("more-by = '99 %'", "td3 cem", Standing.UNDECIDED),
        ("less-by = '50 %'", "td3 cem", Standing.FAILS), ("more-by = '50 %'", "cem td3", Standing.FAILS),
    ):  # fmt: skip
        folder = tmp_path / f"{size[:4]}-{pair[:3]}"
        write_study(folder, f'metric = "reach", score = 90, {size}', pairs=(pair,), steps=4000)
        make_cells(folder, ENV, {"cem": [95] * 10}, (0, 0, 0, 95))
        make_cells(folder, ENV, {"td3": [1] * 10}, (0, 0, 0, 1))
        assert answer_of(folder).standing is standing


@pytest.mark.parametrize(("percent", "first"), [(70, 300), (90, 100)])
def test_an_effect_of_exactly_the_claimed_size_is_undecided(tmp_path, percent, first):
    """1000 (1 - 0.7) is more than 300, and 1000 (1 - 0.9) less than 100."""
    write_study(tmp_path, f'metric = "reach", score = 9, less-by = "{percent} %"', steps=1000, seeds=6)
    for name, reached, before in (("cem", first, 9), ("td3", 500, 0)):
        make_cells(tmp_path, ENV, {name: [9] * 6}, (0, before), steps=[0, reached, 1000])
    answer = answer_of(tmp_path)
    assert answer.standing == Standing.UNDECIDED
    assert answer.effect[0] == pytest.approx(percent)


def test_an_undecided_answer_names_the_difference_that_its_seeds_detect(tmp_path):
    write_study(tmp_path, seeds=6)
    write_runs(tmp_path, 1000, 1000, 50, seeds=6)
    answer = answer_of(tmp_path)
    assert answer.standing == Standing.UNDECIDED
    least = number(answer.outcome["detectable_difference"])
    assert f" {least} " in answer_sentence(answer)


@pytest.mark.parametrize("most", [1e300, 1e308])
def test_a_score_beyond_all_numbers_is_not_comparable(tmp_path, most):
    """The spread of a seed at 1e300 is infinite, and the area below a curve of 1e308."""
    write_study(tmp_path, 'metric = "curve", from = 500, to = 2000, axis = "steps"', steps=3000, seeds=6)
    for seed in range(6):
        make_run(tmp_path, ENV, "cem", seed, [0, 1, 1, 1] if seed else [0, most, most, 1])
        make_run(tmp_path, ENV, "td3", seed, [0, 50, 50 + seed, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_report(tmp_path, "--out", tmp_path / "out")
    (answer,) = read_json(tmp_path / "out/verdict.json")["studies"][0]["pairs"]
    assert answer["reason"] == "the scores are too large for a mean and a spread"


@pytest.mark.parametrize(
    ("cem", "end", "reached", "reason"),
    [
        ((0, 95, 96), 4400, 1000, ""), ((0, 95, 96), 4500, 1000, "the budgets differ"),
        ((0, 1, 95), 4000, 4000, ""), ((0, 1, 2), 4000, 4000, ""),
    ],
)  # fmt: skip
def test_steps_to_a_score_that_td3_never_reaches_count_to_its_end(tmp_path, cem, end, reached, reason):
    """A generation of CEM ends later, which is no other budget; TD3 needs no fewer steps."""
    path = write_study(tmp_path, 'metric = "reach", score = 90', steps=4000, seeds=6, pairs=("td3 cem",))
    edit(path, '{ algo = "td3" }', f'{{ algo = "td3", total_timesteps = {end} }}')
    make_cells(tmp_path, ENV, {"cem": [cem[2]] * 6}, cem[:2], steps=[0, 1000, 4500], total=4000)
    make_cells(tmp_path, ENV, {"td3": [2] * 6}, (0, 1), steps=[0, 1000, end])
    answer = answer_of(tmp_path)
    assert answer.note.startswith("6 of 6 runs of td3 never reach it")
    assert [side.scores for side in answer.samples] == [(end,) * 6, (reached,) * 6]
    assert answer.reason.endswith(reason)
    assert bool(answer.reason) == bool(reason)
    if reached == end:
        assert answer.standing == Standing.UNDECIDED


def test_what_differs_from_the_study_is_listed(tmp_path):
    path = write_study(tmp_path, more="settings = { initial_variance = 0.001 }\n", seeds=6)
    (study,) = load_studies(path).values()
    for name in ("cem", "td3"):
        for seed in (0, 1, 2, 7):  # 3 to 5 are missing, 7 is another seed
            make_run(tmp_path, ENV, name, seed, [0, 1, 2], starts=[{"studies": {"asked": study.sha256}}])
    make_run(tmp_path, ENV, "cem", 4, [0.0], total=2000, status="failed")
    make_run(tmp_path, ENV, "cem", 3, [0, 1], total=1000)
    folder = make_run(tmp_path, ENV, "td3", 5, [0, 1, 2], starts=[{"studies": {"asked": "0" * 64}}])
    (folder.parent / "seed-005.old-1").mkdir()
    differences = answered(tmp_path, lambda said: None).differences
    listed = {(row["entry"], row["what"], row["details"]) for row in differences}
    assert listed >= {
        ("cem", "failed", "seed 4"), ("cem", "seeds missing", "3, 5"),
        ("td3", "seeds missing", "3, 4"), ("td3", "moved aside", "seed-005 (1)"),
        ("td3", "another version of the study", "SHA-256 000000000000: seed 5"),
        ("cem", "left out", "another budget: seed 3"), ("td3", "left out", "another seed: seed 7"),
    }  # fmt: skip


def test_runs_with_another_end_or_other_processors_are_not_the_studys(tmp_path):
    path = write_study(tmp_path, seeds=8, more="simulated_time = { processes = 4 }\n")
    edit(path, 'algo = "td3"', 'algo = "td3", processes = 1')
    write_runs(tmp_path, 2000, 1000, seeds=6, simulated=True)
    make_run(tmp_path, ENV, "cem", 6, [0, 0, -9000], simulated=True, generations=2)
    run = make_run(tmp_path, ENV, "cem", 7, [0, 0, -9000], simulated=True)
    edit(run / "config.toml", "simulated_time", "simulated_processes = 1\nsimulated_time")
    answers = answered(tmp_path, lambda said: None)
    assert answers.answers[0].samples[0].seeds == (0, 1, 2, 3, 4, 5)
    assert {(row["entry"], row["what"], row["details"]) for row in answers.differences} == {
        ("cem", "seeds missing", "6, 7"), ("td3", "seeds missing", "6, 7"),
        ("cem", "left out", "another budget: seed 6"),
        ("cem", "left out", "costs.simulated_processes: seed 7"),
        ("td3", "settings", "processes 5, not 1"),
    }  # fmt: skip


def test_what_stands_twice_in_compare_is_tested_once(tmp_path):
    path = write_study(tmp_path, f"envs = ['{ENV}', '{ENV}']", seeds=6)
    edit(path, "compare = [", 'compare = [{ first = "cem", second = "td3" }, ')
    write_runs(tmp_path, 2000, 1000, seeds=6)
    assert answer_of(tmp_path).outcome["tests"] == 1


def test_the_report_of_a_folder_answers_its_study(tmp_path):
    """The study lies above the runs, and the report names a folder above both."""
    results, out = tmp_path / "results", tmp_path / "report"
    path = write_study(results / "mine")
    write_runs(results / "mine", 2000, 1000, 50)
    write_runs(results / "others", 1.0, 2.0, fitness=4)  # not the study's, although their cells are alike
    assert "Claim: CEM scores higher. (Test, 1.1)" in run_report(results, "--out", out)
    (stored,) = read_json(out / "verdict.json")["studies"]
    (study,) = load_studies(path).values()
    assert stored["study"] == "asked"
    assert stored["sha256"] == study.sha256
    assert stored["standing"] == "holds"
    (pair,) = stored["pairs"]
    assert pair["samples"][0]["runs"] == [f"mine/{ENV}/cem/seed-{seed:03d}" for seed in range(10)]
    assert pair["effect"][0] == pytest.approx(1000)


def test_a_baseline_is_tested_beside_what_a_study_compares(tmp_path):
    write_study(tmp_path / "runs", seeds=6)
    write_runs(tmp_path / "runs", 2000, 1000, seeds=6)
    for words, pairs in (((), []), (("--baseline", "td3"), [("cem", "td3")])):
        run_report(tmp_path / "runs", "--out", tmp_path / "report", *words)
        verdicts = read_json(tmp_path / "report/verdict.json")["verdicts"]
        assert [(pair["first"]["name"], pair["second"]["name"]) for pair in verdicts["all-runs"]] == pairs
        assert verdicts["asked"] == []


def test_studies_that_cannot_be_read_are_left_out_and_none_is_more_than_text(tmp_path):
    results = tmp_path / "results"
    path = write_study(results / "mistake", pairs=("cem td4",))
    edit(path, '"td4" }', '"td3" }')
    write_study(results / "page", name="all-runs")
    write_study(results / "script", claim="<script>alert(1)</script>")
    for name, steps in (("mistake", 1000), ("page", 3000), ("script", 2000)):
        write_runs(results / name, 2000, 1000, seeds=2, steps=[0, 500, steps])
    (results / "study.toml").symlink_to(write_study(tmp_path / "elsewhere", name="linked"))
    said = run_report(results, "--out", tmp_path / "report")
    assert "study.toml, line" in said
    assert "'all-runs'" in said
    assert "<script>alert(1)" not in read(tmp_path / "report/index.html")
    stored = read_json(tmp_path / "report/verdict.json")
    assert [study["study"] for study in stored["studies"]] == ["asked"]
