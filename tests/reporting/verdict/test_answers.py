"""What a study answers: each verdict from hand-made runs, and effect, interval and p by other code."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from erlbench.cli import cli
from erlbench.experiment.studies import load_studies
from erlbench.reporting.answers import Standing, answer_study
from erlbench.reporting.runs import find_runs
from erlbench.reporting.significance import Case, mean_difference, percent_more
from erlbench.reporting.words import answer_sentence
from tests.reporting.make_runs import make_run

ENV = "HalfCheetah-v5"
NOISE = (-1.0, 1.0, -0.5, 0.5, -0.75, 0.75, -0.25, 0.25, 0.0, 0.1)  # of seeds 0 to 9
COMPARE = '{ first = "cem", second = "td3", metric = "final" }'
CLAIM = 'claim = "CEM scores higher."\nsource = "Test, 1.1"\n'


def write_study(folder, compare=COMPARE, claim=CLAIM, seeds=10, steps=2000, more="", name="asked"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "study.toml"
    path.write_text(
        f'[studies.{name}]\ntitle = "A question"\n{claim}envs = ["{ENV}"]\nseeds = {seeds}\ntotal_timesteps = {steps}\n'
        f'eval_freq = 1000\nentries = [{{ algo = "cem" }}, {{ algo = "td3" }}]\ncompare = [{compare}]\n{more}'
    )
    return path


def write_runs(folder, first, second, spread=1.0, seeds=10, **more):
    """CEM and TD3 with these final returns, seed by seed `NOISE` times the spread around them."""
    for name, level in (("cem", first), ("td3", second)):
        for seed in range(seeds):
            last = level + spread * NOISE[seed]
            make_run(folder, ENV, name, seed, [0.0, last / 2, last], **more)


def answered(folder, warn=pytest.fail):
    (study,) = load_studies(folder / "study.toml").values()
    return answer_study(study, next(iter(study.profiles)), find_runs([folder], warn), warn)


def answer_of(folder):
    (found,) = answered(folder).answers
    return found


def finals(folder, name):
    rows = [
        np.genfromtxt(path, delimiter=",", names=True)["return_mean"][-1]
        for path in sorted(folder.glob(f"*/{name}/*/eval.csv"))
    ]
    return np.array(rows)


def rank_p(a, b):
    """The larger p of both tests of ranks; Brunner and Munzel's has none where the samples do not overlap."""
    exact = stats.mannwhitneyu(a, b, method="exact").pvalue
    return exact if a.max() < b.min() or b.max() < a.min() else max(exact, stats.brunnermunzel(a, b).pvalue)


@pytest.mark.parametrize(
    ("first", "second", "spread", "standing"),
    [(2000, 1000, 50, Standing.HOLDS), (1000, 2000, 50, Standing.FAILS), (1010, 1000, 900, Standing.UNDECIDED)],
)
def test_a_claim_without_a_size_is_that_the_first_is_better(tmp_path, first, second, spread, standing):
    write_study(tmp_path)
    write_runs(tmp_path, first, second, spread)
    found = answer_of(tmp_path)
    assert found.standing is standing
    a, b = finals(tmp_path, "cem"), finals(tmp_path, "td3")
    interval = stats.ttest_ind(a, b, equal_var=False).confidence_interval()
    assert found.effect == pytest.approx((a.mean() - b.mean(), interval.low, interval.high))
    assert found.outcome["p_holm"] == pytest.approx(rank_p(a, b))


@pytest.mark.parametrize("size", ["", ', more-by = "50 %"'])
def test_equal_means_are_no_gain(tmp_path, size):
    """Twenty seeds can show that two are equivalent."""
    write_study(tmp_path, COMPARE.replace(" }", f"{size} }}"), seeds=20)
    for name, shift in (("cem", 0.5), ("td3", 0.0)):
        for seed in range(20):
            make_run(tmp_path, ENV, name, seed, [0.0, 500.0, 1000.0 + seed + shift])
    found = answer_of(tmp_path)
    assert found.standing is Standing.FAILS
    assert size or found.case is Case.EQUIVALENT


@pytest.mark.parametrize(
    ("size", "first", "second", "spread", "standing"),
    [
        ('more-by = "50 %"', 2000, 1000, 20, Standing.HOLDS),
        ('more-by = "50 %"', 1200, 1000, 20, Standing.LESS),  # 20 % more
        ('more-by = "50 %"', 900, 1000, 20, Standing.FAILS),  # the other direction
        ('more-by = "50 %"', 1500, 1000, 400, Standing.UNDECIDED),
        ('less-by = "75 %"', 100, 1000, 20, Standing.HOLDS),
        ('less-by = "75 %"', 600, 1000, 20, Standing.LESS),
        ('less-by = "75 %"', 1400, 1000, 20, Standing.FAILS),
        ('more-by = "300"', 2000, 1000, 20, Standing.HOLDS),
        ('more-by = "300"', 1150, 1000, 20, Standing.LESS),
        ('less-by = "300"', 1150, 1000, 20, Standing.FAILS),
    ],
)
def test_a_claimed_size_is_what_is_tested(tmp_path, size, first, second, spread, standing):
    write_study(tmp_path, COMPARE.replace(" }", f", {size} }}"))
    write_runs(tmp_path, first, second, spread)
    found = answer_of(tmp_path)
    assert found.standing is standing
    a, b = finals(tmp_path, "cem"), finals(tmp_path, "td3")
    amount = float(size.split('"')[1].rstrip(" %"))
    more = size.startswith("more")
    wanted = b * (1 + (1 if more else -1) * amount / 100) if "%" in size else b + (1 if more else -1) * amount
    assert found.outcome["p_holm"] == pytest.approx(rank_p(a, wanted))
    if "%" in size:
        ratio = a.mean() / b.mean()
        assert found.effect[0] == pytest.approx(100 * (ratio - 1) if more else 100 * (1 - ratio))
        assert found.in_percent
    else:
        assert found.effect[0] == pytest.approx(a.mean() - b.mean() if more else b.mean() - a.mean())
    assert found.effect[1] < found.effect[0] < found.effect[2]


def test_the_claimed_size_itself_is_undecided_with_few_seeds_and_holds_with_many(tmp_path):
    """Twenty steady seeds show that the first lies within the margin of a quarter of the second."""
    for folder, seeds, standing in (("few", 10, Standing.UNDECIDED), ("many", 20, Standing.HOLDS)):
        write_study(tmp_path / folder, COMPARE.replace(" }", ', less-by = "75 %" }'), seeds=seeds)
        for name, level in (("cem", 250.0), ("td3", 1000.0)):
            for seed in range(seeds):
                last = level * (1 + 0.01 * NOISE[seed % 10])
                make_run(tmp_path / folder, ENV, name, seed, [0.0, 1.0, last])
        assert answer_of(tmp_path / folder).standing is standing


def test_the_interval_of_a_percentage_is_that_of_the_logarithm_of_a_ratio():
    rng = np.random.default_rng(3)
    a, b = rng.normal(20, 2, 8), rng.normal(80, 9, 11)
    errors = [side.std(ddof=1) / side.mean() / math.sqrt(len(side)) for side in (a, b)]
    total = math.hypot(*errors)
    freedom = total**4 / (errors[0] ** 4 / 7 + errors[1] ** 4 / 10)
    half = stats.t.ppf(0.975, freedom) * total
    middle = math.log(a.mean() / b.mean())
    value, low, high = percent_more(a, b)
    assert value == pytest.approx(100 * (a.mean() / b.mean() - 1))
    assert (low, high) == pytest.approx((100 * (math.exp(middle - half) - 1), 100 * (math.exp(middle + half) - 1)))
    assert percent_more(b, a)[1] == pytest.approx(100 * (math.exp(-middle - half) - 1))
    assert math.isnan(percent_more(-a, b)[0])
    assert math.isnan(mean_difference(a[:5], b)[1])  # no interval below six


def test_holms_correction_takes_the_pairs_of_compare_alone(tmp_path):
    """Three entries on a page have three pairs; two are compared."""
    path = write_study(
        tmp_path, '{ first = "cem", second = "td3" }, { first = "sac", second = "td3" }', claim="", seeds=6
    )
    path.write_text(path.read_text().replace('{ algo = "td3" }]', '{ algo = "td3" }, { algo = "sac" }]'))
    for name, level in (("cem", 3000), ("td3", 1000), ("sac", 1210)):
        for seed in range(6):
            make_run(tmp_path, ENV, name, seed, [0, level / 2, level + 400 * NOISE[seed]])
    first, second = answered(tmp_path).answers
    assert first.outcome["tests"] == second.outcome["tests"] == 2
    a, b, c = (finals(tmp_path, name) for name in ("cem", "td3", "sac"))
    small, large = rank_p(a, b), rank_p(c, b)
    assert first.outcome["p_holm"] == pytest.approx(2 * small)
    assert second.outcome["p_holm"] == pytest.approx(max(2 * small, large))
    assert (first.case, first.standing) == (Case.DECIDED, None)  # nothing is claimed


def test_too_few_seeds_and_none(tmp_path):
    write_study(tmp_path)
    write_runs(tmp_path, 2000, 1000, seeds=3)
    assert answer_of(tmp_path).standing is Standing.TOO_FEW
    assert answer_of(tmp_path).outcome["seeds_missing"] == 3
    write_study(tmp_path / "none", COMPARE.replace("td3", "sac").replace("cem", "td3"))
    path = tmp_path / "none" / "study.toml"
    path.write_text(path.read_text().replace('{ algo = "cem" }', '{ algo = "sac" }'))
    make_run(tmp_path / "none", ENV, "td3", 0, [0, 1, 2])
    found = answer_of(tmp_path / "none")
    assert (found.standing, found.case, found.samples) == (Standing.NOT_RUN, None, None)


def test_a_failed_run_leaves_a_selection(tmp_path):
    write_study(tmp_path)
    write_runs(tmp_path, 2000, 1000, seeds=9)
    make_run(tmp_path, ENV, "cem", 9, [0.0], total=2000, status="failed")
    found = answer_of(tmp_path)
    assert (found.standing, found.case) == (Standing.NOT_COMPARABLE, Case.NOT_COMPARABLE)
    assert "1 of 10 runs of cem failed" in found.reason
    assert math.isnan(found.effect[0])


def test_the_mean_of_the_curve_over_a_stretch(tmp_path):
    """Evaluations at 1000, 2000 and 3000 steps; the last one is the final one and does not count."""
    compare = '{ first = "cem", second = "td3", metric = "curve", from = 500, to = 2000, axis = "steps" }'
    write_study(tmp_path, compare, steps=3000)
    for name, level in (("cem", 100), ("td3", 50)):
        for seed in range(6):
            make_run(tmp_path, ENV, name, seed, [0, level, level + seed, 9999])
    found = answer_of(tmp_path)
    expected = [(500 * 75 + 1000 * (100 + seed / 2)) / 1500 for seed in range(6)]
    assert found.samples[0].scores == pytest.approx(expected)


MINUTES = '{ first = "cem", second = "td3", metric = "minutes", less-by = "75 %" }'


def test_a_curve_that_ends_before_the_stretch_cannot_be_compared(tmp_path):
    compare = '{ first = "cem", second = "td3", metric = "curve", from = 500, to = 2000, axis = "steps" }'
    write_study(tmp_path, compare, steps=3000)
    write_runs(tmp_path, 100, 50, seeds=6, steps=[0, 1500, 3000])
    assert "no such score" in answer_of(tmp_path).reason


def write_timed(folder, first, second, **more):
    """Runs of 2000 steps that take so many seconds a step."""
    for name, level in (("cem", first), ("td3", second)):
        for seed in range(10):
            own = {
                key: value[name] if isinstance(value, dict) and name in value else value for key, value in more.items()
            }
            make_run(folder, ENV, name, seed, [0, 1, 2], seconds_per_step=level * (1 + NOISE[seed] / 100), **own)


def test_less_time_than_claimed_and_more(tmp_path):
    """Whatever cores the runs may use."""
    start = {"cem": {"cores": 6}, "td3": {"cores": 1}}
    for folder, first, standing in (("a", 0.1, Standing.HOLDS), ("b", 0.4, Standing.LESS), ("c", 1.2, Standing.FAILS)):
        write_study(tmp_path / folder, MINUTES)
        write_timed(tmp_path / folder, first, 1.0, start=start)
        found = answer_of(tmp_path / folder)
        assert found.standing is standing
        assert found.effect[0] == pytest.approx(100 * (1 - first), abs=0.5)
        assert found.samples[0].scores[8] == pytest.approx(first * 2000 / 60)  # NOISE of seed 8 is 0


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"simulated": {"cem": True, "td3": False}}, "modelled"),
        ({"start": {"cells_at_once": 4, "exclusive": False}}, "shared cores"),
        ({"jobs": 2}, "shared cores"),  # an older run, which says no more
        ({"cpu": {"cem": "One CPU", "td3": "Another CPU"}}, "2 machines"),
    ],
)
def test_minutes_that_do_not_compare(tmp_path, more, reason):
    write_study(tmp_path, MINUTES)
    write_timed(tmp_path, 0.1, 1.0, **more)
    found = answer_of(tmp_path)
    assert found.standing is Standing.NOT_COMPARABLE
    assert reason in found.reason


def test_modelled_minutes_compare_on_any_machine(tmp_path):
    write_study(tmp_path, MINUTES)
    write_timed(tmp_path, 0.1, 1.0, simulated=True, cpu={"cem": "One CPU", "td3": "Another CPU"})
    found = answer_of(tmp_path)
    assert (found.standing, found.measure) == (Standing.HOLDS, "modelled minutes of training")


def test_steps_to_a_score_count_to_the_end_where_it_is_not_reached(tmp_path):
    compare = '{ first = "cem", second = "td3", metric = "reach", score = 90, less-by = "20 %" }'
    write_study(tmp_path, compare, steps=4000)
    for seed in range(10):
        make_run(tmp_path, ENV, "cem", seed, [0, 95, 95, 95, 95])
        make_run(tmp_path, ENV, "td3", seed, [0, 1, 2, 95 if seed % 2 else 3, 95 if seed % 2 else 4])
    found = answer_of(tmp_path)
    assert found.samples[0].scores == (1000.0,) * 10
    assert found.samples[1].scores == (4000.0, 3000.0) * 5
    assert found.standing is Standing.HOLDS
    assert "5 of 10 runs of td3 never reach it" in found.note


def test_two_that_never_reach_a_score_are_not_called_equivalent(tmp_path):
    compare = '{ first = "cem", second = "td3", metric = "reach", score = 90 }'
    write_study(tmp_path, compare, seeds=20)
    for name in ("cem", "td3"):
        for seed in range(20):
            make_run(tmp_path, ENV, name, seed, [0, 1, 2])
    assert answer_of(tmp_path).standing is Standing.UNDECIDED


def test_what_differs_from_the_study_is_listed(tmp_path):
    path = write_study(tmp_path, more="settings = { initial_variance = 0.001 }\n", seeds=6)
    (study,) = load_studies(path).values()
    for name in ("cem", "td3"):
        for seed in (0, 1, 2, 7):  # 3 to 5 are missing, 7 is another seed
            make_run(tmp_path, ENV, name, seed, [0, 1, 2], studies={"asked": study.sha256})
    make_run(tmp_path, ENV, "cem", 4, [0.0], total=2000, status="failed")
    make_run(tmp_path, ENV, "cem", 5, [0.0], total=2000, status="interrupted")
    make_run(tmp_path, ENV, "cem", 3, [0, 1], total=1000)
    folder = make_run(tmp_path, ENV, "td3", 5, [0, 1, 2], studies={"asked": "0" * 64})
    (folder.parent / "seed-005.old-1").mkdir()
    other = tmp_path / ENV / "cem" / "seed-002" / "config.toml"
    other.write_text(other.read_text().replace("initial_variance = 0.001", "initial_variance = 0.5"))
    found = {(one["entry"], one["what"]): one["details"] for one in answered(tmp_path, lambda said: None).differences}
    assert found["cem", "failed"] == "seed 4"
    assert found["cem", "interrupted"] == "seed 5"
    assert found["cem", "seeds missing"] == "2, 3"
    assert found["td3", "seeds missing"] == "3, 4"
    assert "another seed: seed 7" in found["td3", "left out"]
    assert found["td3", "moved aside"] == "seed-005 (1)"
    assert found["td3", "another version of the study"] == "SHA-256 000000000000: seed 5"
    left_out = [
        one["details"]
        for one in answered(tmp_path, lambda said: None).differences
        if (one["entry"], one["what"]) == ("cem", "left out")
    ]
    assert any("seed 2" in text and "initial_variance" in text for text in left_out)
    assert "another budget: seed 3" in left_out


def test_the_report_of_a_folder_answers_its_study(tmp_path):
    """The study lies above the runs, and the report names a folder above both."""
    folder = tmp_path / "results" / "mine"
    path = write_study(folder)
    write_runs(folder, 2000, 1000, 50)
    write_runs(tmp_path / "results" / "others", 1.0, 2.0)  # not the study's, although their cells are alike
    out = tmp_path / "report"
    done = CliRunner().invoke(cli, ["report", str(tmp_path / "results"), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "Claim: CEM scores higher. (Test, 1.1)" in done.output
    (stored,) = json.loads((out / "verdict.json").read_text())["studies"]
    (study,) = load_studies(path).values()
    assert (stored["study"], stored["sha256"], stored["standing"]) == ("asked", study.sha256, "holds")
    (pair,) = stored["pairs"]
    assert pair["samples"][0]["runs"] == [f"mine/{ENV}/cem/seed-{seed:03d}" for seed in range(10)]
    assert pair["effect"] == pytest.approx([1000, *pair["effect"][1:]])
    page = (out / "asked" / "index.md").read_text()
    assert page.index("Claim: CEM scores higher.") < page.index("What the study compares") < page.index("curves")
    assert "What differs from the study" in page


def test_the_first_page_opens_with_one_answer_or_with_the_matrix_of_several_studies(tmp_path):
    for count, name in enumerate(("first", "second"), 1):
        folder = tmp_path / "results" / name
        write_study(folder, claim=CLAIM.replace("CEM", name), name=name, steps=1000 + 1000 * count)
        write_runs(folder, 2000, 1000, seeds=1, steps=[0, 1000, 1000 + 1000 * count])
        done = CliRunner().invoke(cli, ["report", str(tmp_path / "results"), "--out", str(tmp_path / "report")])
        assert done.exit_code == 0, done.output
        index = (tmp_path / "report" / "index.md").read_text()
        assert (index.index("Claim: ") < index.index("| Algorithm |")) == (count == 1)


def test_a_mistake_in_a_folders_study_leaves_it_out_with_its_line(tmp_path):
    write_study(tmp_path, COMPARE.replace("td3", "td4"))
    write_runs(tmp_path, 2000, 1000)
    done = CliRunner().invoke(cli, ["report", str(tmp_path), "--out", str(tmp_path / "report")])
    assert done.exit_code == 0, done.output
    assert "study.toml, line" in done.output
    assert json.loads((tmp_path / "report" / "verdict.json").read_text())["studies"] == []


def test_a_study_that_is_a_link_is_not_read(tmp_path):
    write_study(tmp_path / "elsewhere")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "study.toml").symlink_to(tmp_path / "elsewhere" / "study.toml")
    write_runs(tmp_path / "results", 2000, 1000)
    done = CliRunner().invoke(cli, ["report", str(tmp_path / "results"), "--out", str(tmp_path / "report")])
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "report" / "verdict.json").read_text())["studies"] == []


def test_a_side_that_used_more_simulator_steps_is_named(tmp_path):
    write_study(tmp_path)
    for name, fitness in (("cem", 4), ("td3", 0)):
        for seed in range(10):
            make_run(tmp_path, ENV, name, seed, [0, 1, 1000 * (fitness + 1) + seed], fitness=fitness)
    found = answer_of(tmp_path)
    assert [side.simulator_steps for side in found.samples] == [10_000, 2000]
    assert "cem used 5.0 times the simulator steps" in answer_sentence(found)


def test_a_study_of_a_stranger_is_text_and_takes_no_page(tmp_path):
    folder = tmp_path / "results"
    claim = 'claim = "<script>alert(1)</script>"\n'
    write_study(folder / "a", claim=claim)
    write_runs(folder / "a", 2000, 1000, seeds=2)
    write_study(folder / "b", name="all-runs")
    write_runs(folder / "b", 2000, 1000, seeds=2, total=3000)
    done = CliRunner().invoke(cli, ["report", str(folder), "--out", str(tmp_path / "report")])
    assert done.exit_code == 0, done.output
    assert "'all-runs' has the name of another page" in " ".join(done.output.split())
    assert "<script>alert(1)" not in (tmp_path / "report" / "index.html").read_text()
    stored = json.loads((tmp_path / "report" / "verdict.json").read_text())
    assert [one["study"] for one in stored["studies"]] == ["asked"]
